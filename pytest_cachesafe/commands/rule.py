"""`cachesafe rule CODE` and `cachesafe rule --all`: what a rule looks for, why, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_cachesafe.commands.common import Result
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    import argparse

    from cachesafe_rules.api import Rule

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("code", metavar="CODE", nargs="?", help="code or name: CSF101, daily-date")
    parser.add_argument("--all", action="store_true", help="every rule")


def run(args: argparse.Namespace) -> Result:
    """Exit status 0.

    Raises:
        UsageError: no such rule, with the closest one.
    """
    from cachesafe_rules.pages import page, page_json

    if args.all == (args.code is not None):
        raise UsageError("name a rule (cachesafe rule CSF101) or ask for all of them (cachesafe rule --all)")
    if args.all:
        rules = _every()
        text = "\n".join(page(rule) if page(rule).endswith("\n") else page(rule) + "\n" for rule in rules)
        return Result(text, {"rules": [page_json(rule) for rule in rules]}, 0)
    rule = _named(args.code)
    data: dict[str, Any] = page_json(rule)
    return Result(page(rule), data, 0)


def _every() -> list[Rule]:
    from cachesafe_rules.registry import known_codes, load_rules

    return [*load_rules(known_codes()), *_configured()]


def _configured() -> list[Rule]:
    """Rules of other packages that the project asks for."""
    from pathlib import Path

    from cachesafe_rules.registry import third_party
    from pytest_cachesafe.lint.settings import load_settings

    try:
        rules: list[Rule] = third_party(load_settings(Path.cwd()).rules)
        return rules
    except ValueError as error:
        raise UsageError(str(error)) from None


def _named(word: str) -> Rule:
    from cachesafe_rules.registry import known_codes, load_rules

    known = known_codes()
    for code, name in known.items():
        if word.upper() == code or word.lower().replace("_", "-") == name:
            return load_rules([code])[0]
    others = _configured()
    for rule in others:
        if word in (rule.code, rule.name):
            return rule
    from pytest_cachesafe.configuration import closest

    names = [*known, *known.values(), *(n for rule in others for n in (rule.code, rule.name))]
    hint = closest(word, names, names=False) or "`cachesafe rule --all` shows every rule"
    raise UsageError(f"unknown rule {word!r}; {hint}")
