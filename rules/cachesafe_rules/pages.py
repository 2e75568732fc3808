"""A rule's page and the index of all rules, made from docstrings and examples: nothing is said twice by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

from cachesafe_rules.api import Example, Rule
from cachesafe_rules.arrival_rule import ArrivalRule
from cachesafe_rules.meta_rule import MetaRule
from cachesafe_rules.patterns import lazy_pattern

__all__ = ["fixable", "index", "page", "page_json", "summary"]

_HEADING = "## "
_UNDERLINED = lazy_pattern(r"^(\S.*)\n-{3,}$", re.MULTILINE)
_AREAS = {
    "1": "Volatile values in a cached prefix",
    "2": "Order",
    "3": "History and structure",
    "4": "Provider markers",
    "9": "About the lint itself",
}


def summary(rule: Rule) -> str:
    """The first line of the rule's docstring."""
    return _doc(rule).split("\n", 1)[0].strip()


def explanation(rule: Rule) -> str:
    """What follows the summary in the docstring, underlined headings written as the page's own."""
    return _UNDERLINED.sub(rf"{_HEADING}\1\n", _doc(rule).partition("\n")[2]).strip()


def fixable(rule: Rule) -> bool:
    """Whether there is a fix for at least some of the rule's findings."""
    engine = isinstance(rule, MetaRule) and rule.fixed_by_engine
    return engine or type(rule).fix is not Rule.fix


def page(rule: Rule) -> str:
    """The rule's page in Markdown: summary, why, what to do, examples, how to suppress and configure it."""
    parts = [f"# {rule.name} ({rule.code})", summary(rule), _facts(rule), explanation(rule)]
    if rule.INVALID:
        parts += [f"{_HEADING}Found", *(_block(rule, example) for example in rule.INVALID)]
    if rule.VALID:
        parts += [f"{_HEADING}Fine", *(_block(rule, example) for example in rule.VALID)]
    parts += [f"{_HEADING}How to suppress it", _suppress(rule), f"{_HEADING}Configuration", _configure(rule)]
    return "\n\n".join(part for part in parts if part) + "\n"


def page_json(rule: Rule) -> dict[str, Any]:
    """The same as JSON; `markdown` is the page as it stands."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "summary": summary(rule),
        "explanation": explanation(rule),
        "fix": fixable(rule),
        "invalid": [_example_json(example) for example in rule.INVALID],
        "valid": [_example_json(example) for example in rule.VALID],
        "suppress": _suppress(rule),
        "configure": _configure(rule),
        "markdown": page(rule),
    }


def index(rules: Iterable[Rule], folder: str) -> str:
    """The table of all rules in Markdown; `folder` is where the pages lie, seen from the index."""
    lines = [
        "# Rules",
        "",
        "Made by `python -m cachesafe_rules` from the docstrings; do not edit. `cachesafe rule CODE` prints a page.",
    ]
    area = None
    for rule in sorted(rules, key=lambda rule: rule.code):
        if (this := rule.code[3:4]) != area:
            area = this
            lines += ["", f"{_HEADING}{_AREAS.get(this, 'Others')} (`CSF{this}`)", ""]
            lines += ["| code | name | severity | summary | fix |", "|---|---|---|---|---|"]
        fix = "yes" if fixable(rule) else ""
        link = f"[{rule.code}]({folder}/{rule.code}.md)"
        lines.append(f"| {link} | {rule.name} | {rule.severity} | {_cell(summary(rule))} | {fix} |")
    lines += ["", "Severity is the usual one; rules on clocks and switches follow how often the value changes.", ""]
    return "\n".join(lines)


def _doc(rule: Rule) -> str:
    # Not `inspect.getdoc`: it would hand out the base class's words for a rule that has none.
    return cleandoc(type(rule).__doc__ or rule.name)


def _facts(rule: Rule) -> str:
    fix = (
        "where one is offered, `--fix` changes what is provably safe, `--unsafe-fixes` also what changes the prompt"
        if fixable(rule)
        else "none"
    )
    return f"Severity: {rule.severity}. Fix: {fix}."


def _block(rule: Rule, example: Example) -> str:
    python = example.filename.endswith(".py")
    lines = example.code.rstrip("\n").split("\n")
    if python and not isinstance(rule, MetaRule):
        # The last of the possible rows: text inside a multi-line string stays as it is.
        lines = [f"{line}  # {rule.code}" if row in example.rows[-1:] else line for row, line in enumerate(lines, 1)]
    fence = "```"
    while fence in example.code:
        fence += "`"
    head = "" if python else f"`{example.filename}`\n\n"
    language = "python" if python else "jinja" if example.filename.endswith((".jinja", ".j2", ".jinja2")) else ""
    return head + "\n".join([fence + language, *lines, fence])


def _suppress(rule: Rule) -> str:
    if rule.code == "CSF901":
        return "It cannot be suppressed by a comment; leave the file out with `exclude` or `per-file-ignores`."
    own = f"`# cachesafe: ignore[{rule.code}] reason` (or `ignore[{rule.name}]`, or `# noqa: {rule.code}`) on the line"
    file = f"`# cachesafe: ignore-file[{rule.code}] reason` at the head of a file."
    if isinstance(rule, ArrivalRule):
        where = (
            "of the finding or of the source of the value, on the first or last line of the statement, or on the `def`"
        )
        return f"{own} {where} line; {file}"
    return f"{own} of the finding, or on the first or last line of its statement; {file}"


def _configure(rule: Rule) -> str:
    strict = " It is reported under `--strict` only." if rule.code == "CSF904" else ""
    return (
        f'`ignore = ["{rule.code}"]` in `[tool.cachesafe]` switches it off everywhere, `per-file-ignores` for some '
        f"files; `--ignore {rule.code}` for one run.{strict}"
    )


def _example_json(example: Example) -> dict[str, Any]:
    return {"code": example.code, "rows": list(example.rows), "filename": example.filename}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
