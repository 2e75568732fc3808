"""An agent that calls a provider, as request bodies of every wire format; the base dependencies are enough."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pytest_cachesafe
from pytest_cachesafe import PrefixFailure, Toggle, assert_prefix_stable, check_prefix_stable

TURNS = 6
NAMES = ("search", "book", "cancel")
SYSTEM = "You are the travel desk of Example Ltd. Be brief."
CLOCK = "You are the travel desk of Example Ltd. It is 2026-03-01 10:4{}:13. Be brief."


def schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["q"],
    }


def anthropic(turn: int, system: str, tools: tuple[str, ...], old: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "What about trip 0?"}]}]
    for t in range(turn):
        messages += [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"I look trip {t} up."},
                    {"type": "tool_use", "id": f"toolu_{t}", "name": "search", "input": {"q": f"trip {t}", "limit": 3}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": f"toolu_{t}", "content": old if t == 0 else f"{t} flights"}
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": f"Trip {t} has flights."}]},
            {"role": "user", "content": [{"type": "text", "text": f"What about trip {t + 1}?"}]},
        ]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 500,
        "tools": [{"name": n, "description": f"Does {n}.", "input_schema": schema()} for n in tools],
        "system": [{"type": "text", "text": system}],
        "messages": messages,
    }


def openai_chat(turn: int, system: str, tools: tuple[str, ...], old: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {"role": "user", "content": "What about trip 0?"},
    ]
    for t in range(turn):
        call = {"name": "search", "arguments": f'{{"q": "trip {t}", "limit": 3}}'}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{t}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{t}", "content": old if t == 0 else f"{t} flights"},
            {"role": "assistant", "content": f"Trip {t} has flights."},
            {"role": "user", "content": f"What about trip {t + 1}?"},
        ]
    return {
        "model": "gpt-5.1",
        "tools": [
            {"type": "function", "function": {"name": n, "description": f"Does {n}.", "parameters": schema()}}
            for n in tools
        ],
        "messages": messages,
    }


def responses(turn: int, system: str, tools: tuple[str, ...], old: str) -> dict[str, Any]:
    items: list[dict[str, Any]] = [{"role": "user", "content": "What about trip 0?"}]
    for t in range(turn):
        arguments = f'{{"q": "trip {t}", "limit": 3}}'
        items += [
            {"type": "function_call", "call_id": f"c{t}", "name": "search", "arguments": arguments},
            {"type": "function_call_output", "call_id": f"c{t}", "output": old if t == 0 else f"{t} flights"},
            {"role": "assistant", "content": [{"type": "output_text", "text": f"Trip {t} has flights."}]},
            {"role": "user", "content": f"What about trip {t + 1}?"},
        ]
    return {
        "model": "gpt-5.1",
        "tools": [{"type": "function", "name": n, "description": f"Does {n}.", "parameters": schema()} for n in tools],
        "instructions": system,
        "input": items,
    }


def gemini(turn: int, system: str, tools: tuple[str, ...], old: str) -> dict[str, Any]:
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "What about trip 0?"}]}]
    for t in range(turn):
        response = {"result": old if t == 0 else f"{t} flights"}
        contents += [
            {"role": "model", "parts": [{"functionCall": {"name": "search", "args": {"q": f"trip {t}", "limit": 3}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "search", "response": response}}]},
            {"role": "model", "parts": [{"text": f"Trip {t} has flights."}]},
            {"role": "user", "parts": [{"text": f"What about trip {t + 1}?"}]},
        ]
    return {
        "tools": [
            {"functionDeclarations": [{"name": n, "description": f"Does {n}.", "parameters": schema()} for n in tools]}
        ],
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": contents,
    }


def bedrock(turn: int, system: str, tools: tuple[str, ...], old: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "What about trip 0?"}]}]
    for t in range(turn):
        use = {"toolUseId": f"t{t}", "name": "search", "input": {"q": f"trip {t}", "limit": 3}}
        result = {"toolUseId": f"t{t}", "content": [{"text": old if t == 0 else f"{t} flights"}]}
        messages += [
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}]},
            {"role": "assistant", "content": [{"text": f"Trip {t} has flights."}]},
            {"role": "user", "content": [{"text": f"What about trip {t + 1}?"}]},
        ]
    specs = [{"name": n, "description": f"Does {n}.", "inputSchema": {"json": schema()}} for n in tools]
    return {
        "modelId": "anthropic.claude-sonnet-4-5",
        "toolConfig": {"tools": [{"toolSpec": spec} for spec in specs]},
        "system": [{"text": system}],
        "messages": messages,
    }


Body = Callable[[int, str, tuple[str, ...], str], dict[str, Any]]
WIRES: dict[str, Body] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": responses,
    "gemini": gemini,
    "bedrock": bedrock,
}
# Where each format keeps what the three faults touch: tools, system text, result of the first tool call.
PATHS = {
    "anthropic": ("tools[", "system[0].text", "messages[2].content[0].content"),
    "openai-chat": ("tools[", "messages[0].content", "messages[3].content"),
    "openai-responses": ("tools[", "instructions", "input[2].output"),
    "gemini": ("tools[", "systemInstruction.parts[0].text", "contents[2].parts[0].functionResponse"),
    "bedrock": ("toolConfig.tools[", "system[0].text", "messages[2].content[0].toolResult"),
}


def requests(
    body: Body,
    system: Callable[[int], str] = lambda _: SYSTEM,
    tools: Callable[[int], tuple[str, ...]] = lambda _: NAMES,
    old: Callable[[int], str] = lambda _: "0 flights",
) -> list[dict[str, Any]]:
    return [body(t, system(t), tools(t), old(t)) for t in range(TURNS)]


def mark_newest(body: dict[str, Any]) -> dict[str, Any]:
    """A cache marker on the newest block, as every provider's guide shows it; the one before loses its own."""
    if "modelId" in body:
        body["messages"][-1]["content"].append({"cachePoint": {"type": "default"}})
    elif "max_tokens" in body:
        body["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        body["system"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    else:
        body["prompt_cache_key"] = f"turn-{len(body.get('messages', ()))}"
    return body


def failure(given: list[dict[str, Any]]) -> tuple[Any, str]:
    with pytest.raises(PrefixFailure) as caught:
        assert_prefix_stable(given)
    return caught.value.report, str(caught.value)


@pytest.mark.parametrize("wire", WIRES)
def test_reordered_tools(wire: str) -> None:
    report, text = failure(requests(WIRES[wire], tools=lambda t: NAMES if t < 4 else NAMES[::-1]))
    where = report.worst.divergence.location
    assert (report.worst.request, report.worst.divergence.cause) == (4, "order")
    assert (report.worst.divergence.origin, where.part) == ("application", "tools")
    assert where.path.startswith(PATHS[wire][0])
    assert [s.request for s in report.steps if s.verdict != "stable"] == [4]
    assert where.path in text.splitlines()[0]


@pytest.mark.parametrize("wire", WIRES)
def test_clock_in_the_system_text(wire: str) -> None:
    report, text = failure(requests(WIRES[wire], system=CLOCK.format))
    divergence = report.worst.divergence
    assert (divergence.cause, divergence.origin, divergence.location.part) == ("timestamp", "application", "system")
    assert divergence.location.path == PATHS[wire][1]
    assert [s.request for s in report.steps if s.verdict != "stable"] == [1, 2, 3, 4, 5]
    # The longest chat loses most.
    assert report.worst.request == 5
    assert PATHS[wire][1] in text.splitlines()[0]


@pytest.mark.parametrize("wire", WIRES)
def test_edited_history(wire: str) -> None:
    report, text = failure(requests(WIRES[wire], old=lambda t: "0 flights" if t < 3 else "[result pruned]"))
    divergence = report.worst.divergence
    assert (report.worst.request, divergence.cause, divergence.origin) == (3, "edited_history", "application")
    assert divergence.location.part == "message"
    assert divergence.location.path.startswith(PATHS[wire][2])
    assert [s.request for s in report.steps if s.verdict != "stable"] == [3]
    assert divergence.location.path in text.splitlines()[0]


@pytest.mark.parametrize("wire", WIRES)
def test_a_clean_agent_with_a_moving_cache_marker(wire: str) -> None:
    given = [mark_newest(body) for body in requests(WIRES[wire])]
    report = assert_prefix_stable(given)
    assert report.verdict == "stable"
    assert [(s.request, s.against) for s in report.steps] == [(t, t - 1) for t in range(1, TURNS)]
    assert report.severity is None
    # The newest body alone stands for the same chat, its tool-result requests included.
    grown = assert_prefix_stable(given[-1])
    assert (grown.verdict, grown.requests) == ("stable", 2 * TURNS - 1)


@pytest.mark.parametrize("wire", WIRES)
def test_an_exact_retry_and_sampling_parameters(wire: str) -> None:
    given = requests(WIRES[wire])
    again = [copy.deepcopy(body) for body in given for _ in range(2)]
    for n, body in enumerate(again):
        if wire == "gemini":
            body["generationConfig"] = {"temperature": n / 10, "maxOutputTokens": 100 + n, "stopSequences": ["x"] * n}
        elif wire == "bedrock":
            body["inferenceConfig"] = {"temperature": n / 10, "maxTokens": 100 + n}
        else:
            body |= {"temperature": n / 10, "top_p": 1 - n / 20, "stream": bool(n % 2), "metadata": {"user_id": str(n)}}
            body["max_output_tokens" if wire == "openai-responses" else "max_tokens"] = 100 + n
    report = assert_prefix_stable(again)
    assert report.verdict == "stable", report.text()
    assert report.severity is None


@pytest.mark.parametrize("wire", WIRES)
def test_counts_are_estimates_with_a_band(wire: str) -> None:
    report = check_prefix_stable(requests(WIRES[wire], system=CLOCK.format))
    low, best, high = report.worst.divergence.lost_tokens  # type: ignore[union-attr]
    assert low < best < high
    assert report.as_dict()["estimated"] is True
    assert "about" in report.first_line
    assert wire in report.first_line


@pytest.mark.parametrize("order", ["tools", "schema_keys"])
@pytest.mark.parametrize("wire", WIRES)
def test_tools_in_another_order(wire: str, order: str) -> None:
    report = check_prefix_stable(requests(WIRES[wire]), toggles=[Toggle.order(order)])
    assert not report.passed
    (result,) = report.toggles
    assert result.divergence is not None
    assert (result.observed, result.divergence.cause) == ("splits", "order")
    assert result.divergence.location.part == "tools"
    assert report.verdict == "stable"


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("thinking", {"type": "enabled", "budget_tokens": 1024}, {"type": "enabled", "budget_tokens": 4096}),
        ("tool_choice", {"type": "auto"}, {"type": "any"}),
        ("output_config", {"effort": "low"}, {"effort": "high"}),
    ],
)
def test_settings_of_the_body(key: str, one: Any, other: Any) -> None:
    bodies = requests(anthropic)[:2]
    for body, value in zip(bodies, (one, other), strict=True):
        if value is not None:
            body[key] = value
    divergence = check_prefix_stable(bodies).worst.divergence  # type: ignore[union-attr]
    assert divergence is not None
    assert (divergence.cause, divergence.origin) == ("setting_changed", "application")
    assert str(divergence.location.path).startswith(key)


BLOCKED = """
import importlib.abc, sys

class Blocked(importlib.abc.MetaPathFinder):
    NAMES = {"transformers", "tokenizers", "torch", "huggingface_hub", "numpy", "time_machine", "hypothesis", "openai",
             "anthropic", "google", "boto3", "langchain_core", "pydantic_ai", "pydantic", "gguf", "safetensors"}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.NAMES:
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)
        return None

sys.meta_path.insert(0, Blocked())
"""

APART = """
import json, pathlib, pytest
from pytest_cachesafe import assert_prefix_stable

CHATS = json.loads(pathlib.Path(__file__).with_name("chats.json").read_text("utf-8"))

@pytest.mark.parametrize("name", CHATS)
def test_agent(name):
    assert_prefix_stable(CHATS[name])

def test_that_the_block_holds():
    with pytest.raises(ImportError):
        import tokenizers
"""


def test_with_only_the_base_dependencies(tmp_path: Path) -> None:
    chats = {
        "tools": requests(anthropic, tools=lambda t: NAMES if t < 4 else NAMES[::-1]),
        "clock": requests(anthropic, system=CLOCK.format),
        "edit": requests(anthropic, old=lambda t: "0 flights" if t < 3 else "[result pruned]"),
        "clean": [mark_newest(body) for body in requests(anthropic)],
    }
    (tmp_path / "chats.json").write_text(json.dumps(chats), encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(BLOCKED, encoding="utf-8")
    (tmp_path / "test_apart.py").write_text(APART, encoding="utf-8")
    root = Path(pytest_cachesafe.__file__).parents[1]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "CACHESAFE_", "CI"))}
    env |= {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "pytest_cachesafe.plugin", "-q", "-rA", "test_apart.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
    out = done.stdout + done.stderr
    assert "3 failed, 2 passed" in out, out
    for name, words in {
        "tools": "the same items come in another order in the tools at tools[0]",
        "clock": "a time of day changed in the system text at system[0].text",
        "edit": "message 2 (user) at messages[2].content[0].content",
    }.items():
        assert any(f"test_agent[{name}]" in line for line in out.splitlines() if line.startswith("FAILED")), out
        assert words in out
