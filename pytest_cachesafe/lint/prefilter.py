"""Is there a sink in this file at all? Literal bytes, since a literal is a hundred times cheaper than a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.lint.tables.user import Tables

__all__ = ["NEEDLES", "is_entry"]

# Every sink of the tables needs one of these in the file that holds it.
NEEDLES = (
    b"ystem_p", b"ystem_m", b"ystem_i", b"ystem_c", b"ystem_t", b"ystemM", b"ystemP", b"ystemI", b"sys_p", b"sys_m",
    b'"system"', b"'system'", b'"developer"', b"'developer'", b"system=", b"nstructions", b"_PROMPT", b"PROMPT_", b"SYSTEM",
    b"instruction=", b"backstory", b"ew_shot", b"ewshot", b"inject_date", b"_to_context", b"start_date", b"developer_", b"Tool(", b"Tool)", b"input_schema", b"tools=", b'"tools"', b"'tools'", b"dynamic_prompt", b"ChatAgent(", b"_PREAMBLE", b"PERSONA", b"example_messages", b"Role.", b"from_system", b"__doc__ =",
)  # fmt: skip


def is_entry(data: bytes, tables: Tables) -> bool:
    """Whether any of the literals stands in the file."""
    return any(needle in data for needle in NEEDLES)
