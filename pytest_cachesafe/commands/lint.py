"""`cachesafe lint PATHS`: volatile values that reach a cached prefix, found in source; nothing is imported or run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    import argparse

    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.result import LintResult
    from pytest_cachesafe.lint.run import Outcome

__all__ = ["Printed", "add", "run"]

# "text" is what other subcommands call it: for people, by what standard output is.
_FORMATS = ("text", "concise", "full", "json", "github", "gitlab", "sarif", "junit")

# The others say nothing of what would mend a finding, which takes time to work out.
_WITH_FIXES = ("full", "json", "sarif")


class Printed(NamedTuple):
    """A finished text for standard output, and sentences for standard error before and after it."""

    text: str
    status: int
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    data: None = None


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument(
        "paths",
        metavar="PATHS",
        nargs="*",
        help="files and folders to report on (default: the current folder); - is standard input",
    )
    rules = parser.add_argument_group("rules (codes, prefixes or names, comma separated)")
    rules.add_argument("--select", metavar="RULES", action="append", help="run these instead of the configured ones")
    rules.add_argument("--extend-select", metavar="RULES", action="append", help="run these as well")
    rules.add_argument("--ignore", metavar="RULES", action="append", help="leave these out")
    fixes = parser.add_argument_group("fixes")
    fixes.add_argument("--fix", action="store_true", help="mend what can be mended without changing what it means")
    fixes.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: changes of the prompt as well"
    )
    fixes.add_argument("--diff", action="store_true", help="show what --fix would change, and write nothing")
    scope = parser.add_argument_group("what is reported")
    scope.add_argument("--baseline", metavar="FILE", help="leave out the findings that are listed there")
    scope.add_argument(
        "--write-baseline",
        metavar="FILE",
        nargs="?",
        const="",
        help="list the findings in FILE (default: the baseline in use) and exit with 0",
    )
    scope.add_argument("--changed-since", metavar="REF", help="files that differ from a commit or branch, through git")
    scope.add_argument("--include-tests", action="store_true", help="test files as well")
    scope.add_argument("--stdin-filename", metavar="NAME", help="the name of what is read from standard input")
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output-format",
        choices=_FORMATS,
        metavar="FORMAT",
        help=f"{', '.join(_FORMATS[1:])} (default: full on a terminal, else concise)",
    )
    output.add_argument("--statistics", action="store_true", help="how often each rule fired")
    output.add_argument(
        "--show-settings", action="store_true", help="print the settings in force and where they are set"
    )
    output.add_argument("--exit-zero", action="store_true", help="findings do not make the exit status 1")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="processes for the analysis (default 1)")
    parser.add_argument("--no-cache", action="store_true", help="neither read nor keep results of earlier runs")


def run(args: argparse.Namespace) -> Printed:
    """Exit status 0 clean or notes only, 1 findings, 2 a file could not be read or a rule failed.

    Raises:
        UsageError: bad options, settings or paths; nothing to lint.
    """
    options = _options(args)
    if args.show_settings:
        return _settings(args, options)
    from pytest_cachesafe.lint.run import run_lint

    outcome = run_lint(options)
    result = outcome.result
    status = 2 if outcome.failed else 1 if _counts(outcome.result, args.strict) and not args.exit_zero else 0
    told = [*(f"warning: {line}" for line in result.warnings), *result.faults]
    before: tuple[str, ...] = ()
    if told:
        # File names, and words of rules that failed: harmless on a terminal.
        from pytest_cachesafe.report.visible import visible

        before = tuple(f"cachesafe: {visible(line)}" for line in told)
    after: tuple[str, ...] = ()
    if not args.quiet:
        from pytest_cachesafe.report.lint.summary import summary_line

        after = (f"cachesafe: {summary_line(result)}",)
    if args.diff:
        would = status if status == 2 else int(bool(outcome.text) and not args.exit_zero)
        return Printed(outcome.text or "", would, before, after)
    if outcome.written is not None:
        words = f"{outcome.written} finding{'' if outcome.written == 1 else 's'} written to the baseline"
        return Printed("", 2 if outcome.failed else 0, before, (f"cachesafe: {words}",))
    if outcome.text is not None:
        # Standard input with --fix: the mended text is the result.
        return Printed(outcome.text, status, before, after)
    return Printed(_rendered(args, outcome), status, before, after)


def _options(args: argparse.Namespace) -> LintOptions:
    from pytest_cachesafe.lint.options import LintOptions

    paths = list(args.paths) or ["."]
    stdin = None
    if "-" in paths:
        if len(paths) > 1:
            raise UsageError("- (standard input) stands alone: lint other paths in a run of their own")
        stdin = _stdin()
    elif args.stdin_filename:
        raise UsageError("--stdin-filename names what is read from standard input: give - as the path")
    if args.unsafe_fixes and not (args.fix or args.diff):
        raise UsageError("--unsafe-fixes needs --fix or --diff")
    if args.jobs < 1:
        raise UsageError(f"--jobs must be a whole number from 1 on, not {args.jobs}")
    if args.write_baseline is not None and (args.fix or args.diff):
        raise UsageError("--write-baseline lists findings and changes no file: drop --fix and --diff")
    for name in ("select", "extend_select", "ignore"):
        given = getattr(args, name)
        if given is not None and not any(part.strip() for text in given for part in text.split(",")):
            raise UsageError(f"--{name.replace('_', '-')} names no rule")
    return LintOptions(
        paths=tuple(paths),
        select=_words(args.select),
        extend_select=_words(args.extend_select),
        ignore=_words(args.ignore),
        include_tests=args.include_tests,
        strict=args.strict,
        baseline=args.baseline,
        changed_since=args.changed_since,
        stdin=stdin,
        stdin_filename=args.stdin_filename or "stdin.py",
        jobs=args.jobs,
        cache=not args.no_cache,
        fixes=args.fix or args.diff or _form(args) in _WITH_FIXES,
        fix=args.fix or args.diff,
        unsafe_fixes=args.unsafe_fixes,
        diff=args.diff,
        write_baseline=args.write_baseline,
        below_root=args.output_format in ("github", "gitlab", "sarif"),
    )


def _words(values: list[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    return tuple(part.strip() for text in values for part in text.split(",") if part.strip())


def _stdin() -> bytes:
    if sys.stdin is None:
        raise UsageError("standard input is closed: name a file, or pipe the source in")
    return sys.stdin.buffer.read()


def _counts(result: LintResult, strict: bool) -> bool:
    return any(strict or str(finding.severity) != "note" for finding in result.findings)


def _form(args: argparse.Namespace) -> str:
    form = args.output_format
    if form in (None, "text"):
        shown = sys.stdout is not None and sys.stdout.isatty() and not args.output_file
        return "full" if shown else "concise"
    return str(form)


def _rendered(args: argparse.Namespace, outcome: Outcome) -> str:
    from pytest_cachesafe.report.lint import render

    form = _form(args)
    result = outcome.result
    if args.statistics:
        from pytest_cachesafe.report.lint.summary import statistics

        if form not in ("concise", "full"):
            raise UsageError(f"--statistics is a table for people: drop --output-format {form}")
        return statistics(result.findings)
    return render(form, result, sources=outcome.sources, rules=outcome.rules)


def _settings(args: argparse.Namespace, options: LintOptions) -> Printed:
    from pytest_cachesafe.lint.runs import settings_of
    from pytest_cachesafe.lint.settings import describe

    return Printed("\n".join(describe(settings_of(options))) + "\n", 0)
