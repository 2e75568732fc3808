"""How many tokens a block has: counted by the user's own counter, or an estimate with its band.

Nobody publishes a tokenizer for Claude or Gemini, and what OpenAI puts around messages and tools is not published
either, so that even with its vocabularies the number would not be exact: without a counter every number is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any

from pytest_cachesafe.frontends.wire import estimate
from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.blocks.canonical import media
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.usage import UsageError

__all__ = ["Counter", "count"]

# What a provider puts around a block: role, kind, ends.
_FRAME = Tokens(0, 1, 3)
# An image: from a thumbnail, or one sent at low detail (OpenAI 85, Gemini 258), to the largest at full detail (Claude
# about width times height by 750, up to 4,784; OpenAI 10,000 at "original"). Vision pages of the three, 2026-11-29.
_IMAGE = Tokens(50, 1_300, 10_000)
# A file: a page of PDF is 1,500 to 3,000 tokens of text and an image of it; 30 to 300 kB a page.
_PAGE_BYTES = (300_000, 60_000, 5_000)
_PAGE = Tokens(250, 2_500, 4_600)
# What a provider puts in front of a request: a system text of its own, a date. Replies on record show up to 49 tokens
# at Claude, and up to 85 elsewhere.
_REQUEST = Tokens(0, 0, 60)
_REQUEST_ELSEWHERE = Tokens(0, 0, 90)
# Claude's and Nova's instructions on how to call tools: 159 to 530 by model in the tables of the Claude Docs ("Tool
# use", pricing, read 2026-11-30); replies on record show 266 to 808 beyond the text of the tools.
_TOOL_USE = Tokens(0, 400, 900)
# The definition of a provider's own tool stands with the provider (a tool search 250, code execution 4,600 tokens in
# replies on record); that of an MCP server's tools is fetched from there.
_OWN_TOOL = Tokens(0, 700, 5_000)
_TOOLSET = Tokens(0, 700, 50_000)
_CLAUDE = frozenset(("messages", "invoke", "converse"))


class Counter:
    """Counts blocks; one object serves a whole check and counts equal blocks once.

    Args:
        count_tokens: tokens of a text, exactly: `lambda text: len(tokenizer.encode(text))`. It is called with the text
            of one block: the text of a text block, a tool as compact JSON, a call's name and input, the texts of a
            result. None: estimates.

    Raises:
        UsageError: `count_tokens` is no function.
    """

    def __init__(self, count_tokens: Callable[[str], int] | None = None) -> None:
        if count_tokens is not None and not callable(count_tokens):
            raise UsageError(
                f"count_tokens is {type(count_tokens).__name__}; a function that returns a number of tokens is meant"
            )
        self._count = count_tokens
        self._known: dict[bytes, Tokens] = {}

    def count(self, block: Block) -> Tokens:
        """Tokens of one block; media in it are estimated in any case.

        Raises:
            UsageError: the user's counter returned no count.
        """
        found = self._known.get(block.key)
        if found is None:
            found = self._known[block.key] = self._block(block)
        return found

    def front(self, api: str, first: Block) -> Tokens:
        """What stands in front of a request's first block without being sent; a user's counter counts what is sent."""
        if self._count is not None:
            return Tokens.exactly(0)
        if api not in _CLAUDE:
            return _REQUEST_ELSEWHERE
        return _REQUEST + _TOOL_USE if first.level == "tools" else _REQUEST

    def _block(self, block: Block) -> Tokens:
        total = self.text(block.text)
        if self._count is None:
            total += _FRAME
            if block.level == "tools":
                total = self._tool(block, total)
        for kind, size in media(block.value):
            total += _IMAGE if kind == "image" else _pages(size)
        return total

    def _tool(self, block: Block, written: Tokens) -> Tokens:
        if block.kind != "tool":
            return written + (_TOOLSET if block.kind == "mcp_toolset" else _OWN_TOOL)
        said = _said(block.value)
        if said is None:
            return written
        # OpenAI shows functions to its models in a short notation: names, types and descriptions, no JSON.
        short = self.text(said)
        return Tokens(min(short.low, written.low), (short.best + written.best) // 2, written.high)

    def text(self, text: str) -> Tokens:
        """Tokens of a text, without what a provider puts around it.

        Raises:
            UsageError: the user's counter returned no count.
        """
        if self._count is None:
            return Tokens(*estimate(text))
        n = self._count(text)
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise UsageError(f"count_tokens returned {_given(n)} for a text of {len(text)} characters; {_meant(n)}")
        return Tokens.exactly(n)


def count(block: Block, count_tokens: Callable[[str], int] | None = None) -> Tokens:
    """Tokens of one block, see `Counter`.

    Raises:
        UsageError: the user's counter returned no count.
    """
    return Counter(count_tokens).count(block)


def _given(value: Any) -> str:
    """What a counter returned, short: a list of ids is long, and holds the text."""
    if isinstance(value, (bool, int, float, type(None))):
        return repr(value)
    size = f" of {len(value):,}" if isinstance(value, Sized) else ""
    return f"{type(value).__name__}{size}"


def _meant(value: Any) -> str:
    if isinstance(value, Sized) and not isinstance(value, (str, bytes)):
        return "a number is meant: return len(…) of it"
    return "a whole number is meant" if isinstance(value, float) else "a number of tokens is meant, 0 or more"


def _said(value: Any) -> str | None:
    """Names, types and descriptions of an OpenAI function; None for any other tool."""
    if not isinstance(value, Mapping) or value.get("type") != "function":
        return None
    function = value.get("function", value)
    return " ".join(_words(function)) if isinstance(function, Mapping) else None


def _words(value: Any, named: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if named:
                yield str(key)
            if named or key not in ("additionalProperties", "required", "strict", "title", "$defs", "type"):
                yield from _words(item, key == "properties")
            elif key == "type" and isinstance(item, str):
                yield item
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif isinstance(value, str):
        yield value


def _pages(size: int) -> Tokens:
    if not size:
        # Only referred to: anything from a page to the largest file.
        return Tokens(_PAGE.low, _PAGE.best, 1_000 * _PAGE.high)
    least, best, most = (max(1, -(-size // per_page)) for per_page in _PAGE_BYTES)
    return Tokens(least * _PAGE.low, best * _PAGE.best, most * _PAGE.high)
