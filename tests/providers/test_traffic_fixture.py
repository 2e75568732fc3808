"""`llm_traffic` and `cachesafe.record()`: the user's own SDK code under test, caught, answered, judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from own_modules import load_own_modules

pytest.importorskip("anthropic", reason="needs the anthropic SDK: pip install 'pytest-cachesafe[providers]'")
load_own_modules()

ARTICLE = """
import anthropic

client = anthropic.Anthropic()
TEXT = "You are a careful support assistant." * {times}

def ask(question, mark_user=False):
    mark = {{"cache_control": {{"type": "ephemeral"}}}}
    system = [{{"type": "text", "text": TEXT, **({{}} if mark_user else mark)}}]
    asked = {{"type": "text", "text": question, **(mark if mark_user else {{}})}}
    message = client.messages.create(
        model="claude-sonnet-4-6",
        max_tokens=100,
        system=system,
        messages=[{{"role": "user", "content": [asked]}}],
    )
    usage = message.usage
    print(f"write={{usage.cache_creation_input_tokens}} read={{usage.cache_read_input_tokens}} "
          f"uncached={{usage.input_tokens}}")
"""
COUNTER = """
def count(text):
    return {True: 2823, False: 14 if "first" in text else 17}[text.startswith("You are")]
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project that talks to Anthropic when it is imported, without a key."""
    for name in ("ANTHROPIC_API_KEY", "CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'rules'}")
    pytester.makeini(
        "[pytest]\npythonpath = .\ncachesafe_dummy_keys = true\nfilterwarnings = ignore::DeprecationWarning\n"
    )
    return pytester


def run(
    project: pytest.Pytester,
    body: str,
    *,
    times: int = 400,
    ok: int = 0,
    flags: tuple[str, ...] = (),
    apart: bool = False,
) -> Any:
    """One run; `apart` in a process of its own, where the SDK is imported behind our plugin."""
    project.makepyfile(article=ARTICLE.format(times=times), test_it=f"from article import ask\n{COUNTER}\n{body}")
    start = project.runpytest_subprocess if apart else project.runpytest_inprocess
    result = start("-p", "pytest_cachesafe.plugin", "-s", "-rA", *flags)
    assert result.ret == ok, result.stdout.str() + result.stderr.str()
    return result


def test_the_first_request_writes_and_the_second_reads(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(llm_traffic):
    llm_traffic.count_tokens = count
    ask("the first question")
    ask("another question")
    llm_traffic.assert_cache_safe()
    llm_traffic.assert_read(request=1, at_least=2823)
""",
        apart=True,
    )
    result.stdout.fnmatch_lines(["*write=2823 read=0 uncached=14", "*write=0 read=2823 uncached=17"])


def test_a_marker_on_the_question_never_reads_and_the_check_says_why(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(llm_traffic):
    llm_traffic.count_tokens = count
    ask("the first question", mark_user=True)
    ask("another question", mark_user=True)
    llm_traffic.assert_cache_safe()
""",
        ok=1,
    )
    # 2,823 + 14 and 2,823 + 17
    result.stdout.fnmatch_lines(["*write=2837 read=0 uncached=0", "*write=2840 read=0 uncached=0"])
    result.stdout.fnmatch_lines(["*requests are not cache-safe: *", "*marker*"])


def test_a_short_text_is_not_cached_and_the_check_names_the_minimum(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(llm_traffic):
    llm_traffic.count_tokens = lambda text: len(text) // 5
    ask("the first question")
    ask("another question")
    print(llm_traffic.assert_cache_safe().text())
""",
        times=40,
    )
    result.stdout.fnmatch_lines(
        [
            "*write=0 read=0*",
            "*write=0 read=0*",
            "*below-minimum*288 tokens are marked, claude-sonnet-4-6 caches from 1,024*",
        ]
    )


def test_without_a_counter_numbers_are_estimates_and_say_so(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(llm_traffic):
    ask("the first question")
    ask("another question")
    report = llm_traffic.assert_cache_safe()
    assert not report.exact
    print(report.text())
""",
    )
    result.stdout.fnmatch_lines(["*token counts are estimates*"])


def test_replies_are_scripted_and_what_is_left_is_told(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
from pytest_cachesafe import Failure, Reply

def test_it(cachesafe):
    with cachesafe.record(replies=[Failure(529), Reply("hello"), "unused"]) as rec:
        ask("a first question")
    assert [e.status for e in rec.exchanges] == [529, 200]
    rec.assert_cache_safe()
""",
    )
    result.stdout.fnmatch_lines(["*1 scripted reply was never asked for"])


def test_a_recording_that_caught_nothing_is_told(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(cachesafe):
    with cachesafe.record() as rec:
        pass
""",
    )
    result.stdout.fnmatch_lines(["*no request was caught*"])


def test_too_little_cached_fails_in_one_line_and_goes_into_the_lock_file(project: pytest.Pytester) -> None:
    body = """
def test_it(cachesafe):
    with cachesafe.record(count_tokens=count) as rec:
        for turn in range(3):
            ask("a first question")
    rec.assert_cached(min_share={share})
"""
    # Two of three requests continue another one (exact retries): 2,823 of 2,837 each.
    run(project, body.format(share=1.0), ok=1).stdout.fnmatch_lines(
        ["*requests are not cached: 5,646 of 5,674 prompt tokens are read from the cache (100%)*min_share is 100%*"]
    )
    run(project, body.format(share=0.9), flags=("--cachesafe-update",))
    assert '"anthropic": 5646' in (project.path / "cachesafe.lock.jsonl").read_text()
    run(project, body.format(share=0.9))
