"""What users know better: entries of `[tool.cachesafe.providers]`, and mistakes in them."""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.providers.rules.load import load_rules
from pytest_cachesafe.usage import UsageError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path / "pyproject.toml"


def test_the_nearest_pyproject_overrides_the_shipped_values(project: Path) -> None:
    project.write_text(
        """
        [tool.cachesafe.providers.anthropic.models."claude-sonnet-4-6"]
        minimum = 2048
        checked = 2026-10-01
        source = "our own measurement"
        [tool.cachesafe.providers.anthropic.facts]
        lookback = 18
        [tool.cachesafe.providers.openai.models.prod-chat]
        like = "gpt-5.6-sol"
        """
    )
    rules, shipped = load_rules(), load_rules({})
    model = rules.model("anthropic", "claude-sonnet-4-6")
    assert model is not None
    assert model.minimum is not None
    assert (model.minimum.value, model.minimum.own, model.minimum.source) == (2048, True, "our own measurement")
    assert model.minimum.checked == date(2026, 10, 1)
    before = shipped.model("anthropic", "claude-sonnet-4-6")
    assert before is not None
    assert model.prices == before.prices
    # A dated id of it as well.
    dated = rules.model("anthropic", "claude-sonnet-4-6-20260217")
    assert dated == model
    assert rules.provider("anthropic").facts["lookback"].value == 18
    assert str(project) in rules.provider("anthropic").facts["lookback"].source
    mine, like = rules.model("openai", "prod-chat"), shipped.model("openai", "gpt-5.6-sol")
    assert mine is not None
    assert like is not None
    assert (mine.id, mine.generation, mine.minimum, mine.prices) == ("prod-chat", "5.6", like.minimum, like.prices)


def test_nothing_of_a_project_reaches_a_check_that_gives_its_own(project: Path) -> None:
    project.write_text("[tool.cachesafe.providers.anthropic.facts]\nlookback = 18\n")
    assert load_rules().provider("anthropic").facts["lookback"].value == 18
    assert load_rules({}).provider("anthropic").facts["lookback"].value == 20
    assert load_rules({"anthropic": {"facts": {"lookback": 3}}}).provider("anthropic").facts["lookback"].value == 3


def test_a_changed_file_is_read_again_and_an_equal_one_is_not(project: Path) -> None:
    project.write_text("[tool.cachesafe.providers.anthropic.facts]\nlookback = 18\n")
    first = load_rules()
    assert load_rules() is first
    project.write_text("[tool.cachesafe.providers.anthropic.facts]\nlookback = 7\n# longer\n")
    assert load_rules().provider("anthropic").facts["lookback"].value == 7


def test_a_project_without_entries_shares_the_shipped_rules(project: Path) -> None:
    project.write_text("[tool.other]\nx = 1\n")
    assert load_rules() is load_rules({})
    project.unlink()
    assert load_rules() is load_rules({})


def test_prices_with_tiers() -> None:
    tiers = [{"above": 1000, "input": 2, "read": 1}, {"input": 1, "read": 0.5, "output": 4, "write": {"5m": 1.25}}]
    rules = load_rules({"bedrock": {"models": {"us.meta.llama": {"prices": tiers, "minimum": 10}}}})
    model = rules.model("bedrock", "us.meta.llama")
    assert model is not None
    assert model.prices is not None
    low, high = model.prices.value
    assert (low.above, low.input, low.read, low.output, low.write) == (0, 1, 0.5, 4, {"5m": 1.25})
    assert (high.above, high.input, high.read, high.output, high.write) == (1000, 2, 1, None, {})


def test_like_takes_the_price_of_the_routing_it_names() -> None:
    rules = load_rules({"bedrock": {"models": {"ours": {"like": "us.anthropic.claude-opus-5-5"}}}})
    model = rules.model("bedrock", "ours")
    assert model is not None
    assert model.prices is not None
    assert model.prices.value[0].input == 4.4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"antropic": {}}, "has no provider 'antropic'; did you mean 'anthropic'?"),
        ({"anthropic": {"model": {}}}, "anthropic has no key 'model'; did you mean 'models'?"),
        ({"anthropic": {"facts": {"look_back": 3}}}, "facts has no fact 'look_back'; did you mean 'lookback'?"),
        ({"anthropic": {"facts": {"lookback": "3"}}}, "facts.lookback must be a number, at least 0, not '3'"),
        ({"anthropic": {"facts": {"lookback": True}}}, "must be a number, at least 0, not True"),
        ({"anthropic": {"facts": {"lookback": float("nan")}}}, "must be a number, at least 0, not nan"),
        ({"anthropic": {"facts": {"lookback": float("inf")}}}, "must be a number, at least 0, not inf"),
        ({"anthropic": {"facts": {"lookback": -1}}}, "must be a number, at least 0, not -1"),
        ({"anthropic": {"facts": [1]}}, "anthropic.facts must be a table, not [1]"),
        ({"anthropic": 3}, "anthropic must be a table, not 3"),
        ({"anthropic": {"models": {"m": {"minimun": 1}}}}, "models.m has no key 'minimun'; did you mean 'minimum'?"),
        ({"anthropic": {"models": {"m": {"minimum": 1.5}}}}, "minimum must be a whole number of tokens, not 1.5"),
        ({"anthropic": {"models": {"m": {"checked": "2026-01-01"}}}}, "checked must be a date without quotes"),
        ({"anthropic": {"models": {"m": {"like": "claude-opus-4-55"}}}}, "is no model of anthropic; did you mean"),
        ({"anthropic": {"models": {"m": {"keeps-thinking": 1}}}}, "keeps-thinking must be true or false, not 1"),
        ({"openai": {"models": {"m": {"generation": "5.4"}}}}, "has no generation '5.4'"),
        ({"openai": {"models": {"m": {"prices": {"input": 1}}}}}, "prices must be a list of tiers"),
        ({"openai": {"models": {"m": {"prices": []}}}}, "prices must be a list of tiers"),
        ({"openai": {"models": {"m": {"prices": [{"output": 1}]}}}}, "a tier needs input = USD per million tokens"),
        ({"openai": {"models": {"m": {"prices": [{"input": 1, "reed": 2}]}}}}, "no key 'reed'; did you mean 'read'?"),
        (
            {"openai": {"models": {"m": {"prices": [{"input": 1}, {"input": 2}]}}}},
            "two tiers for the same prompt length",
        ),
        ({"openai": {"models": {"m": {"prices": [{"input": 1, "write": {"5m": "x"}}]}}}}, "write.5m must be a number"),
    ],
)
def test_a_mistake_is_one_line_that_says_where_and_what(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_rules(given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mistake_in_the_file_names_the_file(project: Path) -> None:
    project.write_text("[tool.cachesafe.providers.anthropic.facts]\nlookbak = 18\n")
    with pytest.raises(UsageError) as caught:
        load_rules()
    assert str(caught.value).startswith(f"{project}: [tool.cachesafe.providers] anthropic.facts has no fact 'lookbak'")


def test_the_rules_need_no_sdk_and_no_http_library(project: Path) -> None:
    import subprocess

    code = (
        "import sys; from pytest_cachesafe.providers.rules.load import load_rules;"
        "from pytest_cachesafe.providers.money.price import cost; import pytest_cachesafe.providers.money.extra,"
        "pytest_cachesafe.report.rules, pytest_cachesafe.providers.exchange;"
        "load_rules().model('anthropic', 'claude-opus-5');"
        "print(sorted({'anthropic','openai','httpx','httpx2','aiohttp','requests','botocore','genai_prices','yaml',"
        "'pydantic','pytest'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "[]"
