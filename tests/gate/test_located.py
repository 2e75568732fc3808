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


def test_what_only_got_worse_shows_where_it_was_built(gated: Any) -> None:
    gated.file("test_a.py", "def test_a():\n    assert_prefix_stable(chat(4))\n")
    gated.run("--cachesafe-update")
    gated.file("test_a.py", "def test_a():\n    assert_prefix_stable(chat(4, clocked), fail_on=['raises'])\n")
    gated.run("--cachesafe-report=markdown,html,sarif,json", "--cachesafe-redact=text", ok=1)
    row = next(n for n, line in enumerate((gated.path / "agent.py").read_text().splitlines(), 1) if "10:0" in line)
    markdown = (gated.path / "cachesafe-report.md").read_text()
    [told] = [line for line in markdown.splitlines() if "more of the prefix lost" in line and line.startswith("| ")]
    assert f"agent.py:{row}, " in told
    assert f"agent.py:{row}, " in (gated.path / "cachesafe-report.html").read_text()
    [result] = json.loads((gated.path / "cachesafe-report.sarif").read_text())["runs"][0]["results"]
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"].endswith("agent.py")
    assert where["region"]["startLine"] == row
    assert "test_a.py" in json.dumps(result["codeFlows"])
