"""CSF203 unsorted-json."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Fix, Report, Rule
from cachesafe_rules.expressions import last_part, walk
from cachesafe_rules.model import Call, Expr, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.shape import Shape, shape_of
from cachesafe_rules.unordered import unordered

__all__ = ["UnsortedJson"]

_HELP = "json.dumps(…, sort_keys=True), and sorted(…) for sets; never for tool-call arguments the model wrote itself"
_DUMPS = frozenset({"json.dumps", "ujson.dumps", "simplejson.dumps", "orjson.dumps"})
_RESULT = "a tool result"
_SYSTEM = ("system", "instructions", "system_prompt", "system_instruction", "system_message")


class UnsortedJson(Rule):
    """JSON of unordered data goes into the prompt without sorted keys.

    What is wrong
    -------------
    `json.dumps` without `sort_keys=True` writes keys in the order in which they were put in. That order is another one
    after a database that reorders keys (PostgreSQL's jsonb), after a merge, or when the data comes from a set.

    When it is reported
    -------------------
    - A set becomes JSON in the system text or in a tool's description.
    - A function makes a tool message of a parameter itself, which may be dumped anew for each request. A display has
      the order in which it is written, and a result that its own function has computed becomes text once; so does a
      message that is only appended to the chat. This is told of a file of up to 40 rows that no other file imports;
      in other files nobody sees whether the keys come in another order the next time.

    Why
    ---
    The same data in another order is another text, and prompt caches compare text. A tool result that is dumped again
    for each request, or a set in the system text, breaks the prefix although nothing changed.

    What to do
    ----------
    `sort_keys=True` for results, schemas and settings. Not for the arguments of tool calls that the model wrote: they
    must be sent back as they came, or the reuse of the generated tokens is lost.
    """

    code = "CSF203"
    name = "unsorted-json"
    severity = "note"
    needles = (*CHAT, b'"tool"', b"'tool'", b'"description"', b"'description'")
    INVALID = (
        Example(
            "import json\n\n"
            "def build(history, result):\n"
            "    return [{'role': 'system', 'content': 'You help.'}, *history,\n"
            "            {'role': 'tool', 'tool_call_id': 'c1', 'content': json.dumps(result)}]\n",
            (5,),
        ),
        Example(
            "import json\n\n"
            "def build(tags, text):\n"
            "    names = json.dumps(list(set(tags)))\n"
            "    return [{'role': 'system', 'content': f'Tags: {names}'}, {'role': 'user', 'content': text}]\n",
            (4, 5),
        ),
        Example(
            "import json\n\n"
            "def ask(client, messages, fields):\n"
            "    return client.messages.create(model='m', max_tokens=9, messages=messages,\n"
            "        system='Fields: ' + json.dumps({name: 'text' for name in set(fields)}))\n",
            (5,),
        ),
    )
    VALID = (
        Example(
            "import json\n\n"
            "def build(history, result):\n"
            "    return [{'role': 'system', 'content': 'You help.'}, *history,\n"
            "            {'role': 'tool', 'tool_call_id': 'c1', 'content': json.dumps(result, sort_keys=True)}]\n"
        ),
        Example(
            "import json\n\n"
            "def replay(history, call):\n"
            "    return [*history, {'role': 'assistant', 'tool_calls': [\n"
            "        {'id': call.id, 'function': {'name': call.name, 'arguments': json.dumps(call.arguments)}}]}]\n"
        ),
        Example(
            "import json\n\n"
            "def build(tags, text):\n"
            "    names = json.dumps(sorted(set(tags)))\n"
            "    return [{'role': 'system', 'content': f'Tags: {names}'}, {'role': 'user', 'content': text}]\n"
        ),
        Example("import json\n\ndef store(path, data):\n    path.write_text(json.dumps(list(set(data))))\n"),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for call, what in [*_results(shape), *_system(shape)]:
            if call.span not in seen:
                seen.add(call.span)
                yield Report(
                    f"{call.name}() without sort_keys writes {what} in an order of its own",
                    call.span,
                    help=_HELP,
                    # Of a result nobody sees whether its keys come in another order the next time.
                    data={"shown": what != _RESULT},
                )

    def fix(self, report: Report, source: str) -> Fix | None:
        from cachesafe_rules.edits import sort_keys_fix

        return sort_keys_fix(report, source)


def _is_unsorted(call: Call) -> bool:
    if call.target not in _DUMPS:
        return False
    keys = call.keywords.get("sort_keys")
    return "option" not in call.keywords and (keys is None or keys.value is False)


def _results(shape: Shape) -> Iterator[tuple[Call, str]]:
    """Tool results that are dumped while the request is put together around the stored history."""
    for found in shape.view.lists:
        if any(item.role == "*" for item in found.items):
            for item in found.items:
                call = item.content.call if item.role == "tool" and item.content is not None else None
                if call is not None and _is_unsorted(call) and _handed_in(shape, found.function, call):
                    yield call, _RESULT
    for binding in shape.view.bindings:
        value = binding.value
        if binding.operator == "return" and value is not None and value.kind == "dict":
            role, content = value.entries.get("role"), value.entries.get("content")
            if (
                role is not None
                and role.value == "tool"
                and content is not None
                and content.call is not None
                and _is_unsorted(content.call)
                and _handed_in(shape, binding.function, content.call)
                and not _kept_as_text(shape, binding.function)
            ):
                yield content.call, _RESULT


def _handed_in(shape: Shape, function: str, call: Call) -> bool:
    """Whether a parameter itself is dumped, which may come again with the next request.

    A display has the order in which it is written, and what the function has just computed becomes text here, once.
    """
    value = call.args[0] if call.args else None
    return value is not None and shape.is_parameter(function, value) and not shape.bindings(function, value)


_KEEPING = frozenset({"append", "add", "add_message"})


def _kept_as_text(shape: Shape, function: str) -> bool:
    """Whether every call in the file puts the message into a list that is kept, where its text stays as it is."""
    name = last_part(function)
    calls = [call for call in shape.view.calls if last_part(call.name) == name]
    kept: set[int] = set()
    for call in shape.view.calls:
        for arg in call.args if last_part(call.name) in _KEEPING else ():
            kept.add(id(shape.resolve(call.function, arg).call))
    return bool(calls) and all(id(call) in kept for call in calls)


def _system(shape: Shape) -> Iterator[tuple[Call, str]]:
    """Sets that are dumped into the system text or a tool's definition."""
    texts: list[tuple[Expr, str]] = []
    for found in shape.view.lists:
        texts += [(item.content, found.function) for item in found.items if item.role == "system" and item.content]
    for call in shape.view.calls:
        texts += [(call.keywords[key], call.function) for key in (*_SYSTEM, "description") if key in call.keywords]
    for display in shape.view.dicts:
        fields = display.expr.entries
        keys = [*(key for key in _SYSTEM if key in fields), *(["description"] if "name" in fields else [])]
        texts += [(fields[key], display.function) for key in keys if key in fields]
    for text, function in texts:
        for part in walk(text):
            value = shape.resolve(function, part)
            for inner in walk(value) if value is not part else (part,):
                if (
                    inner.call is not None
                    and _is_unsorted(inner.call)
                    and inner.call.args
                    and (what := unordered(shape, function, inner.call.args[0])) is not None
                ):
                    yield inner.call, what
