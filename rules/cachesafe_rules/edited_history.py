"""CSF307 edited-history."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.model import Binding, Call, Condition, Expr, Span
from cachesafe_rules.shape import Shape, shape_of
from cachesafe_rules.turns import changing_value, is_setup, is_side_call, overflow_guarded, volatile_in

__all__ = ["EditedHistory"]

_CONTENT = frozenset({"content", "text", "parts"})
_SPACE = frozenset({"strip", "lstrip", "rstrip", "split", "splitlines", "expandtabs"})
_IMAGE = frozenset({"b64encode", "resize", "thumbnail", "encode_image", "reencode", "compress_image", "to_base64"})
_HELP = "store each message as it was sent and send it again unchanged; add new text in the newest message only"


class EditedHistory(Rule):
    """Earlier messages are changed before they are sent again.

    What is wrong
    -------------
    Old messages get a time stamp, are cut, stripped, re-encoded, replaced by a placeholder or left out, or the first
    message is rewritten.

    Why
    ---
    A prompt cache reuses what is equal from the front. A message that is sent again in another form ends the reuse
    there. Even a change that is always the same (a strip) differs from the tokens the engine generated and keeps: the
    answer is processed a second time. Anthropic's cache diagnostics call this `messages_changed` ("Prompt caching",
    Claude Platform Docs, read 2026-11-29).

    What to do
    ----------
    Stamp, cut and encode a message once, when it is stored; send the stored form. Clear old tool results in one step
    when the context limit is near.
    """

    code = "CSF307"
    name = "edited-history"
    severity = "warning"
    needles = (b"history", b"messages", b"msgs", b"conversation", b"turns")
    INVALID = (
        Example(
            "from datetime import datetime\n\n"
            "def build(history, text):\n"
            "    now = datetime.now().isoformat()\n"
            "    old = [{'role': m['role'], 'content': f'[{now}] ' + m['content']} for m in history]\n"
            "    return {'model': 'm', 'messages': old + [{'role': 'user', 'content': text}]}\n",
            (5,),
        ),
        Example(
            "def build(history, text):\n"
            "    messages = []\n"
            "    for i, m in enumerate(history):\n"
            "        if i < len(history) - 3:\n"
            "            m['content'] = m['content'][:200]\n"
            "        messages.append(m)\n"
            "    return {'model': 'm', 'messages': messages + [{'role': 'user', 'content': text}]}\n",
            (5,),
        ),
        Example(
            "def build(history, text):\n"
            "    kept = [m for m in history if m['role'] != 'assistant']\n"
            "    return {'model': 'm', 'messages': [*kept, {'role': 'user', 'content': text}]}\n",
            (2,),
        ),
        Example(
            "def build(history, text):\n"
            "    return {'model': 'm', 'messages': [\n"
            "        *({'role': m['role'], 'content': m['content'].strip()} for m in history),\n"
            "        {'role': 'user', 'content': text}]}\n",
            (3,),
        ),
        Example(
            "class Agent:\n"
            "    def step(self, step):\n"
            "        self.messages[0]['content'] = f'You are at step {step}.'\n"
            "        return self.client.chat.completions.create(model='m', messages=self.messages)\n",
            (3,),
        ),
        Example(
            "import base64\n\n"
            "def build(history, text):\n"
            "    for m in history:\n"
            "        if m.get('image'):\n"
            "            m['content'] = base64.b64encode(shrink(m['image'])).decode()\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': text}]}\n",
            (6,),
        ),
    )
    VALID = (
        Example(
            "def build(history, text):\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': text.strip()}]}\n"
        ),
        Example(
            "def convert(messages):\n"
            "    system = [m['content'] for m in messages if m['role'] == 'system']\n"
            "    rest = [{'role': m['role'], 'content': m['content']} for m in messages if m['role'] != 'system']\n"
            "    return {'model': 'm', 'system': system[0], 'messages': rest}\n"
        ),
        Example(
            "def build(history, text):\n"
            "    messages = [*history, {'role': 'user', 'content': text}]\n"
            "    messages[-1]['content'] += ' Answer in one sentence.'\n"
            "    return {'model': 'm', 'messages': messages}\n"
        ),
        Example(
            "def send(client, messages):\n"
            "    if count_tokens(messages) > CONTEXT_LIMIT:\n"
            "        for i, m in enumerate(messages):\n"
            "            if i < len(messages) - 3:\n"
            "                m['content'] = '[cleared]'\n"
            "    return client.chat.completions.create(model='m', messages=messages)\n"
        ),
        Example(
            "def show(history):\n    return '\\n'.join(m['content'].strip() for m in history if m['role'] == 'user')\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for span, what in [*_rebuilt(shape), *_assigned(shape), *_appended(shape), *_first(shape)]:
            if span not in seen:
                seen.add(span)
                yield Report(f"{what}: what was cached of them no longer matches", span, help=_HELP)


def _rebuilt(shape: Shape) -> Iterator[tuple[Span, str]]:
    """Comprehensions over the history that flow into a request."""
    for part in shape.parts:
        expr = part.expr
        if expr.kind != "comprehension" or not _free(shape, part.function, part.conditions):
            continue
        generator = expr.generators[0]
        iterable = _over(generator.iterable)
        if not is_history(iterable):
            continue
        if _drops_answers(generator.tests):
            yield expr.span, "the assistant's answers are left out of the history"
            continue
        index = _index_of(generator.iterable, generator.target)
        if why := _altered(shape, part.function, expr.items[-1], index):
            yield expr.span, why


def _over(iterable: Expr) -> Expr:
    """What a loop runs over, without `enumerate` and slices."""
    while True:
        if iterable.call is not None and last_part(iterable.call.name) in ("enumerate", "list", "reversed"):
            if not iterable.call.args:
                return iterable
            iterable = iterable.call.args[0]
        elif iterable.kind == "subscript" and iterable.items[1].kind == "slice":
            iterable = iterable.items[0]
        else:
            return iterable


def _index_of(iterable: Expr, target: Expr) -> str | None:
    call = iterable.call
    if call is not None and last_part(call.name) == "enumerate" and target.kind == "tuple":
        return target.items[0].name
    if call is not None and last_part(call.name) == "range":
        return target.name
    return None


def _drops_answers(tests: list[Expr]) -> bool:
    for test in tests:
        if test.kind != "operation" or len(test.items) != 2 or test.name not in ("!=", "=="):
            continue
        value = test.items[1].value if test.items[1].kind == "constant" else None
        if not _names_role(test.items[0]):
            continue
        if (test.name == "!=" and value in ("assistant", "ai", "model")) or (
            test.name == "==" and value in ("user", "human")
        ):
            return True
    return False


def _names_role(expr: Expr) -> bool:
    if expr.kind == "attribute":
        return last_part(expr.name) in ("role", "type")
    key = expr.items[1] if expr.kind == "subscript" else None
    if expr.call is not None and last_part(expr.call.name) == "get" and expr.call.args:
        key = expr.call.args[0]
    return key is not None and key.value in ("role", "type")


def _altered(shape: Shape, function: str, element: Expr, index: str | None) -> str | None:
    """What is done to a message on the way, None where it stays as it is or is only converted."""
    if found := volatile_in(shape, function, element):
        return f"{found}() is written into earlier messages"
    for part in walk(element):
        if part.kind == "conditional" and index and _mentions(part.items[0], index):
            return "earlier messages change with their distance from the end"
        if part.call is not None:
            name = last_part(part.call.name)
            if name in _IMAGE:
                return "images of earlier messages are encoded again"
            if name in _SPACE and part.call.receiver is not None and _is_content(part.call.receiver):
                return "white space of earlier messages is changed"
    return None


def _is_content(expr: Expr) -> bool:
    if expr.kind == "attribute":
        return last_part(expr.name) in _CONTENT
    if expr.kind == "subscript":
        return expr.items[1].value in _CONTENT
    call = expr.call
    return call is not None and last_part(call.name) == "get" and bool(call.args) and call.args[0].value in _CONTENT


def _mentions(expr: Expr, name: str) -> bool:
    return any(part.name == name for part in walk(expr) if part.kind == "name")


def _free(shape: Shape, function: str, conditions: tuple[Condition, ...]) -> bool:
    return not overflow_guarded(shape, function, conditions) and not is_side_call(function) and not is_setup(function)


def _loops(conditions: tuple[Condition, ...]) -> Iterator[Condition]:
    for condition in conditions:
        if condition.kind == "for" and condition.test is not None and condition.target is not None:
            yield condition


def _sends(shape: Shape) -> set[str]:
    return {part.function for part in shape.parts} | {request.function for request in shape.requests}


def _assigned(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`m["content"] = …` in a loop over the history, in a function that builds a request."""
    sends = _sends(shape)
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if target is None or value is None or binding.function not in sends or not _is_content(target):
            continue
        if not _free(shape, binding.function, binding.conditions):
            continue
        for loop in _loops(binding.conditions):
            if loop.test is None or loop.target is None:
                continue
            ranged = loop.test.call is not None and last_part(loop.test.call.name) == "range"
            over = _over(loop.test)
            root = target.items[0]
            names = {part.name for part in walk(loop.target) if part.kind == "name"}
            if (is_history(over) and root.name in names) or (
                ranged and root.kind == "subscript" and is_history(root.items[0])
            ):
                if why := _why(shape, binding, value, _index_of(loop.test, loop.target)):
                    yield binding.span, why


def _why(shape: Shape, binding: Binding, value: Expr, index: str | None) -> str | None:
    if why := _altered(shape, binding.function, value, index):
        return why
    tests = [item.test for item in binding.conditions if item.kind == "if" and item.test is not None]
    if index and any(_mentions(test, index) for test in tests):
        return "earlier messages change with their distance from the end"
    return None


def _appended(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`messages.append({… m …})` in a loop over the history."""
    sends = _sends(shape)
    kept: dict[int, list[Call]] = {}
    for call in shape.view.calls:
        if (
            last_part(call.name) != "append"
            or not call.args
            or call.function not in sends
            or not is_history(call.receiver)
        ):
            continue
        for loop in _loops(call.conditions):
            if loop.test is None or loop.target is None or not is_history(_over(loop.test)):
                continue
            kept.setdefault(id(loop.test), []).append(call)
            if not _free(shape, call.function, call.conditions):
                continue
            item = shape.resolve(call.function, call.args[0])
            if item.kind in ("dict", "call", "fstring", "conditional"):
                if why := _altered(shape, call.function, item, _index_of(loop.test, loop.target)):
                    yield call.span, why
    for calls in kept.values():
        # Another append in the same loop takes care of the other roles.
        if (
            len(calls) == 1
            and _free(shape, calls[0].function, calls[0].conditions)
            and _skips_answers(calls[0].conditions)
        ):
            yield calls[0].span, "the assistant's answers are left out of the history"


def _skips_answers(conditions: tuple[Condition, ...]) -> bool:
    for condition in conditions:
        test = condition.test
        if condition.kind != "if" or test is None or test.kind != "operation" or len(test.items) != 2:
            continue
        if not _names_role(test.items[0]) or test.name not in ("==", "!="):
            continue
        value, same = test.items[1].value, (test.name == "==") != condition.negated
        if (value in ("assistant", "ai") and not same) or (value in ("user", "human") and same):
            return True
    return False


def _first(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`messages[0]["content"] = …` with a text of the turn."""
    sends = _sends(shape)
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if target is None or value is None or binding.function not in sends or binding.operator not in ("=", "+="):
            continue
        root = target.items[0] if _is_content(target) and target.items else target
        if root.kind != "subscript" or root.items[1].value not in (0, 1) or not is_history(root.items[0]):
            continue
        if root.items[1].kind != "constant" or isinstance(root.items[1].value, bool):
            continue
        if not _free(shape, binding.function, binding.conditions):
            continue
        if value.kind == "dict":
            value = value.entries.get("content", value)
        if value.call is not None and value.call.args and last_part(value.call.name).endswith("Message"):
            value = value.call.args[0]
        if found := changing_value(shape, binding.function, value):
            yield binding.span, f"the first message is rewritten with {found}"
