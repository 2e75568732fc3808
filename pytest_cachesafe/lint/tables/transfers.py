"""Which calls hand a value on, which stop it."""

from __future__ import annotations

from cachesafe_rules.patterns import lazy_pattern

__all__ = [
    "AWAITERS",
    "FUNCTIONS",
    "KEPT_ATTRIBUTES",
    "MUTATORS",
    "ORDERERS",
    "STABLE",
    "STRING_METHODS",
    "TEXT_CLASSES",
]

# Methods whose result holds what the receiver and the arguments hold.
STRING_METHODS = frozenset((
    "format", "format_map", "replace", "join", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "lower",
    "upper", "title", "capitalize", "casefold", "swapcase", "center", "ljust", "rjust", "zfill", "expandtabs",
    "translate", "encode", "decode", "split", "rsplit", "splitlines", "partition", "rpartition", "substitute",
    "safe_substitute", "render", "arender", "render_async", "format_messages", "format_prompt", "aformat",
    "format_template", "to_string", "to_messages", "partial", "isoformat", "strftime", "date", "time", "timestamp",
    "timetuple", "astimezone", "ctime", "total_seconds", "to_iso8601_string", "to_date_string", "to_datetime_string",
    "to_time_string", "to_day_datetime_string", "to_formatted_date_string", "to_rfc3339_string", "to_rfc2822_string",
    "to_cookie_string", "diff_for_humans", "in_timezone", "in_tz", "humanize",
    "hex", "as_posix", "resolve", "absolute", "joinpath", "with_suffix", "with_name", "relative_to",
    "expanduser", "keys", "values", "items", "copy", "get", "pop", "setdefault", "model_dump", "dict", "to_dict",
    "model_dump_json", "json", "as_dict", "_asdict", "to_markdown", "rstrip", "union", "intersection", "difference",
    "symmetric_difference", "weekday", "isoweekday", "isocalendar", "toordinal", "result", "unwrap", "or_else",
    "getvalue", "model_copy", "with_content", "fetchall", "fetchone", "fetchmany", "scalar", "scalar_one",
))  # fmt: skip

# Callables whose result holds what the arguments hold, by dotted name or by the last part of it.
FUNCTIONS = frozenset((
    "str", "repr", "bytes", "ascii", "format", "list", "tuple", "dict", "set", "frozenset", "sorted", "reversed",
    "iter", "next", "enumerate", "zip", "map", "filter", "min", "max", "sum", "abs", "round", "int", "float",
    "getattr", "vars", "cast", "deepcopy", "copy", "dedent", "indent", "fill", "wrap", "shorten", "cleandoc", "dumps",
    "safe_dump", "dump", "pformat", "escape", "quote", "quote_plus", "asdict", "Template", "PromptTemplate",
    "from_template", "from_string", "Path", "PurePath", "join", "abspath", "realpath", "basename", "dirname",
    "normpath", "expandvars", "fromtimestamp", "utcfromtimestamp", "fromisoformat", "strftime", "timedelta", "combine",
    "datetime", "date", "mktime", "gmtime_text", "Markup", "TextContent", "Text", "TextBlock", "TextBlockParam",
    "SystemContent", "chain", "from_iterable", "islice", "defaultdict", "OrderedDict", "namedtuple", "SimpleNamespace",
    "ChainMap", "UUID", "gather", "wait_for", "shield", "run", "ensure_future", "create_task", "to_thread", "partial",
    "reduce", "render_template", "render_template_string", "render_str", "format_template", "Part", "Content",
    "from_text", "PromptValue", "ChatPromptValue", "Prompt", "TextPart", "mask", "jinja2_render", "render_prompt",
    "format_prompt", "Field", "field", "Optional", "strip_indent", "trim", "SafeString", "mark_safe", "f", "markdown",
    "hex", "oct", "bin",
))  # fmt: skip

# The order of their result does not depend on the order of what went in.
ORDERERS = frozenset(("sorted", "min", "max", "sum", "len", "any", "all", "set", "frozenset", "Counter"))

# Nothing volatile comes out, whatever goes in.
STABLE = frozenset((
    "len", "isinstance", "issubclass", "hasattr", "callable", "bool", "any", "all", "type", "print", "open", "exists",
    "is_file", "is_dir", "isfile", "isdir", "startswith", "endswith", "isdigit", "count", "find", "index", "search",
    "match", "fullmatch", "count_tokens", "token_count", "getLogger", "sleep", "isalpha",
))  # fmt: skip

# Methods that put their arguments into the receiver.
MUTATORS = frozenset(
    (
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "setdefault",
        "appendleft",
        "extendleft",
        "write",
        "writelines",
        "push",
        "__setitem__",
    )
)

# Run their first argument and give its result.
AWAITERS = frozenset(
    ("to_thread", "run_in_executor", "run_sync", "run_in_threadpool", "sync_to_async", "async_to_sync")
)

# Classes whose objects are text: what goes in comes out.
TEXT_CLASSES = lazy_pattern(
    r"(?:Message|Prompt|Template|Path|Part|Content|Text|Block|Msg|Markdown|Param|Instructions?|Section|Str)s?$"
)

# Parameters that are lists of text: what is in them comes out item by item.
TEXT_LISTS = lazy_pattern(
    r"(?:information|instructions|lines|parts|sections|notes|guidelines|rules|texts|blocks|snippets|prompts|"
    r"pieces|paragraphs|context)$"
)

# Attributes through which a value of unknown class stays itself.
KEPT_ATTRIBUTES = frozenset((
    "year", "month", "day", "hour", "minute", "second", "microsecond", "hex", "int", "urn", "fields", "name", "parent",
    "stem", "suffix", "parts", "nodename", "system", "release", "machine", "content", "text", "value", "template",
    "messages", "prompt", "body", "tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "sysname",
    "version", "path", "args", "kwargs", "stdout", "output", "T", "head", "commit", "hexsha", "active_branch", "sha",
    "url", "working_dir", "message", "system_message", "name_or_path", "node", "tzinfo", "str", "data",
))  # fmt: skip
