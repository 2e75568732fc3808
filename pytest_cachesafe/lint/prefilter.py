"""Is there a sink in this file at all? Literal bytes, since a literal is a hundred times cheaper than a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.lint.tables.user import Tables

__all__ = ["is_entry", "may_matter"]

# Every sink of the tables needs one of these in the file that holds it: a root, and where that is a word of everyday
# prose, one of its forms in code. Most files hold no root, so that roots decide the cost.
_NEEDLES: tuple[tuple[bytes, tuple[bytes, ...]], ...] = (
    (b"ystem", (
        b"ystem_", b'system"', b"system'", b"ystemM", b"ystemP", b"ystemI", b"ystemC", b"ystemT", b"system=",
        b"system =", b"ole.system", b"from_system", b"system.", b"ystem-",
    )),
    (b"YSTEM", ()),
    (b"nstructions", (
        b"nstructions=", b"nstructions =", b"_instructions", b'nstructions"', b"nstructions'", b".instructions",
        b"nstructions: str", b"nstructions: Opt", b"nstructions: list", b"nstructions: Call", b"def instructions",
    )),
    (b"NSTRUCTION", ()),
    (b"PROMPT", ()),
    (b"nstruction=", (b" instruction=", b"(instruction=", b"_instruction=", b",instruction=")),
    (b"tools", (b"tools=", b"tools =", b'"tools"', b"'tools'")),
    (b"Tool", (b"Tool(", b"Tool)", b"Tool.", b"Toolkit)", b"Tool,", b"FunctionDeclaration(", b"ToolParam(")),
    (b"input_schema", ()),
    (b'parameters"', (b'"description"',)),
    (b"parameters'", (b"'description'",)),
    (b"sys_", (b"sys_p", b"sys_m", b"sys_i")),
    (b"eveloper", (b'"developer', b"'developer", b"developer_", b"DeveloperM")),
    (b"ackstory", ()),
    (b"ew_shot", ()),
    (b"inject_date", ()),
    (b"_to_context", ()),
    (b"ion_start_date", ()),
    (b"dynamic_prompt", ()),
    (b"gent(", (b"Agent(", b"_agent(")),
    (b"ssistant(", (b"Assistant(",)),
    (b"messages[0]", ()),
    (b"history[0]", ()),
    (b'["function"]', (b'description"',)),
    (b"['function']", (b"description'",)),
    (b"__doc__ = f", ()),
    (b"apply_chat_template", (b"date_string", b"today", b"current_date", b"datetime", b"now=")),
)  # fmt: skip


def is_entry(data: bytes, tables: Tables) -> bool:
    """Whether a file may hold a sink of the tables, the project's own included."""
    for root, forms in _NEEDLES:
        if root in data and (not forms or any(form in data for form in forms)):
            return True
    return any(needle in data for needle in tables.needles)


# One function of such a file: anything that has to do with prompts or messages, also what withdraws an arrival.
_WORDS = (
    "ystem", "YSTEM", "nstruction", "NSTRUCTION", "rompt", "PROMPT", "tool", "Tool", "sys_", "eveloper", "ackstory",
    "goal=", "_shot", "inject_date", "_to_context", "start_date", "Agent(", "role", "Message", "messages", "schema",
    "description", "template",
)  # fmt: skip


def may_matter(text: str, names: tuple[str, ...] = ()) -> bool:
    """Whether the text of a function may hold a sink or a vote on one; `names` are templates its file has made."""
    return any(word in text for word in _WORDS) or any(name in text for name in names)
