"""One prefilled prefix, many continuations: private copies, one cache cropped back, or (wrongly) one cache shared."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pytest_cachesafe.kv.boundary import Boundary
from pytest_cachesafe.kv.caches import CacheMaker, copy, crop, fingerprint, length, why_not_cropped
from pytest_cachesafe.kv.forward import Forward
from pytest_cachesafe.kv.greedy import compare_logits, decode, text_gap
from pytest_cachesafe.kv.load import LoadedModel
from pytest_cachesafe.kv.memory import bytes_per_token, measured_bytes
from pytest_cachesafe.kv.result import Continuation, ReuseReport, Setting
from pytest_cachesafe.prompt import Prompt
from pytest_cachesafe.usage import UsageError

__all__ = ["Way", "check_reuse"]

Way = Literal["copy", "crop", "shared"]


def check_reuse(
    loaded: LoadedModel,
    forward: Forward,
    setting: Setting,
    prefix: Any,
    continuations: Iterable[Any],
    *,
    way: Way,
    new_tokens: int,
    verify: int | None,
    boundary: Boundary,
    quantized: Mapping[str, Any],
) -> ReuseReport:
    """See `KVProbe.reuse`."""
    if way not in ("copy", "crop", "shared"):
        raise UsageError(f"way={way!r}: known are 'copy', 'crop' and 'shared'")
    if isinstance(continuations, (str, bytes, Prompt, Mapping)) or not isinstance(continuations, Iterable):
        raise UsageError(f"continuations takes a list, not {type(continuations).__name__}: [first, second, …]")
    for name, value in (("new_tokens", new_tokens), ("verify", verify)):
        least = 1 if name == "new_tokens" else 0
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise UsageError(f"{name}={value!r}: a whole number, at least {least}")
    maker = CacheMaker(setting.cache, loaded.model.config, quantized)
    if way == "crop" and setting.cache == "quantized":
        raise UsageError("way='crop': a quantized cache cannot be cut back; take way='copy'")
    prefix_ids = loaded.words.ids(prefix, "prefix")
    given = list(continuations)
    joined = [loaded.words.join(prefix, c, i, boundary) for i, c in enumerate(given)]
    if not joined:
        raise UsageError("continuations is empty: nothing to compare")
    if any(j.kept == 0 for j in joined):
        raise UsageError("the whole prefix merges into a continuation: nothing is left to reuse")
    # A shared cache gets everything.
    longest = max(len(j.token_ids) for j in joined)
    room = sum(len(j.token_ids) for j in joined) if way == "shared" else longest
    capacity = room + new_tokens * (len(joined) if way == "shared" else 1)
    # The last token is never computed.
    loaded.words.check_length(longest + new_tokens - 1, "prefix, continuation and all new tokens but the last together")

    with maker.ready():
        base = maker.make(capacity)
        first = forward(prefix_ids, base)
        before, prefix_bytes = fingerprint(base, len(prefix_ids)), measured_bytes(base)
        report = ReuseReport(
            setting, way, first.tokens, first.seconds, [], True, _bytes_per_token(loaded),
            prefix_bytes, prefix_bytes, [j.merged for j in joined if j.merged is not None],
        )  # fmt: skip
        for number, item in enumerate(joined):
            started = time.perf_counter()
            # Where the prefix's own end must go, cropping back to its length would leave something else there.
            merged = item.kept < len(prefix_ids)
            cache = copy(base) if way == "copy" or (way == "crop" and merged) else base
            kept = item.kept
            if way != "shared" and not crop(cache, kept):
                # Only a merge at the boundary asks for it; what cannot be cut back is computed again.
                cache, kept = maker.make(capacity), 0
            handling = time.perf_counter() - started
            done = forward(item.token_ids[kept:], cache)
            one = Continuation(len(item.token_ids), kept, done.tokens, done.seconds, handling)
            one.repeats_prefix = loaded.words.begins(given[number], prefix, prefix_ids)
            report.continuations.append(one)
            if verify is None or number < verify:
                _verify(loaded, forward, maker, item.token_ids, done.logits, cache, one, new_tokens)
            held = measured_bytes(cache) + (prefix_bytes if cache is not base else 0)
            report.peak_bytes = max(report.peak_bytes, held)
            if cache is base and way == "crop":
                started = time.perf_counter()
                if not crop(base, len(prefix_ids)):
                    raise UsageError(f"way='crop': {why_not_cropped(base, loaded.name)}; take way='copy'")
                one.handling_seconds += time.perf_counter() - started
        report.prefix_intact = length(base) == len(prefix_ids) and fingerprint(base, len(prefix_ids)) == before
    return report


def _bytes_per_token(loaded: LoadedModel) -> int | None:
    try:
        return bytes_per_token(loaded.model.config, loaded.dtype)
    except UsageError:
        # Of such a model memory is measured alone.
        return None


def _verify(
    loaded: LoadedModel,
    forward: Forward,
    maker: CacheMaker,
    ids: list[int],
    logits: Any,
    cache: Any,
    one: Continuation,
    new_tokens: int,
) -> None:
    """The same prompt from nothing, and the same greedy tokens behind both."""
    ours = decode(forward, logits, cache, new_tokens, loaded.ends)
    fresh = CacheMaker("dynamic", loaded.model.config).make(0)
    whole = forward(ids, fresh)
    one.recomputed_tokens, one.recompute_seconds = whole.tokens, whole.seconds
    rows = [whole.logits[-1]]
    if len(ours.token_ids) > 1:
        # Our tokens in one pass. Where each is also the choice here, a run of its own would have chosen them all.
        rest = ours.token_ids[:-1]
        rows.extend(forward(rest, fresh, keep=len(rest)).logits)
    one.difference = compare_logits(ours.rows, rows)
    # Rows without numbers have no best token.
    one.same_text = one.difference < math.inf and [int(row.argmax()) for row in rows] == ours.token_ids
    one.generated_tokens = len(ours.token_ids)
    one.text_gap = text_gap(ours.token_ids, rows)
