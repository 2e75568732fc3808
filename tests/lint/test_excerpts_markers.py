"""Cache markers in excerpts.

A short file that ends before the request is complete as it stands. Each has its harmless twin.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

FOUND = {
    "marker change": (
        """\
import time
def system(persona):
    return [
        {"type": "text", "text": persona},
        {"type": "text", "text": f"now {time.time()}", "cache_control": {"type": "ephemeral"}},
    ]
""",
        [(5, "CSF401")],
    ),
    "marker rag": (
        """\
def system(persona, retrieved):
    blocks = [{"type": "text", "text": persona}, {"type": "text", "text": "\\n".join(retrieved)}]
    blocks[-1]["cache_control"] = {"type": "ephemeral"}
    return blocks
""",
        [(3, "CSF401")],
    ),
    "five": (
        """\
def mark(messages):
    for m in messages:
        m["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return messages
""",
        [(3, "CSF402")],
    ),
    "five2": (
        """\
C = {"type": "ephemeral"}
def system(a, b, c, d, e):
    return [{"type": "text", "text": t, "cache_control": C} for t in (a, b, c, d, e)]
""",
        [(3, "CSF402")],
    ),
    "five3": (
        """\
def mark_tools(tools):
    return [{**t, "cache_control": {"type": "ephemeral"}} for t in tools]
""",
        [(2, "CSF402")],
    ),
    "ttl": (
        """\
def blocks(rules, docs):
    return [
        {"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": docs, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ]
""",
        [(4, "CSF403")],
    ),
    "ttl req": (
        """\
def request(tools, system, messages):
    tools[-1]["cache_control"] = {"type": "ephemeral", "ttl": "5m"}
    system[-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    return {"tools": tools, "system": system, "messages": messages}
""",
        [(3, "CSF403")],
    ),
    "mark last only user": (
        """\
def mark(system, messages):
    system = system + [{"type": "text", "text": f"Turn {len(messages)}", "cache_control": {"type": "ephemeral"}}]
    return {"model": "m", "system": system, "messages": messages}
""",
        [(2, "CSF401")],
    ),
    "ttl mixed": (
        """\
def build(tools, system, history):
    tools[-1]["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "tools": tools, "messages": history,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}
""",
        [(4, "CSF403")],
    ),
}
SILENT = {
    "marker change": """\
import time
def system(persona):
    return [
        {"type": "text", "text": persona, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": f"now {time.time()}"},
    ]
""",
    "marker rag": """\
def system(persona, retrieved):
    blocks = [{"type": "text", "text": persona}, {"type": "text", "text": "\\n".join(retrieved)}]
    blocks[0]["cache_control"] = {"type": "ephemeral"}
    return blocks
""",
    "five": """\
def mark(messages):
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return messages
""",
    "five2": """\
C = {"type": "ephemeral"}
def system(a, b, c):
    return [{"type": "text", "text": t, "cache_control": C} for t in (a, b, c)]
""",
    "five3": """\
def mark_tools(tools):
    return [*tools[:-1], {**tools[-1], "cache_control": {"type": "ephemeral"}}]
""",
    "ttl": """\
def blocks(rules, docs):
    return [
        {"type": "text", "text": rules, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "text", "text": docs, "cache_control": {"type": "ephemeral"}},
    ]
""",
    "ttl req": """\
def request(tools, system, messages):
    tools[-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    system[-1]["cache_control"] = {"type": "ephemeral", "ttl": "5m"}
    return {"tools": tools, "system": system, "messages": messages}
""",
    "ttl mixed": """\
def build(tools, system, history):
    tools[-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    return {"model": "m", "tools": tools, "messages": history,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}
""",
}


@pytest.mark.parametrize("name", FOUND)
def test_found(tmp_path: Path, name: str) -> None:
    program, expected = FOUND[name]
    write(tmp_path, {"app.py": program})
    assert [(row, code) for _, row, code in places(lint([tmp_path], cache=False).findings)] == expected


@pytest.mark.parametrize("name", SILENT)
def test_silent(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"app.py": SILENT[name]})
    assert places(lint([tmp_path], cache=False).findings) == []
