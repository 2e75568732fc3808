"""Bodies are read as `json` reads them, whatever was read before; what repeats is one object."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.capture.bodies import BodyReader
from pytest_cachesafe.providers.capture.predict import Predictor
from pytest_cachesafe.providers.checks.markers import markers_of
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.fronts import same_front

_LONG = 'words that repeat, with ä and " and \\ and \u2028 ' * 8
_LEAF = st.none() | st.booleans() | st.integers(-3, 12) | st.floats(allow_nan=False) | st.sampled_from(["", "a", _LONG])
_JSON = st.recursive(
    _LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "text"]), inner, max_size=3),
    max_leaves=8,
)
_BLOCK = st.fixed_dictionaries({"type": st.just("text"), "text": st.sampled_from(["x", _LONG, _LONG + "!"])})
_MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": st.lists(_BLOCK, max_size=2) | st.just(_LONG)}
)
_BODY = st.fixed_dictionaries(
    {"messages": st.lists(_MESSAGE | _JSON, max_size=5)},
    optional={"system": _JSON, "tools": st.lists(_JSON, max_size=3), "n": _LEAF},
)
_STYLES = st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}])


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(_BODY, _STYLES), min_size=1, max_size=6))
@example([({"messages": [1]}, {}), ({"messages": [12]}, {})])
@example([({"messages": [_LONG]}, {}), ({"messages": [_LONG], "x": 1}, {"indent": 1})])
@example([({"messages": [{"a": 1, "b": _LONG}]}, {}), ({"messages": [{"b": _LONG, "a": 1}]}, {})])
@example([({"messages": [{"a": 1, "b": _LONG}]}, {}), ({"messages": [{"a": 1.0, "b": _LONG}]}, {})])
def test_always_what_json_reads(bodies: list[tuple[Any, Any]]) -> None:
    reader, bytewise = BodyReader(), BodyReader()
    read = []
    for body, style in bodies:
        text = json.dumps(body, **style)
        found = reader.read(text)
        # repr: order of keys and types of numbers count.
        assert repr(found) == repr(json.loads(text))
        read.append((found, repr(found)))
        loaded = bytewise.load(text.encode("utf-8-sig" if len(text) % 2 else "utf-8"))
        assert repr(loaded) == repr(found)
        read.append((loaded, repr(loaded)))
        for front in (*reader.fronts, *bytewise.fronts):
            # At least so many are the very same objects.
            assert same_front(front.earlier, front.now) >= front.shared
    # What is read later changes nothing that was read before.
    for found, written in read:
        assert repr(found) == written


@settings(deadline=None, max_examples=200)
@given(_BODY, _BODY, st.integers(0, 400), st.sampled_from(["", "}", ",", "]", "x", '"', "\\", " ", "[", "1"]))
def test_never_accepts_what_json_refuses(before: Any, body: Any, at: int, put: str) -> None:
    """A text with a piece put in, or cut off there, is refused or read just as `json` does."""
    reader, bytewise = BodyReader(), BodyReader()
    reader.read(json.dumps(before))
    bytewise.load(json.dumps(before).encode())
    text = json.dumps(body)
    for broken in (text[:at] + put + text[at:], text[:at] + put):
        try:
            expected = json.loads(broken)
        except ValueError:
            for read in (reader.read, lambda text: bytewise.load(text.encode())):
                with pytest.raises(ValueError, match=r"(?s).*"):
                    read(broken)
        else:
            assert repr(reader.read(broken)) == repr(bytewise.load(broken.encode())) == repr(expected)
    assert repr(reader.read(text)) == repr(bytewise.load(text.encode())) == repr(json.loads(text))


_EDIT = st.sampled_from(["append", "mark", "drop", "replace", "again", "cut", "settings"])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(_EDIT, _MESSAGE | _JSON), min_size=1, max_size=12), _STYLES)
def test_a_conversation_that_goes_on_is_always_what_json_reads(edits: list[tuple[str, Any]], style: Any) -> None:
    """Bodies that repeat the one before, but for the end of the history, a marker in it, or what is edited."""
    reader, before = BodyReader(), []
    history: list[Any] = [{"role": "user", "content": _LONG * 30}]
    extra = {"tools": [{"name": _LONG}], "n": 0}
    for edit, datum in edits:
        sent = history
        if edit == "append":
            history = [*history, datum, {"role": "user", "content": [{"type": "text", "text": _LONG * 30}]}]
            sent = history
        elif edit == "mark":
            sent = [*history[:-1], {"role": "user", "content": [datum], "cache_control": {"type": "ephemeral"}}]
        elif edit == "drop":
            history = sent = history[1:]
        elif edit == "replace" and history:
            history = sent = [*history[:-1], datum]
        elif edit == "cut":
            sent = history[:-1]
        elif edit == "settings":
            extra = {**extra, "n": extra["n"] + 1}  # type: ignore[operator]
        text = json.dumps({"max_tokens": 1, "messages": sent, **extra}, **style)
        found = reader.load(text.encode())
        assert repr(found) == repr(json.loads(text))
        before.append((found, text))
        for front in reader.fronts:
            assert same_front(front.earlier, front.now) >= front.shared
    for found, text in before:
        assert repr(found) == repr(json.loads(text))


def test_what_goes_on_is_compared_and_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = BodyReader()
    history = [{"role": "user", "content": f"{number} é {_LONG}"} for number in range(30)]
    reader.load(json.dumps({"messages": history[:1], "system": _LONG}, ensure_ascii=False).encode())

    def whole(text: str) -> Any:
        raise AssertionError("the body was read whole")

    monkeypatch.setattr(reader, "read", whole)
    for n in range(2, 31):
        body = reader.load(json.dumps({"messages": history[:n], "system": _LONG}, ensure_ascii=False).encode())
        assert body["messages"] == history[:n]


def test_a_history_is_read_once() -> None:
    reader = BodyReader()
    history = [{"role": "user", "content": f"{number} {_LONG}"} for number in range(30)]
    bodies = [reader.read(json.dumps({"messages": history[:n], "system": _LONG})) for n in range(1, 31)]
    for body in bodies:
        assert body["system"] is bodies[0]["system"]
        for item, last in zip(body["messages"], bodies[-1]["messages"], strict=False):
            assert item is last


def test_a_marker_that_moves_leaves_the_blocks_shared() -> None:
    reader = BodyReader()
    blocks = [{"type": "text", "text": f"{n} {_LONG}"} for n in range(2)]
    marked = {**blocks[1], "cache_control": {"type": "ephemeral"}}
    one = reader.read(json.dumps({"messages": [{"role": "user", "content": [blocks[0], marked]}]}))
    other = reader.read(
        json.dumps({"messages": [{"role": "user", "content": blocks}, {"role": "user", "content": "x"}]})
    )
    assert one["messages"][0]["content"][0] is other["messages"][0]["content"][0]
    assert one["messages"][0]["content"][1] == marked
    assert other["messages"][0]["content"][1] == blocks[1]


def test_conversations_side_by_side_share_what_they_have_in_common() -> None:
    reader = BodyReader()
    tools = [{"name": f"tool {n}", "description": _LONG} for n in range(3)]
    a = reader.read(json.dumps({"tools": tools, "messages": [{"role": "user", "content": "a " + _LONG}]}))
    b = reader.read(json.dumps({"messages": [{"role": "user", "content": "b " + _LONG}], "tools": tools}))
    again = reader.read(json.dumps({"tools": tools, "messages": [{"role": "user", "content": "a " + _LONG}]}))
    assert all(x is y is z for x, y, z in zip(a["tools"], b["tools"], again["tools"], strict=True))
    assert a["messages"][0] is again["messages"][0]


_MARK = st.none() | st.just({"type": "ephemeral"}) | st.just({"type": "ephemeral", "ttl": "1h"})


def _marked(holder: dict[str, Any], mark: Any) -> dict[str, Any]:
    return holder if mark is None else {**holder, "cache_control": mark}


_MARKED_BLOCK = st.builds(
    _marked, st.sampled_from([{"type": "text", "text": "x"}, {"type": "text", "text": _LONG}]), _MARK
)
_MARKED_MESSAGE = st.builds(
    lambda role, content, mark: _marked({"role": role, "content": content}, mark),
    st.sampled_from(["user", "assistant"]),
    st.lists(_MARKED_BLOCK, max_size=2) | st.just(_LONG),
    _MARK,
)
_MARKED_BODY = st.fixed_dictionaries(
    {"messages": st.lists(_MARKED_MESSAGE | st.none(), max_size=4)},
    optional={
        "system": st.lists(_MARKED_BLOCK, max_size=2) | st.just("text"),
        "tools": st.lists(_MARKED_BLOCK, max_size=2),
    },
)


@settings(deadline=None, max_examples=150)
@given(st.lists(_MARKED_BODY, min_size=1, max_size=6))
def test_markers_are_always_those_of_the_whole_body(bodies: list[Any]) -> None:
    """Also where most of it was seen before and is not gone through again."""
    reader, predictor = BodyReader(), Predictor(None, None)
    for body in bodies:
        exchange = Exchange("anthropic", "messages", reader.read(json.dumps(body)))
        found, expected = predictor._markers(exchange), markers_of(exchange)
        assert [(m.path, m.place, m.value, m.count) for m in found] == [
            (m.path, m.place, m.value, m.count) for m in expected
        ]
