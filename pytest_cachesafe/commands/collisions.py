"""`cachesafe collisions PROMPTS`: prompts that a semantic cache would merge although they need different answers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.commands.common import Result
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.report.visible import Redact
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.result import CollisionReport

__all__ = ["add", "run"]

# Distinct prompts of a log that are compared: all pairs of them take some seconds.
_MOST_OF_LOG = 20_000


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.epilog = (
        "Exit status: 0 no certain collision (suspects are notes), 1 collisions (--strict: suspects and unused allow "
        "entries as well), 2 it could not be done."
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


def run(args: argparse.Namespace) -> Result:
    """Exit status as the report says.

    Raises:
        UsageError: input or options that cannot be used.
    """
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.threshold import parse_threshold

    given = [word for word in ("prompts", "pairs", "log") if getattr(args, word) is not None]
    if len(given) != 1:
        what = "nothing to judge" if not given else f"{' and '.join(given)} exclude each other"
        raise UsageError(f"collisions: {what}; name PROMPTS, --pairs FILE or --log FILE")
    threshold = parse_threshold(_number(args.threshold), "--threshold")
    # Checked already; text with a unit would be read as a number without one.
    judge = CollisionJudge(_encoder(args.encoder), f"similarity:{threshold!r}")
    report = _judged(args, judge)
    text = report.text(args.verbose, args.redact)
    status = report.exit_status(strict=args.strict)
    if status and not report.exit_status():
        first, _, rest = text.partition("\n")
        text = f"{first}; notes count (--strict)\n{rest}"
    return Result(text, _redacted(report.as_dict(), args.redact), status)


def _encoder(word: str | None) -> Any:
    """A model's name or folder as it is, `MODULE:NAME` imported.

    Raises:
        UsageError: the module or the name is not there.
    """
    from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER

    if word is None:
        return DEFAULT_ENCODER
    module, colon, name = word.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        return word
    import sys
    from functools import reduce
    from importlib import import_module

    # A module beside the prompts, as with python -m.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return reduce(getattr, name.split("."), import_module(module))
    except ModuleNotFoundError as error:
        raise UsageError(f"--encoder {word}: no module {error.name!r} here") from None
    except AttributeError as error:
        raise UsageError(f"--encoder {word}: {error}") from None


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _judged(args: argparse.Namespace, judge: CollisionJudge) -> CollisionReport:
    from pytest_cachesafe.semantic.files import read_log, read_pairs, read_prompts

    allow = _allowed(args.allow)
    if args.pairs is not None:
        lines = read_pairs(args.pairs)
        pairs = [(str(value["a"]), str(value["b"])) for _, value in lines]
        return judge.judge_pairs(pairs, level=args.level, allow=allow, places=[number for number, _ in lines])
    if args.log is None:
        return judge.collisions(read_prompts(args.prompts), level=args.level, allow=allow)
    prompts, left_out = read_log(args.log, _MOST_OF_LOG)
    report = judge.collisions(prompts, level=args.level, allow=allow)
    if left_out:
        report.notes.append(
            f"the first {len(prompts):,} distinct prompts of the log were compared; {left_out:,} lines hold others"
        )
    return report


def _allowed(path: str | None) -> Any:
    if path is None:
        return ()
    from pytest_cachesafe.semantic.allow import Allowances
    from pytest_cachesafe.semantic.files import read_pairs

    return Allowances((value for _, value in read_pairs(path)), path)


def _redacted(value: Any, mode: Redact) -> Any:
    """A result without prompt text: `a`, `b` and the user's own reasons keep their place and lose their words."""
    if mode == "none":
        return value
    from pytest_cachesafe.report.visible import redact

    if isinstance(value, dict):
        return {
            key: redact(item, mode) if key in ("a", "b") and isinstance(item, str) else _redacted(item, mode)
            for key, item in value.items()
        }
    return [_redacted(item, mode) for item in value] if isinstance(value, list) else value
