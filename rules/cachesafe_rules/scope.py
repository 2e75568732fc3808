"""What a name or an expression is, as far as the function around it says so for certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachesafe_rules.concrete import Piece

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["Scope", "is_plain", "is_text"]

_TEXT_CALLS = frozenset({"str", "repr", "ascii", "chr", "hex"})
_TEXT_METHODS = frozenset(
    {"casefold", "capitalize", "format", "join", "lower", "lstrip", "replace", "rstrip", "strip", "title", "upper"}
)
# Elements of a project that are names are strings by all custom.
_NAMES = frozenset({"name", "__name__", "__qualname__"})
_SCALARS = frozenset({"str", "int", "float", "bool"})
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
# Methods that put something into a set or take something out.
_CHANGING = frozenset(
    {"add", "update", "discard", "remove", "clear", "pop", "intersection_update", "difference_update"}
)


class Scope:
    """A function's own statements, or those of the piece where there is no function."""

    def __init__(self, piece: Piece, root: cst.CSTNode) -> None:
        self.piece = piece
        self.root = root
        self._names: dict[str, list[cst.Name]] | None = None

    @classmethod
    def of(cls, piece: Piece, node: cst.CSTNode) -> Scope:
        """The scope a node stands in."""
        import libcst as cst

        around = (a for a in piece.ancestors(node) if isinstance(a, cst.FunctionDef))
        return cls(piece, next(around, piece.module))

    def uses(self, name: str) -> list[cst.Name]:
        """Every place in the scope where a name is spelt as a name (not as an attribute or a keyword), in order."""
        import libcst as cst

        if self._names is None:
            self._names = {}
            for _, node in self.piece.nodes:
                if isinstance(node, cst.Name) and self._inside(node) and not self.is_label(node):
                    self._names.setdefault(node.value, []).append(node)
        return self._names.get(name, [])

    def bound(self, name: cst.Name) -> cst.BaseExpression | None:
        """The one value that a name is bound to in the scope, before the place where it is used; None in doubt.

        One plain assignment, no parameter, loop, `with`, `+=`, `global` or changing method call.
        """
        import libcst as cst

        value: cst.BaseExpression | None = None
        for use in self.uses(name.value):
            upper = self.piece.parent(use)
            if isinstance(upper, cst.AssignTarget):
                assign = self.piece.parent(upper)
                if value is not None or not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
                    return None
                if self.piece.place(use) >= self.piece.place(name) or not self._straight(assign, name):
                    return None
                value = assign.value
            elif isinstance(upper, cst.AnnAssign) and upper.target is use:
                if value is not None or upper.value is None or not self._straight(upper, name):
                    return None
                value = upper.value
            elif self._binds(use, upper):
                return None
        return value

    def comparable(self, node: cst.BaseExpression | cst.CSTNode) -> bool:
        """Whether a set, or what a set is made of, is known to hold nothing but strings, or nothing but integers."""
        import libcst as cst

        if isinstance(node, cst.Name):
            value = self.bound(node)
            if value is None or isinstance(value, cst.Name) or _written_into(node, self):
                return False
            return self.comparable(value)
        if isinstance(node, cst.Set | cst.List | cst.Tuple):
            values = [element.value for element in node.elements]
            if any(isinstance(element, cst.StarredElement) for element in node.elements):
                return False
            return all(map(is_text, values)) or all(isinstance(value, cst.Integer) for value in values)
        if isinstance(node, cst.SetComp | cst.ListComp | cst.GeneratorExp):
            return is_text(node.elt)
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.BitAnd | cst.Subtract) and self.comparable(node.left):
                return True
            mixed = (node.left, node.right)
            return isinstance(node.operator, cst.BitOr | cst.BitXor) and all(
                self.comparable(side) and not self._whole_numbers(side) for side in mixed
            )
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and len(node.args) == 1:
            only = node.args[0]
            if node.func.value in ("set", "frozenset") and only.keyword is None and not only.star:
                return isinstance(only.value, cst.SimpleString) or self.comparable(only.value)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "map":
            return bool(node.args) and isinstance(node.args[0].value, cst.Name) and node.args[0].value.value == "str"
        return False

    def annotation(self, name: cst.Name) -> cst.BaseExpression | None:
        """The annotation of a parameter that is never bound anew."""
        import libcst as cst

        found: cst.BaseExpression | None = None
        for use in self.uses(name.value):
            upper = self.piece.parent(use)
            if isinstance(upper, cst.Param):
                found = upper.annotation.annotation if upper.annotation else None
            elif self._binds(use, upper) or isinstance(upper, cst.AssignTarget | cst.AnnAssign):
                return None
        return found

    def _whole_numbers(self, node: cst.CSTNode) -> bool:
        import libcst as cst

        return any(isinstance(child, cst.Integer) or self._whole_numbers(child) for child in node.children)

    def _inside(self, node: cst.CSTNode) -> bool:
        import libcst as cst

        if isinstance(self.root, cst.Module):
            return True
        return self.root in self.piece.ancestors(node)

    def is_label(self, node: cst.Name) -> bool:
        """Whether a name is only the part behind a dot, or a keyword's."""
        import libcst as cst

        upper = self.piece.parent(node)
        if isinstance(upper, cst.Attribute):
            return upper.attr is node
        return isinstance(upper, cst.Arg) and upper.keyword is node

    def _binds(self, use: cst.Name, upper: cst.CSTNode | None) -> bool:
        """Whether a use may give the name another value, or change the value it has."""
        import libcst as cst

        if isinstance(upper, cst.Attribute):
            call = self.piece.parent(upper)
            return upper.attr.value in _CHANGING and isinstance(call, cst.Call)
        if isinstance(upper, cst.For | cst.CompFor):
            return upper.target is use
        if isinstance(upper, cst.AugAssign | cst.NamedExpr):
            return upper.target is use
        if isinstance(upper, cst.Element | cst.Tuple | cst.StarredElement):
            around = self.piece.ancestors(use)
            targets = (cst.AssignTarget, cst.For, cst.CompFor, cst.Del)
            holder = next(
                (a for a in around if not isinstance(a, cst.Element | cst.Tuple | cst.List | cst.StarredElement)), None
            )
            return isinstance(holder, targets) and (
                getattr(holder, "target", None) in around or isinstance(holder, cst.Del)
            )
        return isinstance(
            upper, cst.Param | cst.AsName | cst.Del | cst.NameItem | cst.ImportAlias | cst.MatchAs | cst.MatchStar
        )

    def _straight(self, assign: cst.CSTNode, use: cst.Name) -> bool:
        """Whether the assignment is made on every way to the use: its block is one that the use lies in as well."""
        import libcst as cst

        blocks = (cst.IndentedBlock, cst.SimpleStatementSuite, cst.Module)
        block = next((a for a in self.piece.ancestors(assign) if isinstance(a, blocks)), None)
        return block is not None and block in self.piece.ancestors(use)


def is_text(node: cst.BaseExpression | cst.CSTNode) -> bool:
    """Whether an expression is known to be a string."""
    import libcst as cst

    if isinstance(node, cst.SimpleString):
        return "b" not in node.prefix.lower()
    if isinstance(node, cst.FormattedString):
        return True
    if isinstance(node, cst.ConcatenatedString):
        return is_text(node.left) and is_text(node.right)
    if isinstance(node, cst.Attribute):
        return node.attr.value in _NAMES
    if isinstance(node, cst.Subscript):
        index = node.slice[0].slice if len(node.slice) == 1 else None
        key = index.value if isinstance(index, cst.Index) else None
        return isinstance(key, cst.SimpleString) and key.evaluated_value in _NAMES
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Name):
            return node.func.value in _TEXT_CALLS
        return (
            isinstance(node.func, cst.Attribute) and node.func.attr.value in _TEXT_METHODS and is_text(node.func.value)
        )
    return False


def is_plain(node: cst.BaseExpression, scope: Scope) -> bool:
    """Whether a value is JSON of which all keys, at every depth, are known to be strings."""
    import libcst as cst

    if isinstance(node, cst.Dict):
        for element in node.elements:
            if not isinstance(element, cst.DictElement) or not isinstance(
                element.key, cst.SimpleString | cst.FormattedString
            ):
                return False
            if not is_text(element.key) or not is_plain(element.value, scope):
                return False
        return True
    if isinstance(node, cst.List | cst.Tuple):
        return all(isinstance(e, cst.Element) and is_plain(e.value, scope) for e in node.elements)
    if isinstance(node, cst.Name):
        if node.value in ("True", "False", "None"):
            return True
        value = scope.bound(node)
        if value is not None:
            return not isinstance(value, cst.Name) and is_plain(value, scope) and not _written_into(node, scope)
        annotation = scope.annotation(node)
        return annotation is not None and _plain_annotation(annotation)
    if isinstance(node, cst.Call):
        spelt = node.func.value if isinstance(node.func, cst.Name) else ""
        return is_text(node) or spelt in ("len", "int", "float", "bool", "round")
    if isinstance(node, cst.Attribute | cst.Subscript):
        return False
    return is_text(node) or isinstance(node, cst.Integer | cst.Float)


def _written_into(name: cst.Name, scope: Scope) -> bool:
    """Whether a name's value is handed on or changed before or after the place."""
    import libcst as cst

    # Its binding and this use; any other use may put keys of another type in.
    return len(scope.uses(name.value)) > 2 or isinstance(scope.root, cst.Module)


def _plain_annotation(node: cst.BaseExpression) -> bool:
    import libcst as cst

    if isinstance(node, cst.Name):
        return node.value in _SCALARS
    if not isinstance(node, cst.Subscript):
        return False
    base = node.value.attr if isinstance(node.value, cst.Attribute) else node.value
    parts = [s.slice.value for s in node.slice if isinstance(s.slice, cst.Index)]
    if not isinstance(base, cst.Name) or base.value not in _MAPPINGS or len(parts) != 2:
        return False
    return isinstance(parts[0], cst.Name) and parts[0].value == "str" and _plain_annotation(parts[1])
