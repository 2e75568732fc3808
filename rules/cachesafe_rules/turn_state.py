"""What an object or a loop keeps as the state of its chat, and sets anew between two of its requests.

Seen in the file: a method of the chat, not one that sets it up, writes the attribute from what it was before, from the
turn, or under a name that only a state has; or the loop that sends gives a name another value each time.
"""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.changing import takes_turn
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, walk, words_of_name
from cachesafe_rules.model import Binding, Call, Condition, Expr
from cachesafe_rules.shape import Shape
from cachesafe_rules.turns import is_setup

__all__ = ["state_in"]

_STATES = frozenset(
    {"stage", "state", "phase", "status", "plan", "todo", "todos", "progress", "step", "mood", "scratchpad", "done",
     "completed", "pending", "remaining", "slots", "score", "turn", "round", "scene", "cart", "inventory",
     "facts", "notes", "memory", "memories", "answers"}
)  # fmt: skip
# Of a parameter it is not seen when it is another one: only what is called like the state itself.
_GIVEN = frozenset({"stage", "state", "phase", "progress", "todo", "todos", "scratchpad", "mood"})
# Attributes and methods that belong to the setting up, whenever that is done.
_SETTINGS = frozenset(
    {"tools", "tool", "toolkit", "skills", "skill", "agents", "handlers", "callbacks", "plugins", "config", "settings",
     "options", "instructions", "rules", "examples", "prompt", "prompts", "model", "client", "language", "persona",
     "servers", "functions", "schema", "template", "templates", "middleware"}
)  # fmt: skip
_SETS_UP = frozenset(
    {"register", "configure", "setup", "init", "initialize", "initialise", "load", "with", "build", "install", "reset",
     "clear", "restore", "connect", "start", "refresh_tools", "enable", "disable", "use", "open", "close", "reload"}
)  # fmt: skip
_CHANGES = frozenset(
    {"append", "extend", "insert", "pop", "popleft", "remove", "discard", "add", "update", "appendleft", "setdefault"}
)  # fmt: skip
# What the user says in a turn; a task or a prompt may be that of a whole run.
_ASKED = frozenset({"question", "query", "text", "utterance", "message", "msg"})
_DEPTH = 5


def state_in(shape: Shape, function: str, text: Expr, conditions: tuple[Condition, ...]) -> str | None:
    """The state that a text holds, as it is spelt; `conditions` are those around the place where it is written."""
    loops = [condition for condition in conditions if condition.kind in ("for", "while")]
    stack = [(text, function, _DEPTH)]
    seen: set[tuple[str, str]] = set()
    while stack:
        root, inside, depth = stack.pop()
        for part in _outermost(root):
            if is_constant_name(part) or is_history(part):
                continue
            name = part.name or ""
            if part.kind in ("name", "attribute") and name:
                if found := _known_state(shape, inside, part, loops if inside == function else []):
                    return found
                if depth and (inside, name) not in seen:
                    seen.add((inside, name))
                    stack += [(value, where, depth - 1) for value, where in _meanings(shape, inside, part)]
            elif part.call is not None:
                if inside == function and _is_asked(shape, function, part.call):
                    return f"{part.call.name}()"
                local = shape.local_function(part.call, inside) if depth else ""
                if local and (local, "") not in seen:
                    seen.add((local, ""))
                    stack += [(item.value, local, depth - 1) for item in shape.returns(local) if item.value is not None]
    return None


def _outermost(root: Expr) -> Iterator[Expr]:
    """An expression and its parts, of `self.state.value` not also `self.state`; `state["stage"]` as `state.stage`."""
    inner: set[int] = set()
    for part in walk(root):
        dotted = _dotted(part)
        if "." in dotted:
            inner |= {id(below) for below in walk(part) if below is not part}
        if id(part) not in inner:
            yield Expr("attribute", part.span, name=dotted) if part.kind == "subscript" and dotted else part


def _dotted(expr: Expr) -> str:
    """The name of an attribute or of an item with a written key; "" for anything else."""
    if expr.kind in ("name", "attribute"):
        return "" if (expr.name or "").startswith(".") else expr.name or ""
    if expr.kind != "subscript":
        return ""
    whole, key = _dotted(expr.items[0]), expr.items[1].value
    return f"{whole}.{key}" if whole and isinstance(key, str) and key.isidentifier() else ""


def _is_asked(shape: Shape, function: str, call: Call) -> bool:
    """Whether a call works something out from what the user has just said, as a parameter of the function."""
    given = (*call.args, *call.keywords.values())
    return any(shape.is_parameter(function, arg) and not words_of_name(arg).isdisjoint(_ASKED) for arg in given)


def _meanings(shape: Shape, function: str, part: Expr) -> Iterator[tuple[Expr, str]]:
    """What a local name was bound to there, and what a property gives back."""
    known = shape.view.functions.get(function)
    if part.kind == "name":
        for item in shape.bindings(function, part):
            if item.value is not None and item.function == function and item.operator in ("=", ":=", "+="):
                yield item.value, function
    elif known is not None and (part.name or "").startswith("self.") and (part.name or "").count(".") == 1:
        method = f"{known.owner}.{last_part(part.name)}"
        if method in shape.view.functions and shape.view.functions[method].decorators:
            for item in shape.returns(method):
                if item.value is not None:
                    yield item.value, method


def _known_state(shape: Shape, function: str, part: Expr, loops: list[Condition]) -> str | None:
    name = part.name or ""
    if "." in name:
        root = Expr("name", part.span, name=name.partition(".")[0])
        given = shape.is_parameter(function, root) and root.name != "self" and not _GIVEN.isdisjoint(_last_words(part))
        return name if given or _is_set_anew(shape, function, part) else None
    if any(_is_worked_off(part, loop) for loop in loops):
        return name
    if shape.is_parameter(function, part):
        return name if not _GIVEN.isdisjoint(_last_words(part)) and not shape.bindings(function, part) else None
    if any(_moves_on(shape, function, part, loop) for loop in loops):
        return name
    of_module = bool(shape.bindings(function, part)) and not any(b.function for b in shape.bindings(function, part))
    return name if of_module and _is_set_anew(shape, function, part) else None


def _last_words(part: Expr) -> set[str]:
    """`dialog_state` is a state, `state_prompt` is none."""
    return name_words(last_part(part.name).rpartition("_")[2])


# Attributes, and dicts and lists of the module


def _is_set_anew(shape: Shape, function: str, part: Expr) -> bool:
    """Whether a function that is handed the same object writes an attribute while the chat goes on, a method that of
    its class; or anything that a name of the module holds."""
    name = part.name or ""
    if not _SETTINGS.isdisjoint(words_of_name(part)):
        return False
    root, home = name.partition(".")[0], shape.home(function, name)
    for where, written, value, conditions in _writes(shape):
        if not _same(name, written) or _sets_up(where) or shape.home(where, written) == "class ":
            continue
        own = home == shape.home(where, written) if root in ("self", "cls") else _shares(shape, function, where, root)
        if own and not _is_lazy(written, conditions) and _tells(shape, where, written, value):
            return True
    return False


def _shares(shape: Shape, function: str, other: str, root: str) -> bool:
    """Whether two functions are given, or find in the module, what they call by the same name."""
    known = [shape.view.functions[name].parameters for name in (function, other) if name in shape.view.functions]
    given = [root in parameters for parameters in known]
    own = [b for b in shape.view.bindings if b.target and b.target.name == root and b.function in (function, other)]
    return len(known) == 2 and not own and all(given) is any(given)


_Write = tuple[str, str, "Expr | None", tuple[Condition, ...]]


def _writes(shape: Shape) -> list[_Write]:
    """The statements of functions that change an object: where, its name, what it becomes (None where what it was
    stays a part of it)."""
    known = shape.view.memo.get("writes")
    if isinstance(known, list):
        return known
    out: list[_Write] = []
    for binding in shape.view.bindings:
        for target in _targets(binding):
            written = _written(target)
            if written and binding.function and target.kind != "name":
                changed = binding.operator not in ("=", "for", "with") or (
                    target.kind == "subscript" and not _dotted(target)
                )
                out.append((binding.function, written, None if changed else binding.value, binding.conditions))
    for call in shape.view.calls:
        written = _written(call.receiver) if call.receiver is not None and last_part(call.name) in _CHANGES else ""
        if written and call.function:
            out.append((call.function, written, None, call.conditions))
    shape.view.memo["writes"] = out
    return out


def _targets(binding: Binding) -> list[Expr]:
    target = binding.target
    if target is None:
        return []
    return target.items if target.kind in ("tuple", "list") else [target]


def _written(target: Expr) -> str:
    """`self.state.a` of `self.state["a"][number] = …`."""
    while target.kind == "subscript" and not _dotted(target):
        target = target.items[0]
    return _dotted(target)


def _same(read: str, written: str) -> bool:
    """Whether what is read is what was written, a part of it, or an object whose part was."""
    if written.startswith(f"{read}."):
        return not _STATES.isdisjoint(name_words(last_part(read)) | name_words(last_part(written)))
    return read == written or read.startswith(f"{written}.")


def _sets_up(function: str) -> bool:
    return is_setup(function) or not _SETS_UP.isdisjoint(last_part(function).strip("_").lower().split("_"))


def _is_lazy(written: str, conditions: tuple[Condition, ...]) -> bool:
    """Whether a test looks at the attribute itself: `if self.profile is None: self.profile = …` is done once."""
    return any(
        part.name == written
        for condition in conditions
        if condition.kind in ("if", "left", "while") and condition.test is not None
        for part in walk(condition.test)
    )


def _tells(shape: Shape, function: str, written: str, value: Expr | None) -> bool:
    """Whether a value is made of the one before, or of the turn, or stands for a state by its name."""
    if value is None or any(part.name == written for part in walk(value)):
        return True
    if not _STATES.isdisjoint(name_words(last_part(written))):
        return value.kind != "constant" or bool(value.value)
    calls = [part.call for part in walk(value) if part.call is not None]
    return any(takes_turn(shape, function, arg) for call in calls for arg in (*call.args, *call.keywords.values()))


# Loops


def _is_worked_off(part: Expr, loop: Condition) -> bool:
    """Whether a loop goes on for as long as a name has something left: `while any(not t.done for t in plan)`."""
    test = loop.test
    if loop.kind != "while" or test is None or test.kind == "name":
        return False
    return any(inner.kind == "name" and inner.name == part.name for inner in walk(test))


def _moves_on(shape: Shape, function: str, part: Expr, loop: Condition) -> bool:
    """Whether a round of the loop leaves a name with another value for the next one: made of the one before, or of two
    kinds, one of them from before the loop."""
    name = part.name
    if loop.target is not None and any(inner.name == name for inner in walk(loop.target)):
        return loop.kind == "for" and loop.test is not None and loop.test.call is not None
    bound = [item for item in shape.bindings(function, part) if item.function == function]
    own = [item for item in bound if any(condition.test is loop.test for condition in item.conditions)]
    for item in own:
        if item.operator in ("+=", "op="):
            return True
        if item.value is not None and len(bound) > len(own) and any(inner.name == name for inner in walk(item.value)):
            return True
    return any(
        last_part(call.name) in _CHANGES and any(condition.test is loop.test for condition in call.conditions)
        for call in shape.mutations(function, part)
        if len(bound) > len(own)
    )
