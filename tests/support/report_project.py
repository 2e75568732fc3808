"""A small project whose checks find everything that a report shows: files by name, for tests and for the picture."""

from __future__ import annotations

__all__ = ["BEFORE", "FILES"]

_AGENT = '''
"""The support desk of a shop: builds the requests of a chat."""

from __future__ import annotations

from datetime import datetime, timedelta

RULES = "Answer from the manual only. Be brief and friendly. Never promise a date. " * 110
QUESTIONS = ["Where is order A-1001?", "When will it be here?", "Can I cancel it?", "And the gift card?", "Thanks!"]
ANSWERS = ["It was shipped on Monday.", "Within three days.", "Yes, until it arrives.", "It stays valid.", "Bye!"]
TOOLS = [
    {"name": name, "description": f"Look up {name} of the shop.", "input_schema": {"type": "object", "properties": {}}}
    for name in ("orders", "parcels", "vouchers")
]


def now_text(minutes):
    return (datetime(2026, 11, 30, 9, 41) + timedelta(minutes=minutes)).strftime("%H:%M:%S")


def desk(turn, *, clock=False, model="claude-sonnet-4-5"):
    system = f"You are the desk of Northwind. Local time: {now_text(turn)}. " + RULES if clock else RULES
    messages = []
    for question, answer in list(zip(QUESTIONS, ANSWERS))[:turn]:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    messages.append({"role": "user", "content": [
        {"type": "text", "text": QUESTIONS[turn], "cache_control": {"type": "ephemeral"}}]})
    return {"model": model, "max_tokens": 500, "tools": TOOLS, "messages": messages,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]}


def night_desk(question):
    system = f"It is {datetime.now():%H:%M}, the shop is closed. " + RULES
    import anthropic

    client = anthropic.Anthropic()
    return client.messages.create(model="claude-sonnet-4-5", max_tokens=500, system=system,
                                  messages=[{"role": "user", "content": question}])
'''
_TESTS = '''
from desk import QUESTIONS, RULES, TOOLS, desk

from pytest_cachesafe import Accept, Toggle, assert_distinct, assert_no_collisions, assert_prefix_stable, assert_reuse
from pytest_cachesafe.providers.assertions import assert_cache_safe

WHERE = 900


def test_desk_keeps_its_prefix():
    assert_prefix_stable([desk(i) for i in range(5)])


def test_desk_with_a_clock():
    assert_prefix_stable([desk(i, clock=True) for i in range(5)], name="five turns")


def test_requests_with_a_clock():
    assert_cache_safe([desk(i, clock=True) for i in range(5)])


def test_requests():
    assert_cache_safe([desk(i) for i in range(5)])


def _chat(turn):
    messages = [{"role": "system", "content": RULES}]
    for question in QUESTIONS[:turn.index]:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": "<think>hm</think> Yes."}]
    messages.append({"role": "user", "content": QUESTIONS[turn.index]})
    tools = turn.order([{"type": "function", "function": tool} for tool in TOOLS])
    return {"messages": messages, "tools": tools}


def test_template_and_settings():
    assert_prefix_stable(
        _chat, template="chat.jinja", turns=4,
        toggles=[Toggle("style", ["plain", "warm"], expect="keeps"), Toggle.order("tools", expect="report")],
        accept=[Accept(cause="reasoning_dropped", reason="the template drops it"),
                Accept(cause="date", reason="was there once")],
    )


def _ids(changes_at):
    found, requests = list(range(100, 1300)), []
    for turn in range(5):
        found = found + list(range(2000 * turn, 2000 * turn + 290))
        requests.append([7 + turn if i == changes_at else token for i, token in enumerate(found)])
    return requests


def test_engine_finds_it():
    assert_reuse(_ids(None), engine="vllm")


def test_engine_finds_some():
    assert_reuse(_ids(WHERE), engine="vllm", min_share=0.3)


def test_prices_are_not_mixed_up():
    assert_distinct("What does the monthly plan cost?", "What does the annual plan cost?")


def letters(texts):
    """Enough to make two prompts that differ in a word look alike."""
    return [[text.lower().count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def test_answers_are_not_mixed_up():
    assert_no_collisions(encoder=letters, threshold=0.9, prompts=[
        "What does the monthly plan cost?", "What does the annual plan cost?", "Is my order on its way?",
        "Can I cancel within 14 days?", "Can I cancel within 30 days?",
    ])
'''
_TEMPLATE = (
    "{% if style is defined and style == 'warm' %}Be warm.{% endif %}"
    "{% if tools %}Tools: {% for t in tools %}{{ t.function.name }} {% endfor %}\n{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.index < messages | length - 1 %}"
    "{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}</{{ m.role }}>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
_INI = "[pytest]\npythonpath = .\n"

# The day before: the lock file is written from it.
BEFORE = {"test_desk.py": _TESTS.replace("clock=True", "clock=False").replace("WHERE = 900", "WHERE = 1100")}
FILES: dict[str, str] = {
    "desk.py": _AGENT,
    "test_desk.py": _TESTS,
    "chat.jinja": _TEMPLATE,
    "pytest.ini": _INI,
}
