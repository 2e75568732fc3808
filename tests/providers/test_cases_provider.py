"""Mistakes that were made and reported in public, each with its verdict and its place.

The reports are named by repository and number; the requests are written anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.support.wire_requests import LONG, MARK, assistant, call, check, result, text, told, user

POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}


class Case(NamedTuple):
    report: str
    provider: str
    requests: list[dict[str, Any]]
    expected: list[tuple[str, str, int | None, str | None]]
    model: str | None = None


def _agent_turns(thinking: list[str]) -> list[dict[str, Any]]:
    """The requests of one turn: question, first result, second result."""
    messages = [
        user("Which file has the bug?"),
        assistant([call("read", 1, path="a.py")]),
        user([result(1, "def a(): ...")]),
        assistant([call("read", 2, path="b.py")]),
        user([result(2, "def b(): ...")]),
    ]
    return [{"thinking": {"type": kind}, "messages": messages[: 2 * i + 1]} for i, kind in enumerate(thinking)]


def _alternating(count: int, marks: list[int]) -> dict[str, Any]:
    blocks = [text(f"message {i}", **({"cache_control": MARK} if i in marks else {})) for i in range(count)]
    return {"messages": [{"role": ("user", "assistant")[i % 2], "content": [b]} for i, b in enumerate(blocks)]}


def _weather(arguments: str, *rest: dict[str, Any]) -> dict[str, Any]:
    made = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    return {
        "messages": [
            user("Weather in Oslo?"),
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "call_1", "content": "4 C"},
            *rest,
        ]
    }


_FIND = [
    user("Find the bug"),
    assistant([{"type": "thinking", "thinking": "Look first.", "signature": "s1"}, call("read", 1)]),
    user([result(1, "code")]),
]

CASES = [
    Case(
        # One marker on a tool message, three results: the adapter sends three, with the two others that makes five.
        "oguzbilgic/kern-ai#316",
        "anthropic",
        [
            {
                "system": [text("Rules.", cache_control=MARK)],
                "messages": [
                    {
                        "role": "tool",
                        "cache_control": MARK,
                        "content": [{"tool_call_id": "a"}, {"tool_call_id": "b"}, {"tool_call_id": "c"}],
                    },
                    user([text("next", cache_control=MARK)]),
                ],
            }
        ],
        [("too-many-markers", "error", 0, "messages[1].content[0]")],
    ),
    Case(
        # The same as it is on the wire.
        "oguzbilgic/kern-ai#316",
        "anthropic",
        [
            {
                "system": [text("Rules.", cache_control=MARK)],
                "messages": [
                    user([result(n, "ok", cache_control=MARK) for n in range(3)]),
                    user([text("next", cache_control=MARK)]),
                ],
            }
        ],
        [("too-many-markers", "error", 0, "messages[1].content[0]")],
    ),
    Case(
        "headroomlabs-ai/headroom#2941",
        "anthropic",
        [
            {
                "system": [text("Rules.", cache_control=MARK)],
                "messages": [user([text("first"), text("second", cache_control={**MARK, "ttl": "1h"})])],
            }
        ],
        [("marker-ttl-order", "error", 0, "messages[0].content[1]")],
    ),
    Case(
        "askalf/dario#1066",
        "anthropic",
        [{"messages": [user([result(1, "ok"), text("", cache_control=MARK)])]}],
        [("marker-on-empty-text", "error", 0, "messages[0].content[1]")],
    ),
    Case(
        "strands-agents/harness-sdk#3677",
        "bedrock",
        [{"messages": [user([POINT, {"text": "q"}])]}],
        [("cachepoint-first", "error", 0, "messages[0].content[0]")],
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    Case(
        "zed-industries/zed#59436",
        "bedrock",
        [{"messages": [user([POINT])]}],
        [("cachepoint-only", "error", 0, "messages[0]")],
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    Case(
        "code-yeongyu/senpi#1510",
        "anthropic",
        _agent_turns(["adaptive", "disabled", "adaptive"]),
        [("thinking-changed", "error", 1, "thinking"), ("thinking-changed", "error", 2, "thinking")],
    ),
    Case(
        "pydantic/pydantic-ai#3630",
        "anthropic",
        [
            {"system": [text(f"Static rules. User: {who}", cache_control=MARK)], "messages": [user("q")]}
            for who in ("A", "B")
        ],
        [("marker-on-changing-block", "error", 1, "system[0]")],
    ),
    Case(
        # With different questions they are two conversations; the trap is the same.
        "pydantic/pydantic-ai#3630",
        "anthropic",
        [
            {"system": [text(f"Static rules. User: {who}", cache_control=MARK)], "messages": [user(f"I am {who}")]}
            for who in ("A", "B")
        ],
        [("marker-on-changing-block", "error", 1, "system[0]")],
    ),
    Case(
        "BerriAI/litellm#33687",
        "anthropic",
        [
            {
                "source": {
                    "input": [user([{"type": "input_text", "text": "long", "cache_control": MARK}])],
                },
                "body": {"messages": [user([text("long")])]},
            }
        ],
        [("marker-lost-in-conversion", "error", 0, "input[0].content[0]")],
    ),
    Case(
        # Set where the client drops it.
        "rocketride-org/rocketride-server#806",
        "anthropic",
        [{"messages": [{**user("long"), "additional_kwargs": {"cache_control": MARK}}]}],
        [("marker-misplaced", "error", 0, "messages[0].additional_kwargs")],
    ),
    Case(
        "looplj/axonhub#2342",
        "anthropic",
        [_alternating(40, [0, 19]), _alternating(42, [0, 21])],
        [("marker-trails", "warning", 1, "messages[21].content[0]")],
    ),
    Case(
        "justrach/codegraff#484",
        "openai",
        [
            {"prompt_cache_key": "sess", "messages": [{"role": "system", "content": words}, user("Go on.")]}
            for words in ("root prompt", "sub-agent prompt")
        ],
        [("prompt-cache-key-shared", "warning", 1, "prompt_cache_key")],
    ),
    Case(
        "justrach/codegraff#484",
        "openai",
        [
            {"prompt_cache_key": "sess", "instructions": "root prompt", "input": "Plan the change."},
            {"prompt_cache_key": "sess", "instructions": "sub-agent prompt", "input": "List the files."},
        ],
        [("prompt-cache-key-shared", "warning", 1, "prompt_cache_key")],
    ),
    Case(
        "googleapis/python-genai#1880",
        "gemini",
        [
            {
                "systemInstruction": {"parts": [{"text": LONG + variant}]},
                "contents": [{"role": "user", "parts": [{"text": "q"}]}],
            }
            for variant in ("variant A", "variant B")
        ],
        [("system-changed", "note", 1, "systemInstruction.parts[0]")],
        "gemini-2.5-flash",
    ),
    Case(
        "zeroclaw-labs/zeroclaw#10786",
        "anthropic",
        [
            {"messages": _FIND},
            {
                "messages": [
                    _FIND[0],
                    assistant(_FIND[1]["content"][1:]),
                    _FIND[2],
                    assistant("Line 3."),
                    user("Fix it"),
                ]
            },
        ],
        [("thinking-dropped", "error", 1, "messages[1].content[0]")],
    ),
    Case(
        "pydantic/pydantic-ai#6304",
        "openai",
        [
            _weather('{"city":"Oslo","unit":"c"}'),
            _weather('{"city": "Oslo", "unit": "c"}', assistant("4 degrees."), user("Thanks")),
        ],
        [("tool-arguments-reserialised", "error", 1, "messages[1].tool_calls[0].function.arguments")],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{c.report}-{i}" for i, c in enumerate(CASES)])
def test_reported_case_gets_its_verdict_and_place(case: Case) -> None:
    assert told(check(case.requests, case.provider, case.model)) == case.expected


def test_marker_below_the_minimum_of_an_older_model_is_a_warning() -> None:
    # cline/cline#109: 1,432 counted tokens before the first marker, and this model caches from 2,048.
    body = {"system": [text("long", cache_control=MARK)], "messages": [user("q")]}
    report = check([body], model="claude-3-haiku-20240307", count_tokens=lambda words: 1432 if words == "long" else 1)

    assert told(report) == [("below-minimum", "warning", 0, "system[0]")]
    assert report.findings[0].data["minimum"] == 2048
    assert "1,432 tokens" in report.findings[0].message


def test_five_markers_are_counted_on_the_serialised_request() -> None:
    assert "5 markers, at most 4" in check(CASES[0].requests).findings[0].message


def test_what_a_conversion_lost_is_counted() -> None:
    case = next(c for c in CASES if "litellm" in c.report)

    assert "markers in the source: 1, on the wire: 0" in check(case.requests).findings[0].message
