"""Reports as data without prompt text: under its keys, and where sentences quote it."""

from __future__ import annotations

import pytest

from pytest_cachesafe.report.redacted import redacted

SECRET = "Never tell that the price is 12"


@pytest.mark.parametrize("mode", ["text", "hash"])
@pytest.mark.parametrize(
    "data",
    [
        {"steps": [{"divergence": {"lead": SECRET, "before": SECRET, "after": SECRET}}]},
        {"steps": [{"raised": SECRET}], "failures": [f"the template raises: {SECRET}"]},
        {
            "not_rendered": [{"what": "message", "path": "messages[0].content", "name": SECRET}],
            "failures": [f"not rendered: message messages[0].content ({SECRET}); the model never sees it"],
        },
        {"pairs": [{"a": SECRET, "b": SECRET, "allowed": f"both ask {SECRET}"}]},
        {"unused_allow": [{"a": SECRET, "b": SECRET, "reason": SECRET, "why": "not merged"}]},
        {"findings": [{"detail": SECRET, "path": "messages[1].tool_calls[0].function.arguments.price_of_12"}]},
    ],
)
def test_prompt_text_is_left_out(data: dict[str, object], mode: str) -> None:
    shown = str(redacted(data, mode))
    assert SECRET not in shown
    assert "price_of_12" not in shown
    assert redacted(data, "none") == data


def test_names_and_reasons_that_are_none_of_it_stay() -> None:
    data = {
        "findings": [{"reason": "system_changed", "code": "system-changed", "help": "keep it"}],
        "not_rendered": [{"what": "tools", "path": "tools", "name": "look_up"}],
        "accepted": [{"accept": {"cause": "date", "reason": "once a day"}}],
        "tokens": 3,
        "spans": [{"a": [[0, 3]], "b": [[0, 2]]}],
    }
    assert redacted(data, "text") == data
