"""Text with placeholders: format, replace, substitute, render, chat prompt templates."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, under
from pytest_cachesafe.lint.flow.derive import cut
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.places import apart
from pytest_cachesafe.lint.flow.text import shown, texted
from pytest_cachesafe.lint.flow.values import NOTHING, Const, DictShape, TextFile, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.atoms import Atom, Atoms
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import TemplateShape

__all__ = ["OFFERED", "fill_template", "filled"]

# Begins the step of a value that fills a text which is not known: whether the text prints it must be seen elsewhere.
OFFERED = "may fill "


def filled(engine: Engine, frame: Frame, node: ast.Call, receiver: Value, name: str, arguments: Arguments) -> Value:
    """`text.format(…)`, `template.render(…)` and the like."""
    atoms = receiver.text().atoms
    fields = None
    if isinstance(receiver.shape, Const) and isinstance(receiver.shape.value, str) and name in ("format", "format_map"):
        fields = _fields(receiver.shape.value)
    file = receiver.shape.name if isinstance(receiver.shape, TextFile) else None
    if fields is None and file is None and _shared(engine, frame, node):
        # One dict for the system's template and the user's: who prints what is written in the templates.
        return texted(frame, node, atoms, f"put into text by .{name}()")
    for i, (value, where) in enumerate(zip(arguments.positional, arguments.nodes, strict=False)):
        if name == "replace" and i == 0 and len(arguments.positional) > 1:
            # What is replaced is not in the text any more.
            atoms = apart(atoms, value)
            continue
        if fields is None or i in fields or name != "format":
            given = (
                Value(_handed(frame, node, value, known=fields is not None or file is not None))
                if isinstance(value.shape, DictShape) and not _is_whole(receiver, name)
                else shown(engine, frame, value, node)
            )
            shown_value = _printed(given, fields, i)
            if name == "format_map" and fields is not None:
                shown_value = Value(_spread(shown_value.atoms, fields.keys()))
            atoms = merge(atoms, shown_value.atoms)
            if file is not None:
                arrive(engine, frame, where, shown_value, f"template {file}", "system", atoms=shown_value.atoms)
    written = {keyword.arg for keyword in node.keywords}
    for key, (value, where) in arguments.keywords.items():
        if fields is not None and key not in fields:
            # Given, but not printed.
            continue
        found = _printed(shown(engine, frame, value, where), fields, key).atoms
        if found:
            known = fields is not None or file is not None or key in written
            row = getattr(where, "lineno", 1)
            found = {k: a.at(_filling(frame, a, row, key, known=known)) for k, a in found.items()}
            atoms = merge(atoms, found)
            if file is not None:
                arrive(engine, frame, where, value, f"template {file}", "system", atoms=found)
    rest = arguments.rest.atoms
    if fields is not None:
        rest = _spread(rest, fields.keys() - arguments.keywords.keys())
    atoms = merge(atoms, rest)
    return texted(frame, node, atoms, f"put into text by .{name}()")


def _spread(atoms: Atoms, fields: Collection[object]) -> Atoms:
    """What `format(**facts)` or `format_map(facts)` brings into a text, where `facts` is a parameter: what its callers'
    dict has under the names of the placeholders."""
    given = {k: a for k, a in atoms.items() if a.source is None and a.mark is None}
    if not given:
        return atoms
    found: Atoms = {k: a for k, a in atoms.items() if k not in given}
    for field in fields:
        if isinstance(field, str):
            found = merge(found, under(given, (field,)))
    return found


def _is_whole(receiver: Value, name: str) -> bool:
    """Whether a text prints a dict as it is, and not what stands under its keys."""
    text = receiver.shape.value if isinstance(receiver.shape, Const) else None
    return name == "format" and isinstance(text, str) and "[" not in text


def _handed(frame: Frame, node: ast.Call, value: Value, *, known: bool) -> Atoms:
    """What a dict brings along, field by field."""
    if known or not isinstance(value.shape, DictShape):
        return value.handed()
    atoms = Value(value.atoms, None, value.latent).all_atoms()
    for key, item in value.shape.fields.items():
        one = Value(EMPTY, DictShape({key: item})).handed()
        atoms = merge(atoms, {k: a.at(_filling(frame, a, node.lineno, key, known=False)) for k, a in one.items()})
    return atoms


def _filling(frame: Frame, atom: Atom, row: int, key: str, *, known: bool) -> Step:
    """The step of a value that fills a placeholder. It is only offered where a dict that another function made for all
    texts goes into one that is not known; whoever reads a clock for this text has the placeholder in mind."""
    source, function = atom.source, frame.function
    here = source is None or (
        source.span.filename == frame.module.name
        and (function is None or function.first <= source.span.row <= function.end_row)
    )
    return Step(frame.module.name, row, f"{'fills ' if known or here else OFFERED}{{{key}}}")


def _shared(engine: Engine, frame: Frame, node: ast.Call) -> bool:
    """Whether the same dict fills another template in this function."""
    given = _one_dict(node)
    if given is None or frame.function is None or not isinstance(node.func, ast.Attribute):
        return False
    own = ast.dump(node.func.value)
    return any(
        isinstance(other, ast.Call)
        # By place: the body may have been parsed anew since this call was taken from it.
        and (other.lineno, other.col_offset) != (node.lineno, node.col_offset)
        and isinstance(other.func, ast.Attribute)
        and other.func.attr == node.func.attr
        and _one_dict(other) == given
        and ast.dump(other.func.value) != own
        for stmt in engine.node(frame.function).body
        for other in ast.walk(stmt)
    )


def _one_dict(node: ast.Call) -> str | None:
    """`render(variables)`, `format(**variables)`: the name of the dict that is all that is given."""
    if len(node.args) + len(node.keywords) != 1:
        return None
    given = node.args[0] if node.args else node.keywords[0].value
    if not node.args and node.keywords[0].arg is not None:
        return None
    return dotted_name(given) or None if isinstance(given, (ast.Name, ast.Attribute)) else None


def _printed(value: Value, fields: dict[str | int, tuple[str, str]] | None, key: str | int) -> Value:
    """A value as a format string prints it: `{now:%Y}` and `{now.year}` cut a clock."""
    if fields is None or not value.atoms or key not in fields:
        return value
    path, spec = fields[key]
    granularity = (
        clock.of_format(spec) if "%" in spec else clock.of_attribute(path.rsplit(".", 1)[-1]) if path else None
    )
    return cut(value, granularity)


def _fields(text: str) -> dict[str | int, tuple[str, str]] | None:
    """What a format string prints: argument -> (attribute path, format); None where it cannot be read."""
    from string import Formatter

    out: dict[str | int, tuple[str, str]] = {}
    try:
        for i, (name, spec) in enumerate((n, f) for _, n, f, _ in Formatter().parse(text) if n is not None):
            first, dot, rest = name.partition(".")
            first = first.split("[")[0]
            out[i if not first else int(first) if first.isdigit() else first] = (rest if dot else "", spec or "")
    except ValueError:
        return None
    return out


def fill_template(engine: Engine, frame: Frame, shape: TemplateShape, name: str, arguments: Arguments) -> Value:
    """A chat prompt template called with values for its placeholders."""
    given = dict(arguments.keywords)
    if arguments.positional and isinstance(arguments.positional[0].shape, DictShape):
        for key, value in arguments.positional[0].shape.fields.items():
            node = arguments.nodes[0]
            if isinstance(node, ast.Dict):
                node = next(
                    (
                        v
                        for k, v in zip(node.keys, node.values, strict=True)
                        if isinstance(k, ast.Constant) and k.value == key
                    ),
                    node,
                )
            given.setdefault(key, (value, node))
    for key, (value, node) in given.items():
        if key in shape.system:
            arrive(engine, frame, node, value, f"placeholder {{{key}}} of a system message template")
    return Value(EMPTY, shape) if name in ("partial", "bind") else NOTHING
