"""What a template leaves out is seen as the full check sees it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import ChatTemplate
from pytest_cachesafe.engines.trace.left_out import Watch
from pytest_cachesafe.frontends.resolve import resolve_front_end
from pytest_cachesafe.messages import to_chat
from pytest_cachesafe.prefix import rendered

BODY = "<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}[{{ c.function.name }}]{% endfor %}</>"
TOOLS = "{% for t in tools or [] %}({{ t.function.name }}){% endfor %}"
TEMPLATES = {
    "all": TOOLS + "{% for m in messages %}" + BODY + "{% endfor %}",
    "no tools": "{% for m in messages %}" + BODY + "{% endfor %}",
    "no system": TOOLS + "{% for m in messages if m.role != 'system' %}" + BODY + "{% endfor %}",
    "last three": TOOLS + "{% for m in messages[-3:] %}" + BODY + "{% endfor %}",
}
# Texts that a prompt has by no coincidence, as the full check asks for as well.
Text = st.text("abcdef ", min_size=30, max_size=60).filter(lambda text: len(text.split()) > 1)
Messages = st.lists(
    st.builds(
        lambda role, text, call: {
            "role": role,
            "content": text,
            **(
                {"tool_calls": [{"function": {"name": call, "arguments": "{}"}}]}
                if call and role == "assistant"
                else {}
            ),
        },
        st.sampled_from(["system", "user", "assistant"]),
        Text,
        st.sampled_from([None, "look_up_the_weather"]),
    ),
    min_size=1,
    max_size=6,
)


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {}}}


@pytest.mark.parametrize("template", TEMPLATES)
@settings(deadline=None, max_examples=25)
@given(log=st.lists(st.tuples(Messages, st.booleans()), min_size=1, max_size=5))
def test_equals_the_full_check(template: str, log: list[tuple[list[dict[str, Any]], bool]]) -> None:
    front_end = resolve_front_end(ChatTemplate(TEMPLATES[template], label="t"))
    watch = Watch()
    for messages, tools in log:
        body = {"messages": messages, **({"tools": [tool("find_a_restaurant")]} if tools else {})}
        prompt = front_end.prompt(to_chat(body))
        expected = tuple(dict.fromkeys(missing.what for missing in rendered.not_rendered(prompt)))
        assert watch.kinds(prompt) == expected


def test_the_full_check_is_made_once_per_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    check = rendered.not_rendered
    monkeypatch.setattr(rendered, "not_rendered", lambda prompt: made.append(prompt) or check(prompt))
    front_end = resolve_front_end(ChatTemplate(TEMPLATES["last three"], label="t"))
    watch = Watch()

    def kinds(*contents: str) -> tuple[str, ...]:
        return watch.kinds(front_end.prompt(to_chat([{"role": "user", "content": one} for one in contents])))

    assert [kinds("hi"), kinds("yes"), kinds("hi", "no")] == [(), (), ()]
    assert len(made) == 1
    # A fourth message is left out: "hi" is only a part of another word.
    assert kinds("hi", "this", "that", "thin") == ("message",)
    assert len(made) == 2
