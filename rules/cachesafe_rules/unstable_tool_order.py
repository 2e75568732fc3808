"""CSF204 unstable-tool-order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.expressions import last_part, walk, words
from cachesafe_rules.model import Call, Expr, Span
from cachesafe_rules.needles import TOOLS
from cachesafe_rules.observers import AGENT_CALLEES
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import SEND, Shape, shape_of
from cachesafe_rules.tool_values import FIELDS, unwrapped
from cachesafe_rules.unordered import unordered

__all__ = ["UnstableToolOrder"]

_SCHEMA = ("required", "enum", "properties")
# Where a tool has its schema, who makes one, and functions that give one.
_TAKES = frozenset({"parameters", "input_schema", "inputSchema", "args_schema"})
_MAKERS = lazy_pattern(r"Tool|FunctionDe[cf]|FunctionSchema")
_NAMED = lazy_pattern(r"(?:tool|function|input|args)_(?:input_)?(?:schema|parameters)|^to_tool")
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
# What stands beside the tools of a request or of an agent, and what a request is called that is put together.
_BESIDE = frozenset({"messages", "contents", "input", "instructions", "chat_history", "history", "chat_ctx"})
_REQUESTS = lazy_pattern(r"(?:^|_)(?:kwargs|params|parameters|request|req|payload|body)(?:$|_)")
# Who makes an agent by a name of its own (`agent_cls`, `get_agentlet`).
_AGENT = lazy_pattern(r"agent(?:let|s)?(?:$|_(?:cls|class|factory|type)$)", re.IGNORECASE)
_MOVING = frozenset(
    {"score", "scores", "usage", "used", "last", "count", "counts", "hits", "rank", "relevance", "recent", "popularity",
     "random", "frequency", "similarity", "latency", "time"}
)  # fmt: skip
_HELP = (
    "sort once, before the tools are turned into definitions: names by sorted(names), tools by "
    "sorted(tools, key=lambda t: t.name)"
)


class UnstableToolOrder(Rule):
    """The order of the tools, or of a tool's schema, is not fixed.

    What is wrong
    -------------
    The list of tools comes from a set, is shuffled, or is sorted by something that moves (use counts, scores). The same
    holds for `required`, `enum` and `properties` of a tool's schema.

    When it is reported
    -------------------
    - The list is the `tools` of a request (beside its messages or instructions), of an agent that is made, or of
      `bind_tools`; a field `tools` of anything else is not sent by what is seen here. A schema stands in the definition
      of a tool, or the code around it is named for tools: others check arguments or are stored.
    - The order is lost in this file: in the expression, behind its names, in functions that it calls. Where a function
      gives back a set only for some of its arguments, the call must not name others.
    - The set holds the tools or their names; tools found by way of other things have an order of their own.

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
            "def search_tool(names):\n"
            "    schema = {'type': 'object', 'properties': {n: {'type': 'string'} for n in sorted(names)},\n"
            "              'required': list(set(names))}\n"
            "    return {'name': 'search', 'description': 'Searches.', 'input_schema': schema}\n",
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
            "def arguments(names):\n    return {'type': 'object', 'properties': {}, 'required': list(set(names))}\n"
        ),
        Example(
            "def store(db, tools):\n    db.add(Persona(name='a', system_prompt='You help.', tools=list(set(tools))))\n"
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
                    often = "in each process" if why == "a set" else "in every request"
                    yield Report(f"the order of {what} comes from {why} and is another one {often}", span, help=_HELP)


def _lists(shape: Shape) -> Iterator[tuple[Expr, str, str]]:
    schemas = _tool_schemas(shape)
    for call in shape.view.calls:
        if "choice" in last_part(call.name).lower():
            # Which of the tools may be called; that is no part of the prompt.
            continue
        for key in FIELDS & call.keywords.keys() if _asks(call) else ():
            for value in unwrapped(shape, call.function, key, call.keywords[key]):
                yield value, call.function, "the tools"
        if last_part(call.name) == "bind_tools" and call.args:
            yield call.args[0], call.function, "the tools"
    for display in shape.view.dicts:
        fields = display.expr.entries
        asks = "messages" in fields or "input" in fields or ("model" in fields and fields.keys() <= _REQUEST)
        for key in FIELDS & fields.keys() if asks else ():
            for value in unwrapped(shape, display.function, key, fields[key]):
                yield value, display.function, "the tools"
        if (
            "type" in fields
            and _of_schema(fields["type"])
            and (id(display.expr) in schemas or _among_tools(shape, display.function))
        ):
            for key in _SCHEMA:
                if key in fields:
                    yield fields[key], display.function, f"a schema's {key}"
    assigned = {binding.span for binding in shape.view.bindings if binding.operator == "="}
    for request in shape.requests:
        if request.partial and request.span not in assigned:
            for key in FIELDS & request.fields.keys():
                yield request.fields[key], request.function, "the tools"
    senders = {request.function for request in shape.requests if not request.partial}
    for binding in shape.view.bindings:
        target = binding.target
        if (
            target is not None
            and binding.value is not None
            and target.kind == "subscript"
            and target.items[1].value in FIELDS
            and (binding.function in senders or _REQUESTS.search(last_part(target.items[0].name).lower()))
        ):
            for value in unwrapped(shape, binding.function, str(target.items[1].value), binding.value):
                yield value, binding.function, "the tools"


def _tool_schemas(shape: Shape) -> set[int]:
    """The expressions that are the schema of a tool, or a part of it: below its field in a definition, by a name or a
    function of the file as well, and what a function called `tool_schema` returns."""
    found: set[int] = set()
    for display in shape.view.dicts:
        fields = display.expr.entries
        if "name" in fields:
            for key in _TAKES & fields.keys():
                found |= _below(shape, display.function, fields[key])
    for call in shape.view.calls:
        if _MAKERS.search(last_part(call.name)) or "name" in call.keywords:
            for key in _TAKES & call.keywords.keys():
                found |= _below(shape, call.function, call.keywords[key])
    for binding in shape.view.bindings:
        if binding.operator == "return" and binding.value is not None and _NAMED.search(last_part(binding.function)):
            found |= _below(shape, binding.function, binding.value)
    return found


def _among_tools(shape: Shape, function: str) -> bool:
    """Whether the file, the function or one of its parameters is named for tools."""
    known = shape.view.functions.get(function)
    names = (shape.view.filename, function, *(known.parameters if known is not None else ()))
    return any("tool" in name.lower() for name in names)


def _below(shape: Shape, function: str, field: Expr) -> set[int]:
    value = shape.resolve(function, field)
    out = {id(part) for part in walk(value)}
    local = shape.local_function(value.call, function) if value.call is not None else ""
    for binding in shape.returns(local) if local else ():
        if binding.value is not None:
            out |= {id(part) for part in walk(shape.resolve(local, binding.value))}
    return out


def _asks(call: Call) -> bool:
    """Whether a call with tools makes an agent or asks a model: others only write them down."""
    name = last_part(call.name)
    if AGENT_CALLEES.search(name) or _AGENT.search(name) or not _BESIDE.isdisjoint(call.keywords):
        return True
    return name in SEND and ("model" in call.keywords or bool(call.args))


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
