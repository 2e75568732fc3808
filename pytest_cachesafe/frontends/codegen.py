"""Writes the marks of the budget and of provenance into compiled templates; otherwise Jinja's own code generator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame

__all__ = ["MeasuringGenerator", "NamesGenerator"]


class MeasuringGenerator(CodeGenerator):
    """Writes the marks into the compiled template."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bodies: dict[int, nodes.Node | None] = {}

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("concat = context.concat")

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802  # visitor names follow the nodes
        saved = self.temporary_identifier()
        self.writeline(f"{saved} = context.item")
        self._bodies[id(node.body)] = node.target
        super().visit_For(node, frame)
        self.writeline(f"context.item = {saved}")

    def macro_body(self, node: nodes.Macro | nodes.CallBlock, frame: Frame) -> Any:
        self._bodies[id(node.body)] = None
        return super().macro_body(node, frame)

    def blockvisit(self, nodes_: Iterable[nodes.Node], frame: Frame) -> None:
        if id(nodes_) in self._bodies:
            target = self._bodies.pop(id(nodes_))
            item = frame.symbols.ref(target.name) if isinstance(target, nodes.Name) else ""
            self.writeline(f"context.enter({item})")
        super().blockvisit(nodes_, frame)

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        # Nothing but literals is computed while compiling: there is no meter yet.
        if not isinstance(node, (nodes.TemplateData, nodes.Const)):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def visit_Add(self, node: nodes.BinExpr, frame: Frame) -> None:  # noqa: N802
        operands: list[nodes.Expr] = []
        rest: nodes.Expr = node
        # A chain is measured once, at its end, if few operands are open: constants cannot make it much larger.
        while isinstance(rest, nodes.Add) and sum(not isinstance(o, nodes.Const) for o in operands) < 4:
            operands.append(rest.right)
            rest = rest.left
        operands.append(rest)
        numeric = any(isinstance(o, nodes.Const) and isinstance(o.value, (int, float)) for o in operands)
        self.write("(" if numeric else "context.made(")
        for i, operand in enumerate(reversed(operands)):
            self.write(" + " if i else "")
            self.visit(operand, frame)
        self.write(")")

    def _call(self, function: str, node: nodes.BinExpr, frame: Frame) -> None:
        self.write(f"context.{function}(")
        self.visit(node.left, frame)
        self.write(", ")
        self.visit(node.right, frame)
        self.write(")")

    def visit_Mul(self, node: nodes.BinExpr, frame: Frame) -> None:  # noqa: N802
        self._call("times", node, frame)

    def visit_Pow(self, node: nodes.BinExpr, frame: Frame) -> None:  # noqa: N802
        self._call("power", node, frame)

    def visit_Mod(self, node: nodes.BinExpr, frame: Frame) -> None:  # noqa: N802
        self._call("percent", node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("context.joined((")
        for arg in node.nodes:
            self.visit(arg, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        # Against a constant, a comparison ends with the constant; only a search in something else can be long.
        sides = [node.expr, *(o.expr for o in node.ops)]
        constants = sum(isinstance(s, nodes.Const) for s in sides)
        searches = any(o.op in ("in", "notin") and not isinstance(o.expr, nodes.Const) for o in node.ops)
        timed = searches or len(sides) - constants > 1
        self.write("context.timed(" if timed else "")
        super().visit_Compare(node, frame)
        self.write(")" if timed else "")

    def visit_Test(self, node: nodes.Test, frame: Frame) -> None:  # noqa: N802
        self.write("context.timed(" if node.args else "")
        super().visit_Test(node, frame)
        self.write(")" if node.args else "")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        is_slice = isinstance(node.arg, nodes.Slice)
        self.write("context.sliced(" if is_slice else "")
        super().visit_Getitem(node, frame)
        self.write(")" if is_slice else "")

    def _container(self, visit: Callable[[Any, Frame], None], node: Any, parts: Sequence[Any], frame: Frame) -> None:
        literal = all(isinstance(p, nodes.Const) for p in parts) or getattr(node, "ctx", "load") != "load"
        self.write("" if literal else "context.weighed(")
        visit(node, frame)
        self.write("" if literal else ")")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802
        self._container(super().visit_List, node, node.items, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802
        self._container(super().visit_Tuple, node, node.items, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self._container(super().visit_Dict, node, [p for i in node.items for p in (i.key, i.value)], frame)


class NamesGenerator(MeasuringGenerator):
    """Writes nothing, notes the names a template reads and does not set. Jinja's own would run constant expressions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names: set[str] = set()

    def write(self, x: str) -> None:
        pass

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        for action, name in frame.symbols.loads.values():
            if action == "resolve" and name is not None:
                self.names.add(name)
