"""Prefix and continuation as ids, and what happens to the tokens where they meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_cachesafe.perturb import node
from pytest_cachesafe.prompt import Prompt
from pytest_cachesafe.report.visible import clip, redact, visible
from pytest_cachesafe.usage import UsageError

__all__ = ["Boundary", "Joined", "Words", "common_length"]

Boundary = Literal["refuse", "report"]
_EXCERPT = 40


@dataclass(frozen=True, slots=True)
class Joined:
    """A whole prompt: its ids, and how many leading ones are those of the prefix alone."""

    token_ids: list[int]
    kept: int
    # What merged, in words; None where prefix and continuation meet cleanly.
    merged: str | None = None


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many leading ids two sequences share."""
    shared = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        shared += 1
    return shared


@dataclass(frozen=True, slots=True)
class Words:
    """The model's tokenizer, and its bounds on ids and lengths."""

    encode: Callable[[str], Sequence[int]]
    decode: Callable[[Sequence[int]], str]
    vocabulary: int
    # Longest sequence the model was made for, None if it does not say.
    limit: int | None

    def ids(self, value: Any, what: str) -> list[int]:
        """Text, ids or a `Prompt` as ids; `what` names it in errors.

        Raises:
            UsageError: something else, empty, a `Prompt` without ids or with those of another
                tokenizer, an id that the model does not know, too long.
        """
        if isinstance(value, Prompt):
            if value.token_ids is None:
                raise UsageError(f"{what}: a Prompt without token ids ({value.front_end}); render it with a tokenizer")
            ids = list(value.token_ids)
            # A template may know ids that encoding its text would not give; then they are at least ids of that text.
            if value.text and self.decode(ids) != value.text and list(self.encode(value.text)) != ids:
                raise UsageError(
                    f"{what}: the ids of this Prompt ({value.front_end}) are not those of its text for this model's"
                    " tokenizer: render it with the template of this model"
                )
        elif isinstance(value, str):
            ids = list(self.encode(value))
        elif hasattr(value, "tolist"):
            # Arrays and tensors; a batch of them stays nested, and is refused below.
            ids = value.tolist()
            ids = ids if isinstance(ids, list) else [ids]
        elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            # Numbers of numpy's and torch's own, too.
            ids = [one.item() if hasattr(one, "item") else one for one in value]
        else:
            raise UsageError(f"{what}: text, token ids or a Prompt, not {type(value).__name__}")
        if not ids:
            raise UsageError(f"{what} is empty: give at least one token")
        for index, one in enumerate(ids):
            if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < self.vocabulary:
                raise UsageError(f"{what}[{index}] is {one!r}: token ids are 0 to {self.vocabulary - 1} for this model")
        self.check_length(len(ids), what)
        return ids

    def begins(self, continuation: Any, prefix: Any, prefix_ids: list[int]) -> bool:
        """Whether a continuation says all of the prefix again."""
        left, right = (_text(value) for value in (prefix, continuation))
        if left is not None and right is not None:
            return right.startswith(left)
        return self.ids(continuation, "continuation")[: len(prefix_ids)] == prefix_ids

    def check_length(self, tokens: int, what: str) -> None:
        """Refuse a sequence that the model was not made for.

        Raises:
            UsageError: it is longer than the model's positions.
        """
        if self.limit is not None and tokens > self.limit:
            raise UsageError(f"{what} has {tokens} tokens, the model takes {self.limit}")

    def join(self, prefix: Any, continuation: Any, index: int, boundary: Boundary) -> Joined:
        """The prompt that an engine gets for prefix and continuation number `index`.

        Two texts are encoded as one: the last token of the prefix may merge with what follows, and then it is another
        one. Ids are put one behind the other.

        Raises:
            UsageError: they merge (with `refuse`), or see `ids`.
        """
        if boundary not in ("refuse", "report"):
            raise UsageError(f"boundary={boundary!r}: known are 'refuse' and 'report'")
        name = f"continuations[{index}]"
        before, after = self.ids(prefix, "prefix"), self.ids(continuation, name)
        left, right = (_text(value) for value in (prefix, continuation))
        together = before + after if left is None or right is None else list(self.encode(left + right))
        self.check_length(len(together), f"prefix and {name}")
        kept = common_length(before, together)
        if kept == len(before):
            return Joined(together, kept)
        assert left is not None
        assert right is not None
        words = self._merge(before, together, kept, name)
        if boundary == "refuse":
            raise UsageError(
                f"{words}; end the prefix at a hard boundary (before a blank, or behind a special token), or pass"
                " boundary='report' to count the loss"
            )
        return Joined(together, kept, words)

    def _merge(self, before: list[int], together: list[int], kept: int, name: str) -> str:
        old, new = (_shown(self.decode(ids)) for ids in (before[kept:], together[kept : kept + 1]))
        lost = len(before) - kept
        tokens = "1 token" if lost == 1 else f"{lost} tokens"
        return (
            f"prefix and {name} merge at their boundary: token {kept} is {new} in the whole prompt,"
            f" {old} at the end of the prefix ({tokens} of the prefix not reusable)"
        )


def _shown(text: str) -> str:
    """Tokens in an error, which no report redacts afterwards: as the running test's `--cachesafe-redact` allows."""
    test = node.current_node()
    mode: Any = "none" if test is None else test.settings["redact"].value
    return repr(visible(clip(text, _EXCERPT))) if mode == "none" else redact(text, mode)


def _text(value: Any) -> str | None:
    """The text of what has one."""
    if isinstance(value, Prompt):
        return value.text or None
    return value if isinstance(value, str) else None
