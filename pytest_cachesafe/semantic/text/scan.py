"""Cuts a prompt into words, numbers, codes and marks, each with its place. Case is folded here, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple, overload

__all__ = ["Token", "Tokens", "fold", "scan", "words_of"]


class Token(NamedTuple):
    """A piece of a prompt."""

    # Lower case.
    word: str
    # "w" word, "n" number, "o" ordinal in digits, "v" version, "c" code, "d" date, "t" clock time, "p" mark, "+" sign.
    kind: str
    # Characters of the prompt as given.
    start: int
    end: int
    # Part of a name of code: user_id is two words.
    joined: bool = False


class Tokens(Sequence[Token]):
    """The pieces of a prompt by column: what most rules ask is asked of all words at once."""

    __slots__ = ("ends", "joined", "kinds", "starts", "words")

    def __init__(
        self, words: list[str], kinds: list[str], starts: list[int], ends: list[int], joined: list[bool]
    ) -> None:
        self.words, self.kinds, self.starts, self.ends, self.joined = words, kinds, starts, ends, joined

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> Tokens:
        """From single pieces."""
        return cls(*map(list, zip(*tokens, strict=True))) if tokens else cls([], [], [], [], [])

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[Token]:
        return map(Token, self.words, self.kinds, self.starts, self.ends, self.joined)

    def spliced(self, edits: Sequence[tuple[int, int, Sequence[str]]]) -> Tokens:
        """With words in place of pieces: where, of how many, and the words; in their order, none within another."""
        words: list[str] = []
        kinds: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        joined: list[bool] = []
        done = 0
        for at, size, stands in (*edits, (len(self.words), 0, ())):
            words += self.words[done:at]
            kinds += self.kinds[done:at]
            starts += self.starts[done:at]
            ends += self.ends[done:at]
            joined += self.joined[done:at]
            done = at + size
            for word in stands:
                words.append(word)
                kinds.append("w")
                starts.append(self.starts[at])
                ends.append(self.ends[done - 1])
                joined.append(False)
        return Tokens(words, kinds, starts, ends, joined)

    @overload
    def __getitem__(self, at: int) -> Token: ...
    @overload
    def __getitem__(self, at: slice) -> list[Token]: ...
    def __getitem__(self, at: int | slice) -> Token | list[Token]:
        if isinstance(at, int):
            return Token(self.words[at], self.kinds[at], self.starts[at], self.ends[at], self.joined[at])
        columns = (self.words[at], self.kinds[at], self.starts[at], self.ends[at], self.joined[at])
        return list(map(Token, *columns))


_QUOTES = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "．": ".", "？": "?", "！": "!", "，": ",", "。": "."}
)

# Most prompts hold nothing but words and marks: these are cut at once, and read as `_TOKEN` would read them.
_PLAIN = re.compile(r"[a-z_ '.?!,;:\n()\"%$/\[\]{}~@^*\\\t\r-]*")
_PARTS = re.compile(r"([a-z]+(?:'[a-z]+)*|[.?!,;:\n()\"%$]|/(?=[a-z]))")
# The same beyond ASCII, where it is shorter to say what is not plain.
_SPECIAL = re.compile(r"[\d+&#=<>|\u3040-\u30ff\u3400-\u9fff]")
_PARTS_BEYOND = re.compile(r"([^\W\d_]+(?:'[^\W\d_]+)*|[.?!,;:\n()\"%°£$€¥₹]|/(?=[^\W\d_]))")
_KINDS = dict.fromkeys('.?!,;:\n()"%°£$€¥₹/', "p")

# The first alternative is what most words are; every other one needs a digit or a sign in or behind them.
_TOKEN = re.compile(
    r"""
    (?P<f>[a-z]+(?=[ ,?!\n]|\Z)(?![ ]+/))
  | (?P<d>(?<![\w.])\d{4}-\d{1,2}-\d{1,2}(?!\d)|(?<![\w.])\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})(?![\d.]))
  | (?P<t>(?<![\w.:])\d{1,2}(?:[:.]\d{2}(?::\d{2})?)?\ ?(?:a\.m\.?|p\.m\.?|am|pm)(?!\w)|(?<![\w.:])\d{1,2}:\d{2}(?!\d))
  | (?P<v>(?<![\w.])v?\d+(?:\.\d+){2,}(?!\w)|(?<![\w.])v\d+(?:\.\d+)*(?!\w))
  | (?P<o>(?<![\w.])\d+(?:st|nd|rd|th)(?!\w))
  | (?P<c>(?<![\w])(?:[a-z]+[-_/]?\d{3,}|[a-z]+\d+[a-z]|[a-z]*\d+[a-z]+\d)[\w-]*|(?<!\w)[a-z]{1,3}\d{1,2}(?!\w))
  | (?P<n>(?:(?<![\w.)%])[-−])?\d+(?:,\d{3}(?!\d))*(?:\.\d+)?)
  | (?P<l>(?<!\w)(?:c\+\+|[cf]\#)(?![\w+#]))
  | (?P<r>(?<![\w/])(?:get|post|put|patch|delete|head|options)[ ]+/[a-z{:][\w/{}:.-]*(?<![.:-]))
  | (?P<x>===?|!==?|(?<![=<-])>=|<=(?![=>])|&&|\|\||(?<=\w)\+\+|\+\+(?=\w)|(?<=(?<!\w)\w)--(?![\w-]))
  | (?P<w>[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+(?:'[^\W\d_\u3040-\u30ff\u3400-\u9fff]+)*)
  | (?P<p>[.?!,;:\n%°£$€¥₹()"])
  | (?P<s>[+*/=<>^&#@-])
    """,
    re.VERBOSE,
)


def fold(text: str) -> str:
    """Lower case and plain apostrophes, character for character: places in the result are places in `text`."""
    low = text.lower()
    if text.isascii():
        return low.replace("`", "'")
    if len(low) != len(text):
        # A few letters grow when lowered (İ); they stay as they are, so that no place moves.
        low = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return low.translate(_QUOTES)


def scan(text: str) -> Tokens:
    """The tokens of a prompt in their order."""
    low = fold(text)
    plain = _PLAIN.fullmatch(low) if (short := low.isascii()) else not _SPECIAL.search(low)
    # "--" and "GET /users" are read together.
    if plain and "--" not in low and " /" not in low:
        return _scan_plain(low, _PARTS if short else _PARTS_BEYOND)
    found: list[Token] = []
    add = found.append
    for match in _TOKEN.finditer(low):
        kind = match.lastgroup or "p"
        word = match[0]
        start, end = match.span()
        if kind == "f":
            add(Token(word, "w", start, end, low[start - 1 : start] == "_"))
        elif kind == "w":
            if "'" in word:
                _split_contraction(word, start, end, add)
            else:
                add(Token(word, "w", start, end, low[start - 1 : start] == "_" or low[end : end + 1] == "_"))
        elif kind == "l":
            add(Token(word, "w", start, end))
        elif kind == "r":
            # "GET /users": one thing, whatever the spaces.
            add(Token(" ".join(word.split()), "c", start, end))
        elif kind == "x" or (word in "<>" and _compares(low, start, end)):
            bound = _BOUNDS.get(word)
            counts = (
                low[end : end + 2].strip()[:1].isdigit() and not low[max(start - 2, 0) : start].strip()[-1:].isdigit()
            )
            add(Token(bound, "w", start, end) if bound and counts else Token(word, "+", start, end))
        elif kind == "s":
            # A sign counts between numbers only ("3+4"); elsewhere it is a joint or an ornament.
            if word == "&":
                add(Token("and", "w", start, end))
            elif (
                word in "+*/^=-<>"
                and low[end : end + 2].strip()[:1].isdigit()
                and low[max(start - 2, 0) : start].strip()[-1:].isdigit()
            ):
                add(Token(word, "+", start, end))
            elif word == "/" and low[end : end + 1].isalpha():
                add(Token("/", "p", start, end))
        else:
            add(Token(word, kind, start, end))
    return Tokens.of(found)


def _scan_plain(low: str, pattern: re.Pattern[str]) -> Tokens:
    # Gap, word, gap, word, …, gap.
    parts: list[str] = pattern.split(low)
    words = parts[1::2]
    ends = list(accumulate(map(len, parts)))
    kinds = list(map(_KINDS.get, words, repeat("w")))
    joined = [False] * len(words)
    if "_" in low:
        joined = [
            kind == "w" and "'" not in word and (before[-1:] == "_" or after[:1] == "_")
            for before, word, after, kind in zip(parts[:-1:2], words, parts[2::2], kinds, strict=True)
        ]
    tokens = Tokens(words, kinds, ends[:-1:2], ends[1::2], joined)
    if "'" not in low:
        return tokens
    found: list[Token] = []
    for token in tokens:
        if "'" in token.word:
            _split_contraction(token.word, token.start, token.end, found.append)
        else:
            found.append(token)
    return Tokens.of(found)


_BOUNDS = {">": "more_than", "<": "less_than", ">=": "at_least", "<=": "at_most"}


def _compares(low: str, start: int, end: int) -> bool:
    """Whether < or > compares: "a > b", "> 5"; "Settings > Billing" is a path, "->" an arrow, "<b>" a mark."""
    before, after = low[max(start - 3, 0) : start], low[end : end + 3]
    if not after.strip() or low[start - 1 : start] in {"-", "=", "<", ">"} or after[0] in "-=<>/":
        return False
    number = after.strip()[0].isdigit() and (not before.strip() or before[-1] == " ")
    # One letter or digit on both sides.
    short = re.fullmatch(r"(?:.*\W)?\w ?", before, re.DOTALL) and re.fullmatch(r" ?\w(?:\W.*)?", after, re.DOTALL)
    return number or bool(short)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a table entry, as `scan` would find them in a prompt."""
    return tuple(t.word for t in scan(text) if t.kind != "p")


_WHOLE = {"can't": "can", "won't": "will", "shan't": "shall", "cannot": "can", "ain't": "is"}


def _split_contraction(word: str, start: int, end: int, add: Callable[[Token], None]) -> None:
    if word == "o'clock":
        add(Token(word, "w", start, end))
    elif word.endswith("n't"):
        add(Token(_WHOLE.get(word, word[:-3]), "w", start, end))
        add(Token("not", "w", start, end))
    else:
        head, _, tail = word.partition("'")
        if head == "let" and tail == "s":
            return
        add(Token(head, "w", start, start + len(head)))
        if tail in {"s", "re", "m", "ve", "d", "ll"}:
            add(Token(tail, "w", start + len(head) + 1, end))
        elif tail:
            add(Token(tail.replace("'", ""), "w", start + len(head) + 1, end))
