"""What must hold for any chat, in canonical bytes, in text and in token ids."""

from __future__ import annotations

import copy
import string
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_cachesafe import Accept, ChatTemplate, check_prefix_stable, compare

quick = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

APPENDS = """
{%- if tools %}<tools>{% for t in tools %}{{ t | tojson }}
{% endfor %}</tools>{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

# Letters, digits and spaces (numbers, dates, merges), control characters, combining marks, wide and invisible ones, and
# texts that tokenizers and templates give a meaning of their own.
PIECES = [
    *(
        "a",
        "The weather",
        " is 12:30",
        "2026-01-05",
        "\n",
        "\n\n",
        "\t",
        " ",
        "  ",
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\u2028",
    ),
    *("é", "e\u0301", "\u200b", "\u202e", "\ufeff", "日本", "😀", "👩‍💻", "ﬁ", "½", "Ω", "\r\n", "::error::x", "<b>"),
    *(
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<think>",
        "</think>",
        "{{ x }}",
        "{%",
        '{"a": 1}',
        "\\u0041",
        "'s",
    ),
]
texts = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), min_size=1, max_size=6
).map("".join)
spoken = texts.filter(lambda t: bool(t.strip()))
names = st.text(string.ascii_lowercase, min_size=3, max_size=6)
values = st.integers(-9, 999) | texts | st.booleans() | st.none()
schemas = st.lists(names, min_size=1, max_size=3, unique=True).map(
    lambda keys: {"type": "object", "properties": {k: {"type": "string"} for k in keys}, "required": keys}
)
tools = st.lists(
    st.fixed_dictionaries({"name": names, "description": texts, "parameters": schemas}).map(
        lambda f: {"type": "function", "function": f}
    ),
    max_size=3,
)


@st.composite
def chats(draw: st.DrawFn, tool_turns: bool = True, turns: int = 3) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(spoken)})
    for n in range(draw(st.integers(1, turns))):
        messages.append({"role": "user", "content": draw(spoken)})
        if tool_turns and draw(st.booleans()):
            arguments = draw(st.dictionaries(names, values, max_size=3))
            call = {"id": f"call{n:05}", "type": "function", "function": {"name": "look", "arguments": arguments}}
            messages += [
                {"role": "assistant", "content": draw(st.just("") | texts), "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"call{n:05}", "name": "look", "content": draw(spoken)},
            ]
        messages.append({"role": "assistant", "content": draw(spoken)})
    messages.append({"role": "user", "content": draw(spoken)})
    return messages


@pytest.fixture(scope="session")
def front_ends(smollm2_tokenizer_dir: Path, qwen3_dir: Path) -> dict[str, Any]:
    return {
        "wire": None,
        "text": ChatTemplate.from_string(APPENDS, name="appends"),
        "smollm2": ChatTemplate.from_pretrained(smollm2_tokenizer_dir),
        "qwen3": ChatTemplate.from_pretrained(qwen3_dir),
    }


FRONT_ENDS = ("wire", "text", "smollm2", "qwen3")


@pytest.mark.parametrize("name", FRONT_ENDS)
@quick
@given(chats(), tools)
def test_a_prompt_against_itself(name: str, front_ends: dict[str, Any], chat: Any, offered: Any) -> None:
    template = front_ends[name]
    found = compare(chat, copy.deepcopy(chat), template=template, tools=offered or None)
    assert found.divergence is None
    assert (found.extends, found.scope) == (True, "none")
    assert found.shared_tokens == found.tokens[0] == found.tokens[1]
    report = check_prefix_stable([chat, copy.deepcopy(chat)], template=template, tools=offered or None)
    assert report.prefix_verdict == "stable"
    assert report.lost_tokens == 0


@st.composite
def edited(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two chats of one origin: one of them cut, edited, extended or reordered somewhere."""
    one = draw(chats())
    other = copy.deepcopy(one)
    at = draw(st.integers(0, len(other) - 1))
    kind = draw(st.sampled_from(["edit", "append", "cut", "insert", "drop", "swap", "truncate"]))
    if kind == "edit":
        other[at]["content"] = draw(spoken)
    elif kind == "append":
        other[at]["content"] += draw(texts)
    elif kind == "truncate":
        other[at]["content"] = other[at]["content"][: draw(st.integers(0, 3))] + "x"
    elif kind == "cut":
        other = other[: at + 1]
    elif kind == "insert":
        other.insert(at, {"role": draw(st.sampled_from(["user", "assistant", "system"])), "content": draw(spoken)})
    elif kind == "drop" and len(other) > 1:
        del other[at]
    else:
        other[0], other[at] = other[at], other[0]
    return one, other


@pytest.mark.parametrize("name", FRONT_ENDS)
@quick
@given(edited(), tools)
def test_the_order_of_arguments_does_not_matter(name: str, front_ends: dict[str, Any], pair: Any, offered: Any) -> None:
    from pytest_cachesafe.prompt import TemplateRaised

    a, b = pair
    template = front_ends[name]
    try:
        there = compare(a, b, template=template, tools=offered or None)
        back = compare(b, a, template=template, tools=offered or None)
    except TemplateRaised:
        return
    assert (there.shared_tokens, there.shared_chars) == (back.shared_tokens, back.shared_chars)
    assert there.tokens == back.tokens[::-1]
    assert (there.divergence is None) == (back.divergence is None)
    if there.divergence is not None and back.divergence is not None:
        one, other = there.divergence, back.divergence
        assert (one.cause, one.origin) == (other.cause, other.origin)
        # Where two messages of different roles meet, the earlier request's role is told: that one is lost.
        assert replace(one.location, role=None) == replace(other.location, role=None)
        assert (one.before, one.after) == (other.after, other.before)


@quick
@given(edited(), tools)
def test_no_template_is_blamed_on_the_wire(pair: Any, offered: Any) -> None:
    found = compare(*pair, tools=offered or None).divergence
    if found is not None:
        assert found.origin in ("application", "framework")
        assert found.cause not in ("template_markup", "tools_moved", "default_system_text")


@pytest.mark.parametrize("name", ["smollm2", "qwen3"])
@quick
@given(edited())
def test_ids_are_compared_one_by_one(name: str, front_ends: dict[str, Any], pair: Any) -> None:
    """The incremental comparison gives what tokenising both whole texts and counting gives."""
    from pytest_cachesafe.prompt import TemplateRaised

    template: ChatTemplate = front_ends[name]
    backend: Any = template.tokenizer.backend  # type: ignore[union-attr]
    try:
        prompts = [template.render(chat) for chat in pair]
    except TemplateRaised:
        return
    ids = [backend.encode(p.text, add_special_tokens=False).ids for p in prompts]
    same = next((i for i, (x, y) in enumerate(zip(*ids, strict=False)) if x != y), min(map(len, ids)))
    found = compare(*prompts)
    assert found.shared_tokens == same
    assert found.tokens == (len(ids[0]), len(ids[1]))
    assert found.extends == (same == len(ids[0]))
    # A prompt that ends early contradicts nothing.
    assert (found.divergence is None) == (same == min(map(len, ids)))
    if found.divergence is not None:
        assert found.divergence.location.token_index == same


composed = st.lists(st.sampled_from(["é", "ü", "word ", "1", "Å", "ñ."]), min_size=1, max_size=12).map("".join)


@quick
@given(composed, st.integers(0, 2), st.booleans())
def test_composed_characters(front_ends: dict[str, Any], text: str, at: int, later: bool) -> None:
    """Qwen3 brings text into NFC: another form is no difference, and what differs behind it is found on both sides."""
    template = front_ends["qwen3"]
    forms = ["".join(unicodedata.normalize(form, c) for c in text) for form in ("NFC", "NFD")]
    chat = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "On."},
    ]
    one, other = ([{**m, "content": f"{form} {m['content']}"} for m in chat] for form in forms)
    assert compare(one, other, template=template).divergence is None
    one[at]["content"] += " ONE"
    other[at]["content"] += " TWO"
    if later:
        other.append({"role": "assistant", "content": "Well."})
    there, back = compare(one, other, template=template), compare(other, one, template=template)
    assert there.divergence is not None
    assert back.divergence is not None
    assert there.divergence.location == back.divergence.location
    assert there.divergence.cause == back.divergence.cause
    assert there.divergence.location.message_index == at
    assert (there.divergence.before[:3], there.divergence.after[:3]) == ("ONE", "TWO")
    assert (back.divergence.before[:3], back.divergence.after[:3]) == ("TWO", "ONE")


@pytest.mark.parametrize("name", ["wire", "text"])
@quick
@given(chats(), tools)
def test_appending_keeps_the_prefix(name: str, front_ends: dict[str, Any], chat: Any, offered: Any) -> None:
    report = check_prefix_stable(chat, template=front_ends[name], tools=offered or None)
    assert report.prefix_verdict == "stable", report.text()
    assert all(s.lost_tokens == 0 for s in report.steps)


@quick
@given(chats(tool_turns=False))
def test_appending_may_only_merge_tokens(front_ends: dict[str, Any], chat: Any) -> None:
    """SmolLM2's template appends, but its generation prompt ends in a line feed that may merge with the answer."""
    template = front_ends["smollm2"]
    backend = template.tokenizer.backend
    report = check_prefix_stable(chat, template=template)
    ends = [i + 1 for i, m in enumerate(chat) if m["role"] == "user"]
    encoded = [backend.encode(template.render(chat[:end]).text, add_special_tokens=False).ids for end in ends]
    for step, (a, b) in zip(report.steps, pairwise(encoded), strict=True):
        if b[: len(a)] == a:
            assert step.verdict == "stable", report.text()
        else:
            assert step.verdict == "tail"
            assert step.divergence is not None
            assert (step.divergence.cause, step.divergence.origin) == ("token_merge", "tokenizer")


def test_a_merge_is_reported(front_ends: dict[str, Any]) -> None:
    chat = [
        {"role": "user", "content": "Draw a frame."},
        {"role": "assistant", "content": "\n\nHere it is."},
        {"role": "user", "content": "Thanks."},
    ]
    report = check_prefix_stable(chat, template=front_ends["smollm2"])
    assert report.verdict == "tail"
    assert (report.as_dict()["cause"], report.as_dict()["origin"]) == ("token_merge", "tokenizer")
    assert "tokenizer merges" in report.first_line


body_settings: dict[str, st.SearchStrategy[Any]] = {
    "temperature": st.floats(0, 2),
    "top_p": st.floats(0, 1),
    "max_tokens": st.integers(1, 9999),
    "stream": st.booleans(),
    "stop_sequences": st.lists(st.text(max_size=3), max_size=2),
    "metadata": st.dictionaries(names, names, max_size=1),
}


@quick
@given(st.data(), chats(), tools)
def test_markers_retries_and_sampling_are_no_finding(data: st.DataObject, chat: Any, offered: Any) -> None:
    """A body per user turn, some sent twice, each with markers and sampling parameters of its own."""
    requests = []
    system = [m for m in chat if m["role"] == "system"]
    rest = [m for m in chat if m["role"] in ("user", "assistant") and "tool_calls" not in m]
    for end in (i + 1 for i, m in enumerate(rest) if m["role"] == "user"):
        for _ in range(data.draw(st.integers(1, 2))):
            messages = [{"role": m["role"], "content": [{"type": "text", "text": m["content"]}]} for m in rest[:end]]
            for message in data.draw(st.lists(st.sampled_from(messages), max_size=2, unique_by=id)):
                message["content"][0]["cache_control"] = {"type": "ephemeral"}
            body: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages}
            if system:
                body["system"] = [{"type": "text", "text": system[0]["content"]}]
                if data.draw(st.booleans()):
                    body["system"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
            if offered:
                functions = [t["function"] for t in offered]
                body["tools"] = [
                    {"name": f["name"], "description": f["description"], "input_schema": f["parameters"]}
                    for f in functions
                ]
                if data.draw(st.booleans()):
                    body["tools"][-1]["cache_control"] = {"type": "ephemeral"}
            requests.append(body | data.draw(st.fixed_dictionaries({}, optional=body_settings)))
    if len(requests) < 2:
        return
    report = check_prefix_stable(requests)
    assert report.verdict == "stable", report.text()
    assert report.severity is None


PREFIX_TEXTS: list[Callable[[str], str]] = [lambda t: t, lambda t: t + "x", lambda t: t[:-1], lambda t: "x" + t]


@quick
@given(st.lists(texts, min_size=2, max_size=4), st.sampled_from(PREFIX_TEXTS))
def test_given_texts(front_ends: dict[str, Any], pieces: list[str], change: Callable[[str], str]) -> None:
    """Prompts given as text: stable exactly where one begins with the other."""
    first = "".join(pieces[:-1])
    second = change(first) + pieces[-1]
    if not first or not second:
        return
    report = check_prefix_stable([first, second])
    extends = second.startswith(first) or first.startswith(second)
    assert (report.verdict == "stable") == extends
    tokens = check_prefix_stable([first, second], template=front_ends["smollm2"])
    backend = front_ends["smollm2"].tokenizer.backend
    a, b = (backend.encode(t, add_special_tokens=False).ids for t in (first, second))
    short = min(len(a), len(b))
    assert (tokens.verdict == "stable") == (a[:short] == b[:short])
    if extends and tokens.verdict != "stable":
        # The text goes on and only the last tokens merge with what follows: a small loss, whatever the text is.
        assert tokens.verdict == "tail"
        assert (tokens.as_dict()["cause"], tokens.as_dict()["origin"]) == ("token_merge", "tokenizer")


STAMPED = "It is {}. Please look after {}."
HIDING: dict[str, Callable[[dict[str, Any]], None]] = {
    "timestamp": lambda m: m.update(content=m["content"].replace("10:41:07", "11:52:18")),
    "id": lambda m: m.update(content=m["content"].replace("8c1f3a52-77ab", "6f9619ff-8b86")),
    "whitespace": lambda m: m.update(content=m["content"].replace(". ", ".  ", 1)),
    "unicode_form": lambda m: m.update(content=m["content"].replace("é", "e\u0301", 1)),
}


@quick
@given(st.data())
def test_an_acceptance_hides_no_other_change(front_ends: dict[str, Any], data: st.DataObject) -> None:
    """Two messages changed, each in its own way, one of the two causes accepted: the other one is what is left."""
    stamp = "10:41:07 for 8c1f3a52-77ab-4c1d-9e0f-1b2c3d4e5f60, the café"
    roles = data.draw(st.lists(st.sampled_from(["user", "assistant"]), min_size=3, max_size=6))
    before = [{"role": r, "content": f"{STAMPED.format(stamp, 'item')} Number {n}."} for n, r in enumerate(roles)]
    before.append({"role": "user", "content": "Go on."})
    one, other = data.draw(st.lists(st.integers(0, len(roles) - 1), min_size=2, max_size=2, unique=True))
    accepted, left = data.draw(st.lists(st.sampled_from(sorted(HIDING)), min_size=2, max_size=2, unique=True))
    after = copy.deepcopy(before)
    HIDING[accepted](after[one])
    HIDING[left](after[other])
    after += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks."}]
    template = front_ends[data.draw(st.sampled_from(["wire", "text", "smollm2"]))]
    known = [Accept(cause=accepted), Accept(cause=left)]
    report = check_prefix_stable([before, after], template=template, accept=known[:1])
    assert not report.passed
    place = report.worst.divergence  # type: ignore[union-attr]
    assert place is not None
    assert (place.cause, place.location.message_index) == (left, other)
    assert check_prefix_stable([before, after], template=template, accept=known).passed
