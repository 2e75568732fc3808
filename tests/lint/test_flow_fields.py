"""What is read under a key is not all that the dict holds: the way through a function, a sink in it, `getattr`."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

CLOCK = "from datetime import datetime\n\n\n"
SEND = (
    "def ask(client, history):\n"
    "    text = block({packet})\n"
    '    return client.chat([{{"role": "system", "content": "You help. " + text + " Be brief."}}, *history])\n'
)
STAMPED = '{"rules": "Be kind.", "checked_at": str(datetime.now())}'


def codes(program: str) -> list[str]:
    return [finding.code for finding in lint_text(CLOCK + program)]


def through(body: str, packet: str = STAMPED) -> list[str]:
    """Reports on a function whose text is made of a packet that a caller stamped."""
    return codes(f"def block(packet):\n    {body}\n\n\n" + SEND.format(packet=packet))


@pytest.mark.parametrize(
    "body",
    [
        'return packet.get("{key}")',
        'return packet.get("{key}", "")',
        'return packet.pop("{key}")',
        "return f\"Rules: {{packet.get('{key}')}}\"",
        'return "\\n".join([packet.get("{key}"), "Done."])',
        'return getattr(packet, "{key}", "")',
    ],
)
def test_a_function_gives_back_one_field_of_what_it_is_given(body: str) -> None:
    assert through(body.format(key="rules")) == []
    assert through(body.format(key="checked_at")) == ["CSF101"]


def test_a_field_of_a_field_is_told_apart() -> None:
    packet = f'{{"inner": {STAMPED}, "name": "a"}}'
    assert through('return packet.get("inner", {}).get("rules")', packet) == []
    assert through('return packet.get("inner", {}).get("checked_at")', packet) == ["CSF101"]
    assert through('return str(packet.get("inner"))', packet) == ["CSF101"]


def test_a_field_is_handed_on_through_a_second_function() -> None:
    outer = "def block(packet):\n    return line(packet.get('inner') or {{}})\n\n\n"
    for key, found in (("rules", []), ("checked_at", ["CSF101"])):
        inner = f"def line(entry):\n    return entry.get({key!r})\n\n\n"
        packet = f'{{"inner": {STAMPED}}}'
        assert codes(inner + outer.format() + SEND.format(packet=packet)) == found, key


def test_the_field_that_a_sink_in_the_function_takes() -> None:
    for key, found in (("rules", []), ("checked_at", ["CSF101"])):
        program = (
            "def send(client, packet, history):\n"
            f'    return client.chat([{{"role": "system", "content": packet.get({key!r}) + " Be brief."}}, *history])\n'
            "\n\n"
            f"def ask(client, history):\n    return send(client, {STAMPED}, history)\n"
        )
        assert codes(program) == found, key


def test_a_dict_that_is_not_seen_may_hold_it_anywhere() -> None:
    made = "def block(packet):\n    return packet.get('rules')\n\n\n"
    end = '    return client.chat([{"role": "system", "content": "You help. " + text + " Be brief."}, *history])\n'
    unseen = "def ask(client, history, name):\n    packet = {}\n    packet[name] = str(datetime.now())\n"
    assert codes(made + unseen + "    text = block(packet)\n" + end) == ["CSF101"]
    whole = "def ask(client, history, name):\n    text = block(name.render(now=datetime.now()))\n"
    assert codes(made + whole + end) == ["CSF101"]


def test_a_key_that_is_not_written_finds_any_field() -> None:
    assert through("return packet.get(NAME)") == ["CSF101"]


def test_a_function_that_goes_down_into_itself_comes_to_an_end() -> None:
    program = (
        "def block(packet, depth=9):\n"
        '    return packet.get("text", "") + block(packet.get("child") or {}, depth - 1) if depth else ""\n\n\n'
    )
    packet = '{"text": "a", "child": {"text": str(datetime.now())}}'
    assert codes(program + SEND.format(packet=packet)) in ([], ["CSF101"])


def test_getattr_is_the_attribute() -> None:
    program = (
        "def ask(client, history):\n"
        f"    reply = {STAMPED}\n"
        "    text = getattr(reply, NAME)\n"
        '    return client.chat([{"role": "system", "content": "You help. " + text + " Be brief."}, *history])\n'
    )
    assert codes(program.replace("NAME", '"rules", ""')) == []
    assert codes(program.replace("NAME", '"checked_at", ""')) == ["CSF101"]
    # Its default counts as before, and so does a name that only a run knows.
    assert codes(program.replace("NAME", '"other", str(datetime.now())')) == ["CSF101"]
    assert codes(program.replace("NAME", "client.name")) == ["CSF101"]
