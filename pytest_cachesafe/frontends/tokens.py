"""Exact token ids of growing texts, for the cost of what is new.

A tokenizer cuts its added tokens out of the raw text before anything else, and handles what is between them piece by
piece. So the ids of a text are the ids of its pieces, one after the other, and a piece need not be tokenised twice.
This holds for added tokens that are matched as they stand (`normalized`, `lstrip`, `rstrip` and `single_word` all
false), found leftmost first and longest first; others stay inside the pieces. Where a tokenizer does not allow it,
whole texts are tokenised: slower, never different.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.prompt import UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["IncrementalEncoder", "common_prefix"]

# Characters of pieces whose ids are kept; ids take about two bytes a character more.
_CACHED_CHARACTERS = 16_000_000
# What the rule above is tried on before it is trusted.
_PROBES = ("", "a", " a", "Hi there\n", "\n\n1. x", " ", "▁a", "é é", "word")


class IncrementalEncoder:
    """Ids exactly as `backend.encode(text, add_special_tokens=False).ids`, reusing work between successive texts."""

    def __init__(self, backend: Tokenizer) -> None:
        self._backend = backend
        split: dict[str, int] = {}
        awkward: list[str] = []
        for token_id, token in backend.get_added_tokens_decoder().items():
            if token.normalized or not token.content:
                continue
            if token.lstrip or token.rstrip or token.single_word:
                awkward.append(token.content)
            else:
                split[token.content] = token_id
        self._ids = split
        self._longest = max(map(len, split), default=0)
        # Put before a piece that is not the first, so that the tokenizer does not take it for the start of a text
        # (Metaspace with prepend_scheme "first"). No token is longer, so nothing in the piece can extend it.
        self._guard = max(split, key=len, default="")
        self._pattern = re.compile(_alternatives(split) if split else r"(?!)")
        self._awkward = re.compile(_alternatives(awkward)) if awkward else None
        self._pieces: OrderedDict[tuple[bool, str], list[int]] = OrderedDict()
        self._piece_characters = 0
        # The last text, the ends and starts of the added tokens in it, the number of ids up to each end, all its ids.
        self._text = ""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._counts: list[int] = []
        self._all: list[int] = []
        self.why_not: str | None = self._obstacle()
        self.exact_split: bool = self.why_not is None

    def _obstacle(self) -> str | None:
        """Why texts of this tokenizer cannot be tokenised in pieces; None if they can."""
        backend = self._backend
        if not self._ids:
            return "no added token is matched as it stands"
        if backend.truncation is not None or backend.padding is not None:
            return "truncation or padding is switched on"
        if backend.encode_special_tokens:
            return "special tokens are encoded as text"
        if getattr(backend.model, "dropout", None):
            return "the model drops merges at random"
        guard = self._guard
        for probe in _PROBES:
            parts = [*self._piece(probe, True), self._ids[guard], *self._piece(probe, False)]
            if self._whole(probe + guard + probe) != parts:
                return "pieces between added tokens do not give the ids of the whole text"
        return None

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; special tokens written in it count as such, none are added.

        Raises:
            UsageError: the text holds a lone surrogate, which has no UTF-8 form.
        """
        if not self.exact_split or (self._awkward is not None and self._awkward.search(text)):
            return self._whole(text)
        if text == self._text:
            return self._all.copy()
        kept = self._kept_splits(text)
        at = self._ends[kept - 1] if kept else 0
        starts, ends, counts = self._starts[:kept], self._ends[:kept], self._counts[:kept]
        ids = self._all[: counts[-1]] if kept else []
        for match in self._pattern.finditer(text, at):
            ids += self._piece(text[at : match.start()], at == 0)
            ids.append(self._ids[match.group()])
            at = match.end()
            starts.append(match.start())
            ends.append(at)
            counts.append(len(ids))
        ids += self._piece(text[at:], at == 0)
        self._text, self._starts, self._ends, self._counts, self._all = text, starts, ends, counts, ids
        return ids.copy()

    def last_boundary(self, text: str, upto: int) -> int:
        """Character offset of the last cut that every text beginning with `text[:upto]` has too; 0 if there is none.

        Ids up to there depend on the characters up to `upto` alone.
        """
        if not self.exact_split or (self._awkward is not None and self._awkward.search(text)):
            return 0
        if text == self._text:
            kept = bisect_right(self._starts, upto - self._longest)
            return self._ends[kept - 1] if kept else 0
        last = 0
        for match in self._pattern.finditer(text, 0, upto):
            if match.start() + self._longest <= upto:
                last = match.end()
        return last

    def _kept_splits(self, text: str) -> int:
        """How many cuts of the last text are cuts of this one too.

        A cut is decided by the characters up to the longest token that could start at it.
        """
        if not self._starts:
            return 0
        shared = len(self._text) if text.startswith(self._text) else common_prefix(self._text, text)
        return bisect_right(self._starts, shared - self._longest)

    def _piece(self, piece: str, first: bool) -> list[int]:
        if not piece:
            return []
        key = (first, piece)
        ids = self._pieces.get(key)
        if ids is not None:
            self._pieces.move_to_end(key)
            return ids
        ids = self._whole(piece) if first else self._whole(self._guard + piece)[1:]
        self._pieces[key] = ids
        self._piece_characters += len(piece)
        while self._piece_characters > _CACHED_CHARACTERS and len(self._pieces) > 1:
            (_, oldest), _ids = self._pieces.popitem(last=False)
            self._piece_characters -= len(oldest)
        return ids

    def _whole(self, text: str) -> list[int]:
        try:
            return self._backend.encode(text, add_special_tokens=False).ids
        except (UnicodeEncodeError, TypeError):
            at = next((i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff"), None)
            if at is None:
                raise
            raise UsageError(
                f"lone surrogate \\u{ord(text[at]):04x} in the prompt, {text[max(0, at - 20) : at]!a} before it: "
                "it has no UTF-8 form; decode the text properly, or replace the character"
            ) from None


def common_prefix(a: str, b: str) -> int:
    """Number of leading characters two strings share; comparisons of whole slices, so in C."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    # Strings mostly differ early or late: widen from the front before halving.
    step = 4096
    while low + step < high and a[low : low + step] == b[low : low + step]:
        low += step
        step *= 2
    high = min(high, low + step)
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _alternatives(tokens: Iterable[str]) -> str:
    """A pattern for the longest of several strings at a place: a tree, so that a thousand strings cost a few steps."""
    tree: dict[str, Any] = {}
    for token in tokens:
        node = tree
        for character in token:
            node = node.setdefault(character, {})
        node[""] = {}
    return _branch(tree)


def _branch(node: dict[str, Any]) -> str:
    # Iterative along unbranched stretches, so that one very long token does not nest deeply.
    branches = []
    for character, child in node.items():
        if character == "":
            continue
        stretch = [re.escape(character)]
        while len(child) == 1 and "" not in child:
            (following, child), *_ = child.items()
            stretch.append(re.escape(following))
        branches.append("".join(stretch) + (_branch(child) if any(child) else ""))
    if not branches:
        return ""
    body = branches[0] if len(branches) == 1 and "" not in node else f"(?:{'|'.join(branches)})"
    return f"{body}?" if "" in node else body
