"""One parsed file, its functions and its classes. Trees are dropped; what is asked of them again is parsed again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Taint

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["ClassInfo", "FunctionInfo", "Module", "dotted_name", "place"]


class Module:
    """A file. `env` holds what its body binds; None until the body was run."""

    __slots__ = (
        "body",
        "classes",
        "done",
        "env",
        "functions",
        "name",
        "parsed",
        "people",
        "ran",
        "shed",
        "stars",
        "tainted",
        "tool_state",
        "used",
    )

    def __init__(self, name: str, parsed: Any) -> None:
        self.name = name
        self.parsed = parsed
        self.body: list[ast.stmt] = parsed.tree.body if parsed.tree is not None else []
        self.env: dict[str, Value] | None = None
        self.ran = False
        self.shed = False
        self.done = False
        # Volatile expressions by their place, for rules that look at the tree.
        self.tainted: dict[tuple[int, int, int, int], Value] = {}
        self.used: set[str] = set()
        # What its tools write into the state of a session; None until somebody asks.
        self.tool_state: frozenset[str] | None = None
        # Whether it names a class of people; None until somebody asks.
        self.people: bool | None = None
        # Star imports: dotted name and level; asked for names that are bound nowhere else.
        self.stars: list[tuple[str, int]] = []
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []

    def taints(self, node: ast.AST) -> tuple[Taint, ...]:
        """What the analysis knows of an expression of this file."""
        value = self.tainted.get(place(node))
        if value is None:
            return ()
        return tuple(Taint(a.source, a.steps) for a in value.all_atoms().values() if a.source is not None)


def place(node: ast.AST) -> tuple[int, int, int, int]:
    """Where a node lies: the same for every parse of a file."""
    n: Any = node
    return (n.lineno, n.col_offset, n.end_lineno or 0, n.end_col_offset or 0)


class FunctionInfo:
    """A function, method or nested function. `node` is None while its tree is let go: ask the engine for it."""

    __slots__ = (
        "cls",
        "decorators",
        "end_row",
        "env",
        "first",
        "hoisted",
        "is_tool",
        "keyword_only",
        "kind",
        "kwarg",
        "module",
        "name",
        "node",
        "numeric",
        "params",
        "plain",
        "qualname",
        "row",
        "vararg",
        "written",
    )

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        module: Module,
        qualname: str,
        cls: ClassInfo | None,
        env: Any,
    ) -> None:
        self.node: ast.FunctionDef | ast.AsyncFunctionDef | None = node
        # Bound before the body of its module runs; a method is where its class is.
        self.hoisted = cls is not None and cls.hoisted
        self.row, self.end_row = node.lineno, node.end_lineno or node.lineno
        self.first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
        self.module = module
        self.name = node.name
        self.qualname = qualname
        self.cls = cls
        self.env = env
        self.decorators = [dotted_name(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
        last = {d.rsplit(".", 1)[-1] for d in self.decorators}
        self.kind = "function"
        if cls is not None:
            self.kind = (
                "static"
                if "staticmethod" in last
                else "class"
                if "classmethod" in last
                else "property"
                if last & {"property", "cached_property", "computed_field"}
                else "method"
            )
        a = node.args
        self.params = [p.arg for p in (*a.posonlyargs, *a.args)]
        self.keyword_only = tuple([p.arg for p in a.kwonlyargs])
        self.vararg = a.vararg.arg if a.vararg else None
        self.kwarg = a.kwarg.arg if a.kwarg else None
        self.is_tool = False
        self.written: set[str] | None = None
        # Annotated to return nothing that could be text.
        returns = node.returns
        self.plain = (isinstance(returns, ast.Constant) and returns.value is None) or (
            isinstance(returns, ast.Name) and returns.id in ("bool", "bytes")
        )
        # Annotated to return a number: of what changes only clocks and draws become one.
        self.numeric = isinstance(returns, ast.Name) and returns.id in ("int", "float")

    @property
    def key(self) -> str:
        """Identity over the whole project."""
        return f"{self.module.name}:{self.row}:{self.qualname}"


class ClassInfo:
    """A class of the project. `attributes` joins what all of its methods write to `self`; see `classes`. `node` is
    None while its tree is let go: ask the engine for its body."""

    __slots__ = (
        "attributes",
        "base_names",
        "bases",
        "chain",
        "constructed",
        "decorated",
        "end_row",
        "env",
        "fields",
        "hoisted",
        "methods",
        "module",
        "name",
        "node",
        "qualname",
        "row",
        "state",
        "talks",
        "volatile",
        "writers",
        "written",
    )

    def __init__(self, node: ast.ClassDef, module: Module, qualname: str, hoisted: bool = False) -> None:
        self.node: ast.ClassDef | None = node
        self.row, self.end_row = node.lineno, node.end_lineno or node.lineno
        self.decorated = bool(node.decorator_list)
        self.hoisted = hoisted
        self.module = module
        self.name = node.name
        self.qualname = qualname
        self.base_names = [dotted_name(b.value if isinstance(b, ast.Subscript) else b) for b in node.bases]
        self.bases: list[ClassInfo] | None = None
        self.chain: list[ClassInfo] | None = None
        self.fields: list[str] | None = None
        self.methods: dict[str, FunctionInfo] = {}
        self.env: dict[str, Value] = {}
        self.attributes: dict[str, Value] = {}
        self.state = 0
        self.talks: bool | None = None
        self.volatile: bool | None = None
        self.writers: dict[str, list[FunctionInfo]] | None = None
        self.written: set[str] = set()
        # What objects were made with, per field: for those that are handed around by annotation only.
        self.constructed: dict[str, Value] = {}

    @property
    def key(self) -> str:
        """Identity over the whole project."""
        return f"{self.module.name}:{self.row}:{self.qualname}"


def dotted_name(node: ast.AST | None) -> str:
    """`a.b.c` as spelt; calls and subscripts on the way are left out; "" for anything else."""
    parts: list[str] = []
    while node is not None:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            break
        else:
            break
    return ".".join(reversed(parts))
