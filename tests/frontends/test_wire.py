"""The wire front end: equal content, equal text; growth only appends; places are JSON paths of the body."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_agent import ANTHROPIC, BODIES, OPENAI
from tries import tries

from pytest_cachesafe.frontends.wire import WireFrontEnd, estimate
from pytest_cachesafe.frontends.wire_bodies import rendered_settings
from pytest_cachesafe.messages import growing_requests, to_chat
from pytest_cachesafe.prompt import Chat, Prompt, UsageError

exact = settings(derandomize=True, deadline=None, max_examples=tries(120))


def prompt(obj: Any) -> Prompt:
    return WireFrontEnd().prompt(to_chat(obj))


def text(obj: Any) -> str:
    return prompt(obj).text


def place(a: Any, b: Any) -> tuple[str, str | None]:
    """(part, path) of the data in which two requests first differ."""
    one, other = prompt(a), prompt(b)
    at = next(i for i, (x, y) in enumerate(zip(one.text, other.text, strict=False)) if x != y)
    segment = one.segment_at(at)
    assert segment is not None
    return segment.part, segment.path


def changed(body: Any, *steps: Any, to: Any) -> Any:
    """A copy of `body` with the value behind `steps` replaced."""
    body = copy.deepcopy(body)
    inner = body
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = to
    return body


@pytest.mark.parametrize("wire", BODIES)
def test_growth_only_appends(wire: str) -> None:
    front_end = WireFrontEnd()
    prompts = [front_end.prompt(request) for request in growing_requests(to_chat(BODIES[wire]))]
    assert len(prompts) == 2
    assert prompts[1].text.startswith(prompts[0].text)
    assert len(prompts[1].text) > len(prompts[0].text)
    # Text written before is taken from memory; it must be what is written anew.
    assert [p.text for p in prompts] == [text(p.chat.body) for p in prompts if p.chat is not None]


@pytest.mark.parametrize("wire", BODIES)
def test_segments_tile_the_text_and_name_the_data(wire: str) -> None:
    made = prompt(BODIES[wire])
    assert made.segments[0].start == 0
    assert made.segments[-1].end == len(made.text)
    assert all(a.end == b.start for a, b in zip(made.segments, made.segments[1:], strict=False))
    parts = [s.part for s in made.segments]
    assert list(dict.fromkeys(parts)) == ["template", "tools", "system", "message"]
    for s in made.segments:
        if s.writer != "data":
            continue
        assert s.path is not None
        value = resolve(BODIES[wire], s.path)
        shown = made.text[s.start : s.end]
        if isinstance(value, str):
            assert shown == value
        elif s.part != "tools":
            assert json.loads(shown) == value
    assert {s.path for s in made.segments if s.message_index is not None} - {None}
    assert wire in made.front_end
    assert "estimates" in made.front_end


def resolve(body: Any, path: str) -> Any:
    for step in path.replace("[", ".[").strip(".").split("."):
        body = body[int(step[1:-1])] if step.startswith("[") else body[step]
    return body


@pytest.mark.parametrize("wire", BODIES)
def test_the_order_of_body_keys_means_nothing(wire: str) -> None:
    body = BODIES[wire]
    key = next(k for k in ("messages", "input", "contents") if k in body)
    turned = {k: body[k] for k in reversed(body)}
    turned[key] = [{k: message[k] for k in reversed(message)} for message in body[key]]
    assert text(turned) == text(body)


@pytest.mark.parametrize("wire", BODIES)
def test_sampling_parameters_are_no_part_of_the_prompt(wire: str) -> None:
    more = {"temperature": 1, "max_tokens": 9, "stream": True, "metadata": {"user_id": "x"}, "user": "u", "top_p": 0.5}
    assert text({**BODIES[wire], **more}) == text(BODIES[wire])


def test_the_order_inside_a_schema_and_of_tools_counts() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}
    turned = {"type": "object", "properties": {"b": {}, "a": {}}}
    one, other = {"name": "f", "input_schema": schema}, {"input_schema": turned, "name": "f"}
    assert place({**ANTHROPIC, "tools": [one]}, {**ANTHROPIC, "tools": [other]}) == ("tools", "tools[0]")
    two = [{"name": "f", "input_schema": {}}, {"name": "g", "input_schema": {}}]
    assert place({**ANTHROPIC, "tools": two}, {**ANTHROPIC, "tools": two[::-1]}) == ("tools", "tools[0]")
    assert text({**ANTHROPIC, "tools": [{"name": "f", "input_schema": schema}]}) == text(
        {**ANTHROPIC, "tools": [{"input_schema": schema, "name": "f", "description": None}]}
    )


def test_the_order_of_a_calls_arguments_counts() -> None:
    body = changed(ANTHROPIC, "messages", 1, "content", 2, "input", to={"a": 1, "b": 2})
    turned = changed(body, "messages", 1, "content", 2, "input", to={"b": 2, "a": 1})
    assert place(body, turned) == ("message", "messages[1].content[2].input")


def test_argument_strings_are_compared_byte_by_byte() -> None:
    calls = [
        [{"id": "c", "type": "function", "function": {"name": "f", "arguments": a}}] for a in ('{"a":1}', '{"a": 1}')
    ]
    bodies = [
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": c}] for c in calls
    ]
    assert place(*bodies) == ("message", "messages[1].tool_calls[0].function.arguments")


@pytest.mark.parametrize(
    ("steps", "to", "expected"),
    [
        (("system", 0, "text"), "Rules!", ("system", "system[0].text")),
        (("system",), "Rules!", ("system", "system[0].text")),
        (("model",), "claude-opus-5", ("template", "model")),
        (("messages", 0, "content", 0, "text"), "Oslo?", ("message", "messages[0].content[0].text")),
        (("messages", 2, "content", 0, "content"), "5", ("message", "messages[2].content[0].content")),
        (
            ("messages", 2, "content", 1, "content", 0, "text"),
            "2",
            ("message", "messages[2].content[1].content[0].text"),
        ),
        (("messages", 1, "content", 0, "thinking"), "no", ("message", "messages[1].content[0].thinking")),
        (("messages", 1, "content", 3, "id"), "c3", ("message", "messages[1].content[3].id")),
    ],
)  # fmt: skip
def test_a_change_is_found_at_its_path(steps: tuple[Any, ...], to: Any, expected: tuple[str, str]) -> None:
    assert place(ANTHROPIC, changed(ANTHROPIC, *steps, to=to)) == expected


def test_a_model_switch_diverges_before_everything_else() -> None:
    one, other = prompt(ANTHROPIC), prompt({**ANTHROPIC, "model": "Claude"})
    assert one.segments[1].path == "model"
    assert one.text[: one.segments[1].start] == other.text[: one.segments[1].start]
    assert one.segments[1].start < 10


def test_settings_that_are_rendered_come_before_the_tools() -> None:
    low = {**OPENAI, "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}}
    high = {**OPENAI, "reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": True}}
    assert place(low, high) == ("template", "reasoning_effort")
    assert rendered_settings(to_chat(low)) == {
        "enable_thinking": (True, "chat_template_kwargs.enable_thinking"),
        "reasoning_effort": ("low", "reasoning_effort"),
    }
    thinking = {**ANTHROPIC, "thinking": {"type": "enabled", "budget_tokens": 2048}}
    assert text(thinking) == text({**ANTHROPIC, "thinking": {"budget_tokens": 2048, "type": "enabled"}})
    assert place(thinking, changed(thinking, "thinking", "budget_tokens", to=4096)) == ("template", "thinking")


def test_the_tool_choice_stands_in_front_of_the_messages() -> None:
    forced = {**ANTHROPIC, "tool_choice": {"type": "tool", "name": "weather"}}
    at = text(forced).index("tool_choice")
    assert text(forced).index("Rules.") < at < text(forced).index("Oslo and Rome?")
    assert text({**ANTHROPIC, "tool_choice": {"type": "auto"}}) == text(ANTHROPIC)
    assert rendered_settings(to_chat(forced)) == {"tool_choice": (forced["tool_choice"], "tool_choice")}
    assert text({**OPENAI, "tool_choice": "none"}) == text(OPENAI)


def test_markers_of_every_provider_are_invisible() -> None:
    bare = {"model": "claude-x", "messages": [{"role": "user", "content": "q"}], "system": "s"}
    block = {"type": "text", "text": "q", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    marked = {**bare, "messages": [{"role": "user", "content": [block]}], "cache_control": {"type": "ephemeral"}}
    assert text(marked) == text(bare)
    point = {"cachePoint": {"type": "default"}}
    body = {"modelId": "m", "system": [{"text": "s"}], "messages": [{"role": "user", "content": [{"text": "q"}]}]}
    pointed = {
        **body,
        "system": [{"text": "s"}, point],
        "messages": [{"role": "user", "content": [{"text": "q"}, point]}],
    }
    assert text(pointed) == text(body)
    break_ = {"type": "text", "text": "q", "prompt_cache_breakpoint": {"type": "explicit"}}
    openai = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "q"}]}
    assert text({**openai, "messages": [{"role": "user", "content": [break_]}]}) == text(openai)


def test_data_that_look_like_markers_are_kept() -> None:
    body = changed(ANTHROPIC, "messages", 1, "content", 2, "input", to={"cache_control": 1})
    assert '{"cache_control":1}' in text(body)


def test_a_longer_message_is_no_appended_message() -> None:
    short, long = (text([{"role": "user", "content": c}]) for c in ("A", "A and B"))
    assert not long.startswith(short)


def test_bare_messages_are_written_in_openai_order() -> None:
    made = prompt(OPENAI["messages"])
    assert made.text == text({"messages": OPENAI["messages"]})
    assert "message list" in made.front_end
    assert [s.part for s in made.segments if s.path == "messages[0].content"] == ["system"]
    assert [s.path for s in made.segments if s.message_index == 1 and s.path] == ["messages[1].content"]


def test_tools_of_a_bare_list_are_written() -> None:
    def weather(city: str) -> str:
        """The weather."""
        return city

    chat = to_chat([{"role": "user", "content": "q"}])
    chat.tools = [OPENAI["tools"][0], weather]
    made = WireFrontEnd().prompt(chat)
    assert [s.path for s in made.segments if s.part == "tools" and s.path] == ["tools[0]", "tools[1]"]
    assert "The weather." in made.text


def test_gemini_spellings_are_one() -> None:
    camel = {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"b": 1}}}]},
        ],
    }
    snake = {
        "config": {"system_instruction": "s", "tools": [{"function_declarations": [{"name": "f"}]}]},
        "contents": [
            "q",
            {"role": "model", "parts": [{"function_call": {"args": {"b": 1}, "name": "f"}, "thought": None}]},
        ],
    }
    assert text(camel) == text(snake)


def test_responses_strings_and_blocks_are_one() -> None:
    string = {
        "input": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "a"},
            {"type": "function_call_output", "call_id": "c", "output": "o"},
        ]
    }
    blocks = {
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "o"}]},
        ]
    }
    assert text(string) == text(blocks)
    assert text({"input": "q"}) == text({"input": [{"role": "user", "content": "q"}]})


def test_images_are_compared_by_their_bytes() -> None:
    def body(data: bytes) -> dict[str, Any]:
        image = {"image": {"format": "png", "source": {"bytes": data}}}
        return {"modelId": "m", "messages": [{"role": "user", "content": [image, {"text": "q"}]}]}

    assert text(body(b"\xff1")) == text(body(b"\xff1"))
    assert place(body(b"\xff1"), body(b"\xff2"))[1] == "messages[0].content[0].image"


def test_prompts_that_skip_the_messages() -> None:
    front_end = WireFrontEnd()
    raw = front_end.prompt(Chat([], raw="Once upon", wire="text"))
    assert (raw.text, raw.exact) == ("Once upon", False)
    ids = front_end.prompt(Chat([], raw=(5, 6), wire="ids"))
    assert ids.token_ids == (5, 6)
    longer = front_end.prompt(Chat([], raw=(5, 60), wire="ids"))
    assert not longer.text.startswith(ids.text)
    with pytest.raises(UsageError, match="empty chat"):
        front_end.prompt(Chat([]))


def test_estimates_bound_the_count() -> None:
    low, best, high = estimate("You are a billing helper for Example Ltd. Answer in one short sentence. " * 20)
    assert low < 300 < high  # 15 tokens a sentence on four tokenizers
    assert low < best < high
    assert estimate("") == (0, 0, 0)
    made = prompt(ANTHROPIC)
    assert made.count() == estimate(made.text)


@pytest.mark.parametrize("fixture", ["qwen3_dir", "llama32_dir", "nemo_dir", "deepseek_v3_dir"])
def test_real_tokenizers_stay_in_the_band(fixture: str, request: pytest.FixtureRequest) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    backend = tokenizers.Tokenizer.from_file(str(request.getfixturevalue(fixture) / "tokenizer.json"))
    samples = {
        "prose": "You are a helper. Read the following notes carefully before you answer the question.\n" * 20,
        "code": Path(__file__).read_text(encoding="utf-8"),
        "json": json.dumps([{"id": i, "name": f"item_{i}", "price": i * 1.37} for i in range(100)]),
        "german": "Die Übergrößen müssen später geprüft werden, weil die Straße überfüllt ist. " * 20,
        "chinese": "请仔细阅读以下说明，然后回答用户的问题。" * 20,
        "russian": "Пожалуйста, внимательно прочитайте следующие инструкции. " * 20,
        "numbers": " ".join(str(i * 7919) for i in range(500)),
    }
    for name, sample in samples.items():
        low, _, high = estimate(sample)
        assert low <= len(backend.encode(sample, add_special_tokens=False).ids) <= high, name


def test_needs_the_standard_library_only() -> None:
    code = (
        "import sys; before = set(sys.modules);"
        "from pytest_cachesafe.frontends.wire import WireFrontEnd;"
        "from pytest_cachesafe.messages import to_chat;"
        "WireFrontEnd().prompt(to_chat([{'role': 'user', 'content': 'x'}])).segments;"
        "names = {m.partition('.')[0] for m in set(sys.modules) - before};"
        "print(*sorted(names - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pytest_cachesafe"]


# Few characters, among them all that structure canonical text, so that chance finds every way to forge it.
words = st.text(alphabet="ab \n␞␟␛.~[=:", max_size=4)
values = st.recursive(st.none() | st.booleans() | st.integers(0, 2) | words, lambda inner: st.lists(inner, max_size=2)
                      | st.dictionaries(words, inner, max_size=2), max_leaves=4)  # fmt: skip
marker = st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral"}}])
text_block = st.builds(lambda t, m: {"type": "text", "text": t, **m}, words, marker)
use_block = st.builds(
    lambda i, n, v, m: {"type": "tool_use", "id": i, "name": n, "input": v, **m},
    words, words, st.dictionaries(words, values, max_size=2), marker,
)  # fmt: skip
result_block = st.builds(
    lambda i, c, m: {"type": "tool_result", "tool_use_id": i, "content": c, **m},
    words, words | st.lists(text_block, max_size=2), marker,
)  # fmt: skip
other_block = st.builds(lambda k, n, v: {"type": k, n: v}, words, words.filter(lambda n: n != "type"), values)
contents = words | st.lists(text_block | use_block | result_block | other_block, max_size=3)
messages = st.builds(
    lambda r, c: {"role": r, "content": c}, st.sampled_from(["user", "assistant", "system", "a b"]), contents
)
tools = st.lists(
    st.builds(lambda n, d, s: {"name": n, "description": d, "input_schema": s}, words, words, values), max_size=2
)
bodies = st.builds(
    lambda m, s, t, ms: {"model": m, "system": s, "tools": t, "messages": ms},
    words, words | st.lists(text_block, max_size=2), tools, st.lists(messages, min_size=1, max_size=3),
)  # fmt: skip


def normal(body: dict[str, Any]) -> str:
    """What a body says, written down independently: strings as blocks, markers and empty fields gone."""

    def block(b: Any, nested: bool = False) -> Any:
        b = {"type": "text", "text": b} if isinstance(b, str) else b
        out = {}
        for key in sorted(b):
            value = b[key]
            if key == "cache_control" or value is None:
                continue
            if key == "content" and b["type"] == "tool_result":
                value = [block(v) for v in ([value] if isinstance(value, str) else value)]
            out[key] = value
        return out

    def blocks(content: Any) -> Any:
        return [block(b) for b in ([content] if isinstance(content, str) else content)]

    system = body["system"]
    return json.dumps(
        [
            body["model"],
            [{k: v for k, v in sorted(tool.items()) if v is not None} for tool in body["tools"]],
            [] if system in ("", []) else blocks(system),
            [[m["role"], blocks(m["content"])] for m in body["messages"]],
        ]
    )


def wire_text(body: dict[str, Any]) -> str:
    chat = Chat(body["messages"], model=body["model"], wire="anthropic", body=body)
    return WireFrontEnd().prompt(chat).text


@exact
@given(bodies, bodies)
def test_texts_are_equal_exactly_if_contents_are(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert (wire_text(a) == wire_text(b)) == (normal(a) == normal(b))


@exact
@given(bodies, st.data())
def test_no_text_moves_over_a_border(body: dict[str, Any], data: st.DataObject) -> None:
    """Near misses: one string of the body is replaced, cut, or joined with its neighbour."""
    other = copy.deepcopy(body)
    message = data.draw(st.sampled_from(other["messages"]))
    kind = data.draw(st.sampled_from(["string", "split", "role", "drop", "canonical"]))
    if kind == "string":
        message["content"] = data.draw(words)
    elif kind == "split":
        joined = message["content"] if isinstance(message["content"], str) else "ab"
        message["content"] = [{"type": "text", "text": joined[:1]}, {"type": "text", "text": joined[1:]}]
    elif kind == "role":
        message["role"] = data.draw(words.filter(bool))
    elif kind == "drop":
        message["content"] = message["content"][:-1]
    else:
        # The canonical text of the body itself, given as content.
        message["content"] = wire_text(body)
    assert (wire_text(body) == wire_text(other)) == (normal(body) == normal(other))


@exact
@given(bodies, st.lists(messages, max_size=3))
def test_appending_messages_appends_text(body: dict[str, Any], more: list[Any]) -> None:
    assert wire_text({**body, "messages": [*body["messages"], *more]}).startswith(wire_text(body))


@exact
@given(bodies)
def test_moving_markers_change_nothing(body: dict[str, Any]) -> None:
    other = copy.deepcopy(body)
    for message in other["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] in ("text", "tool_use", "tool_result"):
                block.pop("cache_control", None) or block.update(cache_control={"type": "ephemeral", "ttl": "1h"})
    assert wire_text(other) == wire_text(body)


@exact
@given(bodies)
def test_segments_always_tile(body: dict[str, Any]) -> None:
    chat = Chat(body["messages"], model=body["model"], wire="anthropic", body=body)
    made = WireFrontEnd().prompt(chat)
    assert "".join(made.text[s.start : s.end] for s in made.segments) == made.text
    assert all(a.end == b.start for a, b in zip(made.segments, made.segments[1:], strict=False))


def head(made: Prompt) -> int:
    """What `Prompt.head_end` is, from who wrote which characters."""
    return max((s.end for s in made.segments if s.part in ("tools", "system") and s.writer == "data"), default=0)


@pytest.mark.parametrize("wire", BODIES)
def test_the_head_ends_behind_tools_and_system_text(wire: str) -> None:
    made = prompt(BODIES[wire])
    assert made.head_end == head(made) > 0
    # It is found without a look at the messages.
    assert made.text[made.head_end :].startswith("␟\n")


SAID = st.text("ab␞␟␛\n", max_size=4)
CONTENT = SAID | st.lists(st.builds(lambda text: {"type": "text", "text": text}, SAID), max_size=2)
SYSTEM = st.none() | CONTENT
TOOLS = st.none() | st.lists(st.sampled_from([{"name": "f", "input_schema": {}}, {"name": "g"}]), max_size=2)


def bodies(wire: str) -> st.SearchStrategy[Any]:
    roles = ("user", "assistant") if wire == "anthropic" else ("system", "developer", "user", "assistant")
    listed = st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(roles), "content": CONTENT}), min_size=1, max_size=4
    )
    if wire == "messages":
        return listed
    model = {"model": st.just("m"), "tools": TOOLS}
    if wire == "openai-chat":
        return st.fixed_dictionaries(
            {**model, "messages": listed, "response_format": st.none() | st.just({"type": "x"})}
        )
    if wire == "openai-responses":
        return st.fixed_dictionaries({**model, "instructions": st.none() | SAID, "input": listed})
    choice = st.sampled_from([None, {"type": "any"}])
    return st.fixed_dictionaries({**model, "system": SYSTEM, "messages": listed, "tool_choice": choice})


@pytest.mark.parametrize("wire", ["messages", "openai-chat", "openai-responses", "anthropic"])
@given(data=st.data())
@exact
def test_the_head_is_what_the_segments_say(wire: str, data: st.DataObject) -> None:
    body = data.draw(bodies(wire))
    made = prompt(body if wire == "messages" else {name: value for name, value in body.items() if value is not None})
    assert made.head_end == head(made)
