"""What may be given as `template=`."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from chats import scenarios

from pytest_cachesafe.frontends import ChatTemplate, resolve_front_end
from pytest_cachesafe.prompt import Chat, FrontEnd, UsageError

USER = [{"role": "user", "content": "Hi"}]


def test_each_kind_gives_its_front_end(tmp_path: Path, qwen3_dir: Path) -> None:
    file = tmp_path / "x.jinja"
    file.write_text("{{ messages[0].content }}", encoding="utf-8")
    assert "chat template" not in resolve_front_end(None).name
    assert resolve_front_end(file).prompt(Chat(USER)).text == "Hi"
    assert resolve_front_end(str(file)).prompt(Chat(USER)).token_ids is None
    assert resolve_front_end(qwen3_dir).prompt(Chat(USER)).exact
    template = ChatTemplate.from_string("x")
    assert resolve_front_end(template) is template
    assert isinstance(resolve_front_end(lambda messages: [1]), FrontEnd)


@pytest.mark.parametrize("nonsense", [3, ["Qwen"], ChatTemplate, {"template": "x"}])
def test_anything_else_is_refused_with_the_choices(nonsense: Any) -> None:
    with pytest.raises(UsageError, match="give None, a model name, a path"):
        resolve_front_end(nonsense)


def test_a_callable_gets_what_its_signature_takes() -> None:
    seen: list[Any] = []

    def encode(messages: list[Any], tools: Any = None, *, enable_thinking: bool = True) -> list[int]:
        seen.append((messages, tools, enable_thinking))
        return [1, 2, 3]

    front_end = resolve_front_end(encode)
    prompt = front_end.prompt(Chat(USER, tools=[{"a": 1}], settings={"enable_thinking": False}))
    assert seen == [(USER, [{"a": 1}], False)]
    assert prompt.token_ids == [1, 2, 3]
    assert "encode" in prompt.front_end
    with pytest.raises(UsageError, match="takes no keyword 'effort'"):
        front_end.prompt(Chat(USER, settings={"effort": "low"}))
    with pytest.raises(UsageError, match="takes no keyword 'tools'"):
        resolve_front_end(lambda messages: "x").prompt(Chat(USER, tools=[]))


@pytest.mark.parametrize(
    ("result", "ids"),
    [([1, 2], [1, 2]), ((1, 2), [1, 2]), ({"input_ids": [[1, 2]]}, [1, 2]), ({"input_ids": [1]}, [1]), ([], [])],
)
def test_ids_in_the_shapes_tokenizers_return(result: Any, ids: list[int]) -> None:
    assert resolve_front_end(lambda messages: result).prompt(Chat(USER)).token_ids == ids


@pytest.mark.parametrize("result", [None, 3, [1, "a"], [True], [-1], {"ids": [1]}, b"x"])
def test_a_callable_that_returns_neither_ids_nor_text_is_named(result: Any) -> None:
    with pytest.raises(UsageError, match="must return token ids or a str"):
        resolve_front_end(lambda messages: result).prompt(Chat(USER))


def test_a_callable_may_return_text_and_its_errors_pass_through() -> None:
    assert resolve_front_end(lambda messages: messages[0]["content"]).prompt(Chat(USER)).text == "Hi"

    def broken(messages: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        resolve_front_end(broken).prompt(Chat(USER))


def test_harmony_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "openai_harmony", None)
    with pytest.raises(UsageError, match="pip install openai-harmony"):
        resolve_front_end("harmony")
    monkeypatch.undo()
    pytest.importorskip("openai_harmony")
    monkeypatch.setenv("TIKTOKEN_ENCODINGS_BASE", str(tmp_path))
    with pytest.raises(UsageError, match=r"o200k_base\.tiktoken"):
        resolve_front_end("harmony")


def test_harmony_renders_as_vllm_sends_it() -> None:
    pytest.importorskip("openai_harmony")
    if not (Path(os.environ.get("TIKTOKEN_ENCODINGS_BASE", "absent")) / "o200k_base.tiktoken").is_file():
        pytest.skip("Harmony's vocabulary is not here: name its folder in TIKTOKEN_ENCODINGS_BASE")
    front_end = resolve_front_end("harmony")
    messages, tools = scenarios()["reasoning_tool_call"]
    chat = [{"role": "system", "content": "Be brief."}, *messages]

    def prompt(count: int) -> Any:
        request = Chat(chat[:count], tools=tools, settings={"reasoning_effort": "low"}, now=datetime(2026, 3, 4))
        return front_end.prompt(request)

    running, answered = prompt(4), prompt(6)
    assert "Current date: 2026-03-04" in running.text
    assert "# Instructions\n\nBe brief." in running.text
    assert running.text.endswith("<|end|><|start|>assistant")
    assert '<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>{"temp' in running.text
    # Reasoning is kept while tools run, and dropped once the turn is answered.
    assert "The user wants weather" in running.text
    assert "The user wants weather" not in answered.text
    found = running.segment_at(running.text.index('{"temperature'))
    assert (found.path, found.message_index, found.role) == ("messages[3].content", 3, "tool")
    with pytest.raises(UsageError, match="low, medium and high"):
        front_end.prompt(Chat(chat, settings={"reasoning_effort": "huge"}))
