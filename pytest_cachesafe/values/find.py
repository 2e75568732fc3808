"""Find values in text, all of them or the one at a place."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

__all__ = ["Granularity", "Kind", "Value", "find_values", "value_at"]

Kind = Literal["timestamp", "time", "date", "uuid", "hash", "id", "path", "host", "address", "number", "unit"]
Granularity = Literal["second", "minute", "hour", "day", "month", "year"]

# No value but a path is longer than this; a path that long is judged by what the window shows of it.
_WINDOW = 320
_KNOWN_PREFIXES = re.compile(
    r"call|req|request|chatcmpl|cmpl|toolu|msg|resp|response|run|thread|asst|file|sess|session|conv|conversation|fc|rs"
    r"|ws|txn|ord|order|cus|pi|ch|evt|trace|span|tool|user|usr|org|proj|job|task|chat|srvtoolu|batch|msgbatch|step|id"
    r"|key|sk|pk|tok|token|invocation|agent|doc|chunk|gen"
)
# Prefixes that APIs put before random ids and nothing else.
_ID_ONLY = re.compile(r"call|chatcmpl|cmpl|toolu|srvtoolu|msgbatch|req|resp|asst")
_PATH_ROOT = re.compile(
    r"tmp|home|Users|var|usr|etc|opt|root|mnt|private|workspaces?|srv|proc|dev|Volumes|media|run|nix"
)
_COMPACT_DATE = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])T?\d*Z?")
# A word with the beginning of a stamp behind it ("Now2026-11-29T20"); a colon ends what may be an id.
_STAMP_END = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\dT[0-2]\d$")
_CLOCK_WORD = re.compile(
    r"(?:\b(?:ts|t|now|at|iat|exp|nbf)|time|epoch|created|updated|expires|date|stamp|since)\W{0,4}$", re.IGNORECASE
)
_NOT_EPOCH = re.compile(r"(?:isbn(?:-1[03])?|tel|phone|fax|call|[+$€£#])[\s:.]{0,3}(?:is )?$", re.IGNORECASE)
_VERSION_WORD = re.compile(r"(?:version|release|\bv|==|>=|<=|~=)[\s:]{0,2}$", re.IGNORECASE)
_YEAR_WORD = re.compile(r"\byear(?:\s+is)?[\s:=\"']{1,4}$", re.IGNORECASE)


class Value(NamedTuple):
    """A value that may change between two renderings of the same prompt.

    `start` and `end` are character offsets into the text that was searched. `granularity` says how often a time or
    date changes (a timestamp at midnight changes daily); None for other kinds.
    """

    kind: Kind
    start: int
    end: int
    text: str
    granularity: Granularity | None = None


def find_values(text: str, kinds: Collection[str] | None = None) -> list[Value]:
    """All values in `text`, left to right, none overlapping; time grows linearly with the text.

    `kinds` keeps only these kinds. A date inside a timestamp is part of the timestamp, so it is not found by asking
    for dates.
    """
    return [value for value in _scan(text, 0, len(text)) if kinds is None or value.kind in kinds]


def value_at(text: str, index: int) -> Value | None:
    """The value that covers the character at `index`, else one that ends or starts there; only a window is read."""
    low, high = max(0, index - _WINDOW), min(len(text), index + _WINDOW)
    # A window must not begin inside a word, or the rest of the word would be read as a value of its own.
    while 0 < low < index and not text[low - 1].isspace():
        low += 1
    if low == index > 0 and index - _WINDOW > 0 and not text[index - 1].isspace():
        return None
    touching = None
    for value in _scan(text, low, high):
        if value.start > index:
            break
        if value.start <= index < value.end:
            return value
        if value.end == index:
            touching = value
    return touching


def _scan(text: str, low: int, high: int) -> Iterator[Value]:
    # Compiling them takes longer than most checks, which find nothing that differs.
    from pytest_cachesafe.values.patterns import MASTER, PLAIN

    pattern, limit = MASTER, high
    position = low
    while position < high:
        match = pattern.search(text, position, high)
        if pattern is PLAIN and (match is None or match.start() >= limit):
            pattern, position = MASTER, limit
            continue
        if match is None:
            return
        group = str(match.lastgroup)
        value = _judge(text, group, match.start(), match.end())
        if value is None and pattern is MASTER and group.startswith(("id_", "hash_short")):
            # Not an id after all: whatever stands inside it is looked at without the id patterns.
            pattern, position, limit = PLAIN, match.start(), match.end()
            continue
        if value is not None:
            yield value
        position = match.end()
        if pattern is PLAIN and position >= limit:
            pattern = MASTER


def _judge(text: str, group: str, start: int, end: int) -> Value | None:
    kind = group.split("_", 1)[0]
    word = text[start:end]
    if kind == "skip":
        return None
    if kind in ("timestamp", "date", "time"):
        return _clock_value(text, group, start, end)
    if kind == "number":
        return _number_value(text, start, end)
    if group.startswith("hash_short") and not _is_short_hash(word):
        return None
    if group == "id_prefixed" and not _is_prefixed_id(word):
        return None
    if group.startswith("id_token") and (_STAMP_END.search(word) or not _is_random(word, 16)):
        return None
    if group == "host_ipv4" and not _is_ipv4(text, start, word):
        return None
    if group.startswith("host_ipv6") and not _is_ipv6(word):
        return None
    if group == "path_unix":
        stripped = word.rstrip(".%+~-")
        parts = stripped.strip("/~").split("/")
        if not parts[0] or (len(parts) == 1 and not _PATH_ROOT.fullmatch(parts[0]) and not stripped.startswith("~")):
            return None
        return Value("path", start, start + len(stripped), stripped)
    return Value(kind, start, end, word)  # type: ignore[arg-type]


def _clock_value(text: str, group: str, start: int, end: int) -> Value | None:
    from pytest_cachesafe.values.patterns import MODEL_NAME, TIME_OF_DAY

    word = text[start:end]
    if group.startswith("date") and MODEL_NAME.search(text, max(0, start - 48), start):
        return None
    if group == "date_iso" and "." in word and text[max(0, start - 1) : start] in ("=", "<", ">", "~", "^"):
        # A calendar version in a requirement.
        return None
    if group.startswith("date"):
        month_only = group in ("date_month", "date_month_year") or (group == "date_week" and word[-3:-2] == "W")
        return Value("date", start, end, word, "month" if month_only else "day")
    digits = TIME_OF_DAY.search(word)
    if digits is None:
        # A compact stamp (20261129204035…) or an hour ("3 PM").
        if group == "time_hour":
            return Value("time", start, end, word, "hour")
        midnight = word[8:14] == "000000"
        return Value("timestamp", start, end, word, "day" if midnight else "second")
    clock = re.sub(r"\D", "", digits[1] or digits[2])
    if group.startswith("timestamp") and not clock.strip("0"):
        return Value("timestamp", start, end, word, "day")
    kind: Literal["timestamp", "time"] = "timestamp" if group.startswith("timestamp") else "time"
    return Value(kind, start, end, word, "second" if len(clock) >= 5 else "minute")


def _number_value(text: str, start: int, end: int) -> Value:
    word = text[start:end]
    before = text[max(0, start - 16) : start]
    whole, _, fraction = word.partition(".")
    if len(word) == 4 and word[:2] in ("19", "20") and _YEAR_WORD.search(before):
        return Value("date", start, end, word, "year")
    if (
        whole.isdigit()
        and (not fraction or (len(whole) == 10 and fraction.isdigit()))
        and len(whole) in (10, 13, 16, 19)
    ):
        seconds = int(whole[:10]) if len(whole) > 10 else int(whole)
        # Named as a time: any second from 2001-09-09 to 2099. Else only 2015 to 2039: most long numbers are counts, and
        # round figures and the largest 32-bit number always are.
        named = bool(fraction) or _CLOCK_WORD.search(before) is not None
        low, high = (10**9, 4_102_444_800) if named else (1_420_070_400, 2_208_988_800)
        plausible = low < seconds < high and not whole.endswith("00000") and seconds not in (2**31 - 1, 2**31)
        if plausible and not _NOT_EPOCH.search(before):
            return Value("timestamp", start, end, word, "second")
    return Value("number", start, end, word)


def _is_short_hash(word: str) -> bool:
    digits = sum(c.isdigit() for c in word)
    if digits in (0, len(word)) or re.fullmatch(r"\d+e\d+", word):
        return False
    # "decade1", "facade22": a word with a number behind it.
    return not re.fullmatch(r"[a-f]{4,}\d{1,3}", word)


def _is_prefixed_id(word: str) -> bool:
    head, _, tail = re.sub(r"[-_](?=[^-_]*$)", "\0", word, count=1).partition("\0")
    if _COMPACT_DATE.fullmatch(tail):
        # run_20261129: a date with a word in front.
        return False
    first = re.split(r"[-_]", head)[0]
    if _KNOWN_PREFIXES.fullmatch(first):
        if tail.isdigit():
            return len(tail) >= 6
        mixed = any(c.isdigit() for c in tail) and any(c.isalpha() for c in tail)
        if _ID_ONLY.fullmatch(first) and not re.fullmatch(r"[A-Z]?[a-z]+|[A-Z]+", tail):
            return True
        # "file_chunk12" is a name with a number.
        return mixed and not re.fullmatch(r"[A-Za-z]+\d{1,4}", tail)
    return len(tail) >= 8 and _is_random(tail, 8)


def _is_random(word: str, least: int) -> bool:
    """Whether a token looks drawn at random: many changes between letter cases and digits, few repeats."""
    if len(word) < least:
        return False
    runs = re.findall(r"\d+|[a-z]+|[A-Z]+", word)
    digits = [r for r in runs if r[0].isdigit()]
    if not digits or len(digits) == len(runs):
        return False
    # "getItemById2": one number behind a name.
    if len(digits) == 1 and word.endswith(digits[0]):
        return False
    # Names are made of words ("Wav2VecModel", "mini_v1"): long pieces, or few changes of class but at their joints.
    pieces = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", word)
    mean, longest = sum(map(len, pieces)) / len(pieces), max(map(len, pieces))
    if word.isalnum() and (word.islower() or word.isupper()):
        # Hexadecimal, base 32 and base 36: two classes only, so that runs are longer.
        if longest > 12 or mean > 4.5 or len(digits) < (3 if len(word) >= 12 else 2):
            return False
    else:
        changes = len(re.findall(r"[a-z](?=[A-Z\d])|[A-Z](?=\d)|\d(?=[A-Za-z])|[A-Z](?=[a-z])", word))
        if longest > 7 or mean > 2.6 or changes < max(3, len(word) / 4):
            return False
    counts = [word.count(c) for c in set(word)]
    entropy = -sum(n / len(word) * math.log2(n / len(word)) for n in counts)
    return entropy >= min(2.6, math.log2(len(word)) - 0.8)


def _is_ipv4(text: str, start: int, word: str) -> bool:
    parts = word.split(":")[0].split(".")
    octets = all(int(p) <= 255 and (p == "0" or not p.startswith("0")) for p in parts)
    return octets and not _VERSION_WORD.search(text, max(0, start - 12), start)


def _is_ipv6(word: str) -> bool:
    import ipaddress

    try:
        ipaddress.IPv6Address(word)
    except ValueError:
        return False
    # "1::2" is a slice and "a::b" a C++ or Rust name; a real address has a long group with a digit somewhere.
    groups = word.split(":")
    return any(c.isdigit() for c in word) and any(len(g) >= 3 for g in groups)
