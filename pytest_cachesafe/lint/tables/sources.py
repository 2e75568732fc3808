"""Where volatile values arise. Dotted names are as imported; the last two parts decide where an import is unknown."""

from __future__ import annotations

import re

from cachesafe_rules.patterns import lazy_pattern

__all__ = [
    "ATTRIBUTES",
    "CALLS",
    "EXCERPT_WORDS",
    "FILE_TIMES",
    "HELPERS",
    "MEMORY_CALLS",
    "MEMORY_OWNERS",
    "MEMORY_WRITERS",
    "METHODS",
    "PERSONAL_NAMES",
    "REWRITTEN_FILES",
    "RULE_READERS",
    "SOURCE_WORDS",
    "STATE_NAMES",
    "WORK_READERS",
]

# Every source of the tables needs one of these in its file.
SOURCE_WORDS: tuple[bytes, ...] = (
    b"now(", b"today", b"time", b"uuid", b"ulid", b"nanoid", b"secrets", b"random", b"tempfile", b"platform",
    b"gethost", b"getfqdn", b"getuser", b"getlogin", b"expanduser", b"home(", b"cwd", b"environ", b"getenv", b"locale",
    b"get_localzone", b"git", b"version(", b"listdir", b"scandir", b"glob", b"iterdir", b"walk(", b"set(", b"emor",
    b"soul", b"user", b"session", b"usage", b"getpid", b"urandom", b"cpu_", b"uname", b"geocoder",
    b"recall", b"artifacts", b"states.", b"itertools", b"signature(", b"partial(", b"object()", b"deps.", b"tokens(",
    b"_count(", b"cmd", b"command)",
)  # fmt: skip

# What a short file may name besides (flow/present.py, flow/moment.py).
EXCERPT_WORDS: tuple[bytes, ...] = (
    b"remaining", b"elapsed", b"pending", b"unread", b"todo", b"selection", b"selected", b"clipboard", b"scratchpad",
    b"snapshot", b"telemetry", b"diagnostics", b"focused", b"open", b"unsaved", b"dirty", b"battery", b"spent", b"last",
    b"latest", b"recent", b"live", b"active", b"visible", b"unfinished", b"outstanding", b"checklist", b"ongoing",
    b"current_", b"cursor", b"read(", b"read_text", b"load(", b"etriev", b"search", b"class ",
)  # fmt: skip

# dotted callable -> (kind, granularity). Clocks get finer or coarser by what is done with them (flow/clock.py).
CALLS: dict[str, tuple[str, str]] = {
    "datetime.datetime.now": ("clock", "microsecond"),
    "datetime.datetime.utcnow": ("clock", "microsecond"),
    "datetime.datetime.today": ("clock", "microsecond"),
    "datetime.date.today": ("clock", "day"),
    "time.time": ("clock", "microsecond"),
    "time.time_ns": ("clock", "microsecond"),
    "time.monotonic": ("clock", "microsecond"),
    "time.perf_counter": ("clock", "microsecond"),
    "time.process_time": ("clock", "microsecond"),
    "time.strftime": ("clock", "second"),
    "time.ctime": ("clock", "second"),
    "time.asctime": ("clock", "second"),
    "time.localtime": ("clock", "second"),
    "time.gmtime": ("clock", "second"),
    "pendulum.now": ("clock", "microsecond"),
    "pendulum.today": ("clock", "day"),
    "arrow.now": ("clock", "microsecond"),
    "arrow.utcnow": ("clock", "microsecond"),
    "django.utils.timezone.now": ("clock", "microsecond"),
    "django.utils.timezone.localtime": ("clock", "microsecond"),
    "django.utils.timezone.localdate": ("clock", "day"),
    "homeassistant.util.dt.now": ("clock", "microsecond"),
    "homeassistant.util.dt.utcnow": ("clock", "microsecond"),
    "pandas.Timestamp.now": ("clock", "microsecond"),
    "pandas.Timestamp.today": ("clock", "microsecond"),
    "whenever.Instant.now": ("clock", "microsecond"),
    "email.utils.formatdate": ("clock", "second"),
    "uuid.uuid1": ("random", "call"),
    "uuid.uuid4": ("random", "call"),
    "uuid.uuid6": ("random", "call"),
    "uuid.uuid7": ("random", "call"),
    "uuid.uuid8": ("random", "call"),
    "shortuuid.uuid": ("random", "call"),
    "ulid.new": ("random", "call"),
    "ulid.ULID": ("random", "call"),
    "nanoid.generate": ("random", "call"),
    "secrets.token_hex": ("random", "call"),
    "secrets.token_urlsafe": ("random", "call"),
    "secrets.token_bytes": ("random", "call"),
    "secrets.choice": ("random", "call"),
    "secrets.randbelow": ("random", "call"),
    "random.random": ("random", "call"),
    "random.randint": ("random", "call"),
    "random.randrange": ("random", "call"),
    "random.uniform": ("random", "call"),
    "random.choice": ("random", "call"),
    "random.choices": ("random", "call"),
    "random.sample": ("random", "call"),
    "random.getrandbits": ("random", "call"),
    "numpy.random.choice": ("random", "call"),
    "numpy.random.randint": ("random", "call"),
    "numpy.random.permutation": ("random", "call"),
    "os.urandom": ("random", "call"),
    "os.getpid": ("random", "process"),
    "threading.get_ident": ("random", "process"),
    "tempfile.mkdtemp": ("temp", "call"),
    "tempfile.mkstemp": ("temp", "call"),
    "tempfile.mktemp": ("temp", "call"),
    "tempfile.TemporaryDirectory": ("temp", "call"),
    "tempfile.NamedTemporaryFile": ("temp", "call"),
    "platform.system": ("host", "host"),
    "platform.platform": ("host", "host"),
    "platform.machine": ("host", "host"),
    "platform.release": ("host", "host"),
    "platform.version": ("host", "host"),
    "platform.node": ("host", "host"),
    "platform.uname": ("host", "host"),
    "platform.processor": ("host", "host"),
    "platform.architecture": ("host", "host"),
    "platform.mac_ver": ("host", "host"),
    "platform.python_version": ("host", "host"),
    "os.uname": ("host", "host"),
    "os.cpu_count": ("host", "host"),
    "socket.gethostname": ("host", "host"),
    "socket.getfqdn": ("host", "host"),
    "distro.name": ("host", "host"),
    "psutil.virtual_memory": ("state", "call"),
    "psutil.cpu_percent": ("state", "call"),
    "getpass.getuser": ("host", "user"),
    "os.getlogin": ("host", "user"),
    "os.path.expanduser": ("host", "user"),
    "pathlib.Path.home": ("host", "user"),
    "os.getcwd": ("cwd", "session"),
    "os.getcwdb": ("cwd", "session"),
    "pathlib.Path.cwd": ("cwd", "session"),
    "os.environ.get": ("env", "host"),
    "os.getenv": ("env", "host"),
    "locale.getlocale": ("locale", "host"),
    "locale.getdefaultlocale": ("locale", "host"),
    "tzlocal.get_localzone": ("locale", "host"),
    "tzlocal.get_localzone_name": ("locale", "host"),
    "geocoder.ip": ("user", "user"),
    "geocoder.ipinfo": ("user", "user"),
    "geocoder.freegeoip": ("user", "user"),
    "git.Repo": ("build", "call"),
    "importlib.metadata.version": ("build", "release"),
    "os.listdir": ("listing", "host"),
    "os.scandir": ("listing", "host"),
    "os.walk": ("listing", "host"),
    "glob.glob": ("listing", "host"),
    "glob.iglob": ("listing", "host"),
    "os.path.getmtime": ("file", "microsecond"),
    "os.path.getctime": ("file", "microsecond"),
    "os.path.getatime": ("file", "microsecond"),
    "id": ("repr", "process"),
    "hash": ("repr", "process"),
}

# Read without a call.
ATTRIBUTES: dict[str, tuple[str, str]] = {
    "sys.platform": ("host", "host"),
    "os.name": ("host", "host"),
    "sys.version": ("host", "host"),
    "sys.executable": ("host", "host"),
    "os.environ": ("env", "host"),
    "time.tzname": ("locale", "host"),
}

# When a file was last written or read, as `stat()` tells it.
FILE_TIMES = frozenset(
    ("st_mtime", "st_ctime", "st_atime", "st_birthtime", "st_mtime_ns", "st_ctime_ns", "st_atime_ns")
)

# Methods that are sources whatever they are called on.
METHODS: dict[str, tuple[str, str]] = {
    "iterdir": ("listing", "host"),
    "rglob": ("listing", "host"),
    "get_full_name": ("user", "user"),
    "hexsha": ("build", "call"),
}

# Helpers whose name says what they return, for modules that cannot be found.
HELPERS: dict[str, tuple[str, str]] = {
    "get_today_str": ("clock", "day"),
    "get_current_date": ("clock", "day"),
    "get_current_datetime": ("clock", "second"),
    "get_current_time": ("clock", "second"),
    "get_current_timestamp": ("clock", "second"),
    "get_utc_time": ("clock", "second"),
    "get_utc_now": ("clock", "microsecond"),
    "get_local_time": ("clock", "second"),
    "get_date_time": ("clock", "second"),
    "utc_now": ("clock", "microsecond"),
    "utcnow": ("clock", "microsecond"),
    "now_iso": ("clock", "microsecond"),
    "get_location": ("user", "user"),
    "get_user_location": ("user", "user"),
    "get_cwd": ("cwd", "session"),
    "list_directory": ("listing", "session"),
    "get_git_status": ("build", "call"),
    "get_git_info": ("build", "call"),
    "get_git_branch": ("build", "call"),
    "get_git_diff": ("build", "call"),
    "get_commit_hash": ("build", "call"),
    "get_git_hash": ("build", "call"),
    "get_git_commit": ("build", "call"),
    "get_git_context": ("build", "call"),
}

# Recalled text: what a memory store gives back differs from call to call. Not the memory of a machine.
MEMORY_CALLS = lazy_pattern(
    r"^(?!\w*(?:gpu|vram|cpu|cuda|ram|device|process|physical|virtual|free|available|total|used|usage|peak|max|shared)_)"
    r"_?(?:a?get|read|load|fetch|recall|search|retrieve|query|format|build|render|list)_(?:\w+_)?"
    r"(?:memory|memories|recent_history\w*|soul|recollections?|session_summary)(?:_(?:context|text|block|section|"
    r"prompt|content|string|str|text))?$"
    r"|^get_agent_soul$|^_?a?recall$"
)
# Of these, functions named after writing: one that is given what it writes recalls nothing itself.
MEMORY_WRITERS = lazy_pattern(r"_?(?:format|build|render)_")
MEMORY_NAMES = lazy_pattern(
    r"^(?:user_|existing_|agent_|recalled_|relevant_|retrieved_|long_term_|session_)?memor(?:y|ies)(?:_(?:context|"
    r"text|block|content|str|string|section))?$"
)

MEMORY_OWNERS = lazy_pattern(
    r"(?:^|[._])(?:memory|memories|mem0|memory_(?:client|store|manager|service|bank))\.(?:a?search\w*|recall\w*|"
    r"retrieve\w*|query|get_all|(?:a?(?:get|load|find|fetch|select|pick)_)?(?:relevant|related|similar)\w*|"
    r"load_memory\w*|blocks|get_context\w*|get_memor\w+|render|format\w*|compile)$"
)
# Files that hold a system prompt with placeholders.
PROMPT_FILES = lazy_pattern(
    r"sys(?:tem)?[\w.\-]*\.(?:jinja2?|j2|txt|md|prompt|tmpl|tpl|mustache|ya?ml)(?:\.j2)?$", re.IGNORECASE
)
# Services that tell where or when the caller is.
PLACE_SERVICES = lazy_pattern(r"ipinfo|ip-api|ipapi|geoip|worldtimeapi|ifconfig|ipify")
# Names of loop variables and counters that say how far a run has come.
COUNTERS = lazy_pattern(
    r"^_?(?:current_|n_)?(?:step|turn|iteration|round|attempt|tries|retry|call)(?:s|_count|_number|_num|_no|"
    r"_index|_idx)?$|_count$|_counter$|^counter$"
)
# Functions that read a file of rules which people edit.
RULE_READERS = lazy_pattern(
    r"^_?(?:a?read|load|get)_(?:project_|user_|agent_)?(?:rules|agents_md|notes|memory|soul|project_docs?|"
    r"guidelines|todos?)(?:_file|_text)?$"
)

# The same in a short file, where it is read each time: what an agent works through and ticks off.
WORK_READERS = lazy_pattern(
    r"^_?(?:a?read|load|get)_(?:\w+_)?(?:plan|tasks?|todos?|board|backlog|checklist|progress|scratchpad|journal|notes?|"
    r"ledger|worklog|workspace|state|status|prompt_file|persona|identity|soul|memory|memories|context_files?|"
    r"bootstrap_files?)(?:_file|_text)?$"
)

# Names of values that belong to one user, session or request.
PERSONAL_NAMES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "user_name",
            "username",
            "user_full_name",
            "user_email",
            "user_id",
            "userid",
            "customer_name",
            "customer_id",
            "user_location",
            "location_data",
            "tenant_id",
            "account_id",
            "user_profile",
        ),
        ("user", "user"),
    ),
    **dict.fromkeys(
        (
            "session_id",
            "conversation_id",
            "chat_id",
            "thread_id",
            "request_id",
            "message_id",
            "run_id",
            "trace_id",
            "correlation_id",
            "invocation_id",
            "conv_id",
            "task_id",
            "session_key",
            "sessionid",
        ),
        ("session", "session"),
    ),
}
PERSONAL_OWNERS = lazy_pattern(r"^(?:user|current_user|customer|account|user_info|user_data)$")
PERSONAL_FIELDS = frozenset(
    (
        "name",
        "email",
        "id",
        "first_name",
        "last_name",
        "full_name",
        "username",
        "location",
        "timezone",
        "locale",
        "display_name",
    )
)

# Values of the moment: page, cursor, counters.
STATE_NAMES: dict[str, tuple[str, str]] = dict.fromkeys(
    ("current_url", "page_url", "current_page", "current_step", "step_number", "step_count", "n_steps", "turn_count",
     "message_count", "previous_message_count", "tokens_left", "remaining_tokens", "tokens_used", "token_count",
     "steps_left", "remaining_steps", "cursor_position", "turn_number", "iteration", "call_count", "num_turns",
     "remaining_budget", "budget_left", "retry_count"),
    ("state", "call"),
)  # fmt: skip
STATE_OWNERS = lazy_pattern(r"^(?:current_state|env_state|browser_state|page|cursor)$")

# Files that people or agents rewrite while the program lives.
REWRITTEN_FILES = lazy_pattern(
    r"(?:^|[\\/_.])(?:agents?|rules|claude|gemini|memory|memories|soul|user|todo|notes?|scratchpad|history|"
    r"progress|journal)\.(?:md|txt|json|jsonl|mdc|yaml|yml)$|\.cursorrules$",
    re.IGNORECASE,
)
