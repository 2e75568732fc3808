"""Hash seed: the test runs again in child processes, whatever it is made of and however pytest was started."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_cachesafe.perturb.rerun import _options, rerun_prompts
from pytest_cachesafe.prompt import UsageError

# Five strings: three seeds give one order only once in 14,400 cases, and seeds 0, 1 and 2 do not.
TAGS = "{'alpha', 'beta', 'gamma', 'delta', 'epsilon'}"
BUILD = f"""
TAGS = {TAGS}

def build(turn, head=""):
    return prompts(head + ", ".join(TAGS) + ". " + "more " * turn.index)[0]

def build_sorted(turn):
    return prompts(", ".join(sorted(TAGS)) + ". " + "more " * turn.index)[0]
"""


def _fails_by_hash_seed(result: pytest.RunResult, **counts: int) -> None:
    result.assert_outcomes(**counts)
    assert "hashseed=0 and hashseed=1" in result.stdout.str()


def test_an_unsorted_set_is_found_and_a_sorted_one_passes(project: Any) -> None:
    project.test(
        BUILD + "def test_bad():\n    assert_prefix_stable(build, turns=2, under=['hashseed'])\n"
        "def test_good():\n    assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
    )
    _fails_by_hash_seed(project.run(), failed=1, passed=1)


def test_closures_fixtures_parameters_and_classes_work(project: Any) -> None:
    project.test(
        BUILD + "@pytest.fixture\ndef head(tmp_path):\n    (tmp_path / 'head').write_text('Head. ')\n"
        "    return (tmp_path / 'head').read_text()\n"
        "class TestAgent:\n"
        "    @pytest.mark.parametrize('case', ['a::b', 'c[ü]'])\n"
        "    def test_it(self, head, case):\n"
        "        assert_prefix_stable(lambda turn: build(turn, head + case), turns=2, under=['hashseed=0'])\n"
    )
    _fails_by_hash_seed(project.run(), failed=2)


def test_each_assertion_meets_its_own_twin_and_shares_the_children(project: Any) -> None:
    project.test(
        BUILD + "def test_it(request):\n"
        "    with open(request.config.rootpath / 'runs.txt', 'a') as file:\n        file.write('x')\n"
        "    assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
        "    assert_prefix_stable(STABLE)\n"
        "    assert_prefix_stable(build, turns=2, under=['hashseed=0'], fail_on=['raises'])\n"
        "    assert_prefix_stable(build, turns=2, under=['hashseed=0'])\n"
    )
    result = project.run()
    _fails_by_hash_seed(result, failed=1)
    assert ">       assert_prefix_stable(build, turns=2, under=['hashseed=0'])" in result.stdout.str()
    # This process and one child for each of the two seeds.
    assert (project.path / "runs.txt").read_text(encoding="utf-8") == "x" * 3


def test_a_child_starts_no_children(project: Any) -> None:
    project.test(
        BUILD + "from pytest_cachesafe.perturb.node import rerun_target\n"
        "import os\n"
        "def test_it():\n"
        "    assert 'CACHESAFE_RERUN_FILE' not in os.environ\n"
        "    report = assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
        "    assert (report.verdict, report.passed) == ('stable', True)\n"
        "    open(f'pid-{os.getpid()}-{rerun_target() is not None}', 'w').close()\n"
    )
    project.run_apart().assert_outcomes(passed=1)
    marks = sorted(path.name.rsplit("-", 1)[1] for path in project.path.glob("pid-*"))
    assert marks == ["False", "True", "True"]


def test_marker_reruns_every_assertion(project: Any) -> None:
    project.test(
        BUILD + "@pytest.mark.cachesafe(rerun=['hashseed=0', 'hashseed=1'])\n"
        "def test_it():\n    assert_prefix_stable(build, turns=2)\n"
    )
    _fails_by_hash_seed(project.run(), failed=1)


def test_marker_reruns_recordings(project: Any) -> None:
    project.test(
        BUILD + "@pytest.mark.cachesafe(rerun=['hashseed=0', 'hashseed=1'])\n"
        "def test_it(cachesafe):\n"
        "    with cachesafe.record() as rec:\n"
        "        for n in range(2):\n"
        "            rec.request({'prompt': ', '.join(TAGS) + '. ' + 'more ' * n})\n"
        "    rec.assert_stable()\n"
    )
    _fails_by_hash_seed(project.run(), failed=1)


def test_marker_without_an_assertion_is_an_error(project: Any) -> None:
    project.test("@pytest.mark.cachesafe(rerun=['hashseed=0'])\ndef test_it(): pass")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*compared nothing: the test made no assertion*"])


def test_marker_of_a_skipped_test_is_no_error(project: Any) -> None:
    project.test("@pytest.mark.cachesafe(rerun=['hashseed=0'])\ndef test_it(): pytest.skip()")
    project.run().assert_outcomes(skipped=1)


def test_async_builders(project: Any) -> None:
    project.test(
        BUILD + "from pytest_cachesafe import assert_prefix_stable_async\n"
        "async def slow(turn):\n    return build(turn)\n"
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
        "@pytest.mark.anyio\nasync def test_it():\n"
        "    await assert_prefix_stable_async(slow, turns=2, under=['hashseed=0'])\n"
    )
    _fails_by_hash_seed(project.run("-p", "anyio"), failed=1)


def test_options_of_the_command_line_reach_the_child(project: Any) -> None:
    (project.path / "other.ini").write_text("[pytest]\nmarkers = mine: ours\n", encoding="utf-8")
    (project.path / "conftest.py").write_text(
        "import pytest\n"
        "def pytest_addoption(parser):\n    parser.addoption('--stage', nargs='*', default=['none'])\n"
        "@pytest.fixture\ndef stage(request):\n    return request.config.getoption('stage')\n",
        encoding="utf-8",
    )
    (project.path / "extra_plugin.py").write_text(
        "import pytest\n@pytest.fixture\ndef extra():\n    return 'extra'\n", encoding="utf-8"
    )
    project.test(
        BUILD + "@pytest.mark.mine\ndef test_it(stage, extra, request):\n"
        "    assert stage == ['one', 'two'] and extra == 'extra'\n"
        "    assert request.config.getini('xfail_strict') is True\n"
        "    assert_prefix_stable(build, turns=2, under=['hashseed=0'])\n"
        "def test_other(): pass\n",
        name="tests/test_it.py",
    )
    args = ("-c", "other.ini", "--rootdir=.", "-o", "xfail_strict=true", "-W", "error", "-p", "extra_plugin")
    result = project.run(*args, "--strict-markers", "-k", "test_it", "tests", "--stage", "one", "two")
    _fails_by_hash_seed(result, failed=1, passed=1)


def test_nothing_of_the_parents_is_overwritten(project: Any, tmp_path: Any) -> None:
    project.test(
        BUILD + "def test_it(tmp_path):\n"
        "    mark = tmp_path / 'mark'\n"
        "    mark.write_text('parent')\n"
        "    assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
        "    assert mark.read_text() == 'parent'\n"
        "def test_fails():\n    assert 0\n"
    )
    base, xml = tmp_path / "base", tmp_path / "junit.xml"
    result = project.run(f"--basetemp={base}", f"--junitxml={xml}")
    result.assert_outcomes(passed=1, failed=1)
    assert xml.read_text(encoding="utf-8").count("<testcase") == 2
    project.run("--lf").assert_outcomes(failed=1)


@pytest.mark.parametrize("args", [("-p", "no:cacheprovider"), ("-p", "no:terminal", "-s")])
def test_ways_to_start_pytest(project: Any, args: tuple[str, ...]) -> None:
    project.test(
        BUILD + "from pathlib import Path\n"
        "def test_it():\n"
        "    with pytest.raises(AssertionError) as caught:\n"
        "        assert_prefix_stable(build, turns=2, under=['hashseed=0'])\n"
        "    Path('failure.txt').write_text(str(caught.value))\n"
    )
    assert project.run(*args).ret == pytest.ExitCode.OK
    assert "hashseed=0 and hashseed=1" in (project.path / "failure.txt").read_text(encoding="utf-8")


def test_random_numbers_are_not_blamed_on_the_hash_seed(project: Any) -> None:
    project.test(
        "import random\n"
        "def test_it():\n    number = random.random()\n"
        "    def drawn(turn):\n        return prompts(f'{number} ' * (1 + turn.index))[0]\n"
        "    assert_prefix_stable(drawn, turns=2, under=['hashseed=0'])\n"
    )
    project.run("-p", "randomly").assert_outcomes(passed=1)


def test_under_xdist(project: Any) -> None:
    project.test(
        BUILD + "import os\ndef test_bad():\n"
        "    assert os.environ.get('PYTEST_XDIST_WORKER') or os.environ['PYTHONHASHSEED'] in '012'\n"
        "    assert_prefix_stable(build, turns=2, under=['hashseed=0'])\n"
        "def test_good():\n    assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
    )
    result = project.run_apart("-p", "xdist", "-n", "2")
    _fails_by_hash_seed(result, failed=1, passed=1)


def test_a_test_that_fails_in_the_child_is_told_with_its_words(project: Any) -> None:
    project.test(
        BUILD + "import os\n"
        "def test_it():\n"
        "    if os.environ.get('PYTHONHASHSEED') == '1':\n"
        "        raise RuntimeError('no luck with seed one\\x1b[31m')\n"
        "    assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "hashseed=1: the test, run again in a child process, failed before this assertion" in text
    assert "no luck with seed one" in text
    assert "\x1b[31m" not in text
    assert "Traceback" not in text


def test_a_child_that_takes_another_way_is_told(project: Any) -> None:
    project.test(
        BUILD + "import os\n"
        "def test_it():\n"
        "    if 'PYTHONHASHSEED' not in os.environ:\n"
        "        assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
    )
    result = project.run()
    result.stdout.fnmatch_lines(["*passed without getting to this assertion*"])


def test_a_child_that_hangs_is_stopped(project: Any) -> None:
    project.ini("cachesafe_rerun_timeout = 2")
    project.test(
        BUILD + "import os, time\n"
        "def test_it():\n"
        "    if 'PYTHONHASHSEED' in os.environ:\n        time.sleep(60)\n"
        "    assert_prefix_stable(build_sorted, turns=2, under=['hashseed=0'])\n"
    )
    result = project.run()
    result.stdout.fnmatch_lines(["*was stopped after 2 s (ini cachesafe_rerun_timeout)"])


def test_given_token_ids_and_requests_travel(project: Any) -> None:
    project.test(
        "from pytest_cachesafe.perturb.node import current_node\n"
        "from pytest_cachesafe.perturb.rerun import in_rerun, rerun_prompts\n"
        "from pytest_cachesafe.prompt import Chat\n"
        "def made(n):\n"
        "    messages = [{'role': 'user', 'content': f'm{i} \\ud800é'} for i in range(n)]\n"
        "    messages[0] = dict(reversed(messages[0].items())) if n == 3 else messages[0]\n"
        "    body = {'messages': list(messages), 'max_tokens': 3}\n"
        "    chat = Chat(messages, tools=[len], wire='openai-chat', model='m', body=body, paths=('a', 'b'))\n"
        "    segments = [Segment(0, 5 * n, 'message', 'data', 'messages[0]', 0, 'user')]\n"
        "    return Prompt('text ' * n, front_end='f', token_ids=range(n), chat=chat, segments=segments)\n"
        "def test_it():\n"
        "    number = current_node().next_call()\n"
        "    sent = [made(n) for n in (2, 3, 2)]\n"
        "    if in_rerun():\n        in_rerun().write(number, sent)\n        return\n"
        "    got = [r.prompt() for r in rerun_prompts('hashseed=7', number)]\n"
        "    assert [r.request for r in rerun_prompts('hashseed=7', number)] == [0, 1, 2]\n"
        "    for a, b in zip(sent, got, strict=True):\n"
        "        assert (a.text, a.segments, a.front_end) == (b.text, b.segments, 'f')\n"
        "        assert list(a.token_ids) == list(b.token_ids)\n"
        "        assert [list(m.items()) for m in a.chat.messages] == [list(m.items()) for m in b.chat.messages]\n"
        "        assert b.chat.body == a.chat.body and b.chat.tools == ['<len>'] and b.chat.paths == ('a', 'b')\n"
        "        assert (b.chat.wire, b.chat.model) == ('openai-chat', 'm')\n"
    )
    project.run().assert_outcomes(passed=1)


def test_outside_of_pytest_it_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_cachesafe.perturb.rerun.current_node", lambda: None)
    with pytest.raises(UsageError, match="hashseed needs a pytest test"):
        rerun_prompts("hashseed=0", 0)


@pytest.mark.parametrize(
    ("words", "files", "kept"),
    [
        (["-q", "tests", "-x"], ["tests"], ["-q", "-x"]),
        (["-k", "tests", "tests"], ["tests"], ["-k", "tests"]),
        (["tests", "-k", "tests"], ["tests"], ["-k", "tests"]),
        (["-x", "tests"], ["tests"], ["-x"]),
        (["a.py::t", "b.py", "-p", "x"], ["a.py::t", "b.py"], ["-p", "x"]),
        (["--pdb", "--trace", "-v"], [], ["-v"]),
        (["a", "a"], ["a", "a"], []),
    ],
)
def test_files_are_taken_out_of_the_arguments(words: list[str], files: list[str], kept: list[str]) -> None:
    class Option:
        file_or_dir = files

    assert _options(words, Option()) == kept


def test_no_variables_are_left_behind() -> None:
    assert not [name for name in os.environ if name.startswith("CACHESAFE_RERUN")]


def test_a_conftest_above_the_project_stays_out_of_the_child(project: Any) -> None:
    # Without an ini file pytest stops at the root directory; so must the child.
    (project.path / "conftest.py").write_text("raise RuntimeError('not of this project')", encoding="utf-8")
    (project.path / "inner").mkdir()
    path = project.test(
        BUILD + "def test_it():\n    assert_prefix_stable(build, turns=2, under=['hashseed=0'])\n", "inner/test_it.py"
    )
    _fails_by_hash_seed(project.run("--rootdir", path.parent, path), failed=1)
