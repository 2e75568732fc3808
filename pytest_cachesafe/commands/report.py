"""`cachesafe report`: a lock file as a table, what a change did to it, and saved runs in other formats."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.commands.load import read_text
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.gate.base import Moved

__all__ = ["add", "run"]

_LOCK = "cachesafe.lock.jsonl"
_FORMATS = ("text", "json", "markdown", "html")


class Rendered(NamedTuple):
    """Outcome; `data` is None where the text itself is the format that was asked for."""

    text: str
    data: Mapping[str, Any] | None
    status: int


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default=_LOCK,
        help=f"a lock file (default {_LOCK}), or a run saved by pytest --cachesafe-report=json; - is standard input",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="REF", help="compare the lock file with the one where the branch left REF, through git"
    )
    parser.add_argument("--output-format", choices=_FORMATS, metavar="FORMAT",
        help="text (default), json, markdown; html for a saved run",
    )  # fmt: skip


def run(args: argparse.Namespace) -> Rendered:
    """Exit status 0, or 1 where the lock file got worse against REF or contradicts itself.

    Raises:
        UsageError: a file that is neither, options that do not go with it, no such ref.
    """
    from pytest_cachesafe.gate.saved import is_run

    if args.against is not None and not args.against.strip():
        raise UsageError("--against is empty: name a branch, tag or commit, as in --against main")
    if args.file == _LOCK and not os.path.exists(_LOCK):
        raise UsageError(f"there is no {_LOCK} here: name a file, or run pytest --cachesafe-update to write one")
    text = read_text(args.file)
    name = "standard input" if args.file == "-" else os.path.basename(args.file)
    return _saved(text, name, args) if is_run(text) else _lock(text, name, args)


def _saved(text: str, name: str, args: argparse.Namespace) -> Rendered:
    from pytest_cachesafe.gate.saved import parse_run, with_redaction

    if args.against is not None:
        raise UsageError(f"--against compares lock files, and {name} is a saved run: drop one of the two")
    saved = with_redaction(parse_run(text, name), args.redact)
    if args.output_format == "markdown":
        from pytest_cachesafe.report.markdown import render as markdown

        return Rendered(markdown(saved), None, 0)
    if args.output_format == "html":
        from pytest_cachesafe.report.html import render as html

        return Rendered(html(saved), None, 0)
    if args.output_format == "json":
        from pytest_cachesafe.report.lint.encode import json_text

        return Rendered(json_text(saved.as_dict()), None, 0)
    from pytest_cachesafe.report.run_text import run_text

    return Rendered(run_text(saved, args.verbose), saved.as_dict(), 0)


def _lock(text: str, name: str, args: argparse.Namespace) -> Rendered:
    from pytest_cachesafe.gate.lockfile import parse
    from pytest_cachesafe.report.lock import lock_json, lock_markdown, lock_text

    if args.output_format == "html":
        raise UsageError(f"{name} is a lock file, html is for saved runs: ask for text, json or markdown")
    lock = parse(text, name)
    moved = _moved(args, lock) if args.against is not None else None
    worse = bool(lock.contradictions) or (moved is not None and bool(moved.worse or (args.strict and moved)))
    if args.output_format == "markdown":
        return Rendered(lock_markdown(lock, name, moved), None, int(worse))
    return Rendered(lock_text(lock, name, moved, args.verbose), lock_json(lock, name, moved), int(worse))


def _moved(args: argparse.Namespace, lock: Any) -> Moved:
    from pytest_cachesafe.gate.base import lock_at, moved
    from pytest_cachesafe.gate.lockfile import Lock

    if args.file == "-":
        raise UsageError("--against looks for the lock file in git: name the file instead of standard input")
    try:
        before = lock_at(args.against, args.file, folder=os.path.dirname(os.path.abspath(args.file)))
    except UsageError as error:
        raise UsageError(f"--against {args.against}: {error}") from None
    return moved(args.against, before or Lock(), lock)
