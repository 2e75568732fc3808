"""What a short file reads under a name that says that it is so at this moment: open editors, tokens used, what is
pending. Such a file is complete as it stands, and its names are all that speaks for them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.expressions import name_words
from pytest_cachesafe.lint.flow.classes import written_names
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.moment import is_excerpt
from pytest_cachesafe.lint.flow.values import Cls, Const, Func, ModShape, Value
from pytest_cachesafe.lint.tables import sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["present_attribute", "present_call", "present_item", "present_name"]

# A word of a name that says it by itself.
_NOW = frozenset(
    {"usage", "remaining", "elapsed", "pending", "unread", "todo", "todos", "selection", "selected",
     "clipboard", "scratchpad", "snapshot", "telemetry", "diagnostics", "focused", "opened", "unsaved", "dirty",
     "battery", "spent", "latest", "recent", "live", "active", "visible", "unfinished", "outstanding", "checklist",
     "ongoing"}
)  # fmt: skip
# Words that say it in front of what they are said of: `open_files`, `current_room`.
_FIRST = frozenset({"open", "current", "last", "cursor"})
# What may be named like that and stays for the chat, or belongs to something that is set up.
_STAYS = frozenset(
    {"tool", "tools", "model", "models", "language", "languages", "lang", "locale", "max", "min", "limit", "default",
     "config", "settings", "template", "prompt", "prompts", "system", "instructions", "instruction", "policy", "rules",
     "id", "ids", "version", "is", "has", "can", "on", "user", "users", "name", "names", "agent", "agents", "role",
     "persona", "skill", "skills", "plugin", "plugins", "api", "source", "ai", "year", "date", "time", "profile",
     "style", "mode", "theme", "tenant", "company", "guide", "notes", "column", "columns", "features", "provider",
     "message", "messages", "turn", "turns", "query", "question", "input", "character", "characters", "at"}
)  # fmt: skip
_MAKERS = frozenset(("__init__", "__post_init__"))
_SET_UP = frozenset({"config", "settings", "cfg", "conf", "options", "defaults", "env", "constants", "os", "sys"})


def _says(name: str) -> bool:
    words = name_words(name)
    if not words or not _STAYS.isdisjoint(words):
        return False
    return not _NOW.isdisjoint(words) or (len(words) > 1 and name.lower().strip("_").partition("_")[0] in _FIRST)


def _is_asked(engine: Engine, frame: Frame) -> bool:
    """Whether a place runs for each request of a file that is complete as it stands."""
    own = frame.function
    if own is None or own.is_tool or own.name in _MAKERS or frame.frozen:
        return False
    return is_excerpt(engine, frame.module)


def present_attribute(engine: Engine, frame: Frame, node: ast.Attribute, value: Value) -> Value | None:
    """`shell.active.uri`, `self.tape.token_usage`; None for anything else, and for what an object is made with."""
    spelt = dotted_name(node)
    root, *path = spelt.split(".")
    if not path or isinstance(value.shape, (Func, Cls, ModShape)) or not any(map(_says, path)):
        return None
    if not _SET_UP.isdisjoint(name_words(spelt.rpartition(".")[0])) or not _is_asked(engine, frame):
        return None
    if root in ("self", "cls") and len(path) == 1:
        if _is_only_made_with(engine, frame, path[0]):
            return None
    elif isinstance(value.shape, Const):
        return None
    return engine.source(frame, node, "state", "call", spelt)


def present_item(engine: Engine, frame: Frame, node: ast.Subscript, key: str) -> Value | None:
    """`editor["open_files"]`; None for anything else."""
    owner = dotted_name(node.value)
    if not owner or not (_says(key) or key in sources.STATE_NAMES) or not _is_asked(engine, frame):
        return None
    if not _SET_UP.isdisjoint(name_words(owner)):
        return None
    return engine.source(frame, node, "state", "call", f"{owner}[{key!r}]")


def present_name(engine: Engine, frame: Frame, node: ast.Name) -> Value | None:
    """A parameter `open_files`; None for anything else."""
    if not _says(node.id) or not _is_asked(engine, frame):
        return None
    return engine.source(frame, node, "state", "call", node.id)


def present_call(engine: Engine, frame: Frame, node: ast.Call, function: Value, last: str) -> Value | None:
    """`editor.selection()`, `get_open_tabs()` of something that is not seen; None for anything else."""
    if isinstance(function.shape, (Func, Cls)) or not _says(last.removeprefix("get_")):
        return None
    owner = dotted_name(node.func).rpartition(".")[0]
    if not _SET_UP.isdisjoint(name_words(owner)) or not _is_asked(engine, frame):
        return None
    return engine.source(frame, node, "state", "call", f"{dotted_name(node.func)}()")


def _is_only_made_with(engine: Engine, frame: Frame, name: str) -> bool:
    """Whether an attribute gets its value where the object is made, and nowhere else is it set or changed."""
    methods = frame.cls.methods.values() if frame.cls is not None else ()
    writers = {method.name for method in methods if name in written_names(engine, method)}
    return bool(writers) and writers <= _MAKERS
