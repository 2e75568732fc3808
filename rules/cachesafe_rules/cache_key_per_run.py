"""CSF404 cache-key-per-run."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.changing import takes_turn
from cachesafe_rules.expressions import is_history, last_part, spelt, walk, words_of_name
from cachesafe_rules.model import Call, Expr, Source, Span
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import Shape, shape_of
from cachesafe_rules.volatile import certain_parts, volatile_in

__all__ = ["CacheKeyPerRun"]

_KEYS = ("prompt_cache_key", "promptCacheKey", "x-grok-conv-id")
_HASH = lazy_pattern(r"hashlib|sha\d|md5|blake2|xxh|(?:^|[._])hash$|digest")
_FRESH = frozenset(
    {"uuid1", "uuid4", "uuid6", "uuid7", "token_hex", "token_urlsafe", "urandom", "time", "time_ns", "now", "utcnow",
     "random", "randint", "getrandbits", "monotonic", "perf_counter", "ulid", "nanoid", "ksuid"}
)  # fmt: skip
_PER_RUN = (
    {"request", "id"}, {"run"}, {"trace", "id"}, {"message", "id"}, {"turn", "id"}, {"call", "id"},
    {"span", "id"}, {"timestamp"}, {"ts"}, {"now"}, {"nonce"}, {"invocation", "id"}, {"response", "id"}, {"attempt"},
)  # fmt: skip
_HELP = "use one key for all requests that share a prefix: the name and version of the prompt, or the chat's id"


class CacheKeyPerRun(Rule):
    """Each request has a cache key of its own.

    What is wrong
    -------------
    `prompt_cache_key` is a fresh id, a time, or the id of a single request or run.

    Why
    ---
    The key decides which requests may share a cache: OpenAI routes by it up to GPT-5.5 and keeps entries apart by it
    from GPT-5.6 on ("Prompt caching", OpenAI docs, copy of 2026-09-20); xAI and Mistral route by it. With a new key
    for each request, an entry is written every time and never found again.

    What to do
    ----------
    Take what the requests of one prefix have in common: the prompt's name and version for a shared system prompt, or
    the id of the chat.
    """

    code = "CSF404"
    name = "cache-key-per-run"
    severity = "warning"
    needles = (b"prompt_cache_key", b"promptCacheKey", b"x-grok-conv-id")
    INVALID = (
        Example(
            "import uuid\n\n"
            "def ask(client, messages):\n"
            "    return client.responses.create(model='m', input=messages, prompt_cache_key=str(uuid.uuid4()))\n",
            (4,),
        ),
        Example(
            "import time\n\n"
            "def body(messages):\n"
            "    key = f'agent-{time.time()}'\n"
            "    return {'model': 'm', 'messages': messages, 'prompt_cache_key': key}\n",
            (4, 5),
        ),
        Example(
            "def ask(client, messages, request_id):\n"
            "    return client.chat.completions.create(model='m', messages=messages, prompt_cache_key=request_id)\n",
            (2,),
        ),
        Example(
            "from uuid import uuid4\n\n"
            "def ask(client, messages):\n"
            "    kwargs = {'model': 'grok', 'messages': messages}\n"
            "    kwargs['extra_headers'] = {'x-grok-conv-id': uuid4().hex}\n"
            "    return client.chat.completions.create(**kwargs)\n",
            (5,),
        ),
    )
    VALID = (
        Example(
            "def ask(client, messages):\n"
            "    return client.responses.create(model='m', input=messages, prompt_cache_key='support-agent-v3')\n"
        ),
        Example(
            "import uuid\n\n"
            "class Chat:\n"
            "    def __init__(self, client):\n"
            "        self.client, self.key = client, None\n"
            "        self.session_id = str(uuid.uuid4())\n\n"
            "    def ask(self, messages):\n"
            "        return self.client.responses.create(model='m', input=messages, prompt_cache_key=self.session_id)\n"
        ),
        Example(
            "from uuid import uuid4\n\n"
            "def ask(client, messages, thread_id=None):\n"
            "    key = thread_id or uuid4().hex\n"
            "    return client.responses.create(model='m', input=messages, prompt_cache_key=key)\n"
        ),
        Example(
            "import hashlib\n\n"
            "def ask(client, messages, system):\n"
            "    key = hashlib.sha256(system.encode()).hexdigest()\n"
            "    return client.responses.create(model='m', input=messages, prompt_cache_key=key)\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for value, function in _values(shape):
            if (why := _fresh(shape, function, value)) and value.span not in seen:
                seen.add(value.span)
                yield Report(
                    f"the cache key is {why}, another one for each request: what one request writes no other finds",
                    value.span,
                    help=_HELP,
                )


def _values(shape: Shape) -> Iterator[tuple[Expr, str]]:
    for call in shape.view.calls:
        for key in _KEYS:
            if key in call.keywords:
                yield call.keywords[key], call.function
    for display in shape.view.dicts:
        for key in _KEYS:
            if key in display.expr.entries:
                yield display.expr.entries[key], display.function
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if target is not None and value is not None and target.kind == "subscript" and target.items[1].value in _KEYS:
            yield value, binding.function


def _fallbacks(shape: Shape, value: Expr) -> frozenset[Source]:
    """The sources of a value that lie in a function of which another return gives something that lasts."""
    found = set()
    for source in {taint.source for part in walk(value) for taint in part.taints}:
        for name, known in shape.view.functions.items():
            span = known.span
            if source.span.filename == span.filename and span.row <= source.span.row <= span.end_row:
                given = [item.value for item in shape.returns(name) if item.value is not None]
                if not all(volatile_in(shape, name, item) for item in given):
                    found.add(source)
    return frozenset(found)


def _fresh(shape: Shape, function: str, value: Expr) -> str | None:
    if not function:
        # Once per process.
        return None
    own = value
    for _ in range(4):
        if own.kind != "name":
            break
        bound = [item for item in shape.bindings(function, own) if item.function == function and item.value is not None]
        if len(bound) != 1 or bound[0].value is None:
            break
        own = bound[0].value
    if own.call is not None and last_part(own.call.name) == "cast" and len(own.call.args) == 2:
        own = own.call.args[1]
    # What is put into a field is judged where it is put, what a function gives where it returns.
    inside = own.kind in ("attribute", "subscript") or (
        own.call is not None and (last_part(own.call.name) == "get" or bool(shape.local_function(own.call, function)))
    )
    if found := None if inside else volatile_in(shape, function, own, stored=_fallbacks(shape, own)):
        return found.rstrip(",")
    for part in () if own.call is not None and last_part(own.call.name) == "get" else certain_parts(own):
        if part.call is not None and last_part(part.call.name) in _FRESH:
            return f"{part.call.name}()"
        local = shape.local_function(part.call, function) if part.call is not None else ""
        given = [item.value for item in shape.returns(local) if item.value is not None] if local else []
        drawn = [volatile_in(shape, local, item) for item in given]
        # Another return gives the chat's own key: a new one is drawn only where there is none.
        if drawn and drawn[0] and all(drawn):
            return drawn[0].rstrip(",")
    if found := _of_messages(shape, function, own):
        return found
    for part in walk(own):
        if part.kind in ("name", "attribute"):
            name_words = words_of_name(part)
            if any(wanted <= name_words for wanted in _PER_RUN) and "session" not in name_words:
                return str(part.name)
    return None


def _of_messages(shape: Shape, function: str, value: Expr) -> str | None:
    """`sha256(str(messages))`, `key_of(messages)`: worked out from all that is said, the newest question included."""
    for part in walk(value):
        if part.call is None:
            continue
        for given in (*part.call.args, *part.call.keywords.values()):
            whole = shape.resolve(function, given)
            if part.call.name == "len" and is_history(given):
                return f"worked out from len({spelt(given)})"
            newest = whole.kind == "list" and any(takes_turn(shape, function, item) for item in whole.items)
            if newest or (
                given.kind in ("name", "attribute") and is_history(given) and _is_hash(shape, function, part.call)
            ):
                return f"worked out from {spelt(given)}"
    return None


def _is_hash(shape: Shape, function: str, call: Call) -> bool:
    """Whether a call gives a digest of all that it is given."""
    local = shape.local_function(call, function)
    inside = [c for c in shape.view.calls if c.function == local] if local else [call]
    return any(_HASH.search(c.target) or _HASH.search(c.name) for c in inside)
