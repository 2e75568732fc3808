"""`@pytest.mark.cachesafe(…)`: levels, mistakes, registration."""

from __future__ import annotations

from typing import Any


def test_closest_level_wins_keyword_by_keyword(project: Any) -> None:
    project.test(
        "pytestmark = pytest.mark.cachesafe(block_size=2, redact='hash')\n"
        "@pytest.mark.cachesafe(block_size=4, fail_on=['tail'])\n"
        "class TestA:\n"
        "    @pytest.mark.cachesafe(block_size=8)\n"
        "    def test_it(self, cachesafe):\n"
        "        settings = {name: value for name, (value, _) in cachesafe.settings.items()}\n"
        "        assert (settings['block_size'], settings['fail_on'], settings['redact']) == (8, ('tail',), 'hash')\n"
        "def test_other(cachesafe):\n"
        "    assert cachesafe.settings['block_size'].value == 2\n"
    )
    project.run().assert_outcomes(passed=2)


def test_is_registered(project: Any) -> None:
    project.test("@pytest.mark.cachesafe(block_size=2)\ndef test_it(): pass")
    project.run("--strict-markers").assert_outcomes(passed=1)
    project.run("--markers").stdout.fnmatch_lines(["@pytest.mark.cachesafe(*rerun*): *"])


def test_an_unknown_keyword_fails_its_own_test_alone(project: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    project.test(
        "@pytest.mark.cachesafe(blok_size=2)\ndef test_a(): pass\n"
        "def test_b(): pass\n"
        "@pytest.mark.cachesafe('hashseed')\ndef test_c(): pass\n"
        "@pytest.mark.cachesafe(redact='al')\ndef test_d(): pass\n"
        "@pytest.mark.cachesafe(update=True)\ndef test_e(): pass\n"
        "@pytest.mark.cachesafe(rerun=['hashsed=0'])\ndef test_f(): pass\n"
        "@pytest.mark.cachesafe(rerun=['hashseed'])\ndef test_g(): pass\n"
        "@pytest.mark.cachesafe(fail_on=7)\ndef test_h(): pass\n"
    )
    result = project.run()
    result.assert_outcomes(passed=1, errors=7)
    result.stdout.fnmatch_lines(
        [
            "ERROR *::test_a - @pytest.mark.cachesafe: unknown keyword 'blok_size'; did you mean 'block_size'?*",
            "ERROR *::test_c - @pytest.mark.cachesafe takes keywords only, not 'hashseed'; allowed: *",
            "ERROR *::test_d - @pytest.mark.cachesafe(redact=*): unknown mode 'al'*",
            "ERROR *::test_e - @pytest.mark.cachesafe: unknown keyword 'update'*",
            "ERROR *::test_f - @pytest.mark.cachesafe(rerun=*): unknown setting 'hashsed=0'; did you mean 'hashseed'*",
            "ERROR *::test_g - *'hashseed' needs a seed*",
            "ERROR *::test_h - @pytest.mark.cachesafe(fail_on=*",
        ]
    )
    assert "plugin.py" not in result.stdout.str()
