"""`cachesafe simulate LOG.jsonl`: what an engine's prefix cache would have reused."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.engines.replay import Replaying, ReplayReport, Row
    from pytest_cachesafe.engines.trace import Trace
    from pytest_cachesafe.report.progress import Progress
    from pytest_cachesafe.report.visible import Redact

__all__ = ["add", "run"]

_ENGINES = ("vllm", "sglang", "lmcache", "llamacpp")
_FORMATS = ("auto", "ids", "messages", "mooncake")
_POLICY_SIZES = ("tool_chars", "cut_after", "limit_tokens", "summary_chars", "keep_messages", "models")
_SWITCH = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
# Lines that are no request: so many are named on standard error.
_NAMED = 5


class Outcome(NamedTuple):
    """What the frame of the command line prints; `before` goes to standard error."""

    text: str
    # None: `text` is all, whatever the format.
    data: Mapping[str, Any] | None
    status: int
    before: list[str]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = (
        "--strict stops at the first line that is no request. Exit status: 0; 2 if lines were skipped, memory ran out "
        "or it could not be done; 130 after Ctrl-C and 143 after SIGTERM, 130 of a --merge of such results. What an "
        "interrupt or a lack of memory leaves is written, and marked as partial."
    )
    parser.add_argument(
        "trace",
        metavar="LOG.jsonl",
        nargs="?",
        help='JSON lines, plain or gzip: {"prompt_token_ids": […]}, {"messages": […]} and other bodies (--model), '
        "Mooncake lines; - is standard input",
    )
    parser.add_argument("--engine", choices=_ENGINES, default="vllm", help="whose rules (default vllm)")
    parser.add_argument("--block-size", metavar="N", type=int,
        help="tokens per block or page (default: the engine's; Mooncake 1: each hash id counts as a token)",
    )  # fmt: skip
    parser.add_argument("--blocks", metavar="N", type=int,
        help="blocks in the pool, as the engine counts them: with vLLM's null block (default: no limit)",
    )  # fmt: skip
    parser.add_argument("--engine-option", metavar="NAME=VALUE", action="append", default=[],
        help="another option of the engine's, e.g. policy=lfu, slots=4, caching=off; repeatable",
    )  # fmt: skip
    parser.add_argument("--model", metavar="M", help="renders messages: name, folder, .gguf")
    parser.add_argument("--trace-format", choices=_FORMATS, default="auto", help="default: as the first line shows")
    parser.add_argument("--live", metavar="N", type=int, default=1, help="requests at once (default 1)")
    parser.add_argument("--summary", action="store_true", help="JSON without the rows per request")
    parser.add_argument("--no-reasons", action="store_true", help="do not tell why tokens were missed (faster)")
    parser.add_argument("--sweep", metavar="AXIS=V1,V2", action="append", default=[],
        help="other caches in the same read: blocks=1000,10000,unlimited, block_size=16,32, salt=none; repeatable",
    )  # fmt: skip
    parser.add_argument("--window", metavar="N|Ns",
        help="width of the windows over time: requests, or seconds of the timestamps, e.g. 60s (default: 60 windows)",
    )  # fmt: skip
    group = parser.add_argument_group("a fleet's log over several workers")
    group.add_argument("--shard-by", choices=("replica", "tenant"), help="each has a cache of its own")
    group.add_argument("--shard", metavar="I/N", help="replay the keys of worker I (from 0) of N alone")
    group.add_argument("--merge", metavar="FILE", nargs="+", help="add the JSON results of all N workers")
    parser.add_argument("--export", metavar="FILE", help="write the rows per request to FILE.parquet or FILE.csv")
    parser.add_argument("--policies", action="store_true",
        help="LOG is one conversation (a message list or body): what ways to keep its history cost in prefill",
    )  # fmt: skip
    parser.add_argument("--policy-size", metavar="NAME=N", action="append", default=[],
        help="where they act: tool_chars, cut_after, limit_tokens, summary_chars, keep_messages, models; repeatable",
    )  # fmt: skip


def run(args: argparse.Namespace) -> Outcome:
    """Exit status as the epilog says.

    Raises:
        UsageError: options or a log that cannot be used; with `--strict` the first line that is no request.
    """
    _check(args)
    if args.merge:
        return _merge(args)
    if args.trace is None:
        raise UsageError("simulate: name a log (LOG.jsonl, or - for standard input)")
    if args.policies:
        return _policies(args)
    return _replay(args)


def _check(args: argparse.Namespace) -> None:
    """Which options go together.

    Raises:
        UsageError: one that means nothing here.
    """
    if args.policy_size and not args.policies:
        raise UsageError("--policy-size says where --policies act: give --policies, or drop it")
    mode = "--merge" if args.merge else "--policies" if args.policies else None
    if mode is None:
        return
    given = {
        "--sweep": args.sweep,
        "--window": args.window,
        "--shard-by": args.shard_by,
        "--shard": args.shard,
        "--export": args.export,
        "--no-reasons": args.no_reasons,
        "--live": args.live != 1,
        "--trace-format": args.trace_format != "auto",
    }
    if args.merge:
        given |= {
            "--policies": args.policies,
            "--model": args.model,
            "--block-size": args.block_size,
            "--blocks": args.blocks,
            "--engine-option": args.engine_option,
        }
    else:
        given["--summary"] = args.summary
    for option, value in given.items():
        if value:
            raise UsageError(f"{option} means nothing beside {mode}: drop it")


def _replay(args: argparse.Namespace) -> Outcome:
    from pytest_cachesafe.engines.replay import Replaying
    from pytest_cachesafe.engines.replay.shards import Shards
    from pytest_cachesafe.engines.replay.sweep import parse_sweeps
    from pytest_cachesafe.engines.trace import Trace
    from pytest_cachesafe.report.export import exporter
    from pytest_cachesafe.report.progress import Progress
    from pytest_cachesafe.report.streamed import RowSpool
    from pytest_cachesafe.report.visible import visible

    if args.shard and not args.shard_by:
        raise UsageError("--shard needs --shard-by replica or --shard-by tenant")
    window, window_by = _window(args.window)
    report = None
    before = []
    with _Interrupts() as interrupts, ExitStack() as stack:
        spool = None
        if args.output_format == "json" and not args.summary:
            spool = stack.enter_context(RowSpool())
        try:
            with (
                exporter(args.export) as export,
                Trace(args.trace, args.trace_format, args.model, args.strict) as trace,
            ):
                rows = None if export is None else _Rows(export.add)
                replaying = Replaying(
                    trace,
                    args.engine,
                    block_size=args.block_size,
                    num_blocks=args.blocks,
                    options=_options(args.engine_option, args.engine),
                    live=args.live,
                    reasons=not args.no_reasons,
                    sweep=parse_sweeps(args.sweep),
                    shards=Shards.parse(args.shard_by, args.shard) if args.shard_by else None,
                    window=window,
                    window_by=window_by,
                    on_row=_to([one.add for one in (spool, rows) if one is not None], args.redact),
                )
                _drive(replaying, Progress(wanted=not args.quiet), interrupts)
                report = replaying.report()
                if rows is not None:
                    rows.close()
        except UsageError as error:
            if report is None:
                raise
            # The rows cannot be written; the result can.
            before.append(f"cachesafe: {visible(str(error))}")
        status = 2 if before or report.skipped else 0
        if replaying.out_of_memory:
            before.append(f"cachesafe: {_out_of_memory(report)}")
            status = 2
        elif report.partial:
            status = interrupts.status
        if args.redact != "none":
            report = report.redacted(args.redact)
        before += _named(trace, report)
        if spool is None:
            return Outcome(report.text(args.verbose), report.as_dict(), status, before)
        # The rows may be more than memory holds: written here, so that nothing is left for the frame to write.
        path, args.output_file = args.output_file, None
        spool.write(report.as_dict(), path)
        return Outcome("", None, status, before)


class _Rows:
    """Hands rows to a file, until that cannot be written: the replay goes on, for its result."""

    def __init__(self, add: Callable[[Row], object]) -> None:
        self._add = add
        self._error: OSError | None = None

    def add(self, row: Row) -> None:
        if self._error is None:
            try:
                self._add(row)
            except OSError as error:
                self._error = error

    def close(self) -> None:
        if self._error is not None:
            raise self._error


def _out_of_memory(report: ReplayReport) -> str:
    """One line: what was held, and what to do."""
    blocks = report.setup["num_blocks"]
    computed = report.tokens - report.cached_tokens
    if report.setup["engine"] == "llamacpp":
        held, give = "", "give --engine-option cache_ram and bytes_per_token"
    elif blocks is None:
        held, give = f", whose {computed:,} computed tokens the pool without limit keeps", "give --blocks N"
    else:
        held, give = f", in a pool of {blocks:,} blocks of {report.setup['block_size']}", "give fewer --blocks"
    sweep = f" and {len(report.sweep)} caches of --sweep" if report.sweep else ""
    fewer = ", fewer caches to --sweep" if report.sweep else ""
    return (
        f"out of memory after {report.requests:,} requests{held}{sweep}: the result is partial; {give}{fewer}, or "
        "--no-reasons"
    )


def _drive(replaying: Replaying, progress: Progress, interrupts: _Interrupts) -> None:
    """Replay until the log ends or somebody stops it."""
    count = 0
    file = replaying.trace.file

    def stop() -> bool:
        nonlocal count
        count += 1
        if not count % 64 and file is not None and progress.due():
            progress.show(file.position, file.size, f"{count:,} requests")
        return interrupts.pending

    interrupts.driving = True
    try:
        replaying.run(stop, interrupts)
    finally:
        interrupts.driving = False
        progress.clear()


def _to(targets: list[Callable[[Row], object]], mode: Redact) -> Callable[[Row], object] | None:
    """Hands rows on, without names where no prompt text may be shown."""
    if not targets:
        return None

    def on_row(row: Row) -> None:
        if mode != "none":
            row = row.redacted(mode)
        for target in targets:
            target(row)

    return targets[0] if len(targets) == 1 and mode == "none" else on_row


class _Stopped(KeyboardInterrupt):
    """A signal that ends the command; `status` is its exit status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


class _Interrupts:
    """Ctrl-C, or SIGTERM, while a request is in a cache waits until the request is counted.

    While a line is read it does not wait. Before and after the replay it ends the command as an exception does, so that
    no unfinished file is left.
    """

    def __init__(self) -> None:
        self.pending = False
        self.waiting = False
        # While requests are sent.
        self.driving = False
        # Exit status by the signal.
        self.status = 130
        self._before: dict[int, Any] = {}
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> _Interrupts:
        if self._main:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            # None: it was set by something that is not Python.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _take(self, number: int, *_: object) -> None:
        self.status = 128 + number
        # The second one is meant at once.
        if self.waiting or self.pending or not self.driving:
            raise _Stopped(self.status)
        self.pending = True


def _named(trace: Trace, report: ReplayReport) -> list[str]:
    """The first lines that are no request, and how many more there are."""
    from pytest_cachesafe.report.visible import clip, visible

    lines = [f"cachesafe: {clip(visible(f'{trace.place(line)}: {words}'), 400)}" for line, words in report.bad[:_NAMED]]
    if report.skipped > len(lines):
        more = report.skipped - len(lines)
        what = "no request" + (" or too large for the cache" if report.too_large else "")
        lines.append(f"cachesafe: … and {more:,} more {'line that is' if more == 1 else 'lines that are'} {what}")
    return lines


def _options(words: list[str], engine: str) -> dict[str, Any]:
    from pytest_cachesafe.engines.cache import PrefixCache

    flags = type(PrefixCache(engine)).flags
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--engine-option {word!r}: expected NAME=VALUE, e.g. policy=lfu")
        name, value = name.strip().replace("-", "_"), value.strip()
        if name in flags:
            if value.casefold() not in _SWITCH:
                raise UsageError(f"--engine-option {word!r}: {name} is on or off")
            found[name] = _SWITCH[value.casefold()]
            continue
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = {"True": True, "False": False, "None": None}.get(value, value)
    return found


def _window(text: str | None) -> tuple[int | None, str]:
    if text is None:
        return None, "requests"
    seconds = text.endswith("s")
    number = text.removesuffix("s").strip().replace("_", "")
    if not number.isdecimal() or not int(number):
        raise UsageError(f"--window {text!r}: expected a number of requests, or of seconds as in 60s")
    return int(number), "seconds" if seconds else "requests"


def _merge(args: argparse.Namespace) -> Outcome:
    from pytest_cachesafe.commands.load import read_json
    from pytest_cachesafe.engines.replay.merge import merge
    from pytest_cachesafe.report.simulate import skipped

    # `--merge` takes every word behind it; one before it is a result as well.
    files = [*([args.trace] if args.trace else []), *args.merge]
    report = merge([(file, read_json(file)) for file in files])
    if args.summary:
        report.per_request = None
    if args.redact != "none":
        report = report.redacted(args.redact)
    before = [f"cachesafe: {skipped(report.skipped, report.too_large)}"] if report.skipped else []
    status = 130 if report.partial else 2 if report.skipped else 0
    return Outcome(report.text(args.verbose), report.as_dict(), status, before)


def _policies(args: argparse.Namespace) -> Outcome:
    from pytest_cachesafe.commands.load import read_json
    from pytest_cachesafe.engines.replay import policy_costs

    if not args.model:
        raise UsageError("--policies renders the conversation again and again: name its model (--model M)")
    value = read_json(args.trace)
    sizes = {}
    for word in args.policy_size:
        name, _, number = word.partition("=")
        if name not in _POLICY_SIZES or not number.isdecimal():
            raise UsageError(f"--policy-size {word!r}: expected NAME=N, with one of {', '.join(_POLICY_SIZES)}")
        sizes[name] = int(number)
    try:
        report = policy_costs(
            value,
            template=args.model,
            engine=args.engine,
            block_size=args.block_size,
            num_blocks=args.blocks,
            options=_options(args.engine_option, args.engine),
            **sizes,
        )
    except UsageError as error:
        raise UsageError(f"{args.trace}: {error}") from None
    return Outcome(report.text(), report.as_dict(), 0, [])
