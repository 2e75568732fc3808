"""What reports on structure say: the reason that holds, in whole sentences, once for each thing to mend."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

AGENT = """
from datetime import datetime
class Agent:
    def __init__(self, client):
        self.client, self.turn, self.messages = client, 0, []
    def step(self, text):
        self.turn += 1
        now = datetime.now().isoformat()
{body}
        return self.client.chat.completions.create(model="m", messages=self.messages, tools={tools})
"""


def told(body: str, code: str, tools: str = "TOOLS") -> list[str]:
    rows = "\n".join(f"        {row}" for row in body.splitlines())
    text = AGENT.format(body=rows, tools=tools)
    return [f.message for f in lint_text(text, select=[code]) if f.code == code]


@pytest.mark.parametrize(
    "body",
    [
        "tools = [A, B] if self.turn > 3 else [A]",
        "tools = [\n    A, B,\n    *( [C] if self.turn > 3 else []),\n]",
        "tools = [A]\nif self.turn > 3:\n    tools.append(B)\n    tools.append(C)",
    ],
)
def test_one_report_on_tools_that_hang_on_one_test(body: str) -> None:
    (message,) = told(body, "CSF305", "tools")
    assert message == (
        "the tools depend on self.turn, which is counted up: each change of the list voids the whole prefix"
    )


def test_two_tests_are_two_reports() -> None:
    body = "tools = [A]\nif self.turn > 3:\n    tools.append(B)\nif 'weather' in text:\n    tools.append(C)"
    assert len(told(body, "CSF305", "tools")) == 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('f"[{now}] " + m["content"]', "datetime.now() is written into earlier messages"),
        ("f\"{m['content']} ({self.turn})\"", "self.turn, which is counted up, is written into earlier messages"),
    ],
)
def test_what_a_message_held_before_is_not_what_is_written(value: str, reason: str) -> None:
    """Even where it holds something that changes."""
    body = 'self.messages[0]["content"] = f"Turn {self.turn}, {now}"\nfor m in self.messages:\n'
    body += f'    m["content"] = {value}'
    found = told(body, "CSF307")
    assert found == [
        "the first message is rewritten with datetime.now(): what was cached of them no longer matches",
        f"{reason}: what was cached of them no longer matches",
    ] or found == [
        "the first message is rewritten with self.turn, which is counted up: what was cached of them no longer matches",
        f"{reason}: what was cached of them no longer matches",
    ]


def test_a_first_message_is_called_so() -> None:
    (message,) = told('self.messages[0]["content"] = f"Turn {self.turn}"', "CSF110")
    assert " and reaches the first message: " in message
