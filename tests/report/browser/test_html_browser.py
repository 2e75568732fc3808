"""The page in a real browser: nothing overflows, nothing is refused, all of it is reached by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, chromium_path
from fetch_axe import axe_file
from lint_findings import HOSTILE
from report_runs import any_run, many

from pytest_cachesafe.gate.scenario import Run
from pytest_cachesafe.report.html import render

SIZES = [pytest.param(1280, id="desktop"), pytest.param(375, id="phone")]
SCHEMES = [pytest.param(False, id="light"), pytest.param(True, id="dark")]
# What stands out to the right, but for what only screen readers are to find. What is closed has no size.
OUTSIDE = """
(() => {
  const width = document.documentElement.clientWidth, found = [];
  const shown = one => one.classList.contains('body') && !one.parentElement.open
    ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT, shown);
  for (let one; (one = walker.nextNode());) {
    const box = one.getBoundingClientRect();
    if (box.width > 1 && box.height > 1 && (box.right > width + 1 || box.left < -1))
      found.push(one.outerHTML.slice(0, 200));
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1 && getComputedStyle(one).display !== 'inline')
      found.push('inner: ' + one.outerHTML.slice(0, 200));
  }
  return [document.documentElement.scrollWidth - width, found.slice(0, 5)];
})()
"""
OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"
AXE = """
axe.run(document, {resultTypes: ['violations']}).then(done => done.violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => one.id + ': ' + one.nodes.slice(0, 3).map(node => node.html.slice(0, 150)).join(' | ')))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    """One browser for all tests of the module."""
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium on PATH (Debian: apt-get install chromium)")
    with Chromium(path) as made:
        yield made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[], Run]], Path]:
    """Writes the page of a run once."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str, run: Callable[[], Run]) -> Path:
        file = folder / f"{name}.html"
        if not file.exists():
            file.write_text(render(run()), encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("checks", [1, 300])
def test_nothing_overflows_or_complains(browser: Chromium, page: Callable[..., Path], checks: int, width: int) -> None:
    browser.open(page(f"many-{checks}", lambda: many(checks)), width=width)
    assert browser.evaluate("document.querySelectorAll('.scenario').length") == checks
    grounds = set()
    for dark in (False, True):
        browser.scheme(dark=dark)
        over, outside = browser.evaluate(OUTSIDE)
        assert outside == []
        assert over <= 0
        grounds.add(browser.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert len(grounds) == 2
    assert browser.problems == []


@pytest.mark.parametrize("width", [*SIZES, pytest.param(280, id="narrow")])
def test_nothing_that_can_be_opened_overflows(browser: Chromium, page: Callable[..., Path], width: int) -> None:
    browser.open(page("many-8", lambda: many(8, requests=2)), width=width)
    browser.evaluate(OPEN_ALL)
    assert browser.evaluate(OUTSIDE) == [0, []]


@pytest.mark.parametrize("dark", SCHEMES)
@pytest.mark.parametrize("width", SIZES)
def test_no_barriers(browser: Chromium, page: Callable[..., Path], width: int, dark: bool) -> None:
    if not axe_file().is_file():
        pytest.skip("axe-core is not here; python tests/support/fetch_axe.py brings it")
    browser.open(page("many-8", lambda: many(8, requests=2)), width=width, dark=dark)
    browser.evaluate(OPEN_ALL)
    browser.evaluate(axe_file().read_text(encoding="utf-8") + "\n;0")
    assert browser.evaluate(AXE) == []


def test_the_keyboard_reaches_everything(browser: Chromium, page: Callable[..., Path]) -> None:
    browser.open(page("many-8", lambda: many(8, requests=2)), width=1280)
    wanted = browser.evaluate("document.querySelectorAll('a[href], summary').length")
    hidden = browser.evaluate(
        "[...document.querySelectorAll('a[href], summary')].filter(one => !one.checkVisibility()).length"
    )
    seen: list[Any] = []
    for _ in range(wanted + 1):
        browser.press("Tab", 9)
        place = browser.evaluate(
            "(() => { const one = document.activeElement; return [one.tagName, one.textContent.slice(0, 60),"
            " [...document.querySelectorAll('a[href], summary')].indexOf(one),"
            " getComputedStyle(one).outlineStyle !== 'none'] })()"
        )
        if place[2] < 0:
            break
        seen.append(place)
    assert len({place[2] for place in seen}) == wanted - hidden
    assert all(place[3] for place in seen), "what has the focus must show it"


def test_a_link_opens_what_it_leads_to(browser: Chromium, page: Callable[..., Path]) -> None:
    browser.open(page("many-8", lambda: many(8, requests=2)), width=1280)
    closed = browser.evaluate(
        "(() => { const one = document.querySelector('details.scenario:not([open]) .body'); return one.id })()"
    )
    browser.evaluate(f"document.querySelector('a[href=\"#{closed}\"]').focus()")
    browser.press("Enter", 13)
    assert browser.evaluate(f"document.getElementById('{closed}').closest('details').open") is True
    assert browser.evaluate("location.hash") == f"#{closed}"


TEXTS = [*HOSTILE, "<img src=x onerror=alert(1)>", "--><svg onload=alert(1)>", '"><a href="javascript:alert(1)">x']


@pytest.mark.parametrize("shift", [0, 7, 13])
def test_hostile_text_stays_text(browser: Chromium, tmp_path: Path, shift: int) -> None:
    texts = cycle([*TEXTS[shift:], *TEXTS[:shift]])
    file = tmp_path / "page.html"
    file.write_text(render(any_run(lambda: next(texts))), encoding="utf-8")
    browser.open(file, width=1280)
    assert browser.problems == []
    names = browser.evaluate("[...new Set([...document.querySelectorAll('body *')].map(one => one.localName))]")
    assert not {"script", "img", "iframe", "object", "link", "form", "x"} & set(names)
    assert browser.evaluate(
        "[...document.querySelectorAll('*')].every(one => [...one.attributes].every(a => !/^on|^style$/.test(a.name)))"
    )


def test_a_script_in_the_page_would_be_refused(browser: Chromium, tmp_path: Path) -> None:
    content = render(many(1)).replace("<main>", "<main><script>document.title = 'owned'</script>")
    file = tmp_path / "page.html"
    file.write_text(content, encoding="utf-8")
    browser.open(file, width=1280)
    assert browser.evaluate("document.title") != "owned"
    assert any("Content Security Policy" in line for line in browser.problems)
