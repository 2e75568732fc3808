"""Is there a sink in this file at all? Literal bytes, since a literal is a hundred times cheaper than a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.literals import SHARED, shared_roots

if TYPE_CHECKING:
    from pytest_cachesafe.lint.tables.user import Tables

__all__ = ["is_entry", "may_matter"]

# Every sink of the tables needs one of these words in the file that holds it, and where the word is one of everyday
# prose, one of its forms in code. Words are grouped by a root that most files do not hold: roots decide the cost.
_Words = tuple[tuple[bytes, tuple[bytes, ...]], ...]
_GROUPS: tuple[tuple[bytes, _Words], ...] = (
    (b"ystem", ((b"ystem", (
        b"ystem_", b'system"', b"system'", b"ystemM", b"ystemP", b"ystemI", b"ystemC", b"ystemT", b"system=",
        b"system =", b"ole.system", b"from_system", b"system.", b"ystem-", b"def system(",
    )),)),
    (b"YSTEM", ((b"YSTEM", ()),)),
    (b"nstruction", (
        (b"nstructions", (
            b"nstructions=", b"nstructions =", b"_instructions", b'nstructions"', b"nstructions'", b".instructions",
            b"nstructions: str", b"nstructions: Opt", b"nstructions: list", b"nstructions: Call", b"def instructions",
        )),
        (b"nstruction=", (b" instruction=", b"(instruction=", b"_instruction=", b",instruction=")),
    )),
    (b"NSTRUCTION", ((b"NSTRUCTION", ()),)),
    (b"PROMPT", ((b"PROMPT", ()),)),
    (b"tool", ((b"tools", (b"tools=", b"tools =", b'"tools"', b"'tools'")),)),
    (b"Tool", ((b"Tool", (
        b"Tool(", b"Tool)", b"Tool.", b"Toolkit)", b"Tool,", b"FunctionDeclaration(", b"ToolParam(",
    )),)),
    (b"FunctionDecl", ((b"FunctionDeclaration(", ()),)),
    (b"input_schema", ((b"input_schema", ()),)),
    (b"description", (
        (b'parameters"', (b'"description"',)),
        (b"parameters'", (b"'description'",)),
        (b'["function"]', (b'description"',)),
        (b"['function']", (b"description'",)),
    )),
    (b"sys_", ((b"sys_", (b"sys_p", b"sys_m", b"sys_i")),)),
    (b"eveloper", ((b"eveloper", (b'"developer', b"'developer", b"developer_", b"DeveloperM")),)),
    (b"story", ((b"ackstory", ()), (b"history[0]", ()))),
    (b"ew_shot", ((b"ew_shot", ()),)),
    (b"t_date", ((b"inject_date", ()), (b"ion_start_date", ()))),
    (b"_cont", ((b"_to_context", ()),)),
    (b"prompt", ((b"dynamic_prompt", ()),)),
    (b"gent(", ((b"gent(", (b"Agent(", b"_agent(")),)),
    (b"ssistant(", ((b"ssistant(", (b"Assistant(",)),)),
    (b"essages", ((b"messages[0]", ()), (b'messages"][0]', ()), (b"messages'][0]", ()))),
    (b"__doc__ = f", ((b"__doc__ = f", ()),)),
    (b"chat", ((b"apply_chat_template", (b"date_string", b"today", b"current_date", b"datetime", b"now=")),)),
)  # fmt: skip
_BEHIND_SHARED = {root: words for root, words in _GROUPS if root in SHARED}
_OTHERS = tuple((root, words) for root, words in _GROUPS if root not in SHARED)


def is_entry(data: bytes, tables: Tables, roots: Sequence[bytes] | None = None) -> bool:
    """Whether a file may hold a sink of the tables, the project's own included. `roots`: the shared ones it holds, if
    they are known."""
    for root in shared_roots(data) if roots is None else roots:
        if root in _BEHIND_SHARED and _any(data, _BEHIND_SHARED[root]):
            return True
    for root, words in _OTHERS:
        if root in data and _any(data, words):
            return True
    return any(needle in data for needle in tables.needles)


def _any(data: bytes, words: _Words) -> bool:
    return any(word in data and (not forms or any(form in data for form in forms)) for word, forms in words)


# One function of such a file: anything that has to do with prompts or messages, also what withdraws an arrival.
_WORDS = (
    "ystem", "YSTEM", "nstruction", "NSTRUCTION", "rompt", "PROMPT", "tool", "Tool", "sys_", "eveloper", "ackstory",
    "goal=", "_shot", "inject_date", "_to_context", "start_date", "Agent(", "role", "Message", "messages", "schema",
    "description", "template",
)  # fmt: skip


def may_matter(text: str, names: tuple[str, ...] = ()) -> bool:
    """Whether the text of a function may hold a sink or a vote on one; `names` are templates its file has made."""
    return any(word in text for word in _WORDS) or any(name in text for name in names)
