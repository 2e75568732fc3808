"""Tests of which it is plain, byte by byte, that their conversations only grow: nothing in them needs to be laid out.

Most tests of most suites are like that, and a proof is far cheaper than a full judgement. It is given for tests in
which every request either opens with words that no other request of the test opens with, or repeats the newest request
of a conversation, or goes on from it: to the byte the same settings, tools, system text and messages, then an answer,
then more of the user's or of tools. Messages are those that `_talk` knows, none with a marker. Then nothing but what
stands around the messages, the frame, decides whether there is something to tell; a frame is judged once, by the full
check of a few made-up requests in it. Whatever else a test has sent is judged in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.providers.capture.bodies import BodyReader
from pytest_cachesafe.providers.capture.redact import COUNTING
from pytest_cachesafe.providers.observe.sent import Sent, exchange_of
from pytest_cachesafe.providers.observe.talk import CHAT, MESSAGES, Talk
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.providers.checks.result import CacheReport
    from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["Growing", "Grown"]

_LIST = re.compile(r'"messages"\s*:\s*\[')
_BLANKS = " \t\n\r"
_TALKS: Mapping[str, Talk] = {"messages": MESSAGES, "chat": CHAT}
# Fields by which more than the blocks of a request moves from one to the next, or the provider adds to it.
_MOVING = ("cache_control", "previous_response_id", "conversation")
# Conversations of one test that are looked at for one that a request goes on from, and frames that are remembered.
_RECENT = 16
_FRAMES = 512
# Reads one value at a place and says where it ends.
_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


@dataclass(slots=True)
class Grown:
    """What is to be said of a test in which nothing is wrong."""

    requests: int
    conversations: int
    continuing: int
    providers: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What stands around the messages of a request, with where it is sent; nothing is wrong with it."""

    provider: str
    talk: Talk
    # Whether anything in it is marked, and whether conversations share a key that routes them.
    marked: bool
    keyed: bool


@dataclass(slots=True)
class _Conversation:
    """The newest request of one."""

    sent_to: tuple[Any, ...]
    frame: _Frame
    # The body; up to and with its last message, and the rest.
    text: str
    front: str
    rest: str
    requests: int = 1


class Growing:
    """Proves it for one test after the other, under one set of rules.

    Args:
        check: the full check.
    """

    def __init__(self, check: Callable[[Sequence[Exchange]], CacheReport]) -> None:
        self._check = check
        # By digest; None: something is wrong with it, or may be.
        self._frames: dict[bytes, _Frame | None] = {}
        # A frame that is met in one test only is not worth the requests that would have to be made up.
        self._met: set[bytes] = set()

    def proved(self, all_sent: Sequence[Sent]) -> Grown | None:
        """What the full check would find of a test; None where that is not plain."""
        begun: list[_Conversation] = []
        openings: set[Any] = set()
        continuing = 0
        providers: dict[str, int] = {}
        try:
            for sent in all_sent:
                sent_to, text = _sent_to(sent), sent.body.decode("utf-8")
                known = next((c for c in reversed(begun[-_RECENT:]) if _goes_on(c, sent_to, text)), None)
                if known is None:
                    known = self._opening(sent, sent_to, text, openings, first=not begun)
                    if known is None:
                        return None
                    begun.append(known)
                else:
                    continuing += 1
                    known.requests += 1
                provider = known.frame.provider
                providers[provider] = providers.get(provider, 0) + 1
        except (ValueError, IndexError, RecursionError):
            # No UTF-8, no JSON, or not where it is looked for.
            return None
        if not _apart(begun):
            return None
        return Grown(len(all_sent), len(begun), continuing, providers)

    def _opening(
        self, sent: Sent, sent_to: tuple[Any, ...], text: str, openings: set[Any], *, first: bool
    ) -> _Conversation | None:
        """The request as the first of a conversation that nothing else in the test has to do with."""
        found = _LIST.search(text)
        if found is None:
            return None
        begin = found.end()
        messages, end = _elements(text, begin)
        frame = self._frame(sent, sent_to, text[:begin], text[end:])
        if frame is None:
            return None
        opening = frame.talk.opening(messages, fresh=not first)
        if opening is None or opening in openings:
            return None
        openings.add(opening)
        return _Conversation(sent_to, frame, text, text[:end], text[end:])

    def _frame(self, sent: Sent, sent_to: tuple[Any, ...], front: str, rest: str) -> _Frame | None:
        # Keys of accounts are not kept.
        named = repr((sent_to, front, rest)).encode("utf-8", "surrogatepass")
        digest = blake2b(named, digest_size=16).digest()
        if digest in self._frames:
            return self._frames[digest]
        if digest not in self._met:
            if len(self._met) < _FRAMES:
                self._met.add(digest)
            return None
        self._frames[digest] = self._judged(sent, front, rest)
        return self._frames[digest]

    def _judged(self, sent: Sent, front: str, rest: str) -> _Frame | None:
        """The frame, if two short conversations in it are as they should be."""
        asked = [{"role": "user", "content": words} for words in ("one", "two", "three", "four")]
        said = {"role": "assistant", "content": "ok"}
        lists = [asked[:1], [asked[0], said, asked[1]], asked[2:3], [asked[2], said, asked[3]]]
        unread: dict[str, int] = {}
        reader = BodyReader()
        exchanges: list[Exchange] = []
        for messages in lists:
            body = f"{front}{json.dumps(messages)[1:-1]}{rest}".encode("utf-8", "surrogatepass")
            exchange = exchange_of(replace(sent, body=body, status=200, reply=None), reader, unread)
            # A list of this name may stand deeper in a body, or twice.
            if exchange is None or exchange.body.get("messages") != messages:
                return None
            exchanges.append(exchange)
        shown, talk = exchanges[0].body, _TALKS.get(exchanges[0].api)
        if talk is None or any(shown.get(name) for name in _MOVING):
            return None
        try:
            report = self._check(exchanges)
        except UsageError:
            return None
        if not report.passed or [request.against for request in report.requests] != [None, 0, None, 2]:
            return None
        from pytest_cachesafe.providers.checks.markers import count_anywhere

        marked, keyed = bool(count_anywhere(shown)), shown.get("prompt_cache_key") is not None
        return _Frame(exchanges[0].provider, talk, marked, keyed)


def _goes_on(known: _Conversation, sent_to: tuple[Any, ...], text: str) -> bool:
    """Whether a request repeats the newest of a conversation, or goes on from it; then it is the newest."""
    if not text.startswith(known.front) or sent_to != known.sent_to:
        return False
    if text == known.text:
        return True
    at = _skip(text, len(known.front))
    if text[at] != ",":
        return False
    messages, end = _elements(text, at + 1)
    if text[end:] != known.rest or not known.frame.talk.goes_on(messages):
        return False
    known.text, known.front = text, text[:end]
    return True


def _apart(begun: Sequence[_Conversation]) -> bool:
    """Whether no conversation has to do with the marker or the key of another."""
    if len(begun) > 1 and any(c.frame.keyed for c in begun):
        return False
    return len({id(c.frame) for c in begun if c.requests == 1 and c.frame.marked}) < 2


def _elements(text: str, at: int) -> tuple[list[Any], int]:
    """The values of a list from one of them on, at least one, and where the last one ends.

    Raises:
        ValueError, IndexError: it is no list.
    """
    values = []
    while True:
        try:
            value, end = _scan(text, _skip(text, at))
        except StopIteration:
            # By this the library says that there is no value.
            raise ValueError("no list") from None
        values.append(value)
        at = _skip(text, end)
        if text[at] == "]":
            return values, end
        if text[at] != ",":
            raise ValueError("no list")
        at += 1


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANKS:
        at += 1
    return at


def _sent_to(sent: Sent) -> tuple[Any, ...]:
    """Where a request goes, and everything that is read of its headers."""
    headers = sent.headers
    return sent.method, sent.url, [headers[i] for i in _counting(tuple(headers[::2]))]


@lru_cache(maxsize=64)
def _counting(names: tuple[str | bytes, ...]) -> tuple[int, ...]:
    """Places of the headers that count, in a list of names and values."""
    texts = [name if isinstance(name, str) else str(name, "utf-8", "replace") for name in names]
    return tuple(at for i, name in enumerate(texts) if name.lower() in COUNTING for at in (2 * i, 2 * i + 1))
