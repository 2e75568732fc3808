"""`cachesafe check REQUESTS.jsonl`: what goes out to a provider, judged against its caching rules."""

from __future__ import annotations

import argparse

from pytest_cachesafe.commands.common import Result
from pytest_cachesafe.usage import UsageError

__all__ = ["add", "run"]

_PROVIDERS = ("anthropic", "openai", "bedrock", "gemini")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument(
        "requests",
        metavar="REQUESTS.jsonl",
        nargs="?",
        help="wire bodies, one a line in the order they were sent; also recorded traffic, VCR cassettes and "
        "OpenTelemetry spans; - is standard input",
    )
    parser.add_argument("--provider", metavar="NAME", choices=_PROVIDERS,
        help=f"whose rules hold for bodies: {', '.join(_PROVIDERS)} (default: what a body looks like)",
    )  # fmt: skip
    parser.add_argument("--model", metavar="M", help="model id, for bodies that name none (Bedrock, Gemini, Azure)")
    parser.add_argument("--no-prices", action="store_true", help="leave out what it costs")
    group = parser.add_argument_group("the rules themselves")
    group.add_argument(
        "--rules", action="store_true", help="print the rules with their sources and dates, check nothing"
    )
    group.add_argument(
        "--stale-after", metavar="AGE", help="with --rules: only rules checked longer ago (90d, 12w, 1y)"
    )


def run(args: argparse.Namespace) -> Result:
    """Exit status: 0 fine or notes only, 1 errors or warnings (`--strict`: notes as well; `--stale-after`: any stale).

    Raises:
        UsageError: input or options that cannot be used.
    """
    if args.rules or args.stale_after is not None:
        return _rules(args)
    if args.requests is None:
        raise UsageError("no requests given: name a file of wire bodies, one a line (- is standard input), or --rules")
    from pytest_cachesafe.providers.capture.storage import read_exchanges
    from pytest_cachesafe.providers.checks.check import check_requests

    requests = read_exchanges(args.requests, provider=args.provider, model=args.model)
    try:
        report = check_requests(requests, prices=not args.no_prices)
    except UsageError as error:
        raise UsageError(f"{_name(args.requests)}: {error}") from None
    text = report.text(verbosity=args.verbose, redact=args.redact)
    status = report.exit_status(strict=args.strict)
    if status and not report.exit_status():
        first, _, rest = text.partition("\n")
        text = f"{first}; notes count (--strict)\n{rest}"
    return Result(text, report.as_dict(args.redact), status)


def _rules(args: argparse.Namespace) -> Result:
    from pytest_cachesafe.providers.rules.load import load_rules
    from pytest_cachesafe.report.rules import rules_table

    if args.requests is not None:
        raise UsageError(f"--rules prints the rules and checks nothing: drop {args.requests}, or drop --rules")
    if not args.rules:
        raise UsageError("--stale-after goes with --rules: it lists the rules that were checked longer ago")
    table = rules_table(load_rules(), args.stale_after, provider=args.provider)
    return Result(table.text(), table.as_dict(), table.status)


def _name(path: str) -> str:
    return "standard input" if path == "-" else path
