"""Paths: which part of them is the machine's, and which is left when a part is taken."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Const, ParamShape, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Atom, Atoms
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["LAST_PARTS", "apart", "elsewhere", "expands", "is_last_part", "last_part", "of_field", "within"]

# Kinds of what says where a folder lies.
_PLACES = frozenset(("cwd", "host", "env", "temp"))
# Attributes that give the end of a path.
LAST_PARTS = frozenset(("name", "stem", "suffix"))


def within(atoms: Atoms) -> Atoms:
    """What a path tells below a folder: not where the folder lies."""
    return {k: a for k, a in atoms.items() if a.source is None or a.source.kind not in _PLACES}


def last_part(atoms: Atoms, path: ast.expr | None = None) -> Atoms:
    """What the last part of a path tells: not the home folder that it begins with, unless that is all of the path. The
    working directory may be the last part itself. Of a parameter it is noted, for what the callers give."""
    if isinstance(path, ast.Call) and (not path.args or _is_home_sign(path.args[0])):
        return atoms
    found = {}
    for key, atom in atoms.items():
        if atom.source is None and atom.mark is None:
            short = (*key[:3], "last part")
            found[short] = atom._replace(key=short)
        elif not _is_home(atom):
            found[key] = atom
    return found


def of_field(atoms: Atoms) -> Atoms:
    """What is found under one key of a dict whose fields are not known: a place that was put into some field of it is
    not taken for this one."""
    return {k: a for k, a in atoms.items() if not (_is_home(a) or _is_cwd(a))}


def is_last_part(atom: Atom) -> bool:
    """Whether a parameter's atom stands for the last part of a path alone."""
    return len(atom.key) > 3


def expands(node: ast.Call, path: Value) -> bool:
    """Whether what is expanded is seen to begin with the sign for the home folder: of any other path the same comes
    back on every machine."""
    shape = path.shape
    known = shape.value if isinstance(shape, Const) else shape.default if isinstance(shape, ParamShape) else None
    # `base or "~/data"`, `os.getenv("DATA", "~/data")`, `f"~/{name}"`
    return _begins(known) or any(isinstance(n, ast.Constant) and _begins(n.value) for n in ast.walk(node))


def apart(atoms: Atoms, base: Value) -> Atoms:
    """What is left of a text where a folder is replaced by something else, or of a path that does not lie in it."""
    gone = [test for test in (_is_home, _is_cwd) if any(map(test, base.all_atoms().values()))]
    return {k: a for k, a in atoms.items() if not any(test(a) for test in gone)} if gone else atoms


def elsewhere(frame: Frame, below: Mapping[str, Value]) -> dict[str, Value]:
    """Names as they are where `name.relative_to(folder)` has failed."""
    held = ((name, frame.env.get(name), base) for name, base in below.items())
    return {
        name: Value(apart(value.atoms, base), value.shape, value.latent)
        for name, value, base in held
        if value is not None and value.atoms
    }


def _is_home(atom: Atom) -> bool:
    source = atom.source
    return source is not None and source.kind == "host" and source.api.endswith(("home()", "expanduser()"))


def _is_cwd(atom: Atom) -> bool:
    return atom.source is not None and atom.source.kind == "cwd"


def _begins(text: object) -> bool:
    return isinstance(text, str) and text.startswith("~")


def _is_home_sign(node: ast.expr) -> bool:
    """`expanduser("~")`: nothing but the home folder."""
    return (isinstance(node, ast.Constant) and node.value in ("~", "~/")) or dotted_name(node).endswith("home")
