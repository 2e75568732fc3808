"""Windows that cost nothing: of a list that is cut once more before it is sent, of an agent that is asked once, and of
a model that keeps nothing.

`transformers` computes a prompt anew in each call of `generate()` that is not given what it has computed before; a
window moves the front of what would not have been reused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.running.modules import Module
from pytest_cachesafe.lint.evidence.trees import Function, called, spelt

__all__ = ["asked_once", "cut_again", "is_recomputed", "recomputes"]

_LOCAL = frozenset({"transformers", "unsloth", "peft", "torch"})
# Arguments of `generate()` in transformers. Engines and servers with a cache are given objects with other words.
_WORDS = frozenset({"max_new_tokens", "min_new_tokens", "generation_config", "pad_token_id"})
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EACH = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)
_KEPT = lazy_pattern(r"past_key_values|^(?:Dynamic|Static|Quantized|Offloaded)Cache$|prompt_cache")


def cut_again(module: Module, function: Function | None, name: str, row: int) -> list[tuple[int, int]]:
    """The rows in which a name has only the end of what it has in a row before: those of a block behind
    `name = name[-n:]`."""
    return [
        rows
        for node in module.nodes(function)
        if isinstance(node, ast.Assign) and node.lineno > row and _is_cut(node.value, name)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        for rows in _behind(module, function, node)
    ]


def asked_once(module: Module, function: Function | None, agent: ast.Call) -> bool:
    """Whether an agent that gets a name is asked one question by it, or only for its tools, and goes nowhere else."""
    above = module.parents(function)
    statement = above.get(id(agent))
    if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
        return False
    asked, tools = [], False
    for inside, node in module.uses(function, statement.targets[0].id):
        parent = module.parents(inside).get(id(node))
        if isinstance(parent, ast.Attribute) and parent.attr == "tool":
            tools = True
            continue
        method = isinstance(parent, ast.Attribute) and isinstance(module.parents(inside).get(id(parent)), ast.Call)
        if not method and not (isinstance(parent, ast.Call) and parent.func is node):
            return False
        asked.append((inside, node.lineno))
    if len(asked) != 1:
        return tools and not asked
    # By a function that others call it is asked as often as these.
    inside, row = asked[0]
    each = any(isinstance(n, _EACH) and n.lineno <= row <= (n.end_lineno or row) for n in module.nodes(function))
    return inside is function and not each and not module.in_same_loop(function, row, row)


def _behind(module: Module, function: Function | None, statement: ast.stmt) -> Iterator[tuple[int, int]]:
    """The rows that are reached by way of a statement alone."""
    above = module.parents(function)
    while True:
        owner = above.get(id(statement), function)
        blocks = [getattr(owner, field, []) for field in ("body", "orelse", "finalbody")] if owner else [module.body]
        block = next((b for b in blocks if isinstance(b, list) and statement in b), [statement])
        yield statement.end_lineno or statement.lineno, block[-1].end_lineno or 0
        # Behind a `try` whose handlers leave, its body has been run.
        if not isinstance(owner, ast.Try | ast.With | ast.AsyncWith) or block is not owner.body:
            return
        if isinstance(owner, ast.Try) and not all(isinstance(h.body[-1], _LEAVES) for h in owner.handlers):
            return
        statement = owner


def _is_cut(value: ast.expr, name: str) -> bool:
    """Whether an expression is made of the end of a list: `x[-n:]`, `[x[0], *x[-n:]]`, `x[-n:] if … else x`."""
    if isinstance(value, ast.Subscript):
        part = value.slice
        from_end = isinstance(part, ast.Slice) and part.upper is None and isinstance(part.lower, ast.UnaryOp)
        return from_end and isinstance(value.value, ast.Name) and value.value.id == name
    if isinstance(value, ast.Call):
        return called(value) in ("list", "tuple") and len(value.args) == 1 and _is_cut(value.args[0], name)
    if isinstance(value, ast.BinOp):
        whole = isinstance(value.left, ast.Name) and value.left.id == name
        return not whole and _is_cut(value.right, name)
    if isinstance(value, ast.List):
        return any(isinstance(part, ast.Starred) and _is_cut(part.value, name) for part in value.elts)
    return isinstance(value, ast.IfExp) and (_is_cut(value.body, name) or _is_cut(value.orelse, name))


def recomputes(module: Module) -> bool:
    """Whether a file runs a model itself and gives it no cache: what its chat template makes is reused by nobody."""
    nodes = [node for function in (None, *module.functions) for node in module.nodes(function)]
    loaded = {name.split(".")[0] for node in nodes for name in _imported(node)}
    if _LOCAL.isdisjoint(loaded) or any(_KEPT.search(word) for node in nodes for word in _words(node)):
        return False
    return any(isinstance(node, ast.Call) and is_recomputed(node) for node in nodes)


def is_recomputed(call: ast.Call) -> bool:
    """Whether a call is spelt like `model.generate(ids, max_new_tokens=400)`."""
    return called(call) == "generate" and any(keyword.arg in _WORDS for keyword in call.keywords)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def _words(node: ast.AST) -> list[str]:
    if isinstance(node, ast.keyword):
        return [node.arg or ""]
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    return [spelt(node)] if isinstance(node, ast.Name | ast.Attribute) else []
