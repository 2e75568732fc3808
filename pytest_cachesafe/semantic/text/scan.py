"""Cuts a prompt into words, numbers, codes and marks, each with its place. Case is folded here, once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Token", "fold", "scan", "words_of"]


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


_QUOTES = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "．": ".", "？": "?", "！": "!", "，": ",", "。": "."}
)

_TOKEN = re.compile(
    r"""
    (?P<d>(?<![\w.])\d{4}-\d{1,2}-\d{1,2}(?!\d)|(?<![\w.])\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})(?![\d.]))
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
    if len(low) != len(text):
        # A few letters grow when lowered (İ); they stay as they are, so that no place moves.
        low = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return low.translate(_QUOTES)


def scan(text: str) -> list[Token]:
    """The tokens of a prompt in their order."""
    found: list[Token] = []
    add = found.append
    low = fold(text)
    for match in _TOKEN.finditer(low):
        kind = match.lastgroup or "p"
        word = match[0]
        start, end = match.span()
        if kind == "w":
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
    return found


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
