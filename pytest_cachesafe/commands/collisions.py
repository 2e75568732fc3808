"""`cachesafe collisions PROMPTS`: prompts that a semantic cache would merge although they need different answers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.commands.common import Result
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.report.visible import Redact
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.prompts import PromptSet
    from pytest_cachesafe.semantic.repeats import RepeatReport
    from pytest_cachesafe.semantic.result import CollisionReport
    from pytest_cachesafe.semantic.sweep.result import SweepReport

__all__ = ["add", "run"]

# Distinct prompts of a log that are compared: all pairs of them take some seconds.
_MOST_OF_LOG = 20_000
# Requests of a log whose keys are checked.
_MOST_KEYS = 2_000
_CURVES = ("csv", "svg", "html")
# Keys of a result that hold text of the user's; people quote prompts in the reasons of an allow list.
_TEXTS = ("a", "b", "reason", "allowed")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = (
        "Exit status: 0 no certain collision (suspects, mutants and sweeps are notes), 1 collisions (--strict: also "
        "suspects, unused allow entries, mutants served wrongly, a sweep without safe threshold), 2 it could not be "
        "done."
    )
    parser.add_argument("prompts", metavar="PROMPTS", nargs="?",
        help='a prompt a line (.txt), or JSON lines: a text or {"prompt": …} each (.jsonl); - is standard input',
    )  # fmt: skip
    parser.add_argument("--threshold", metavar="T", default="0.95",
        help="cosine similarity at and above which the cache merges, 0 to 1 (default 0.95); distance:0.1 is 0.9",
    )  # fmt: skip
    parser.add_argument("--encoder", metavar="M",
        help="sentence-transformers model, name or folder (default: MiniLM), or your own embed(texts) as MODULE:NAME",
    )  # fmt: skip
    parser.add_argument("--level", choices=("certain", "suspect"), default="certain", help="weakest tier that fails")
    parser.add_argument("--pairs", metavar="FILE.jsonl", help='judge exactly these {"a", "b"} lines, in order')
    parser.add_argument("--log", metavar="FILE.jsonl", help="JSON lines of prompts as they were asked, streamed")
    parser.add_argument("--allow", metavar="FILE.jsonl",
        help='pairs that may share an answer: {"a", "b", "reason"} lines; unused ones are told',
    )  # fmt: skip
    parser.add_argument("--mutants", action="store_true",
        help="also change the prompts in one place each and tell which changes the cache would serve wrongly",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="other seeds draw other mutants (default 0)")
    parser.add_argument("--sweep", metavar="FILE.jsonl", nargs="?", const=True,
        help='hits and wrong hits over all thresholds, of {"a", "b", "same_answer"} lines (default: those of --pairs)',
    )  # fmt: skip
    parser.add_argument("--budget", metavar="W", type=float,
        help="share of the pairs with different answers that a safe threshold may serve (default 0.01)",
    )  # fmt: skip
    parser.add_argument("--keys", action="store_true",
        help="also check what the cache embeds and filters by: longer than the encoder reads, mostly shared text, "
        "parts of the request that it does not tell apart",
    )  # fmt: skip
    parser.add_argument("--key", metavar="MODULE:NAME", help="key(request) -> the text that is embedded (--keys; "
        "default: the last user message)",
    )  # fmt: skip
    parser.add_argument("--partition", metavar="MODULE:NAME", help="partition(request) -> what must be equal besides")
    parser.add_argument("--curve", metavar="FILE", help="write the sweep to FILE.csv, FILE.svg or FILE.html")


def run(args: argparse.Namespace) -> Result:
    """Exit status as the epilog says.

    Raises:
        UsageError: input or options that cannot be used.
    """
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.threshold import parse_threshold

    _check(args)
    threshold = parse_threshold(_number(args.threshold), "--threshold")
    # Checked already; a small one without its unit would be refused once more.
    judge = CollisionJudge(_encoder(args.encoder), f"similarity:{threshold!r}")
    texts: list[str] = []
    data: dict[str, Any] = {}
    found = _Read(args)
    if found.repeats is not None:
        data["repeats"] = found.repeats.as_dict()
    status = notes = 0
    if not isinstance(args.sweep, str) or found.prompts is not None or args.pairs is not None:
        report = _judged(args, judge, found.prompts)
        report.notes += found.notes
        texts.append(report.text(args.verbose, args.redact))
        data = report.as_dict() | data
        status, notes = report.exit_status(), report.exit_status(strict=True)
    if args.keys:
        from pytest_cachesafe.semantic.user_code import imported_function

        options = {
            name: imported_function(word, f"--{name}") for name in ("key", "partition") if (word := getattr(args, name))
        }
        lines = found.places if found.prompts is not None and found.prompts.unit == "line" else None
        keys = judge.check_keys(found.requests, lines=lines, **options)
        texts.append(keys.text())
        data["keys"] = keys.as_dict()
        status |= not keys.passed
    if args.mutants:
        mutants = judge.mutants(found.prompts or (), seed=args.seed)
        texts.append(mutants.text(args.verbose, args.redact))
        data["mutants"] = mutants.as_dict()
        notes |= bool(mutants.wrong)
    if args.sweep:
        sweep = _sweep(args, judge)
        texts.append(sweep.text(args.verbose))
        data["sweep"] = sweep.as_dict()
        notes |= all(advice.outcome != "safe" for advice in sweep.advice)
    if args.strict and notes and not status:
        status = 1
        first, _, rest = texts[0].partition("\n")
        texts[0] = f"{first}; notes count (--strict)\n{rest}"
    if found.repeats is not None and not args.quiet:
        # What is never wrong comes first; where one line is all, it is the verdict.
        texts.insert(0, found.repeats.text())
    text = "\n\n".join(text.rstrip("\n") for text in texts)
    return Result(text, _redacted(data, args.redact), status)


def _check(args: argparse.Namespace) -> None:
    """Which options go together.

    Raises:
        UsageError: nothing to judge, or more than one thing.
    """
    given = [word for word in ("PROMPTS", "--pairs", "--log") if getattr(args, word.lstrip("-").lower()) is not None]
    if len(given) > 1:
        raise UsageError(f"collisions: {' and '.join(given)} exclude each other")
    if not given and not isinstance(args.sweep, str):
        raise UsageError("collisions: nothing to judge; name PROMPTS, --pairs FILE or --log FILE")
    if args.mutants and args.prompts is None and args.log is None:
        raise UsageError("--mutants changes prompts: name PROMPTS or --log FILE")
    if args.sweep is True and args.pairs is None:
        raise UsageError("--sweep needs labelled pairs: --sweep FILE.jsonl, or --pairs FILE.jsonl --sweep")
    if args.keys and args.prompts is None and args.log is None:
        raise UsageError("--keys checks what is embedded: name PROMPTS or --log FILE")
    if (args.key or args.partition) and not args.keys:
        raise UsageError("--key and --partition are for --keys: add it")
    if args.curve is not None and not args.sweep:
        raise UsageError("--curve is the picture of a sweep: name --sweep FILE.jsonl")
    if args.budget is not None and not args.sweep:
        raise UsageError("--budget is for a sweep: name --sweep FILE.jsonl")
    if args.curve is not None and _curve_form(args.curve) not in _CURVES:
        raise UsageError(f"--curve {args.curve}: the name ends in {', '.join(f'.{form}' for form in _CURVES)}")


def _curve_form(path: str) -> str:
    return path.rpartition(".")[2].lower()


class _Read:
    """What was read: prompts to judge all pairs of, and of a log its repeats and its first requests."""

    def __init__(self, args: argparse.Namespace) -> None:
        from pytest_cachesafe.semantic.files import read_log, read_prompts
        from pytest_cachesafe.semantic.repeats import RepeatCounter

        self.prompts: PromptSet | None = None
        self.repeats: RepeatReport | None = None
        self.requests: list[Any] = []
        self.places: list[int] = []
        self.notes: list[str] = []
        if args.prompts is not None:
            self.prompts = read_prompts(args.prompts, self._keep if args.keys else None)
        if args.log is None:
            return
        counter = RepeatCounter()

        def each(request: Any, number: int) -> None:
            counter.add(request)
            if args.keys:
                self._keep(request, number)

        self.prompts, left_out = read_log(args.log, _MOST_OF_LOG, each)
        self.repeats = counter.report() if self.prompts else None
        if left_out:
            first = f"the first {len(self.prompts):,} distinct prompts of the log were compared"
            self.notes.append(f"{first}; {left_out:,} lines hold others")

    def _keep(self, request: Any, number: int) -> None:
        if len(self.requests) < _MOST_KEYS:
            self.requests.append(request)
            self.places.append(number)


def _judged(args: argparse.Namespace, judge: CollisionJudge, prompts: PromptSet | None) -> CollisionReport:
    from pytest_cachesafe.semantic.files import as_name, read_pairs
    from pytest_cachesafe.semantic.sweep.labelled import check_label

    allow = _allowed(args.allow)
    if prompts is not None:
        return judge.collisions(prompts, level=args.level, allow=allow)
    lines = read_pairs(args.pairs)
    for number, value in lines:
        # They are not needed here; a wrong one is told all the same, before a sweep or a test trusts it.
        if "same_answer" in value:
            with _labels(args.redact):
                check_label(value["same_answer"], f"{as_name(args.pairs)}: line {number}: same_answer")
    pairs = [(str(value["a"]), str(value["b"])) for _, value in lines]
    return judge.judge_pairs(pairs, level=args.level, allow=allow, places=[number for number, _ in lines])


@contextmanager
def _labels(mode: Redact) -> Iterator[None]:
    """Unknown labels are not shown where no text of the user's may be."""
    from pytest_cachesafe.report.visible import redact
    from pytest_cachesafe.semantic.sweep.labelled import LabelError

    try:
        yield
    except LabelError as error:
        if mode == "none":
            raise
        raise LabelError(error.where, error.value, redact(str(error.value), mode)) from None


def _sweep(args: argparse.Namespace, judge: CollisionJudge) -> SweepReport:
    from pytest_cachesafe.files import write_atomic
    from pytest_cachesafe.semantic.files import as_name, read_pairs
    from pytest_cachesafe.semantic.sweep.labelled import LabelledPairs

    path = args.sweep if isinstance(args.sweep, str) else args.pairs
    lines = read_pairs(path)
    places = [number for number, _ in lines]
    with _labels(args.redact):
        pairs = LabelledPairs.of([value for _, value in lines], places=places, name=as_name(path))
    options = {} if args.budget is None else {"budget": args.budget}
    report = judge.sweep(pairs, **options)
    if args.curve is not None:
        write_atomic(args.curve, getattr(report, _curve_form(args.curve))())
    return report


def _encoder(word: str | None) -> Any:
    """A model's name or folder as it is, `MODULE:NAME` imported.

    Raises:
        UsageError: the module or the name is not there.
    """
    from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER

    if word is None:
        return DEFAULT_ENCODER
    from pytest_cachesafe.semantic.user_code import guarded_encoder, imported, is_import

    return guarded_encoder(imported(word, "--encoder"), f"--encoder {word}") if is_import(word) else word


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _allowed(path: str | None) -> Any:
    if path is None:
        return ()
    from pytest_cachesafe.semantic.allow import Allowances
    from pytest_cachesafe.semantic.files import read_pairs

    lines = read_pairs(path)
    return Allowances((value for _, value in lines), path, places=[number for number, _ in lines])


def _redacted(value: Any, mode: Redact) -> Any:
    """A result without prompt text: prompts and the reasons of allow entries keep their place and lose their words."""
    if mode == "none":
        return value
    from pytest_cachesafe.report.visible import redact

    if isinstance(value, dict):
        return {
            key: redact(item, mode) if key in _TEXTS and isinstance(item, str) else _redacted(item, mode)
            for key, item in value.items()
        }
    return [_redacted(item, mode) for item in value] if isinstance(value, list) else value
