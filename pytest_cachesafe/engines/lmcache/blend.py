"""CacheBlend: segments of a prompt whose KV is found again at any position."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from pytest_cachesafe.engines.cache import check_size
from pytest_cachesafe.engines.token_ids import WIDTH, pack
from pytest_cachesafe.usage import UsageError

__all__ = ["BlendHit", "BlendStore", "Segment", "check_ratio"]


def check_ratio(ratio: object) -> float:
    """The share that is computed again.

    Raises:
        UsageError: no share.
    """
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio <= 1:
        raise UsageError(f"ratio={ratio!r}: a share of the tokens, from 0 to 1")
    return ratio


class Segment(NamedTuple):
    """Tokens between two separators."""

    # Token offsets in the prompt, without the separators.
    start: int
    end: int
    # Whether its KV was stored when the prompt was looked up, and whether it was used.
    stored: bool
    reused: bool


class BlendHit(NamedTuple):
    """What a prompt finds."""

    tokens: int
    segments: tuple[Segment, ...]
    # Tokens from the first one to the end of the last segment that is reused, separators between them included.
    hit_tokens: int

    def recomputed(self, ratio: float = 0.15) -> int:
        """About how many of the tokens are computed after all: an estimate.

        Of those that were found, the share `ratio` (the engine's `blend_recompute_ratios`) is computed again, at least
        one, in every layer behind the check layer; layers up to it compute all of them, which is not counted here.
        What was not found is computed as always, and so is the last token of a prompt that was found as a whole.
        """
        check_ratio(ratio)
        again = max(int(self.hit_tokens * ratio), 1) if self.hit_tokens else 0
        return max(self.tokens - self.hit_tokens, 1) + again


class BlendStore:
    """Segments stored by LMCache with `enable_blending`.

    Rules: LMCache 0.5.6, v1/token_database.py, v1/cache_engine.py, v1/compute/blend/blender.py and
    integration/vllm/vllm_v1_adapter.py, 2026-11. A prompt is cut at the separator; a segment's key is made of its own
    tokens alone, so that it is found at any position and in any order. The leading segments that are stored are used;
    the first one that is not ends the search, and everything behind it is computed. An empty segment (a prompt that
    begins with the separator, two of them in a row) is never stored, so it ends the search as well.

    vLLM's own prefix cache is left out: LMCache does not combine the two. Memory has no bound here.

    Args:
        separator_ids: ids of `blend_special_str` (" # # ") as they occur in the prompts. LMCache drops the first id
            that its tokenizer gives for the text, as it expects a beginning-of-sequence token there; with a tokenizer
            that adds none, the separator loses its first piece, so pass what is left.
        chunk_size: LMCache's; it decides from where on a prompt that was found in part is stored.
        min_tokens: segments below it count as not stored. LMCache 0.5.6 reads `blend_min_tokens` (256) but does not
            apply it, hence 0.

    Raises:
        UsageError: no separator, or a size that is no whole number.
    """

    def __init__(self, separator_ids: Sequence[int], *, chunk_size: int = 256, min_tokens: int = 0) -> None:
        self._separator = pack(separator_ids, "separator_ids")
        if not self._separator:
            raise UsageError("separator_ids is empty: give the ids of LMCache's blend_special_str")
        self.chunk_size = check_size("chunk_size", chunk_size)
        self.min_tokens = check_size("min_tokens", min_tokens, 0)
        self._keys: set[bytes] = set()

    def lookup(self, token_ids: Sequence[int]) -> BlendHit:
        """What the prompt would find. Changes nothing."""
        return self._look_up(pack(token_ids))[0]

    def add(self, token_ids: Sequence[int]) -> BlendHit:
        """Look the prompt up, then store its segments."""
        data = pack(token_ids)
        hit, keys = self._look_up(data)
        tokens, size = len(data) // WIDTH, self.chunk_size
        # As for chunks: a prompt that was found in part is stored only if it reaches a new chunk.
        if hit.hit_tokens and tokens < (hit.hit_tokens // size + 1) * size:
            return hit
        self._keys.update(key for segment, key in zip(hit.segments, keys, strict=True) if segment.end > segment.start)
        return hit

    def __len__(self) -> int:
        return len(self._keys)

    def _look_up(self, data: bytes) -> tuple[BlendHit, list[bytes]]:
        spans = self._split(data)
        keys = [sha256(data[start * WIDTH : end * WIDTH]).digest() for start, end in spans]
        segments = []
        hit, reusing = 0, True
        for (start, end), key in zip(spans, keys, strict=True):
            stored = end > start and end - start >= self.min_tokens and key in self._keys
            reusing = reusing and stored
            hit = end if reusing else hit
            segments.append(Segment(start, end, stored, reusing))
        return BlendHit(len(data) // WIDTH, tuple(segments), hit), keys

    def _split(self, data: bytes) -> list[tuple[int, int]]:
        """Token offsets of the segments. Separators that overlap count once."""
        spans = []
        start = at = 0
        while (place := data.find(self._separator, at)) >= 0:
            if place % WIDTH:
                # Bytes of two ids look like the separator.
                at = place + 1
                continue
            spans.append((start // WIDTH, place // WIDTH))
            start = at = place + len(self._separator)
        spans.append((start // WIDTH, len(data) // WIDTH))
        return spans
