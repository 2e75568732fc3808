"""Chunks prefilled apart and put together: how wrong that is, and what computing some tokens again mends.

A chunk prefilled alone knows nothing of the chunks before it. Its keys can be moved to their place exactly; that they
never attended to the earlier text cannot be mended that way. CacheBlend (Yao et al., EuroSys 2025) computes the tokens
again whose keys and values are furthest off, and leaves the rest as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, Literal

from pytest_cachesafe.kv.forward import Forward
from pytest_cachesafe.kv.greedy import compare_logits
from pytest_cachesafe.kv.load import LoadedModel
from pytest_cachesafe.kv.memory import other_kinds, shape_of
from pytest_cachesafe.kv.result import Setting
from pytest_cachesafe.kv.rotary import Rotary
from pytest_cachesafe.usage import UsageError

__all__ = ["Choose", "StitchPoint", "StitchReport", "check_stitch"]

Choose = Literal["deviation", "first"]
# The first layer's keys and values depend on token and position alone: nothing is off there.
_LAYER = 1


@dataclass(frozen=True, slots=True)
class StitchPoint:
    """One share of context tokens computed again."""

    choose: str
    share: float
    recomputed_tokens: int
    # Largest difference of any logit behind the question, against full prefill; whether the best token is the same.
    difference: float
    same_token: bool


@dataclass
class StitchReport:
    """Stitched chunks against full prefill of the same tokens."""

    setting: Setting
    chunk_tokens: list[int]
    question_tokens: int
    # Keys left where they were computed: every chunk at the beginning.
    unmoved_difference: float
    points: list[StitchPoint]
    layout: Callable[[Any], str] | None = field(default=None, repr=False)

    def curve(self, choose: str = "deviation") -> list[StitchPoint]:
        """The points of one way to choose tokens, by share."""
        return sorted((p for p in self.points if p.choose == choose), key=lambda p: p.share)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "schema": 1,
            **asdict(self.setting),
            "chunk_tokens": list(self.chunk_tokens),
            "question_tokens": self.question_tokens,
            "unmoved_difference": self.unmoved_difference,
            "points": [asdict(p) for p in self.points],
        }

    def text(self, verbosity: int = 0, redact: str = "none") -> str:
        """The report for people; neither argument changes it, for it holds numbers."""
        return str(self)

    def __str__(self) -> str:
        return repr(self) if self.layout is None else self.layout(self)


def check_stitch(
    loaded: LoadedModel,
    forward: Forward,
    setting: Setting,
    chunks: Iterable[Any],
    question: Any,
    shares: Sequence[float],
    choose: Sequence[Choose],
) -> StitchReport:
    """See `KVProbe.stitch`."""
    if isinstance(chunks, (str, bytes)):
        raise UsageError("chunks takes a list of texts or id lists, not one text")
    parts = [loaded.words.ids(chunk, f"chunks[{i}]") for i, chunk in enumerate(chunks)]
    if len(parts) < 2:
        raise UsageError(f"{len(parts)} chunks: stitching takes at least two")
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise UsageError(f"shares: {share!r} is no share of the context tokens, 0 to 1")
    for name in choose:
        if name not in ("deviation", "first"):
            raise UsageError(f"choose={name!r}: known are 'deviation' and 'first'")
    asked = loaded.words.ids(question, "question")
    context = [token for part in parts for token in part]
    loaded.words.check_length(len(context) + len(asked), "chunks and question")
    if other := other_kinds(loaded.model.config):
        raise UsageError(f"stitching takes keys and values of all tokens, {loaded.name} has layers of kind {other[0]}")
    if shape_of(loaded.model.config)[0] <= _LAYER:
        raise UsageError("stitching takes a model of at least two layers")

    rotary = Rotary(forward, parts[-1][:4])
    full = _new(loaded)
    wanted = forward(context + asked, full).logits[-1]
    apart = [_new(loaded) for _ in parts]
    for part, cache in zip(parts, apart, strict=True):
        forward(part, cache)
    starts = [0, *accumulate(len(part) for part in parts)][:-1]
    stitched = [
        (
            _joined([rotary.move(c.layers[i].keys, at) for c, at in zip(apart, starts, strict=True)]),
            _joined([c.layers[i].values for c in apart]),
        )
        for i in range(len(full.layers))
    ]
    unmoved = [(_joined([c.layers[i].keys for c in apart]), values) for i, (_, values) in enumerate(stitched)]

    run = partial(_run, loaded, forward, context, asked)
    report = StitchReport(
        setting, [len(part) for part in parts], len(asked), _off(run(unmoved, []), wanted), []
    )  # fmt: skip
    for name in choose:
        order = _by_deviation(stitched, full) if name == "deviation" else _by_place(parts, starts)
        for share in shares:
            again = sorted(order[: round(share * len(context))])
            logits = run(stitched, again)
            same = int(logits.argmax()) == int(wanted.argmax())
            report.points.append(StitchPoint(name, float(share), len(again), _off(logits, wanted), same))
    return report


def _new(loaded: LoadedModel) -> Any:
    import transformers

    return transformers.DynamicCache(config=loaded.model.config)


def _joined(pieces: list[Any]) -> Any:
    import torch

    return torch.cat(pieces, dim=-2)


def _off(one: Any, other: Any) -> float:
    return compare_logits([one], [other])


def _by_deviation(stitched: list[tuple[Any, Any]], full: Any) -> list[int]:
    """Context tokens, the one whose keys and values are furthest off first."""
    keys, values = stitched[_LAYER]
    tokens = keys.shape[-2]
    layer = full.layers[_LAYER]
    off = sum(
        (ours.float() - theirs[..., :tokens, :].float()).square().sum(dim=(0, 1, 3))
        for ours, theirs in ((keys, layer.keys), (values, layer.values))
    )
    return [int(i) for i in off.argsort(descending=True)]


def _by_place(parts: list[list[int]], starts: list[int]) -> list[int]:
    """Context tokens, the first of every chunk first; those of the first chunk, which is right as it is, last."""
    places = [(chunk == 0, i, chunk) for chunk, part in enumerate(parts) for i in range(len(part))]
    return [starts[chunk] + i for _, i, chunk in sorted(places)]


def _run(
    loaded: LoadedModel,
    forward: Forward,
    context: list[int],
    asked: list[int],
    stitched: list[tuple[Any, Any]],
    again: list[int],
) -> Any:
    """Logits behind the question, with the tokens at the places `again` computed anew in every layer.

    In each layer they replace their keys and values before anything attends, so that later ones see earlier ones.
    """
    import torch

    total = len(context) + len(asked)
    places = [*again, *range(len(context), total)]
    cache = _new(loaded)
    for layer, (keys, values) in zip(cache.layers, stitched, strict=True):
        shape = (*keys.shape[:2], len(asked), keys.shape[-1])
        layer.update(*(torch.cat([t, t.new_zeros(shape)], dim=-2) for t in (keys, values)))
        layer.update = partial(_replace, layer, torch.tensor(places, device=keys.device))
    kind = cache.layers[0].keys
    query, key = (torch.tensor(at, device=kind.device) for at in (places, list(range(total))))
    mask = torch.zeros((len(places), total), dtype=kind.dtype, device=kind.device)
    mask.masked_fill_(key[None] > query[:, None], torch.finfo(kind.dtype).min)
    ids = [*(context[i] for i in again), *asked]
    return forward(ids, cache, positions=places, mask=mask[None, None]).logits[-1]


def _replace(layer: Any, places: Any, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
    """Stands for a cache layer's `update`: puts what was computed at its places instead of at the end."""
    layer.keys[:, :, places] = keys
    layer.values[:, :, places] = values
    return layer.keys, layer.values
