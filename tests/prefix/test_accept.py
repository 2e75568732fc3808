"""An acceptance covers its own kind of divergence and hides no other; comparison goes on behind it."""

from __future__ import annotations

import copy
import itertools
import textwrap
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import Accept, ChatTemplate, PrefixFailure, UsageError, assert_prefix_stable, check_prefix_stable

SESSION = "You are the desk of Example Ltd. Session started at 10:41:07. Be kind."
Body = dict[str, Any]


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    function = {"name": name, "description": f"Does {name} for you.", "parameters": parameters}
    return {"type": "function", "function": function}


def request(turns: int, reasoning: bool) -> Body:
    """Messages 4 * n + 1 to 4 * n + 4 are question, call, result and answer of turn n."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SESSION}]
    for n in range(turns):
        call = {"name": "search", "arguments": {"q": f"trip {n}", "limit": n}}
        messages += [
            {"role": "user", "content": f"What about trip number {n}, please?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": f"call{n:05}", "type": "function", "function": call}],
            },
            {
                "role": "tool",
                "tool_call_id": f"call{n:05}",
                "name": "search",
                "content": f'{{"seats": {n}, "ref": "8c1f3a52-77ab-4c1d-9e0f-1b2c3d4e5f6{n}"}}',
            },
            {"role": "assistant", "content": f"Trip number {n} has seats left."},
        ]
    messages.append({"role": "user", "content": "Thanks, go on."})
    if reasoning:
        for n, message in enumerate(m for m in messages if m["role"] == "assistant"):
            message["reasoning_content"] = f"Thought number {n} about it."
    tools = [tool(name) for name in ("search", "book", "cancel")]
    return {"messages": messages, "tools": tools, "now": datetime(2026, 1, 5)}


def clock(body: Body) -> None:
    body["messages"][0]["content"] = SESSION.replace("10:41:07", "10:52:55")


def system(body: Body) -> None:
    body["messages"][0]["content"] = SESSION.replace("kind", "polite")


def order(body: Body) -> None:
    body["tools"].reverse()


def description(body: Body) -> None:
    body["tools"][1]["function"]["description"] = "Books what you want."


def pruned(body: Body) -> None:
    body["messages"][3]["content"] = "[pruned]"


def question(body: Body) -> None:
    body["messages"][5]["content"] = "What about my second trip?"


def reference(body: Body) -> None:
    content = body["messages"][7]["content"]
    body["messages"][7]["content"] = content.replace(content[-38:-2], "6f9619ff-8b86-d011-b42d-00cf4fc964f1")


def trimmed(body: Body) -> None:
    body["messages"][8]["content"] += " "


def thoughts(body: Body) -> None:
    for message in body["messages"]:
        message.pop("reasoning_content", None)


def tomorrow(body: Body) -> None:
    body["now"] = datetime(2026, 1, 6)


Fault = Callable[[Body], None]
# What each does to the request: cause, part and role.
FAULTS: dict[Fault, tuple[str, str, str | None]] = {
    clock: ("timestamp", "system", "system"),
    system: ("system_changed", "system", "system"),
    order: ("order", "tools", None),
    description: ("tools_changed", "tools", None),
    pruned: ("edited_history", "message", "tool"),
    question: ("edited_history", "message", "user"),
    reference: ("id", "message", "tool"),
    trimmed: ("whitespace", "message", "assistant"),
    thoughts: ("reasoning_dropped", "message", "assistant"),
    tomorrow: ("date", "template", None),
}
DATED = """Today is {{ strftime_now('%d %B %Y') }}.
{% if tools %}{% for t in tools %}{{ t | tojson }}
{% endfor %}{% endif %}{% for m in messages %}<{{ m.role }}>
{%- if m.reasoning_content %}[thought: {{ m.reasoning_content }}]{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}</{{ m.role }}>
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
# The newest turn's reasoning only, as Qwen3 and its kin do it.
FORGETS = """{% for t in tools %}{{ t | tojson }}
{% endfor %}{% set ns = namespace(last=0) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}<{{ m.role }}>
{%- if m.reasoning_content and loop.index0 > ns.last %}[thought: {{ m.reasoning_content }}]{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}</{{ m.role }}>
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""


def requests(*faults: Fault, reasoning: bool = False) -> list[Body]:
    """Two clean requests, and a third on which the faults fell."""
    bodies = [request(turns, reasoning) for turns in (1, 2, 3)]
    for fault in faults:
        fault(bodies[-1])
    # The answer to the first two requests is what the third says.
    for n, body in enumerate(bodies[:-1]):
        body["messages"][-1] = copy.deepcopy(request(3, reasoning)["messages"][4 * (n + 1) + 1])
    return bodies


def accept(*faults: Fault) -> list[Accept]:
    return [Accept(cause=c, part=p, role=r) for c, p, r in (FAULTS[f] for f in faults)]


def check(faults: tuple[Fault, ...], accepted: tuple[Fault, ...], template: Any) -> tuple[bool, set[Any]]:
    report = check_prefix_stable(
        requests(*faults, reasoning=thoughts in faults),
        template=template,
        accept=accept(*accepted),
        fail_on=["history", "raises", "date"],
    )
    left = [s.divergence for s in report.judged if s.divergence is not None]
    return report.passed, {(d.cause, d.location.part, d.location.role) for d in left}


@pytest.fixture(params=["wire", "text"])
def template(request: pytest.FixtureRequest) -> Any:
    return None if request.param == "wire" else ChatTemplate.from_string(DATED, name="dated")


def shown(template: Any) -> list[Fault]:
    return [f for f in FAULTS if template is not None or f is not tomorrow]


def test_each_fault_alone(template: Any) -> None:
    for fault in shown(template):
        assert check((fault,), (), template) == (False, {FAULTS[fault]}), fault.__name__
        assert check((fault,), (fault,), template) == (True, set()), fault.__name__


# Two changes of the tools are one change of the tools.
ONE_PLACE = [{order, description}]
# Judged apart: two changes inside one text.
ONE_TEXT = [{clock, system}]
PAIRS = [p for p in itertools.combinations(FAULTS, 2) if set(p) not in (*ONE_PLACE, *ONE_TEXT)]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[f"{a.__name__}-{b.__name__}" for a, b in PAIRS])
def test_one_acceptance_of_two(one: Fault, other: Fault, template: Any) -> None:
    if template is None and tomorrow in (one, other):
        # A wire body prints no date.
        return
    third = next(f for f in FAULTS if f not in (one, other) and FAULTS[f][0] not in (FAULTS[one][0], FAULTS[other][0]))
    assert check((one, other), (one,), template) == (False, {FAULTS[other]})
    assert check((one, other), (other,), template) == (False, {FAULTS[one]})
    assert check((one, other), (one, other), template) == (True, set())
    passed, left = check((one, other), (third,), template)
    assert not passed
    assert left <= {FAULTS[one], FAULTS[other]}
    assert left


def test_all_at_once_and_all_but_one(template: Any) -> None:
    faults = tuple(f for f in shown(template) if f not in (system, description))
    assert check(faults, faults, template) == (True, set())
    for left_out in faults:
        rest = tuple(f for f in faults if f is not left_out)
        assert check(faults, rest, template) == (False, {FAULTS[left_out]}), left_out.__name__


@pytest.mark.parametrize("fault", [clock, system, order, description, pruned, question])
def test_behind_reasoning_that_a_template_drops(fault: Fault, qwen3_dir: Path) -> None:
    known = Accept(cause="reasoning_dropped", reason="template design")
    own = ChatTemplate.from_string(FORGETS, name="forgets")
    for given in (own, qwen3_dir):
        # Each request ends in a tool result, whose turn's reasoning the next one drops.
        bodies = [request(turns, True) for turns in (1, 2, 3)]
        for body in bodies:
            del body["messages"][-2:]
        clean = assert_prefix_stable(bodies, template=given, accept=[known])
        assert clean.acceptances.as_list()[0]["count"] >= 2
        fault(bodies[-1])
        with pytest.raises(PrefixFailure) as caught:
            assert_prefix_stable(bodies, template=given, accept=[known])
        worst = caught.value.report.worst
        assert worst.request == 2
        place = worst.divergence.location
        assert (worst.divergence.cause, place.part, place.role) == FAULTS[fault]


@pytest.mark.parametrize(
    ("matcher", "passes"),
    [
        ({"cause": "edited_history"}, True),
        ({"cause": "edited_history", "role": "tool"}, True),
        ({"cause": "edited_history", "role": "user"}, False),
        ({"cause": "edited_history", "part": "system"}, False),
        ({"cause": "timestamp"}, False),
        ({"part": "message"}, True),
        ({"role": "tool"}, True),
        ({"cause": "edited_history", "template": "DATED"}, True),
        ({"cause": "edited_history", "template": "qwen"}, False),
    ],
)
def test_every_field_must_match(matcher: dict[str, Any], passes: bool) -> None:
    given = ChatTemplate.from_string(DATED, name="dated")
    assert check_prefix_stable(requests(pruned), template=given, accept=[Accept(**matcher)]).passed is passes


def test_the_bound() -> None:
    lost = check_prefix_stable(requests(pruned)).lost_tokens
    for bound, passes in ((lost, True), (lost - 1, False), (0, False)):
        known = Accept(cause="edited_history", max_lost_tokens=bound, reason="known")
        report = check_prefix_stable(requests(pruned), accept=[known])
        assert report.passed is passes
        assert (f"accepted up to {bound} tokens only" in report.text()) is not passes


def test_the_bound_holds_for_each_step() -> None:
    """Two losses within the bound do not add up."""
    bodies = requests(pruned)
    pruned_twice = [*bodies, copy.deepcopy(bodies[-1])]
    pruned_twice[-1]["messages"][7]["content"] = "[pruned too]"
    lost = [s.lost_tokens for s in check_prefix_stable(pruned_twice).steps[1:]]
    known = Accept(cause="edited_history", max_lost_tokens=max(lost))
    report = assert_prefix_stable(pruned_twice, accept=[known])
    assert report.acceptances.as_list()[0]["count"] == 2
    assert report.acceptances.as_list()[0]["max_lost_tokens"] == max(lost)


def test_it_is_shown_with_its_reason() -> None:
    report = assert_prefix_stable(requests(pruned), accept=[Accept(cause="edited_history", reason="we prune results")])
    assert "we prune results" in report.text()
    data = report.as_dict()["accepted"]
    assert data[0]["accept"] == {"cause": "edited_history", "reason": "we prune results"}
    assert (data[0]["used"], data[0]["count"]) == (True, 1)
    assert report.as_dict()["verdict"] == "stable"
    assert (report.exit_status(), report.exit_status(strict=True)) == (0, 1)


def test_one_that_no_longer_happens_is_reported() -> None:
    report = assert_prefix_stable(requests(), accept=[Accept(cause="edited_history", reason="we prune results")])
    assert report.as_dict()["accepted"][0]["used"] is False
    assert any("no longer happens" in note and "we prune results" in note for note in report.notes)
    assert "no longer happens" in report.text()
    assert (report.exit_status(), report.exit_status(strict=True)) == (0, 1)


def test_the_closest_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pytester: pytest.Pytester) -> None:
    """Project-wide acceptances come from pyproject.toml beside the test; unused ones may belong to other tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyprojecttoml(
        """
        [[tool.cachesafe.accept]]
        cause = "edited_history"
        role = "assistant"
        reason = "project"

        [[tool.cachesafe.accept]]
        cause = "date"
        """
    )
    pytester.makepyfile(
        textwrap.dedent(
            """
            import pytest
            from pytest_cachesafe import Accept, assert_prefix_stable

            def turn(n, answer="Fine."):
                messages = [{"role": "user", "content": "Hello?"}]
                for i in range(n):
                    messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": f"And {i}?"}]
                return messages

            REQUESTS = [turn(1), turn(2, "Good.")]

            def test_project():
                report = assert_prefix_stable(REQUESTS)
                (taken,) = report.acceptances.as_list()
                assert taken["accept"]["reason"] == "project"
                assert not report.notes

            def test_own():
                report = assert_prefix_stable(REQUESTS, accept=[Accept(cause="edited_history", reason="own")])
                (taken,) = report.acceptances.as_list()
                assert taken["accept"]["reason"] == "own"
            """
        )
    )
    pytester.runpytest_inprocess("-p", "pytest_cachesafe.plugin").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('cause = "edited_histroy"', "edited_history"),
        ('kause = "date"', "did you mean 'cause'"),
        ('reason = "everything"', "at least one"),
        ('cause = "date"\nmax_lost_tokens = "many"', "whole number"),
        ("cause = 7", "unknown cause"),
        ("cause = [", "TOML"),
    ],
)
def test_mistakes_in_the_project_file(table: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.prefix.accept import project_acceptances

    (tmp_path / "pyproject.toml").write_text(f"[[tool.cachesafe.accept]]\n{table}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=words) as caught:
        project_acceptances(tmp_path)
    assert "pyproject.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "item",
    [
        Accept(cause="reasoning_dropped", template="Qwen3", max_lost_tokens=800, reason="template design, v1"),
        Accept(part="tools", role="user"),
        Accept(cause="date", reason="a = b, c=d"),
    ],
)
def test_the_command_line_says_the_same(item: Accept) -> None:
    assert Accept.parse(item.option()) == item


def test_a_reasoning_item_of_its_own() -> None:
    """Responses keep reasoning as an item of the list: when it is gone, all later items move up."""
    reasoning = {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "abc"}
    call = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "found"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here it is."}]}
    ask = {"role": "user", "content": "Look it up."}
    more = {"role": "user", "content": "Thanks, and now?"}
    first = {"model": "gpt-5", "input": [ask, reasoning, call, output, said, more]}
    second = {"model": "gpt-5", "input": [ask, call, output, said, more, said, ask]}
    assert check_prefix_stable([first, second]).as_dict()["cause"] == "reasoning_dropped"
    known = Accept(cause="reasoning_dropped")
    assert assert_prefix_stable([first, second], accept=[known]).verdict == "stable"
    edited = {**second, "input": [ask, call, {**output, "output": "[pruned]"}, said, more, said, ask]}
    report = check_prefix_stable([first, edited], accept=[known])
    assert report.as_dict()["cause"] == "edited_history"
    # Calls, results and answers that went with it are not covered.
    for gone in (1, 2, 3):
        fewer = {**second, "input": [ask, *second["input"][1 + gone :]]}
        report = check_prefix_stable([first, fewer], accept=[known])
        assert not report.passed
        assert report.as_dict()["cause"] == "history_shifted"
