"""Flags, ini twins, their precedence, and mistakes in them."""

from __future__ import annotations

from typing import Any

import pytest

SHOW = (
    "def test_it(cachesafe):\n"
    "    for name, (value, origin) in cachesafe.settings.items():\n"
    "        print(f'{name}={value!r} from {origin}')\n"
)


def test_defaults(project: Any) -> None:
    project.test(SHOW)
    project.run("-s").stdout.fnmatch_lines(
        [
            "*model=None from default",
            "fail_on=('history', 'raises', 'not_rendered') from default",
            "block_size=16 from default",
            "redact='none' from default",
            "update=False from default",
            "allow_download=False from default",
        ]
    )


def test_marker_beats_flag_beats_ini(project: Any) -> None:
    project.ini("cachesafe_block_size = 8", "cachesafe_model = from-ini", "cachesafe_fail_on = history, tail")
    project.test("@pytest.mark.cachesafe(block_size=64)\n" + SHOW)
    project.run("-s", "--cachesafe-block-size=32", "--cachesafe-model", "from-flag").stdout.fnmatch_lines(
        [
            "*model='from-flag' from flag",
            "fail_on=('history', 'tail') from ini",
            "block_size=64 from marker",
        ]
    )


def test_an_empty_flag_beats_the_ini(project: Any) -> None:
    project.ini("cachesafe_fail_on = tail")
    project.test(SHOW)
    project.run("-s", "--cachesafe-fail-on=").stdout.fnmatch_lines(["fail_on=() from flag"])


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--cachesafe-redact=hsah", "--cachesafe-redact: unknown mode 'hsah'; did you mean 'hash'"),
        ("--cachesafe-fail-on=histroy", "--cachesafe-fail-on: unknown verdict 'histroy'; did you mean 'history'"),
        ("--cachesafe-fail-on=tail,nonsense", "unknown verdict 'nonsense'; allowed: tail, history"),
        ("--cachesafe-block-size=0", "--cachesafe-block-size: must be a whole number from 1 on, not '0'"),
        ("--cachesafe-block-size=many", "--cachesafe-block-size: must be a whole number from 1 on, not 'many'"),
        ("--cachesafe-rerun-timeout=-1", "--cachesafe-rerun-timeout: must be a whole number"),
    ],
)
def test_a_mistaken_flag_stops_the_run(project: Any, flag: str, words: str) -> None:
    project.test(SHOW)
    result = project.run(flag)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{words}*".replace("[", "[[]")])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cachesafe_modle = x", "unknown ini option 'cachesafe_modle'; did you mean 'cachesafe_model'"),
        ("cachesafe_zzz = x", "unknown ini option 'cachesafe_zzz'; allowed: cachesafe_model"),
        ("cachesafe_redact = some", "cachesafe_redact: unknown mode 'some'"),
        ("cachesafe_block_size = many", "cachesafe_block_size"),
        ("cachesafe_update = ture", "cachesafe_update"),
    ],
)
def test_a_mistaken_ini_option_stops_the_run(project: Any, line: str, words: str) -> None:
    project.ini(line)
    project.test(SHOW)
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{words}*"])
    assert "Traceback" not in result.stderr.str()


def test_an_unknown_flag_is_pytests_own_error(project: Any) -> None:
    project.test(SHOW)
    assert project.run("--cachesafe-foo").ret == pytest.ExitCode.USAGE_ERROR


def test_toml_lists_and_numbers_work(project: Any) -> None:
    (project.path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ncachesafe_fail_on = ["tail", "raises"]\ncachesafe_block_size = "4"\n'
        "cachesafe_update = true\n",
        encoding="utf-8",
    )
    project.test(SHOW)
    project.run("-s").stdout.fnmatch_lines(
        ["fail_on=('tail', 'raises') from ini", "block_size=4 from ini", "update=True from ini"]
    )


def test_the_header_tells_what_was_set_and_by_whom(project: Any) -> None:
    project.ini("cachesafe_redact = hash")
    project.test("def test_it(): pass")
    result = project.run("--cachesafe-block-size=32")
    result.stdout.fnmatch_lines(["cachesafe: block_size=32 (flag), redact=hash (ini)"])


def test_silent_when_unused(project: Any) -> None:
    project.test("def test_it(): pass")
    assert "cachesafe" not in project.run("-v").stdout.str().replace("test_silent_when_unused", "")


def test_every_flag_has_a_twin_and_a_prefix(project: Any) -> None:
    text = project.run("--help").stdout.str()
    flags = {word.split("=")[0] for word in text.split() if word.startswith("--cachesafe-")}
    flags = {flag.strip("().,") for flag in flags}
    assert {"--cachesafe-model", "--cachesafe-update", "--cachesafe-redact"} <= flags
    for flag in flags:
        assert flag[2:].replace("-", "_") in text, flag


def test_fail_on_reaches_the_assertion(project: Any) -> None:
    project.test("def test_it():\n    assert_prefix_stable(BROKEN)")
    project.run().assert_outcomes(failed=1)
    project.run("--cachesafe-fail-on=raises").assert_outcomes(passed=1)


def test_block_size_reaches_the_report(project: Any) -> None:
    project.test("def test_it():\n    assert assert_prefix_stable(STABLE).block_size == 5")
    project.run("--cachesafe-block-size=5").assert_outcomes(passed=1)


def test_redact_keeps_prompt_text_out_of_the_failure(project: Any) -> None:
    # --tb=line: the source lines of the test are the user's own.
    project.test("def test_it():\n    assert_prefix_stable(BROKEN)")
    assert "10:41" in project.run().stdout.str()
    for mode in ("text", "hash"):
        result = project.run(f"--cachesafe-redact={mode}")
        result.assert_outcomes(failed=1)
        assert "10:41" not in result.stdout.str()


def test_download_permission_lasts_for_the_session(project: Any) -> None:
    import os

    project.test("import os\ndef test_it():\n    assert os.environ.get('CACHESAFE_ALLOW_DOWNLOAD') == '1'")
    project.run("--cachesafe-allow-download").assert_outcomes(passed=1)
    assert "CACHESAFE_ALLOW_DOWNLOAD" not in os.environ
    project.run().assert_outcomes(failed=1)


def test_the_model_option_is_the_default_template(project: Any) -> None:
    (project.path / "plain.jinja").write_text(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", encoding="utf-8"
    )
    project.test(
        "def test_it(cachesafe, chat_template):\n"
        "    assert cachesafe.template() is chat_template\n"
        "    assert 'plain.jinja' in chat_template.name\n"
        "    assert chat_template.render([{'role': 'user', 'content': 'hi'}]).text == '<user>hi'\n"
    )
    project.run("--cachesafe-model=plain.jinja").assert_outcomes(passed=1)


def test_a_path_in_the_ini_file_is_meant_from_there(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.path / "plain.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
    project.ini("cachesafe_model = plain.jinja")
    project.test("def test_it(chat_template):\n    assert 'plain.jinja' in chat_template.name", name="sub/test_it.py")
    monkeypatch.chdir(project.path / "sub")
    project.run().assert_outcomes(passed=1)


def test_a_mistyped_flag_is_told_the_closest(project: Any) -> None:
    project.test("def test_it(): pass")
    result = project.run("--cachesafe-modle", "x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unknown option --cachesafe-modle; did you mean '--cachesafe-model'?*"])
