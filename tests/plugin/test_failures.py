"""What a failing test shows: the user's line last, the report's first line in the summary, nothing of ours between."""

from __future__ import annotations

from typing import Any


def test_the_users_line_is_the_last_of_the_traceback(project: Any) -> None:
    project.test("def test_it():\n    assert_prefix_stable(BROKEN)")
    result = project.run()
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert ">       assert_prefix_stable(BROKEN)" in text
    assert "stability.py" not in text
    assert "PrefixFailure: " not in text
    result.stdout.fnmatch_lines(["*test_it.py:*: PrefixFailure*"])


def test_the_summary_shows_the_first_line_of_the_report(project: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    project.test("def test_it():\n    assert_prefix_stable(BROKEN)")
    result = project.run()
    (summary,) = [line for line in result.stdout.lines if line.startswith("FAILED")]
    first = summary.partition(" - ")[2]
    assert first.startswith("prompt prefix is not stable: request 1 ")
    # The same line heads the report in the body.
    assert any(line.startswith("E") and first in line for line in result.stdout.lines)


def test_every_traceback_style_shows_it(project: Any) -> None:
    project.test("def test_it():\n    assert_prefix_stable(BROKEN)")
    for style in ("long", "short", "line", "native", "auto"):
        result = project.run(f"--tb={style}")
        result.assert_outcomes(failed=1)
        assert "prompt prefix is not stable" in result.stdout.str(), style


def test_a_recording_hides_our_frames_too(project: Any) -> None:
    project.test(
        "def test_it(cachesafe):\n"
        "    with cachesafe.record() as rec:\n"
        "        for prompt in BROKEN:\n"
        "            rec.request({'prompt': prompt.text})\n"
        "    rec.assert_stable()\n"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    assert ">       rec.assert_stable()" in result.stdout.str()
    assert "recording.py" not in result.stdout.str()


def test_more_verbosity_lifts_the_cap(project: Any) -> None:
    project.test(
        "def test_it():\n"
        "    assert_prefix_stable(prompts(*(f'request {i} ' + 'and some more text ' * (20 + i) for i in range(60))))"
    )
    short, long = project.run(), project.run("-vv")
    assert len(long.stdout.lines) > len(short.stdout.lines) + 10


def test_a_usage_error_is_one_line(project: Any) -> None:
    project.test("def test_it():\n    assert_prefix_stable('a lone string')")
    result = project.run()
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "lone string" in text
    assert "Traceback" not in text
    assert "stability.py" not in text
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_it - got a lone string*"])


def test_a_usage_error_in_a_fixture_is_one_line(project: Any) -> None:
    project.test(
        "@pytest.fixture\ndef broken():\n    assert_prefix_stable(7)\n\ndef test_it(broken):\n    pass",
    )
    result = project.run()
    result.assert_outcomes(errors=1)
    assert "inputs.py" not in result.stdout.str()


def test_a_builder_that_raises_keeps_its_traceback(project: Any) -> None:
    project.test(
        "def helper():\n    raise KeyError('tool')\n\n"
        "def build(turn):\n    return helper()\n\n"
        "def test_it():\n    assert_prefix_stable(build, turns=2)"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*raise KeyError('tool')", "E*KeyError: 'tool'"])


def test_a_builder_with_a_failing_assertion_keeps_its_explanation(project: Any) -> None:
    project.test("def build(turn):\n    assert turn.index == 7\n\ndef test_it():\n    assert_prefix_stable(build)")
    result = project.run()
    result.stdout.fnmatch_lines(["E*assert 0 == 7"])


def test_expected_failures_stay_expected(project: Any) -> None:
    project.test(
        "from pytest_cachesafe.prompt import UsageError\n"
        "@pytest.mark.xfail(raises=AssertionError, strict=True)\ndef test_a():\n    assert_prefix_stable(BROKEN)\n\n"
        "@pytest.mark.xfail(raises=UsageError, strict=True)\ndef test_b():\n    assert_prefix_stable('x')\n\n"
        "def test_c():\n    with pytest.raises(AssertionError):\n        assert_prefix_stable(BROKEN)\n"
    )
    project.run().assert_outcomes(xfailed=2, passed=1)


def test_async_tests_fail_the_same_way(project: Any) -> None:
    project.test(
        "from pytest_cachesafe import assert_prefix_stable_async\n"
        "async def build(turn):\n    return BROKEN[turn.index]\n\n"
        "@pytest.mark.anyio\nasync def test_it(cachesafe):\n"
        "    await assert_prefix_stable_async(build, turns=2)\n\n"
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    )
    result = project.run("-p", "anyio")
    result.assert_outcomes(failed=1)
    assert ">       await assert_prefix_stable_async(build, turns=2)" in result.stdout.str()
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_it* - prompt prefix*"])


def test_pytest_asyncio_works(project: Any) -> None:
    project.ini("asyncio_mode = auto", "asyncio_default_fixture_loop_scope = function")
    project.test(
        "from pytest_cachesafe import assert_prefix_stable_async\n"
        "async def build(turn):\n    return STABLE[turn.index]\n\n"
        "async def test_it(cachesafe):\n    await assert_prefix_stable_async(build, turns=3)\n"
    )
    project.run("-p", "asyncio").assert_outcomes(passed=1)


def test_warnings_as_errors_do_not_hide_a_failing_report(project: Any) -> None:
    project.ini("filterwarnings = error")
    project.test(
        "from pytest_cachesafe import Toggle\n"
        "def build(turn):\n    return BROKEN[turn.index]\n\n"
        "def test_fails():\n    assert_prefix_stable(build, turns=2, toggles=[Toggle('nobody_reads', [0, 1])])\n\n"
        "def test_warns():\n    assert_prefix_stable(lambda turn: STABLE[turn.index], turns=2, "
        "toggles=[Toggle('nobody_reads', [0, 1])])\n"
    )
    result = project.run()
    result.assert_outcomes(failed=2)
    text = result.stdout.str()
    assert "prompt prefix is not stable: request 1 " in text
    result.stdout.fnmatch_lines(["E *: toggle compared nothing*", "*CachesafeWarning: toggle compared nothing*"])
