"""Text whose placeholders a function fills one by one: `re.sub(pattern, lambda m: VALUES[m[1]](), text)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.model import Step
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, volatile_atoms
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.filled import OFFERED
from pytest_cachesafe.lint.flow.values import NOTHING, Const, DictShape, Func, Lambda, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.atoms import Atoms
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["REPLACERS", "expanded"]

REPLACERS = frozenset(("sub", "subn"))
_PLACEHOLDER = lazy_pattern(r"^\W*(?:\\?\{|<|\\?\$|%|\\\[|__)[\w\\ .-]+(?:\\?\}|>|\b|\]|__)\W*$")


def expanded(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments, at: int) -> Value:
    """The result of a replacement. `at` is where the replacing function stands among the arguments, the text behind it.

    Of a replacement by a text only that is told which changes by itself: as often as not a replacement takes out what
    changes in the text it is done to.
    """
    maker = _given(arguments, at, "repl")
    if maker is None:
        return NOTHING
    if not isinstance(maker[0].shape, (Func, Lambda)):
        changing = volatile_atoms(maker[0].all_atoms())
        whole = _given(arguments, at + 1, "string")
        given = whole[0].text().atoms if whole is not None else EMPTY
        if _fills(arguments, at):
            return Value(merge(changing, given))
        passed = {key: atom for key, atom in given.items() if atom.source is None}
        return Value(merge(changing, passed)) if changing else NOTHING
    shape = maker[0].shape
    if isinstance(shape, Lambda):
        found = shape.result
    else:
        found = call_function(engine, frame, shape.functions, [], {}, shape.bound, node, None)
    atoms = volatile_atoms(found.all_atoms())
    text = _given(arguments, at + 1, "string")
    if text is None:
        return Value(atoms)
    known = text[0].shape.value if isinstance(text[0].shape, Const) else None
    for table in _tables(engine, frame, _body(engine, frame, maker[1], shape)):
        atoms = _filled(frame, node, atoms, table, known if isinstance(known, str) else None)
    return Value(merge(atoms, text[0].text().atoms) if atoms else EMPTY)


def _fills(arguments: Arguments, at: int) -> bool:
    """Whether the pattern is a placeholder: `{{time}}`, `<now>`."""
    shape = arguments.positional[0].shape if at and arguments.positional else None
    return isinstance(shape, Const) and isinstance(shape.value, str) and _PLACEHOLDER.search(shape.value) is not None


def _given(arguments: Arguments, at: int, name: str) -> tuple[Value, ast.expr] | None:
    if at < len(arguments.positional):
        return arguments.positional[at], arguments.nodes[at]
    found = arguments.keywords.get(name)
    return (found[0], found[1]) if found is not None and isinstance(found[1], ast.expr) else None


def _body(engine: Engine, frame: Frame, node: ast.expr, shape: Func | Lambda) -> Sequence[ast.AST]:
    if isinstance(shape, Lambda):
        return [node]
    return [engine.node(function) for function in shape.functions if function.module is frame.module]


def _tables(engine: Engine, frame: Frame, bodies: Sequence[ast.AST]) -> Iterator[DictShape]:
    """The dicts that a replacing function looks into."""
    for body in bodies:
        for part in ast.walk(body):
            if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
                shape = evaluate(engine, frame, part).shape
                if isinstance(shape, DictShape):
                    yield shape


def _filled(frame: Frame, node: ast.Call, atoms: Atoms, table: DictShape, text: str | None) -> Atoms:
    """What a table offers to a text: where that is known, what its placeholders ask for, else with the placeholder, so
    that the project is asked for a text that has it."""
    out = dict(atoms)
    for key, value in table.fields.items():
        for name in value.all_atoms().keys() & out.keys():
            if text is not None and key not in text:
                del out[name]
                continue
            words = f"fills {{{key}}}" if text is not None else f"{OFFERED}{{{key}}}"
            out[name] = out[name]._replace(steps=(*out[name].steps, Step(frame.module.name, node.lineno, words)))
    return out
