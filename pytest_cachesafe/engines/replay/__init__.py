"""A log of requests through an engine's prefix cache: `replay`.

`feed` runs one cache, `run` sums over one read of the log, `reasons` tells why tokens were missed, `sweep` and
`shards` feed several caches or share a log between workers, `policies` prices ways to keep a conversation's history.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from pytest_cachesafe.engines.cache import PrefixCache, check_size
from pytest_cachesafe.engines.replay.policies import PolicyReport, policy_costs
from pytest_cachesafe.engines.replay.result import ReplayReport, SweepPoint
from pytest_cachesafe.engines.replay.run import Row, Run
from pytest_cachesafe.engines.replay.shape import Shape
from pytest_cachesafe.engines.replay.shards import Shards
from pytest_cachesafe.engines.replay.sweep import sweep_shapes
from pytest_cachesafe.engines.trace import BadEntry, Trace
from pytest_cachesafe.engines.trace.entry import TooLarge
from pytest_cachesafe.usage import UsageError

__all__ = ["PolicyReport", "ReplayReport", "Replaying", "Row", "policy_costs", "replay"]


class Waits(Protocol):
    """Who wants to know when a line is waited for."""

    waiting: bool


class Replaying:
    """A replay that can be stopped: `run()` goes on until the log ends or `stop()` says so; then `report()`."""

    def __init__(
        self,
        trace: Trace,
        engine: str | PrefixCache = "vllm",
        *,
        block_size: int | None = None,
        num_blocks: int | None = None,
        options: Mapping[str, Any] | None = None,
        live: int = 1,
        reasons: bool = True,
        sweep: Mapping[str, Sequence[Any]] | None = None,
        shards: Shards | None = None,
        window: int | float | None = None,
        window_by: str = "requests",
        on_row: Callable[[Row], object] | None = None,
    ) -> None:
        """Arguments as those of `replay`. Without a log to go by, sizes are checked once its format is known.

        Raises:
            UsageError: options that cannot be used.
        """
        self.trace = trace
        self.partial = False
        self._engine = engine
        self._block_size = block_size
        self._num_blocks = num_blocks
        self._options = dict(options or {})
        self._live = check_size("live", live)
        self._sweep = dict(sweep or {})
        self._run: Run | None = None
        self._more = {
            "reasons": reasons,
            "shards": shards,
            "window": window,
            "window_by": window_by,
            "on_row": on_row,
        }
        self._shards = shards
        # The log was read to its end.
        self._ended = False
        # Memory ran out: a partial result, and no more caches.
        self.out_of_memory = False
        self._too_large = 0
        _check_window(window, window_by)
        if shards is not None:
            trace.owns = shards.owns_line
            trace.take_fingerprint()
        if isinstance(engine, PrefixCache):
            given = block_size is not None or num_blocks is not None or bool(options)
            if given or sweep or shards is not None:
                raise UsageError("a PrefixCache has its own sizes and is one cache: give the engine's name instead")
        if trace.format != "mooncake":
            # What is wrong with the sizes is said before a long log is opened.
            self._shapes(mooncake=False)

    def _shapes(self, *, mooncake: bool) -> tuple[Shape, list[Shape]]:
        if isinstance(self._engine, PrefixCache):
            if mooncake and self._engine.unit != 1:
                raise UsageError("a Mooncake log has one id per 512 tokens: give the engine's name and block_size=512")
            base = Shape(self._engine.engine, None, None, self._engine.given)
            base.mooncake = mooncake
            return base, []
        base = Shape(self._engine, self._block_size, self._num_blocks, self._options, mooncake=mooncake)
        return base, sweep_shapes(base, self._sweep, self._options) if self._sweep else []

    def run(self, stop: Callable[[], bool] | None = None, waits: Waits | None = None) -> None:
        """Replay until the log ends, or memory does: the result then is a partial one, and the caches are dropped.

        Args:
            stop: asked after every line; True ends the replay, which then is a partial one.
            waits: its `waiting` is True while a line is read; a `KeyboardInterrupt` raised then ends it as well.

        Raises:
            UsageError: no line of the log is a request; strict and one is none.
        """
        try:
            self._replay(stop, waits)
        except MemoryError:
            self.partial = self.out_of_memory = True
        if self.out_of_memory and self._run is not None:
            self._run.release()

    def _replay(self, stop: Callable[[], bool] | None, waits: Waits | None) -> None:
        trace = self.trace
        entries = iter(trace)
        while True:
            try:
                if waits is not None:
                    waits.waiting = True
                try:
                    entry = next(entries, None)
                finally:
                    if waits is not None:
                        waits.waiting = False
            except KeyboardInterrupt:
                if waits is None:
                    raise
                self.partial = True
                return
            if entry is None:
                self._ended = True
                return
            run = self._run or self._start()
            try:
                run.request(entry)
            except BadEntry as error:
                trace.skip(entry.line, str(error))
                self._too_large += isinstance(error, TooLarge)
            if stop is not None and stop():
                self.partial = True
                return

    def _start(self) -> Run:
        base, variants = self._shapes(mooncake=self.trace.format == "mooncake")
        cache = self._engine if isinstance(self._engine, PrefixCache) else None
        self._run = Run(base, cache=cache, live=self._live, variants=variants, **self._more)  # type: ignore[arg-type]
        return self._run

    def report(self) -> ReplayReport:
        """What was found so far.

        Raises:
            UsageError: nothing was a request.
        """
        trace, run = self.trace, self._run
        if run is None:
            if not self.partial:
                if not trace.bad:
                    raise UsageError(f"{trace.name}: no request in it; one a line is meant")
                line, words = trace.bad[0]
                raise UsageError(f"{trace.place(line)}: {words} (and no other line is a request)")
            run = self._start()
        shards = self._shards
        return ReplayReport(
            label=run.shape.label,
            setup=run.shape.as_dict(),
            live=self._live,
            trace_format=trace.format,
            totals=run.totals,
            by_tag=run.by_tag,
            by_tenant=run.by_tenant,
            windows=run.windows,
            reasons=run.reasons,
            sweep=[
                SweepPoint(v.shape.block_size, v.shape.num_blocks, v.shape.salts, v.totals, v.too_large)
                for v in run.variants
            ],
            waited=run.waited,
            replies_dropped=run.replies_dropped,
            untimed=run.untimed,
            forgot=run.forgot,
            skipped=trace.skipped,
            bad=list(trace.bad),
            too_large=self._too_large,
            not_rendered=run.left_out,
            partial=self.partial,
            shard=None if shards is None else shards.as_dict(),
            log=trace.fingerprint if shards is not None and self._ended else None,
            limits=run.shape.limits,
        )


def _check_window(window: Any, window_by: str) -> None:
    if window_by not in ("requests", "seconds"):
        raise UsageError(f"window_by={window_by!r}: requests or seconds")
    if window is None:
        return
    if window_by == "requests":
        check_size("window", window)
    elif isinstance(window, bool) or not isinstance(window, (int, float)) or not 0 < window < float("inf"):
        raise UsageError(f"window={window!r}: seconds, more than 0")


def replay(
    trace: str | os.PathLike[str] | Iterable[Any],
    engine: str | PrefixCache = "vllm",
    *,
    block_size: int | None = None,
    num_blocks: int | None = None,
    trace_format: str | None = None,
    model: Any = None,
    live: int = 1,
    options: Mapping[str, Any] | None = None,
    summary: bool = False,
    reasons: bool = True,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    shard_by: str | None = None,
    shard: tuple[int, int] | None = None,
    window: int | float | None = None,
    window_by: str = "requests",
    strict: bool | None = None,
    on_row: Callable[[Row], object] | None = None,
) -> ReplayReport:
    """What an engine's prefix cache would have reused of a log of requests. The log is read once, line by line.

    Args:
        trace: path of JSON lines (plain or gzip; `-` is standard input), or an iterable of token-id lists and dicts as
            such lines hold them: `{"prompt_token_ids": […]}`, `{"messages": […]}` and other request bodies (with
            `model`), Mooncake lines. Beside these: `output_token_ids`, `salt`, `lora`, `tag`, `tenant`,
            `conversation`, `replica`, `timestamp` (seconds, or ISO).
        engine: name of the engine, or a `PrefixCache`, which then is used as it is.
        block_size: tokens per block; None: the engine's default (vLLM 16), 1 for Mooncake, whose hash ids then count
            as a token each; a multiple of 512 gives their real lengths.
        num_blocks: blocks in the pool, with vLLM's null block; None: it never runs out, and memory grows with the
            distinct blocks of the log.
        trace_format: `ids`, `messages` or `mooncake`; None: as the first line shows.
        model: whose template and tokenizer render messages.
        live: requests that are in the cache at once; the oldest ends first.
        options: more of the engine's own, as `PrefixCache` takes them.
        summary: leave `per_request` out: memory then does not grow with the log.
        reasons: tell why tokens were missed.
        sweep: other caches for the same read: `{"blocks": […], "block_size": […], "salt": ["none"]}`, all combined.
        shard_by: `replica` or `tenant`: each has a cache of its own.
        shard: (I, N): only the keys of worker I of N.
        window: width of the windows of `over_time`; None: at most 60 windows.
        window_by: `requests`, or `seconds` of the log's timestamps.
        strict: raise at the first line that is no request, instead of counting it in `skipped`; None: for iterables.
        on_row: called with every `Row`, e.g. to write it away.

    Raises:
        UsageError: what cannot be read or set up.
    """
    if strict is None:
        strict = not isinstance(trace, (str, os.PathLike))
    if shard is not None and shard_by is None:
        raise UsageError("shard needs shard_by: replica or tenant")
    if shard is not None and (not isinstance(shard, (tuple, list)) or len(shard) != 2):
        raise UsageError(f"shard={shard!r}: (I, N), the worker (from 0) and how many there are, e.g. (0, 4)")
    shards = None if shard_by is None else Shards(shard_by, *(shard or (0, 1)))
    rows: list[Row] = []

    def keep(row: Row) -> None:
        rows.append(row)
        if on_row is not None:
            on_row(row)

    with Trace(trace, trace_format, model, strict) as entries:
        replaying = Replaying(
            entries,
            engine,
            block_size=block_size,
            num_blocks=num_blocks,
            options=options,
            live=live,
            reasons=reasons,
            sweep=sweep,
            shards=shards,
            window=window,
            window_by=window_by,
            on_row=on_row if summary else keep,
        )
        replaying.run()
    report = replaying.report()
    if replaying.out_of_memory:
        raise MemoryError(f"replay: out of memory after {report.requests:,} requests; give num_blocks, or summary=True")
    if not summary:
        report.per_request = rows
    return report
