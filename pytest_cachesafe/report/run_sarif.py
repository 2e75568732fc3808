"""SARIF of a pytest run: divergences that tests found, at the line that built the text where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint.sarif import Page, log, page_of
from pytest_cachesafe.report.repository import Repository
from pytest_cachesafe.report.run_found import findings_of, lint_of

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.gate.scenario import Run

__all__ = ["render"]

_PAGES = {
    "cache-regression": (
        "A check keeps less than the lock file says",
        "More tokens are lost than when the lock file was written, or a budget is missed. If the change is meant, run "
        "pytest --cachesafe-update and commit the lock file.",
    ),
    "engine-reuse": (
        "An engine finds less in its prefix cache than was asked for",
        "The prompts were replayed through an exact model of the engine's cache. What it does not find it computes "
        "again.",
    ),
    "not-cached": (
        "Requests are not read from the provider's cache",
        "The usage counters that were predicted from the requests stay below what the test asks for.",
    ),
    "prefix-toggle": (
        "A setting or an order changes the prompt otherwise than declared",
        "Prompts that differ in the setting share less than the test expects, or more than it was meant to. Keep "
        "settings constant within a conversation, sort what has no order of its own, or declare the split as expected.",
    ),
    "prefix-unstable": (
        "A prompt does not continue the one before it",
        "A cache serves the part of a prompt that an earlier one begins with. What stands behind the first difference "
        "is computed, or billed in full, again.",
    ),
    "semantic-collision": (
        "A semantic cache gives two prompts one answer",
        "The prompts need different answers, and their embeddings are closer than the cache's threshold. Raise the "
        "threshold, or keep what tells them apart out of the cached text and in the key.",
    ),
}


def render(run: Run, root: str) -> str:
    """One SARIF log; paths are relative to the repository around `root`."""
    repository = Repository(root)
    found = [*findings_of(run, repository), *lint_of(run, repository)]
    return log(LintResult(found), _pages(found))


def _pages(found: list[Finding]) -> dict[str, Page]:
    """What each rule that fired says of itself."""
    from cachesafe_rules.registry import known_codes, load_rules
    from pytest_cachesafe.prefix.causes import ADVICE, CAUSES
    from pytest_cachesafe.providers.checks.codes import CODES

    pages = {code: Page(summary, f"{summary}\n{text}", "error") for code, (summary, text) in _PAGES.items()}
    for cause, words in CAUSES.items():
        summary = f"Between two prompts of a conversation {words}"
        text = f"{summary}. Everything behind it is computed, or billed in full, again.\nFix: {ADVICE[cause]}."
        pages[f"prefix-{cause.replace('_', '-')}"] = Page(summary, text, "error")
    for finding in found:
        code = finding.code
        if code in pages or code not in CODES:
            continue
        about = CODES[code]
        pages[code] = Page(about.says, f"{about.says}\nFix: {about.fix}", str(finding.severity))
    linted = sorted({finding.code for finding in found} & known_codes().keys())
    pages.update((rule.code, page_of(rule)) for rule in load_rules(linted))
    return pages
