"""How bad a volatile source is in a cached prefix, and the words for it: the one policy of the linter.

A clock that changes within minutes is an error, one that changes every hour a warning, a date a note with its price.
What is evaluated at import is a warning of its own, whatever its granularity. Random values and addresses are errors.
What differs between users, sessions, builds or steps is a warning; between machines, a note, since one machine keeps
its prefix. The recogniser of values in finished prompts judges by the same steps.
"""

from __future__ import annotations

from cachesafe_rules.model import Source
from cachesafe_rules.patterns import lazy_pattern

__all__ = [
    "EACH_REQUEST",
    "FETCHED",
    "GRANULARITIES",
    "KINDS",
    "OF_THE_CALL",
    "SEVERITIES",
    "TOOL_WRITES",
    "WRITTEN_OUT",
    "how_often",
    "is_date",
    "is_frozen",
    "rank",
    "remedy",
    "sentence",
    "severity",
    "spelling",
    "worded",
]

SEVERITIES = ("error", "warning", "note")
# A step of a set's way: its elements are another request's no more than this one's.
OF_THE_CALL = "its elements come with the call"
# A step of a counter's way: the method that counts asks a model.
EACH_REQUEST = "is counted with each request"
# Of a session's state: a function that the model calls writes it.
TOOL_WRITES = "which a tool writes"
# How an answer of the network is told of.
FETCHED = "the answer of"
# Steps by which a whole sequence becomes text.
# Looked up for a question, and not remembered.
_RETRIEVED = lazy_pattern(r"retriev|similarity|vector|relevant_documents")
WRITTEN_OUT = lazy_pattern(r"(?:joined|formatted|put) into |fills \{|added to ")
KINDS = (
    "clock", "random", "temp", "user", "session", "memory", "file", "host", "cwd", "env", "locale", "build", "repr",
    "state", "set", "listing", "flag", "mutable",
)  # fmt: skip
GRANULARITIES = (
    "call", "microsecond", "second", "minute", "hour", "day", "week", "month", "year", "session", "user", "process",
    "release", "host",
)  # fmt: skip

_MINUTES = frozenset({"call", "microsecond", "second", "minute"})
_DATES = frozenset({"day", "week", "month", "year"})
_NOTES = frozenset({"host", "cwd", "env", "locale", "file"})

_OFTEN = {
    "call": "with every call",
    "microsecond": "with every call",
    "second": "every second",
    "minute": "every minute",
    "hour": "every hour",
    "day": "once a day",
    "week": "once a week",
    "month": "once a month",
    "year": "once a year",
    "session": "with every session",
    "user": "from user to user",
    "process": "with every process",
    "release": "with every release",
    "host": "from machine to machine",
}
_BETWEEN = {
    "user": ("users", "users"),
    "session": ("sessions", "sessions"),
    "host": ("machines", "machines"),
    "cwd": ("working directories", "projects"),
    "env": ("environments", "environments"),
    "locale": ("locales", "users of other languages"),
}
# Spellings of these kinds are calls, unless they are among the attributes.
_CALLED = frozenset({"clock", "random", "temp", "host", "cwd", "locale", "listing"})
_ATTRIBUTES = frozenset({"platform", "name", "environ", "version", "version_info", "argv", "executable", "path"})
_CALLABLES = frozenset(
    {"getenv", "getuser", "getlogin", "gethostname", "repr", "id", "open", "read_text", "check_output", "run", "set"}
)

_CLOCK_HINTS = (
    "put it into the newest user message; or pin it once per session, or cut it to the day (price: one rewrite a day); "
    "or offer a tool that returns the time"
)
_FROZEN_HINTS = (
    "read the clock when the request is built, and then: put it into the newest user message; or pin it once per "
    "session, or cut it to the day (price: one rewrite a day); or offer a tool that returns the time"
)
_DATE_HINTS = (
    "fine where one rewrite {often} is affordable; else put it into the newest user message, pin it once per session, "
    "or offer a tool that returns the time"
)
_REMEDIES = {
    "random": "leave it out, keep it in metadata or headers, or name it in the newest user message",
    "temp": "name a fixed directory, or give the path in the newest user message or in a tool result",
    "user": "keep the shared text first and byte-equal for everyone; put what differs into the newest user message, or "
    "into a block of its own behind the last cache marker",
    "session": "keep the shared text first and byte-equal for everyone; put what differs into the newest user message, "
    "or into a block of its own behind the last cache marker",
    "memory": "recall into the newest user message, or into a block behind the stable text and its cache marker; "
    "or freeze the recalled text for the session",
    "file": "read it once per session, so that an edit in between does not rewrite the prefix",
    "host": "fine on one machine; leave it out where machines share a cache, or put it behind the shared text",
    "cwd": "fine in one project; where projects share a cache, put it behind the shared text or into the first user "
    "message",
    "env": "fine in one environment; where several share a cache, read it once into a setting or put it behind the "
    "shared text",
    "locale": "fine in one locale; put it behind the shared text, or into the first user message",
    "build": "leave it out, or send it as request metadata; git state belongs into the newest user message or a tool",
    "repr": "write out the fields that the model needs, or give the class a __str__ without an address",
    "state": "put it into the newest user message or a tool result: the system text should be the same at every step",
    "mutable": "put it into the newest user message or a tool result: the system text should be the same at every step",
    "set": "sort it: sorted(...) where it becomes text or a list",
    "listing": "sort it: sorted(...) around the listing",
}


def rank(name: str) -> int:
    """0 for an error, 1 for a warning, 2 for a note."""
    return SEVERITIES.index(name)


def is_frozen(source: Source) -> bool:
    """Whether the clock is read once per process."""
    return source.frozen or source.granularity == "process"


def is_date(source: Source) -> bool:
    """Whether the clock changes once a day or less often."""
    return source.granularity in _DATES


def severity(source: Source) -> str:
    """How bad it is that this value reaches a cached prefix: error, warning or note."""
    kind, often = source.kind, source.granularity
    if kind == "clock" and is_frozen(source):
        return "warning"
    if kind in ("clock", "flag"):
        return _timed(kind, often)
    if kind == "repr":
        return "warning" if source.frozen else "error"
    if kind in ("random", "temp"):
        # One value per process or session still serves the requests of that process or session.
        return "warning" if source.frozen or often in ("session", "process", "host", "user") else "error"
    return "note" if kind in _NOTES else "warning"


def _timed(kind: str, often: str) -> str:
    if often in _MINUTES:
        return "error"
    if often in _DATES or often == "host":
        return "note"
    # A clock pinned per session is what we advise: it costs the sharing between sessions alone.
    return "note" if kind == "clock" and often == "session" else "warning"


def how_often(source: Source) -> str:
    """`every second`, `once a day`: how often the value changes, in words."""
    return _OFTEN.get(source.granularity, "from time to time")


def spelling(source: Source) -> str:
    """The source as the user wrote it, with brackets where it is a call: `datetime.now()`, `sys.platform`."""
    api = source.api
    last = api.rpartition(".")[2]
    if not last.isidentifier():
        return api
    called = last in _CALLABLES or (source.kind in _CALLED and "." in api and last not in _ATTRIBUTES)
    return f"{api}()" if called else api


def worded(sink: str) -> str:
    """A sink as it stands in a sentence: `the system message`, but `SYSTEM_PROMPT`."""
    return sink if sink.isidentifier() or sink.startswith(("the ", "a ", "an ")) else f"the {sink}"


def sentence(source: Source, sink: str) -> str:
    """One sentence: the source, how often it changes, where it arrives, what that costs."""
    what, where, kind = spelling(source), worded(sink), source.kind
    if kind == "clock":
        return _clock(source, what, where)
    if kind == "flag":
        return f"{what} adds a value that changes {how_often(source)} to {where}: {_price(source)}"
    if kind in ("random", "temp"):
        if severity(source) == "warning":
            often = "with every process" if source.frozen else how_often(source)
            return f"{what} differs {often} and reaches {where}: no two share what is behind it"
        return f"{what} is another value at every call and reaches {where}: nothing behind it is reused"
    if kind in _BETWEEN:
        differs, share = _BETWEEN[kind]
        return f"{what} differs between {differs} and reaches {where}: {share} do not share what is behind it"
    if kind == "memory":
        when = "with each question" if _RETRIEVED.search(source.api) else "whenever something is remembered"
        return f"{what} changes {when} and reaches {where}: nothing behind it is reused then"
    if kind == "file":
        return f"{what} is read anew for every request and reaches {where}: each edit rewrites everything behind it"
    if kind == "build":
        return f"{what} changes with every commit or build and reaches {where}: nothing behind it is reused then"
    if kind == "repr":
        return f"{what} shows a memory address and reaches {where}: it is another one in each process, often each call"
    if kind == "set":
        return f"the order of {what} changes with every process and reaches {where}: processes share no prefix"
    if kind == "listing":
        return f"{what} has no fixed order and reaches {where}: machines and runs share no prefix"
    return f"{what} changes while the program runs and reaches {where}: nothing behind it is reused"


def _clock(source: Source, what: str, where: str) -> str:
    if is_frozen(source):
        dated = " on another day" if is_date(source) else ""
        return (
            f"{what} is read once, at import, and reaches {where}: stale in a long-lived process, and another prefix "
            f"after each restart{dated} and in each worker{' started then' if dated else ''}"
        )
    return f"{what} changes {how_often(source)} and reaches {where}: {_price(source)}"


def _price(source: Source) -> str:
    often = source.granularity
    if often in ("hour", *_DATES):
        return f"the prefix is written anew {how_often(source)}"
    if often in ("session", "user", "host", "process"):
        plural = {"session": "sessions", "user": "users", "host": "machines", "process": "processes"}[often]
        return f"{plural} do not share what is behind it"
    return "nothing behind it is reused"


def remedy(source: Source) -> str:
    """What to do about it; a clock always gets the same three ways out."""
    if source.kind == "flag":
        timed = source.granularity in _MINUTES or source.granularity == "hour" or is_date(source)
        return f"switch {source.api} off, and {_CLOCK_HINTS if timed else _REMEDIES['session']}"
    if source.kind != "clock":
        return _REMEDIES.get(source.kind, _REMEDIES["state"])
    if is_frozen(source):
        return _FROZEN_HINTS
    if source.granularity in _DATES:
        return _DATE_HINTS.format(often=how_often(source))
    return _CLOCK_HINTS
