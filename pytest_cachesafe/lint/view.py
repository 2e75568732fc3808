"""One pass over a syntax tree that gives rules their view of a file.

Statements are walked by block (their nesting is bounded by Python's own limit on indentation), expressions with a stack
of their own, so that no depth of operators or brackets can end in a RecursionError.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from cachesafe_rules.model import (
    Binding,
    Condition,
    Display,
    Expr,
    Function,
    MessageItem,
    MessageList,
    ModuleView,
    Taint,
)
from pytest_cachesafe.lint.lazy import LazyExpr, Maker, dotted
from pytest_cachesafe.lint.leaving import leaves, reached

__all__ = ["build_view", "release_view"]

# Class names of messages by role (LangChain, LlamaIndex, OpenAI and pydantic-ai types).
_ROLES = {
    "SystemMessage": "system", "SystemMessageParam": "system", "SystemPromptPart": "system",
    "DeveloperMessage": "system", "ChatCompletionSystemMessageParam": "system",
    "SystemMessagePromptTemplate": "system", "HumanMessage": "user", "UserMessage": "user", "UserPromptPart": "user",
    "ChatCompletionUserMessageParam": "user", "AIMessage": "assistant", "AssistantMessage": "assistant",
    "ToolMessage": "tool", "FunctionMessage": "tool", "HumanMessagePromptTemplate": "user", "MessagesPlaceholder": "*",
}  # fmt: skip
_TUPLE_ROLES = {"system": "system", "developer": "system", "human": "user", "user": "user", "ai": "assistant",
                "assistant": "assistant", "placeholder": "*", "tool": "tool"}  # fmt: skip
_MESSAGE_TYPES = frozenset({"ChatMessage", "Message", "dict", "Content", "ModelRequest", "ModelResponse"})
# Where a view keeps what its expressions share.
_MAKER = "maker of expressions"
_CONTENT_KEYS = ("content", "text", "parts", "prompt", "template")


class _Scope:
    """Where the walk stands."""

    __slots__ = ("conditions", "function", "in_loop", "owner")

    def __init__(self, function: str, owner: str, conditions: tuple[Condition, ...], in_loop: bool) -> None:
        self.function = function
        self.owner = owner
        self.conditions = conditions
        self.in_loop = in_loop

    def under(self, *conditions: Condition, loop: bool = False) -> _Scope:
        return _Scope(self.function, self.owner, (*self.conditions, *conditions), self.in_loop or loop)


class _Walk:
    def __init__(self, view: ModuleView, maker: Maker) -> None:
        self.view = view
        self.maker = maker

    # Statements

    def block(self, statements: list[ast.stmt], scope: _Scope) -> None:
        for node in reached(statements):
            kind = type(node)
            handler = _STATEMENTS.get(kind)
            if handler is not None:
                handler(self, node, scope)
                if isinstance(node, ast.If):
                    # Whatever follows runs only where no branch that leaves was taken.
                    for branch in _branches(node):
                        if leaves(branch.body):
                            scope = scope.under(Condition("left", self.maker.expr(branch.test), negated=True))
            else:
                self.expressions(node, scope)

    def function(self, node: Any, scope: _Scope) -> None:
        name = f"{scope.function or scope.owner}.{node.name}".lstrip(".")
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        hints = [argument.annotation for argument in every if argument is not None]
        for outside in (*node.decorator_list, *arguments.defaults, *arguments.kw_defaults, *hints, node.returns):
            if outside is not None:
                self.expressions(outside, scope)
        self.view.functions[name] = Function(
            name,
            tuple(argument.arg for argument in every if argument is not None),
            self.maker.span(node),
            scope.owner,
            [self.maker.expr(decorator) for decorator in node.decorator_list],
            frozenset(_optional(arguments)),
        )
        self.block(node.body, _Scope(name, scope.owner, (), False))

    def klass(self, node: ast.ClassDef, scope: _Scope) -> None:
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self.expressions(outside, scope)
        name = f"{scope.function or scope.owner}.{node.name}".lstrip(".")
        self.block(node.body, _Scope("", name, (), False))

    def if_(self, node: ast.If, scope: _Scope) -> None:
        negated: tuple[Condition, ...] = ()
        for branch in _branches(node):
            here = scope.under(*negated)
            self.expressions(branch.test, here)
            test = self.maker.expr(branch.test)
            self.block(branch.body, here.under(Condition("if", test)))
            negated = (*negated, Condition("if", test, negated=True))
            node = branch
        self.block(node.orelse, scope.under(*negated))

    def while_(self, node: ast.While, scope: _Scope) -> None:
        inner = scope.under(Condition("while", self.maker.expr(node.test)), loop=True)
        self.expressions(node.test, inner)
        self.block(node.body, inner)
        self.block(node.orelse, scope)

    def for_(self, node: Any, scope: _Scope) -> None:
        iterable, target = self.maker.expr(node.iter), self.maker.expr(node.target)
        self.expressions(node.iter, scope)
        self.bind("for", node.target, node.iter, node, scope)
        self.targets(node.target, scope)
        self.block(node.body, scope.under(Condition("for", iterable, target=target), loop=True))
        self.block(node.orelse, scope)

    def with_(self, node: Any, scope: _Scope) -> None:
        for item in node.items:
            self.expressions(item.context_expr, scope)
            if item.optional_vars is not None:
                self.bind("with", item.optional_vars, item.context_expr, node, scope)
                self.targets(item.optional_vars, scope)
        self.block(node.body, scope)

    def try_(self, node: Any, scope: _Scope) -> None:
        self.block(node.body, scope)
        for handler in node.handlers:
            test = None
            if handler.type is not None:
                self.expressions(handler.type, scope)
                test = self.maker.expr(handler.type)
            self.block(handler.body, scope.under(Condition("except", test)))
        self.block(node.orelse, scope)
        self.block(node.finalbody, scope)

    def match(self, node: Any, scope: _Scope) -> None:
        self.expressions(node.subject, scope)
        inner = scope.under(Condition("case", self.maker.expr(node.subject)))
        for case in node.cases:
            if case.guard is not None:
                self.expressions(case.guard, inner)
            self.block(case.body, inner)

    def assign(self, node: ast.Assign, scope: _Scope) -> None:
        for target in node.targets:
            self.bind("=", target, node.value, node, scope)
            self.targets(target, scope)
        self.expressions(node.value, scope)

    def annotated(self, node: ast.AnnAssign, scope: _Scope) -> None:
        self.targets(node.target, scope)
        self.expressions(node.annotation, scope)
        if node.value is not None:
            self.bind("=", node.target, node.value, node, scope)
            self.expressions(node.value, scope)

    def augmented(self, node: ast.AugAssign, scope: _Scope) -> None:
        self.bind("+=" if isinstance(node.op, ast.Add) else "op=", node.target, node.value, node, scope)
        self.targets(node.target, scope)
        self.expressions(node.value, scope)

    def delete(self, node: ast.Delete, scope: _Scope) -> None:
        for target in node.targets:
            self.bind("del", target, None, node, scope)
            self.targets(target, scope)

    def return_(self, node: ast.Return, scope: _Scope) -> None:
        if node.value is not None:
            self.bind("return", None, node.value, node, scope)
            self.expressions(node.value, scope)

    def import_(self, node: ast.Import, scope: _Scope) -> None:
        for alias in node.names:
            if alias.asname:
                self.maker.imports[alias.asname] = alias.name

    def import_from(self, node: ast.ImportFrom, scope: _Scope) -> None:
        module = "." * node.level + (node.module or "")
        dot = "." if node.module else ""
        for alias in node.names:
            self.maker.imports[alias.asname or alias.name] = f"{module}{dot}{alias.name}"

    # Expressions

    def bind(self, operator: str, target: Any, value: Any, node: Any, scope: _Scope) -> None:
        make = self.maker.expr
        self.view.bindings.append(
            Binding(
                operator,
                make(target) if target is not None else None,
                make(value) if value is not None else None,
                self.maker.span(node),
                scope.function,
                scope.conditions,
            )
        )

    def targets(self, target: ast.AST, scope: _Scope) -> None:
        if type(target) is not ast.Name:
            self.expressions(target, scope)

    def expressions(self, root: ast.AST, scope: _Scope) -> None:
        """Calls, message lists and dict displays below `root`, in the order of the source."""
        view, maker = self.view, self.maker
        stack: list[tuple[ast.AST, bool]] = [(root, scope.in_loop)]
        while stack:
            node, loop = stack.pop()
            kind = type(node)
            if kind is ast.Name or kind is ast.Constant:
                continue
            if kind is ast.Call:
                call = maker.call(node)  # type: ignore[arg-type]
                call.function, call.conditions, call.in_loop = scope.function, scope.conditions, loop
                view.calls.append(call)
            elif kind is ast.Dict:
                if any(type(key) is ast.Constant for key in node.keys):  # type: ignore[attr-defined]
                    view.dicts.append(Display(maker.expr(node), scope.function, scope.conditions))
            elif kind is ast.List:
                self.messages(node, scope)
            elif kind is ast.BinOp and type(node.op) is ast.Add:  # type: ignore[attr-defined]
                # All summands at once: one by one, a sum of thousands would cost the square of its length.
                parts = _summands(node)
                if any(type(part) is ast.List for part in parts) and self.messages(node, scope):
                    parts = [element for part in parts for element in (part.elts if type(part) is ast.List else [part])]
                stack.extend((part, loop) for part in reversed(parts))
                continue
            elif kind is ast.NamedExpr:
                self.bind(":=", node.target, node.value, node, scope)  # type: ignore[attr-defined]
            elif kind in _LOOPS:
                loop = True
            # By hand: `ast.iter_child_nodes` would be a third of the whole view.
            for name in reversed(node._fields):
                if name in _NO_EXPRESSIONS:
                    continue
                child = getattr(node, name, None)
                if child.__class__ is list:
                    for part in reversed(child):
                        if isinstance(part, ast.AST):
                            stack.append((part, loop))
                elif isinstance(child, ast.AST):
                    stack.append((child, loop))

    def messages(self, node: Any, scope: _Scope) -> bool:
        """Note the message list that `node` is; whether it is one."""
        items: list[MessageItem] = []
        for part in _summands(node):
            if isinstance(part, ast.List):
                items.extend(self.item(element) for element in part.elts)
            else:
                items.append(MessageItem("*", None, self.maker.expr(part)))
        if not any(item.role not in ("", "*") for item in items):
            return False
        self.view.lists.append(
            MessageList(self.maker.span(node), items, scope.function, scope.conditions, self.maker.expr(node))
        )
        return True

    def item(self, node: ast.expr) -> MessageItem:
        make = self.maker.expr
        expr = make(node)
        if isinstance(node, ast.Starred):
            return MessageItem("*", None, expr)
        if isinstance(node, ast.Dict):
            role, content = expr.entries.get("role"), _first(expr.entries)
            if role is None:
                return MessageItem("", content, expr)
            return MessageItem(_role(role), content, expr)
        if isinstance(node, ast.Call):
            return self.constructed(node, expr)
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:
            first = node.elts[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                return MessageItem(_TUPLE_ROLES.get(first.value, ""), make(node.elts[1]), expr)
        return MessageItem("", None, expr)

    def constructed(self, node: ast.Call, expr: LazyExpr) -> MessageItem:
        call = self.maker.call(node)
        last = dotted(node.func).rpartition(".")[2]
        content = _first(call.keywords) or (call.args[0] if call.args else None)
        role = _ROLES.get(last, "")
        if not role and (last in _MESSAGE_TYPES or last.endswith("Message")) and "role" in call.keywords:
            role = _role(call.keywords["role"])
        return MessageItem(role, content, expr)


def _first(entries: dict[str, Expr]) -> Expr | None:
    return next((entries[key] for key in _CONTENT_KEYS if key in entries), None)


def _role(expr: Expr) -> str:
    """The role an expression names: a constant, or the last part of `MessageRole.SYSTEM`; "?" where it is computed."""
    word = str(expr.value) if expr.kind == "constant" else (expr.name or "").rpartition(".")[2]
    word = word.lower()
    return {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant"}.get(word, word) or "?"


def _optional(arguments: ast.arguments) -> Iterator[str]:
    """The parameters whose default is None, (), [] or {}."""
    placed = [*arguments.posonlyargs, *arguments.args]
    given = [*zip(reversed(placed), reversed(arguments.defaults), strict=False)]
    for argument, default in (*given, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        elements = default.elts if isinstance(default, ast.List | ast.Tuple) else None
        keys = default.keys if isinstance(default, ast.Dict) else None
        if elements == [] or keys == [] or (isinstance(default, ast.Constant) and default.value is None):
            yield argument.arg


def _branches(node: ast.If) -> list[ast.If]:
    """An if and its elifs; a long chain is nested in the tree, so it is followed in a loop."""
    found = [node]
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        found.append(node)
    return found


def _summands(node: ast.AST) -> list[ast.AST]:
    """The operands of `a + b + c`, left to right."""
    found: list[ast.AST] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            stack += [part.right, part.left]
        else:
            found.append(part)
    return found


_NO_EXPRESSIONS = frozenset({"ctx", "op", "ops", "attr", "id", "arg", "conversion", "is_async"})
_LOOPS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_STATEMENTS: dict[type, Callable[[_Walk, Any, _Scope], None]] = {
    ast.FunctionDef: _Walk.function, ast.AsyncFunctionDef: _Walk.function, ast.ClassDef: _Walk.klass, ast.If: _Walk.if_,
    ast.While: _Walk.while_, ast.For: _Walk.for_, ast.AsyncFor: _Walk.for_, ast.With: _Walk.with_,
    ast.AsyncWith: _Walk.with_, ast.Try: _Walk.try_, ast.Match: _Walk.match, ast.Assign: _Walk.assign,
    ast.AnnAssign: _Walk.annotated, ast.AugAssign: _Walk.augmented, ast.Delete: _Walk.delete, ast.Return: _Walk.return_,
    ast.Import: _Walk.import_, ast.ImportFrom: _Walk.import_from,
}  # fmt: skip
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _Walk.try_


def build_view(
    tree: ast.Module,
    filename: str,
    column: Callable[[int, int], int],
    taints: Callable[[ast.AST], tuple[Taint, ...]],
) -> ModuleView:
    """The view of one file. `column(row, offset)` turns the tree's byte offset into a column from 1; `taints` says what
    the flow analysis knows of an expression, and is asked when a rule reads it."""
    view = ModuleView(filename, rows=max((node.end_lineno or 0 for node in tree.body[-1:]), default=0))
    maker = view.memo[_MAKER] = Maker(filename, column, taints)
    _Walk(view, maker).block(tree.body, _Scope("", "", (), False))
    return view


def release_view(view: ModuleView) -> None:
    """Undo the circles of a view that is no longer needed: a run goes without the garbage collector."""
    maker = view.memo.pop(_MAKER, None)
    if maker is not None:
        maker.release()
    view.memo.clear()
