"""What changes in front of what stays, in excerpts.

A short file that ends before the request is complete as it stands. Each has its harmless twin.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

FOUND = {
    "rag system": (
        """\
def build(history, question, retriever):
    docs = retriever.invoke(question)
    context = "\\n".join(d.page_content for d in docs)
    return [{"role": "system", "content": f"Use this context:\\n{context}"},
        *history, {"role": "user", "content": question}]
""",
        [(4, "CSF109")],
    ),
    "rag user first": (
        """\
def build(history, question, docs):
    return [
        {"role": "system", "content": "You answer."},
        {"role": "user", "content": f"Documents:\\n{docs}"},
        *history,
        {"role": "user", "content": question},
    ]
""",
        [(4, "CSF301")],
    ),
    "blocks order": (
        """\
RULES = "You are a support agent. " * 50
def system_blocks(ticket_state, question):
    return {"system": [
        {"type": "text", "text": f"Question: {question}"},
        {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
    ]}
""",
        [(4, "CSF301")],
    ),
    "sys last": (
        """\
def build(history, question, todo):
    system = f"You code. Open todos: {todo}"
    return {"system": system, "messages": [*history, {"role": "user", "content": question}], "model": "m"}
""",
        [(3, "CSF110")],
    ),
    "ins ctx": (
        """\
def with_context(messages, ctx):
    return [messages[0], {"role": "user", "content": f"<context>{ctx}</context>"}, *messages[1:]]
""",
        [(2, "CSF301")],
    ),
    "order rag blocks": (
        """\
def build(question, store, rules):
    docs = store.search(question)
    return {"model": "m", "system": [
        {"type": "text", "text": "\\n".join(docs)},
        {"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}},
    ], "messages": [{"role": "user", "content": question}]}
""",
        [(4, "CSF301")],
    ),
    "order state msg": (
        """\
def build(history, state, text):
    return [
        {"role": "system", "content": "You drive a browser."},
        {"role": "user", "content": f"Current page: {state.url}"},
        *history,
        {"role": "user", "content": text},
    ]
""",
        [(4, "CSF301")],
    ),
    "dump state": (
        """\
import json
def build(history, game, text):
    return [{"role": "system", "content": "Game state: " + json.dumps(game.to_dict())},
        *history, {"role": "user", "content": text}]
""",
        [(3, "CSF301")],
    ),
    "steps left": (
        """\
def build(history, step, max_steps):
    return [{"role": "system", "content": f"You have {max_steps - step} steps left."}, *history]
""",
        [(2, "CSF301")],
    ),
    "tokens left": (
        """\
def build(history, budget):
    return {"model": "m", "system": f"Tokens left: {budget.remaining}. Be brief.", "messages": history}
""",
        [(2, "CSF110")],
    ),
}
SILENT = {
    "rag system": """\
def build(history, question, retriever):
    docs = retriever.invoke(question)
    context = "\\n".join(d.page_content for d in docs)
    return [{"role": "system", "content": "Use the context."},
        *history, {"role": "user", "content": f"{context}\\n{question}"}]
""",
    "blocks order": """\
RULES = "You are a support agent. " * 50
def system_blocks(ticket_state, question):
    return {"system": [
        {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": f"Question: {question}"},
    ]}
""",
    "sys last": """\
def build(history, question, todo):
    return {"system": "You code.", "messages": [
        *history, {"role": "user", "content": f"{question}\\nTodos: {todo}"}], "model": "m"}
""",
    "ins ctx": """\
def with_context(messages, ctx):
    return [*messages[:-1], {"role": "user", "content": f"<context>{ctx}</context>"}, messages[-1]]
""",
    "order rag blocks": """\
def build(question, store, rules):
    docs = store.search(question)
    return {"model": "m", "system": [
        {"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "\\n".join(docs)},
    ], "messages": [{"role": "user", "content": question}]}
""",
    "order state msg": """\
def build(history, state, text):
    return [
        {"role": "system", "content": "You drive a browser."},
        *history,
        {"role": "user", "content": f"Current page: {state.url}\\n{text}"},
    ]
""",
    "dump state": """\
import json
def build(history, game, text):
    return [{"role": "system", "content": "You narrate."},
        *history, {"role": "user", "content": json.dumps(game.to_dict()) + text}]
""",
    "steps left": """\
def build(history, step, max_steps):
    return [{"role": "system", "content": f"You have at most {max_steps} steps."}, *history]
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
