"""Message lists that are put together step by step: a list display, then `append`, `extend` and `+=`."""

from __future__ import annotations

from cachesafe_rules.expressions import last_part
from cachesafe_rules.model import Condition, Expr, MessageItem, MessageList, Span
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import Shape

__all__ = ["assembled_lists", "role_and_content"]

# `OpenAISystemMessageParam`
_SYSTEM = lazy_pattern(r"(?:System|Developer)(?:Chat)?(?:Message|Param)")
_CONTENT = ("content", "text", "parts")
_CONSTRUCTED = {"System": "system", "Developer": "system", "Human": "user", "User": "user", "AI": "assistant",
                "Assistant": "assistant", "Tool": "tool"}  # fmt: skip


# Where something is added, what, whether it is several, and under which conditions.
_Step = tuple[Span, Expr, bool, tuple[Condition, ...]]
_ROLES = frozenset({"system", "developer", "user", "human", "assistant", "tool"})


def role_and_content(item: Expr) -> tuple[str, Expr | None]:
    """Role and content of a message display or constructor; ("", None) for anything else."""
    fields = item.call.keywords if item.call is not None else item.entries
    content = next((fields[key] for key in _CONTENT if key in fields), None)
    role = fields.get("role")
    word = str(role.value) if role is not None and role.kind == "constant" else ""
    if role is not None and role.name and not word:
        # Role.system, ChatRole.USER
        spelt = last_part(role.name).lower()
        word = spelt if spelt in _ROLES else ""
    if item.call is not None:
        name = last_part(item.call.name)
        if not name.endswith(("Message", "MessageParam")) and not word:
            return "", None
        if content is None and item.call.args:
            content = item.call.args[0]
        named = _SYSTEM.search(name) and "system"
        word = named or next((known for start, known in _CONSTRUCTED.items() if name.startswith(start)), word)
    elif not item.entries:
        return "", None
    return {"developer": "system", "human": "user"}.get(word, word), content


def assembled_lists(shape: Shape) -> list[MessageList]:
    """The lists of each name that a function starts with a list display and appends messages to, in the order of the
    source: one, or one for each branch of an `if` where both append. What is appended in a loop stands as one item of
    role "*": the loop's iterable."""
    known = shape.view.memo.get("assembled")
    if isinstance(known, list):
        return known
    out: list[MessageList] = []
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if binding.operator != "=" or target is None or value is None or target.kind != "name":
            continue
        if value.kind == "list" and binding.function:
            out += _assembled(shape, binding.function, target, value, binding.conditions)
    shape.view.memo["assembled"] = out
    return out


def _assembled(shape: Shape, function: str, name: Expr, first: Expr, outer: tuple[Condition, ...]) -> list[MessageList]:
    steps: list[_Step] = []
    for call in shape.mutations(function, name):
        method = last_part(call.name)
        if (
            method in ("append", "extend")
            and call.function == function
            and len(call.args) == 1
            and call.span > first.span
        ):
            steps.append((call.span, call.args[0], method == "extend", call.conditions))
    for binding in shape.bindings(function, name):
        if binding.operator == "+=" and binding.value is not None and binding.span > first.span:
            steps.append((binding.span, binding.value, True, binding.conditions))
        elif binding.operator == "=" and binding.span > first.span:
            return []
    made = [_joined(first, branch, function, outer) for branch in _branches(sorted(steps, key=lambda s: s[0]))]
    return [found for found in made if found is not None]


def _branches(steps: list[_Step], depth: int = 3) -> list[list[_Step]]:
    """The steps that one run can take: those of one branch only of an `if` that has steps in both."""
    sides: dict[int, set[bool]] = {}
    for step in steps:
        for condition in step[3]:
            if condition.kind == "if" and condition.test is not None:
                sides.setdefault(id(condition.test), set()).add(condition.negated)
    both = next((test for test, seen in sides.items() if len(seen) > 1), None)
    if both is None or depth < 1:
        return [steps] if steps else []
    out = []
    for side in (False, True):
        out += _branches(
            [s for s in steps if not any(id(c.test) == both and c.negated is not side for c in s[3])], depth - 1
        )
    return out


def _joined(first: Expr, steps: list[_Step], function: str, outer: tuple[Condition, ...]) -> MessageList | None:
    items = [_item(element) for element in first.items]
    loops: set[int] = set()
    for _, value, many, conditions in steps:
        inner = [condition for condition in conditions if condition not in outer]
        loop = next((condition for condition in inner if condition.kind == "for"), None)
        if any(condition.kind in ("except", "while") for condition in inner):
            return None
        if loop is not None and loop.test is not None:
            if id(loop.test) not in loops:
                loops.add(id(loop.test))
                items.append(MessageItem("*", None, loop.test))
        elif many and value.kind == "list":
            items += [_item(element) for element in value.items]
        elif many:
            items.append(MessageItem("*", None, value))
        else:
            items.append(_item(value))
    if not any(item.role in ("system", "user") for item in items):
        return None
    return MessageList(first.span, items, function, outer, None)


def _item(element: Expr) -> MessageItem:
    if element.kind == "star":
        return MessageItem("*", None, element)
    role, content = role_and_content(element)
    return MessageItem(role, content, element)
