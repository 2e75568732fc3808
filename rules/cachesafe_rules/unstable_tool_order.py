"""CSF204 unstable-tool-order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.expressions import last_part, walk, words
from cachesafe_rules.model import Call, Display, Expr, Span
from cachesafe_rules.needles import TOOLS
from cachesafe_rules.observers import AGENT_CALLEES
from cachesafe_rules.shape import SEND, Shape, shape_of
from cachesafe_rules.unordered import unordered

__all__ = ["UnstableToolOrder"]

_FIELDS = ("tools", "functions", "tool_names")
_SCHEMA = ("required", "enum", "properties")
# Where a tool has its schema, and who takes one.
_TAKES = frozenset({"parameters", "input_schema", "inputSchema", "args_schema", "json_schema", "schema",
                    "response_format", "function", "output_schema"})  # fmt: skip
_MAKERS = re.compile(r"Tool|Function|tool|function")
_TYPES = frozenset({"object", "string", "integer", "number", "array", "boolean", "null"})
# Without messages, a dict with a model and tools is a request only if there is nothing else in it than this: others are
# settings that are stored.
_REQUEST = frozenset(
    {"model", "tools", "functions", "max_tokens", "max_output_tokens", "max_completion_tokens", "temperature", "top_p",
     "top_k", "stop", "stop_sequences", "n", "seed", "stream", "stream_options", "tool_choice", "parallel_tool_calls",
     "function_call", "metadata", "extra_body", "extra_headers", "timeout", "response_format", "reasoning",
     "reasoning_effort", "thinking", "user", "betas", "presence_penalty", "frequency_penalty", "logprobs", "store",
     "system", "instructions", "system_prompt", "contents", "prompt_cache_key", "cache_control", "service_tier"}
)  # fmt: skip
# What stands beside the tools of a request or of an agent, what is called so, and who takes them.
_BESIDE = frozenset(
    {"messages", "model", "max_tokens", "contents", "input", "system", "instructions", "system_prompt", "llm", "prompt"}
)
_REQUESTS = re.compile(
    r"(?:^|_)(?:kwargs|params|parameters|request|req|payload|body|options|args|call|completion|input|agent)(?:$|_)"
)
_MOVING = frozenset(
    {"score", "scores", "usage", "used", "last", "count", "counts", "hits", "rank", "relevance", "recent", "popularity",
     "random", "frequency", "similarity", "latency", "time"}
)  # fmt: skip
_HELP = "sort by name once, before the tools are turned into definitions: sorted(tools, key=lambda t: t.name)"


class UnstableToolOrder(Rule):
    """The order of the tools, or of a tool's schema, is not fixed.

    A set counts where it holds the tools or their names; tools found by way of other things are not reported.

    What is wrong
    -------------
    The list of tools comes from a set, is shuffled, or is sorted by something that moves (use counts, scores). The same
    holds for `required`, `enum` and `properties` of a schema.

    Why
    ---
    Strings hash differently in each process (PYTHONHASHSEED), so a set of names has another order after each start and
    in each worker. Tool definitions stand at the very front of the request, and reordering them voids everything
    ("Prompt caching", invalidation table, Claude Platform Docs, read 2026-11-29; same at OpenAI).

    What to do
    ----------
    Sort by name, once.
    """

    code = "CSF204"
    name = "unstable-tool-order"
    severity = "warning"
    needles = TOOLS
    INVALID = (
        Example(
            "def build(enabled, messages):\n"
            "    names = {'search', 'fetch'} | set(enabled)\n"
            "    return {'model': 'm', 'tools': [tool(name) for name in names], 'messages': messages}\n",
            (2, 3),
        ),
        Example(
            "from agents import Agent\n\n"
            "agent = Agent(name='a', instructions='You help.', tools=list(set([search, fetch])))\n",
            (3,),
        ),
        Example(
            "import random\n\n"
            "def ask(client, messages, tools):\n"
            "    random.shuffle(tools)\n"
            "    return client.chat.completions.create(model='m', messages=messages, tools=tools)\n",
            (4,),
        ),
        Example(
            "def ask(client, messages, tools):\n"
            "    ranked = sorted(tools, key=lambda t: t.last_used, reverse=True)\n"
            "    return client.chat.completions.create(model='m', messages=messages, tools=ranked)\n",
            (2,),
        ),
        Example(
            "def schema(names):\n"
            "    return {'type': 'object', 'properties': {n: {'type': 'string'} for n in sorted(names)},\n"
            "            'required': list(set(names))}\n",
            (3,),
        ),
    )
    VALID = (
        Example(
            "def build(enabled, messages):\n"
            "    names = sorted({'search', 'fetch'} | set(enabled))\n"
            "    return {'model': 'm', 'tools': [tool(name) for name in names], 'messages': messages}\n"
        ),
        Example(
            "def build(tools, messages, wanted):\n"
            "    allowed = set(wanted)\n"
            "    return {'model': 'm', 'tools': [t for t in tools if t['name'] in allowed], 'messages': messages}\n"
        ),
        Example(
            "def ask(client, messages, tools):\n"
            "    tools = sorted(tools, key=lambda t: t['name'])\n"
            "    return client.chat.completions.create(model='m', messages=messages, tools=tools)\n"
        ),
        Example(
            "def ask(client, messages, tools):\n"
            "    unique = list({t['name']: t for t in tools}.values())\n"
            "    return client.chat.completions.create(model='m', messages=messages, tools=unique)\n"
        ),
        Example(
            "def choice(allowed):\n"
            "    names = set(allowed)\n"
            "    return AllowedToolChoice(mode='auto', tools=[{'type': 'function', 'name': n} for n in names])\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for value, function, what in _lists(shape):
            for span, why in _moving(shape, function, value):
                if span not in seen:
                    seen.add(span)
                    yield Report(
                        f"the order of {what} comes from {why} and is not the same in every request", span, help=_HELP
                    )


def _lists(shape: Shape) -> Iterator[tuple[Expr, str, str]]:
    for call in shape.view.calls:
        if "choice" in last_part(call.name).lower():
            # Which of the tools may be called; that is no part of the prompt.
            continue
        for key in _FIELDS[:2]:
            if key in call.keywords and _asks(call):
                yield call.keywords[key], call.function, "the tools"
        if last_part(call.name) == "bind_tools" and call.args:
            yield call.args[0], call.function, "the tools"
    for display in shape.view.dicts:
        fields = display.expr.entries
        for key in _FIELDS[:2]:
            if key in fields and (
                "messages" in fields or "input" in fields or ("model" in fields and fields.keys() <= _REQUEST)
            ):
                yield fields[key], display.function, "the tools"
        if "type" in fields and _of_schema(fields["type"]) and not _kept_away(shape, display):
            for key in _SCHEMA:
                if key in fields:
                    yield fields[key], display.function, f"a schema's {key}"
    senders = {request.function for request in shape.requests}
    for binding in shape.view.bindings:
        target = binding.target
        if (
            target is not None
            and binding.value is not None
            and target.kind == "subscript"
            and target.items[1].value in _FIELDS[:2]
            and (binding.function in senders or _REQUESTS.search(last_part(target.items[0].name).lower()))
        ):
            yield binding.value, binding.function, "the tools"


def _kept_away(shape: Shape, display: Display) -> bool:
    """Whether a schema goes by a name that is only handed to what is no tool and no request: it is stored."""
    names = [
        binding.target.name
        for binding in shape.view.bindings
        if binding.value is display.expr and binding.target is not None and binding.target.kind == "name"
    ]
    if not names or not display.function:
        return False
    name, kept = names[0], False
    for call in shape.view.calls:
        if call.function != display.function:
            continue
        for key, value in call.keywords.items():
            if any(part.name == name for part in walk(value) if part.kind == "name"):
                if key in _TAKES or key in _FIELDS or _MAKERS.search(last_part(call.name)):
                    return False
                kept = True
        if any(part.name == name for arg in call.args for part in walk(arg) if part.kind == "name"):
            return False
    for other in shape.view.dicts:
        if other.function != display.function or other.expr is display.expr:
            continue
        if any(part.name == name for value in other.expr.entries.values() for part in walk(value)):
            return False
    for binding in shape.view.bindings:
        if binding.function != display.function or binding.value is None or binding.value is display.expr:
            continue
        if binding.value.call is not None:
            # Its arguments were looked at above.
            continue
        if any(part.name == name for part in walk(binding.value) if part.kind == "name"):
            target = binding.target
            if target is None or target.kind != "attribute" or last_part(target.name) in _TAKES:
                return False
            kept = True
    return kept


def _asks(call: Call) -> bool:
    """Whether a call with tools makes an agent or asks a model: others only write them down."""
    name = last_part(call.name)
    return bool(AGENT_CALLEES.search(name)) or name in SEND or not _BESIDE.isdisjoint(call.keywords)


def _of_schema(kind: Expr) -> bool:
    """Whether the `type` of a dict is one of JSON Schema's."""
    return isinstance(kind.value, str) and kind.value.lower() in _TYPES


def _moves(key: Expr) -> bool:
    body = key.items[0] if key.kind == "lambda" else key
    # In `(t.name, t.count)` the name decides.
    return not _MOVING.isdisjoint(words(body.items[0] if body.kind == "tuple" and body.items else body))


def _moving(shape: Shape, function: str, value: Expr) -> Iterator[tuple[Span, str]]:
    if why := unordered(shape, function, value):
        yield value.span, why
        return
    for part in shape.flow_of_field(value, function):
        call = part.expr.call
        if call is not None and last_part(call.name) == "sorted" and "key" in call.keywords:
            key = call.keywords["key"]
            if _moves(key):
                yield call.span, "a sort by what moves"
    if value.kind in ("name", "attribute"):
        for call in shape.view.calls:
            shuffles = call.target.endswith("random.shuffle") or call.name.endswith(".shuffle")
            if shuffles and call.function == function and call.args and call.args[0].name == value.name:
                yield call.span, f"{call.name}()"
        for call in shape.mutations(function, value):
            if last_part(call.name) == "sort" and "key" in call.keywords and _moves(call.keywords["key"]):
                yield call.span, "a sort by what moves"
