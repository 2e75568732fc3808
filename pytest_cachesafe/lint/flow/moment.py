"""What is read of the moment: steps of an iterator that counts, states of devices, artifacts of a session, what is left
of a window, what an instruction function reads of the work that goes on, and a folder that is being worked in."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from cachesafe_rules.expressions import name_words
from cachesafe_rules.needles import SHORT_FILE
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import NOTHING, DictShape, Ext, Func, ListShape, Value
from pytest_cachesafe.lint.tables import sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import Module

__all__ = ["COUNTS", "is_excerpt", "listed_anew", "of_the_moment", "work_in_hand"]

# What `itertools.count()` gives: each `next` of it is another number.
COUNTS = "itertools.count()"
_CONSTRUCTORS = frozenset(("__init__", "__post_init__", "__new__", "__init_subclass__"))
# What a device says of itself that is another one in a minute; its names stay.
_OF_DEVICES = ("state", "attributes", "last_changed", "last_updated")
# Decorators of functions that write instructions for each request.
_ANEW = frozenset(("instructions", "instruction", "dynamic_prompt"))
_OWN = frozenset(("deps", "context", "state", "userdata"))
# Work that goes on, by the name of what holds it or of the function that tells of it.
_WORK = frozenset(
    ("todo", "todos", "task", "tasks", "plan", "plans", "progress", "status", "pending", "cart", "scratchpad", "queue",
     "alerts", "open", "selection", "cursor", "unread", "live")
)  # fmt: skip
_WORKED_IN = lazy_pattern(r"^_?(?:root|workspace|work_?dir|cwd|repo|project|folder|directory)(?:_(?:root|dir|path))?$")
_TELLS_FOLDER = frozenset(("tree", "structure", "workspace", "listing", "files", "layout", "overview"))


def is_excerpt(engine: Engine, module: Module) -> bool:
    """Whether a file is short enough to be complete as it stands."""
    return len(engine.lines(module)) <= SHORT_FILE


def of_the_moment(
    engine: Engine, frame: Frame, node: ast.Call, function: Value, last: str, arguments: Arguments
) -> Value | None:
    """The value of a call that reads something of the moment; None for any other, and where it is read at import."""
    own = frame.function
    if last == "count" and isinstance(function.shape, Ext) and function.shape.dotted == "itertools.count":
        return Value(shape=Ext(COUNTS))
    if frame.frozen or own is None or own.is_tool:
        return None
    if last in ("next", "__next__"):
        return _next(engine, frame, node, own.name)
    if not isinstance(node.func, ast.Attribute) or isinstance(function.shape, Func):
        return None
    spelt = dotted_name(node.func)
    if last in ("get", "async_all") and spelt.rpartition(".")[0].rpartition(".")[2] == "states":
        return _device(engine, frame, node, last, spelt)
    if last == "list_artifacts" or (not arguments.every() and last in sources.STATE_NAMES):
        return engine.source(frame, node, "state", "call", f"{spelt}()")
    return work_in_hand(engine, frame, node.func, f"{spelt}()")


def _next(engine: Engine, frame: Frame, node: ast.Call, name: str) -> Value | None:
    """`next(self._steps)`: an object that draws one when it is made keeps it."""
    counter = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in _CONSTRUCTORS or not isinstance(counter, (ast.Name, ast.Attribute)):
        return None
    from pytest_cachesafe.lint.flow.evaluate import evaluate

    shape = evaluate(engine, frame, counter).shape
    if not isinstance(shape, Ext) or shape.dotted != COUNTS:
        return None
    return engine.source(frame, node, "state", "call", f"{dotted_name(counter)}, which is counted up,")


def _device(engine: Engine, frame: Frame, node: ast.Call, last: str, spelt: str) -> Value:
    """`hass.states.get("light.hall")`: a record, of which some fields move."""
    read = engine.source(frame, node, "state", "call", f"{spelt}()")
    device = Value(EMPTY, DictShape(dict.fromkeys(_OF_DEVICES, read)))
    return device if last == "get" else Value(EMPTY, ListShape((device,), False))


def work_in_hand(engine: Engine, frame: Frame, node: ast.Attribute, spelt: str) -> Value | None:
    """`ctx.deps.todos` in a function that writes instructions for each request of a short file; None for anything
    else, and for what is called like something that stays."""
    own = frame.function
    if own is None or own.is_tool:
        return None
    root, *path = dotted_name(node).split(".")
    if root not in own.params or len(path) < 2 or path[0] not in _OWN:
        return None
    words = {word for part in path[1:] for word in name_words(part)} | set(name_words(own.name))
    if _WORK.isdisjoint(words) or not is_excerpt(engine, frame.module):
        return None
    anew = not _ANEW.isdisjoint(d.rpartition(".")[2] for d in own.decorators)
    handed = re.compile(rf"\binstructions?\s*=\s*(?:self\.)?{re.escape(own.name)}\b")
    if not anew and not handed.search("\n".join(engine.lines(frame.module))):
        return None
    return engine.source(frame, node, "state", "call", spelt)


def listed_anew(engine: Engine, frame: Frame, node: ast.Call, listed: Value) -> Value:
    """The entries of a folder that is worked in, in a fixed order: there are others after the next change. Only in a
    short file, in a function that by its name tells of such a folder; nothing for any other listing."""
    own = frame.function
    if own is None or frame.frozen or own.is_tool or _TELLS_FOLDER.isdisjoint(name_words(own.name)):
        return NOTHING
    found = merge(listed.atoms, listed.latent)
    if not any(a.source is not None and a.source.kind == "listing" for a in found.values()):
        return NOTHING
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }
    if not any(map(_WORKED_IN.match, names)) or not is_excerpt(engine, frame.module):
        return NOTHING
    return engine.source(frame, node, "state", "call", "the listing of a folder")
