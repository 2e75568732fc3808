"""Calls that write a record: a text in it is the same in each request until it is written anew.

What a record is comes from the noun behind the verb: sessions, chats and agents answer by themselves, and begin anew
with each that is made.
"""

from __future__ import annotations

import ast

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, parents, spelt

__all__ = ["TESTS", "is_test", "remembers", "writes"]

# `update_persona`: a verb that writes, and what is written. What answers by itself is no record.
_WRITES = lazy_pattern(r"_*a?(?:create|update|save|store|register|upsert|edit|add|insert|put|set)_(\w+)$")
# Verbs that mean nothing but a store.
_SAVES = lazy_pattern(r"_*a?(?:save|upsert|persist)_(\w+)$")
_ANSWERS = lazy_pattern(
    r"agent|assistant|chat|session|thread|conversation|completion|message|respon|reply|run|bot|model|client|graph|crew|"
    r"cache|task|request|batch|stream|worker|executor|swarm|team"
)
_KEEPERS = lazy_pattern(r"(?:^|_)(?:manager|store|storage|repo|repository|registry|db|database|dao|library)$")
_KEYS = lazy_pattern(r"(?:^|_)(?:id|uuid|key|slug)$")
# Rows of a database: what takes them, by whom it is asked of, and what may be done with one beside that.
_ADDS = frozenset({"add", "merge"})
_SESSIONS = lazy_pattern(r"(?:^|_)(?:session|db|database|tx|transaction)$")
_ROW_CALLS = frozenset({"add", "merge", "refresh", "expunge", "delete"})
_DOCUMENTS = frozenset({"insert_one", "update_one", "replace_one", "find_one_and_update", "find_one_and_replace"})
# Memories across chats, and under whom they file what they are told.
_MEMORIES = lazy_pattern(r"(?:^|_)(?:mem|mem0|memory|memories)(?:_(?:client|store|service|manager|layer))?$")
_CHATS = lazy_pattern(r"chat|conversation|dialog|session|short|buffer|histor|working")
_TELLS = frozenset({"add", "aadd", "add_messages", "store", "save"})
_PERSONS = frozenset({"user_id", "agent_id", "run_id"})
TESTS = (ast.If, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Compare)


def writes(call: ast.Call, function: Function) -> bool:
    """Whether a call in a function writes a record, and nothing else becomes of it."""
    return _saves(call, function) or _is_row(call, function) or _is_document(call) or remembers(call, function)


def remembers(call: ast.Call, _: Function) -> bool:
    """`mem0.add([…], user_id=…)`: a memory takes facts out of what it is told of somebody. What is added to the
    memory of one chat names nobody, and is sent again."""
    owner = spelt(call.func.value).lower() if isinstance(call.func, ast.Attribute) else ""
    if not _MEMORIES.search(owner) or _CHATS.search(owner):
        return False
    return called(call) in _TELLS and any(keyword.arg in _PERSONS for keyword in call.keywords)


def is_test(here: ast.AST, parent: ast.AST) -> bool:
    """`if text:`, `not text`, `text is None`."""
    if isinstance(parent, ast.If | ast.IfExp):
        return here is parent.test
    if isinstance(parent, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in parent.ops)
    return isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)


def _saves(call: ast.Call, function: Function) -> bool:
    """`await self.persona_manager.update_persona(persona_id=…, system_prompt=…)`, asked at most whether it worked."""
    name = called(call)
    written, saved = _WRITES.match(name), _SAVES.match(name)
    if saved is not None:
        if _ANSWERS.search(saved[1]):
            return False
    elif written is None or _ANSWERS.search(written[1]) or not isinstance(call.func, ast.Attribute):
        return False
    else:
        keys = [*(k.arg or "" for k in call.keywords), *map(spelt, call.args)]
        if not _KEEPERS.search(spelt(call.func.value).lower()) or not any(map(_KEYS.search, keys)):
            return False
    above = parents(function)
    here: ast.AST = call
    parent = above.get(id(here))
    if isinstance(parent, ast.Await):
        here, parent = parent, above.get(id(parent))
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        reads = _reads(parent.targets[0].id, function)
        return all((upper := above.get(id(n))) is not None and is_test(n, upper) for n in reads)
    return isinstance(parent, ast.Expr) or (isinstance(parent, TESTS) and is_test(here, parent))


def _is_row(call: ast.Call, function: Function) -> bool:
    """`row = Persona(system_prompt=…)`, then `db.add(row)`: the object is the row, also where it is returned."""
    name = called(call)
    if not name[:1].isupper() or _ANSWERS.search(name.lower()):
        return False
    above = parents(function)
    parent = above.get(id(call))
    if isinstance(parent, ast.Call):
        return call is not parent.func and _adds(parent)
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name)):
        return False
    uppers = [above.get(id(node)) for node in _reads(parent.targets[0].id, function)]
    calls = [upper for upper in uppers if isinstance(upper, ast.Call)]
    # Its text may be read again where it has just been written.
    others = [u for u in uppers if not isinstance(u, ast.Call | ast.Return) and not _is_field(u)]
    return any(map(_adds, calls)) and all(called(c) in _ROW_CALLS for c in calls) and not others


def _is_field(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and _KEYS.search(node.attr) is not None


def _adds(call: ast.Call) -> bool:
    owner = spelt(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return called(call) in _ADDS and _SESSIONS.search(owner.lower()) is not None


def _is_document(call: ast.Call) -> bool:
    """`db.personas.insert_one({"system_prompt": …})`"""
    owner = spelt(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return called(call) in _DOCUMENTS and _ANSWERS.search(owner.lower()) is None


def _reads(name: str, function: Function) -> list[ast.Name]:
    named = (node for node in nodes_of(function, ast.Name) if node.id == name)
    return [node for node in named if isinstance(node.ctx, ast.Load)]
