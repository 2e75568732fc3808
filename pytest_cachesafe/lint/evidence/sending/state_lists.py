"""The list of messages that a graph keeps in its state: whether what is written is added to what is there, and how many
messages the code of the nodes adds in one run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_cachesafe.lint.evidence.running.modules import Module, Modules
from pytest_cachesafe.lint.evidence.sending.graphs import Unseen, bindings
from pytest_cachesafe.lint.evidence.trees import Function, called, spelt

__all__ = ["added", "grows_in_place", "is_replaced", "listed", "parameters"]

_LISTS = frozenset({"list", "List", "Sequence", "MutableSequence"})
_AROUND = frozenset({"Optional", "Required", "NotRequired", "ReadOnly"})
# Bases of states that have no fields of their own.
_BARE = frozenset({"TypedDict", "BaseModel", "object", "ABC", "Generic"})
# Calls that make a state, or the change of one, of their keywords.
_MAKES = frozenset({"dict", "update", "copy", "model_copy", "_replace", "replace"})
_GROWS = frozenset({"append", "insert", "extend"})


def parameters(function: Function) -> list[str]:
    """The names of what a function is given, without the object itself."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def listed(node: ast.AST) -> tuple[str, str] | None:
    """The name of a state and the field that is read: `state["messages"]`, `state.get("messages", [])`,
    `state.messages`."""
    if isinstance(node, ast.BoolOp):
        return listed(node.values[0])
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        key: ast.AST | None = node.slice
        holder = node.value.id
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        key = node.args[0] if node.func.attr in ("get", "setdefault") and node.args else None
        holder = node.func.value.id
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id, node.attr
    else:
        return None
    return (holder, key.value) if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def is_replaced(modules: Modules, state: str, key: str, home: Module) -> bool:
    """Whether what is written to a field of a state takes the place of what is there: the field's type is a plain list
    and no reducer. Raises Unseen for a field that is not found."""
    owner, module = _class(modules, state, home)
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == key:
            return _is_plain(node.annotation)
    for base in owner.bases:
        name = spelt(base.value if isinstance(base, ast.Subscript) else base)
        if name not in _BARE:
            return is_replaced(modules, name, key, module)
    raise Unseen


def _class(modules: Modules, name: str, home: Module) -> tuple[ast.ClassDef, Module]:
    """The one class of a name, in the file that speaks of it or else in another."""
    for found in ([home], modules.everywhere(name, home) or []):
        classes = [(n, m) for m in found for n in m.nodes(None) if isinstance(n, ast.ClassDef) and n.name == name]
        if classes:
            if len(classes) > 1:
                raise Unseen
            return classes[0]
    raise Unseen


def _is_plain(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            raise Unseen from None
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return True
    if isinstance(annotation, ast.BinOp):
        return _is_plain(annotation.left) and _is_plain(annotation.right)
    inner = annotation.slice if isinstance(annotation, ast.Subscript) else None
    name = spelt(annotation.value if isinstance(annotation, ast.Subscript) else annotation)
    if name in _LISTS:
        return True
    if inner is not None and name in _AROUND:
        return _is_plain(inner)
    if name == "Annotated":
        return False
    raise Unseen


def added(module: Module, node: Function, state: str, key: str, replaced: bool) -> int:
    """How many messages a node adds in one run of it. Raises Unseen."""
    names = _names(module, node, key)
    found = _in_place(module, node, names, key)
    for part in module.nodes(node):
        if isinstance(part, ast.Yield | ast.YieldFrom):
            raise Unseen
        if isinstance(part, ast.Return) and part.value is not None:
            _changes(module, node, part.value, state)
        for value in _written(part, state, key):
            more = _more(value, names, key, replaced)
            if more and module.in_same_loop(node, value.lineno, value.lineno):
                raise Unseen
            found += more
    return found


def grows_in_place(module: Module, function: Function | None, key: str) -> bool:
    """Whether a function adds to a list of that field by itself."""
    return _in_place(module, function, _names(module, function, key), key) > 0


def _names(module: Module, function: Function | None, key: str) -> set[str]:
    """The names that a function has for the list."""
    return {
        target.id
        for node in module.nodes(function)
        if isinstance(node, ast.Assign) and (listed(node.value) or ("", ""))[1] == key
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _is_list(node: ast.AST, names: set[str], key: str) -> bool:
    return (isinstance(node, ast.Name) and node.id in names) or (listed(node) or ("", ""))[1] == key


def _in_place(module: Module, function: Function | None, names: set[str], key: str) -> int:
    found = 0
    for node in module.nodes(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _GROWS or not _is_list(node.func.value, names, key):
                continue
            if node.func.attr == "extend":
                raise Unseen
            more = 1
        elif isinstance(node, ast.AugAssign) and _is_list(node.target, names, key):
            more = _more(node.value, set(), key, True)
        else:
            continue
        if module.in_same_loop(function, node.lineno, node.lineno):
            raise Unseen
        found += more
    return found


def _written(node: ast.AST, state: str, key: str) -> Iterator[ast.expr]:
    """What is written to the field: `{"messages": …}`, `state["messages"] = …`, `State(messages=…)`."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield from (value for k, value in pairs if isinstance(k, ast.Constant) and k.value == key)
    elif isinstance(node, ast.Assign):
        if any(not isinstance(t, ast.Name) and (listed(t) or ("", ""))[1] == key for t in node.targets):
            yield node.value
    elif isinstance(node, ast.Call) and called(node) in _MAKES | {state}:
        yield from (keyword.value for keyword in node.keywords if keyword.arg == key)


def _more(value: ast.expr, names: set[str], key: str, replaced: bool) -> int:
    """How many messages a list has beyond those that are there."""
    if isinstance(value, ast.List):
        spread = [part.value for part in value.elts if isinstance(part, ast.Starred)]
        return len(value.elts) - len(spread) + sum(_more(part, names, key, replaced) for part in spread)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _more(value.left, names, key, replaced) + _more(value.right, names, key, replaced)
    # Where it is added to what is there, the whole list would be there twice.
    if replaced and _is_list(value, names, key):
        return 0
    raise Unseen


def _changes(module: Module, node: Function, value: ast.expr, state: str, seen: frozenset[str] = frozenset()) -> None:
    """Raises Unseen unless what a node gives back is the state, or put together here."""
    parts: list[ast.expr] = []
    if isinstance(value, ast.Name):
        if value.id in seen:
            return
        seen |= {value.id}
        parts = bindings(module, node, value.id)
        if not parts and value.id not in parameters(node)[:1]:
            raise Unseen
    elif isinstance(value, ast.Dict):
        parts = [v for k, v in zip(value.keys, value.values, strict=True) if k is None]
    elif isinstance(value, ast.Call) and called(value) in ("dict", state):
        parts = [*value.args, *(keyword.value for keyword in value.keywords if keyword.arg is None)]
    elif not (isinstance(value, ast.Constant) and value.value is None):
        raise Unseen
    for part in parts:
        _changes(module, node, part, state, seen)
