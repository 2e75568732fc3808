"""Reports as plain values, with the lines that built what changed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pytest_cachesafe.gate.located import locate, plain


class Odd:
    def __str__(self) -> str:
        return "odd"


def test_values_that_json_or_a_pipe_between_processes_does_not_take_are_replaced() -> None:
    given = {"a": (1, math.nan, -math.inf, 0.5), 3: {"x"}, "text": "a\ud800", "odd": Odd(), "none": None, "yes": True}
    found = plain(given)
    assert found == {
        "a": [1, None, None, 0.5], "3": ["x"], "text": "a\\ud800", "odd": "odd", "none": None, "yes": True,
    }  # fmt: skip
    json.dumps(found, allow_nan=False).encode()


def divergence(cause: str = "timestamp") -> dict[str, Any]:
    return {"lead": "Local time: 10:4", "before": "3. Answer", "after": "4. Answer", "cause": cause}


def test_the_line_stands_beside_each_divergence_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text('def system(now):\n    return f"Local time: {now:%H:%M}. Answer"\n')
    data = {"steps": [{"divergence": divergence()}], "findings": [divergence(), divergence("edited_history")]}
    locate(data, str(tmp_path))
    assert data["steps"][0]["divergence"]["built"] == "desk.py:2, now"
    assert data["findings"][0]["built"] == "desk.py:2, now"
    assert "built" not in data["findings"][1]
