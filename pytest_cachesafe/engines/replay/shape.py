"""Which cache a replay sets up: the sizes that a user gives, in the engine's own options."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.engines.cache import PrefixCache, check_size
from pytest_cachesafe.engines.trace.entry import Entry
from pytest_cachesafe.engines.trace.formats import MOONCAKE_BLOCK
from pytest_cachesafe.usage import UsageError

__all__ = ["Shape"]


class Shape:
    """Sizes of a cache, and what a request of the log is for it.

    A Mooncake line has one id per 512 tokens. With block size 1 each id counts as a token, as in the published
    figures. With a multiple of 512 the real lengths count: the engine is then run in units of 256 tokens, two for a
    full id and one for a last one that is not full, which gives the same blocks, hits and limits as the tokens would.
    """

    def __init__(
        self,
        engine: str = "vllm",
        block_size: int | None = None,
        num_blocks: int | None = None,
        options: dict[str, Any] | None = None,
        *,
        mooncake: bool = False,
        salts: bool = True,
    ) -> None:
        """
        Args:
            engine: name of the engine.
            block_size: tokens per block; None: the engine's default, 1 for Mooncake.
            num_blocks: blocks in the pool, as the engine counts them; None: it never runs out.
            options: more of the engine's own.
            mooncake: the log has Mooncake lines.
            salts: False: salts of the log are left out.

        Raises:
            UsageError: a size that the engine or the format cannot have.
        """
        self.engine = engine
        self.num_blocks = num_blocks
        self.salts = salts
        self.mooncake = mooncake
        if block_size is not None:
            check_size("block_size", block_size)
        if num_blocks is not None:
            check_size("num_blocks", num_blocks)
        # Tokens of the log per token of the engine; 1 unless real lengths of a Mooncake log count.
        self.scale = 1
        if mooncake:
            block_size = self._mooncake(block_size)
        self.options = self._options(block_size, dict(options or {}))
        probe = self.make()
        self.label = probe.label or engine
        self.block_size = probe.unit * self.scale
        self.limits = probe.limits
        # Sizes that nobody gave and that the numbers depend on, in words.
        self.assumed = probe.assumed

    def _mooncake(self, block_size: int | None) -> int:
        if self.engine == "lmcache":
            raise UsageError("a Mooncake log has ids of 512 tokens, and LMCache's chunks are smaller: not for lmcache")
        if block_size in (None, 1):
            return 1
        assert block_size is not None
        if block_size % MOONCAKE_BLOCK or self.engine == "llamacpp":
            raise UsageError(
                f"block_size={block_size}: a Mooncake log has one id per {MOONCAKE_BLOCK} tokens: give 1 (each id "
                f"counts as a token) or, for vllm and sglang, a multiple of {MOONCAKE_BLOCK}"
            )
        self.scale = MOONCAKE_BLOCK // 2
        return block_size // self.scale

    def _options(self, block_size: int | None, options: dict[str, Any]) -> dict[str, Any]:
        if self.engine == "sglang":
            if block_size is not None:
                options["page_size"] = block_size
            if self.num_blocks is not None:
                options["capacity"] = self.num_blocks * options.get("page_size", 1)
        elif self.engine == "llamacpp":
            if block_size not in (None, 1):
                raise UsageError(
                    f"block_size={block_size}: llama.cpp reuses token by token, not by blocks: leave it out"
                )
            if self.num_blocks is not None:
                raise UsageError("num_blocks: llama.cpp has slots, not blocks: give its own option, e.g. slots=4")
        else:
            if block_size is not None:
                options["block_size"] = block_size
            if self.num_blocks is not None:
                options["num_blocks"] = self.num_blocks
        return options

    def make(self) -> PrefixCache:
        """A new cache."""
        return PrefixCache(self.engine, **self.options)

    def prompt(self, entry: Entry) -> tuple[list[int], int]:
        """What the engine gets for a request, and the tokens of the prompt as they are counted."""
        ids = entry.token_ids
        if entry.real_tokens is None or self.scale == 1:
            return ids, len(ids)
        doubled = [unit for i in ids for unit in (2 * i, 2 * i + 1)]
        if entry.real_tokens % MOONCAKE_BLOCK:
            # The last id is no full block: one unit, so that the engine has an unfull block as well.
            doubled.pop()
        return doubled, entry.real_tokens

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        more = {k: v for k, v in self.options.items() if k not in ("block_size", "num_blocks", "page_size", "capacity")}
        return {
            "engine": self.engine,
            "block_size": self.block_size,
            "num_blocks": self.num_blocks,
            "salts": self.salts,
            "options": more,
            "assumed": self.assumed,
        }
