"""The sinks a call is: keywords, constructors of messages, agents, tools and templates, switches of frameworks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.model import Source, Step
from cachesafe_rules.observers import is_screen, writes_a_log
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.policy import TOOL_WRITES
from pytest_cachesafe.lint.flow.arrive import arrive, hit
from pytest_cachesafe.lint.flow.atoms import EMPTY, Atom
from pytest_cachesafe.lint.flow.classes import annotated_names, base_words, find_method, mro
from pytest_cachesafe.lint.flow.clock import of_format
from pytest_cachesafe.lint.flow.declared import is_own_switch
from pytest_cachesafe.lint.flow.drawn import drawn_in_call
from pytest_cachesafe.lint.flow.kept_state import written_by_tools
from pytest_cachesafe.lint.flow.marks import added_to_chat, new_mark, role_of, role_word
from pytest_cachesafe.lint.flow.messages import message, tools, user_text
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.stored import stored
from pytest_cachesafe.lint.flow.values import NOTHING, Cls, Const, DictShape, Func, ListShape, TemplateShape, Value
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import ClassInfo

__all__ = ["returned_request", "sinks_of_call"]

_PLACEHOLDER = lazy_pattern(r"(?<!\{)\{([A-Za-z_][\w.]*)[?!:}]")
_SCOPED = lazy_pattern(r"(?<!\{)\{(?:(?:user|app|temp):)?([A-Za-z_]\w*)\??\}")
# `{_time}`, `{current_date}`; `{departure_time}` is a fact about something else.
_CLOCK_WORD = lazy_pattern(
    r"^_*(?:(?:current|local|utc|system|today|todays|now)_+)*(?:time|date|datetime|now|today|timestamp|clock)"
    r"(?:_+(?:time|now|today|utc|local|str|string|iso))*$"
)
# What is no text of a prompt, wherever it stands.
_IDENTIFIERS = lazy_pattern(
    r"(?:^|_)(?:(?:u|gu|ul)?id|ids|session|thread|run|trace|request|conversation|key|token|url)$"
)
# Words for anything that is called: that a model is asked must be seen from something else.
_ANYTHING = frozenset(("invoke", "ainvoke", "call", "acall", "ask", "respond"))
# What is known when the answer is there.
_ANSWERED = frozenset((
    "output", "response", "answer", "success", "exit_code", "duration", "duration_ms", "duration_seconds", "latency",
    "latency_ms", "elapsed", "cost", "cost_usd", "input_tokens", "output_tokens", "prompt_tokens", "completion_tokens",
    "total_tokens", "error", "finish_reason", "status_code", "score",
))  # fmt: skip
# Bases that say nothing of what an object is.
_NO_BASES = frozenset(("object", "ABC", "Generic", "Protocol", "NamedTuple", "Enum", "str", "dict", "Base"))
# Fields of a line in a window, which no message without a role has.
_ON_SCREEN = frozenset(("time", "color", "colour", "style", "icon", "level", "x", "y", "width", "avatar"))
# What draws a line on a screen, and what gives the fields that are sent.
_DRAWS = lazy_pattern(r"^_*(?:draw|render|paint|blit|compose|display|__rich(?:_console)?__)(?:$|_)")
_GIVES = lazy_pattern(r"^(?:(?:to|as|get|model)_)?(?:_*as)?_?(?:dict|dump|json|openai|anthropic|message|param|api)")
_MESSAGE_BASES = lazy_pattern(r"Message|BaseModel|TypedDict|Schema|Struct|Content|Part$|Prompt|Msg")


def sinks_of_call(
    engine: Engine, frame: Frame, node: ast.Call, function: Value, spelt: str, last: str, arguments: Arguments
) -> Value | None:
    """Write down what arrives by this call; a value where the call makes a message or a template."""
    _flags(engine, frame, function, last, arguments)
    _keywords(engine, frame, node, function, last, arguments)
    drawn_in_call(engine, frame, node, last, arguments)
    made = _message(engine, frame, node, function, spelt, last, arguments)
    if made is not None:
        return made
    return _template(engine, frame, node, spelt, last, arguments)


def _flags(engine: Engine, frame: Frame, function: Value, last: str, arguments: Arguments) -> None:
    for name, (value, where) in arguments.keywords.items():
        flag = engine.tables.flags.get(name)
        if flag is None or not isinstance(value.shape, Const) or value.shape.value is not True:
            continue
        if is_own_switch(engine, function, name):
            continue
        kind, granularity, adds = flag
        form = arguments.keywords.get(sinks.FLAG_FORMATS.get(name, ""))
        if form is not None and isinstance(form[0].shape, Const) and isinstance(form[0].shape.value, str):
            granularity = of_format(form[0].shape.value) or granularity
        span = engine.span(frame.module, where)
        source = Source(kind, granularity, f"{name}=True", span, frozen=False)
        step = Step(span.filename, span.row, f"{name}=True adds {adds}")
        atom = Atom(("s", span.filename, span.row, span.column, kind), source, (step,))
        # Made per request by the framework, so never frozen.
        frozen, frame.frozen = frame.frozen, False
        hit(engine, frame, where, atom, f"system prompt of {last}", "system", (), ())
        frame.frozen = frozen


def _keywords(engine: Engine, frame: Frame, node: ast.Call, function: Value, last: str, arguments: Arguments) -> None:
    tables = engine.tables
    if writes_a_log(last) or (isinstance(node.func, ast.Attribute) and is_screen(dotted_name(node.func.value))):
        # What a log or a screen is given was sent, or never will be.
        return
    if len(arguments.keywords.keys() & _ANSWERED) > 1:
        # The record of a run: what was sent stands beside what came of it.
        return
    agent = bool(sinks.AGENT_CALLEES.search(last))
    for name, (value, where) in arguments.keywords.items():
        if name == "tools":
            if agent or arguments.keywords.keys() & sinks.BESIDE_TOOLS:
                tools(engine, frame, where, value)
        elif name == "instructions" and isinstance(function.shape, Func):
            # A function of the project: its parameters are followed, the word alone says little.
            continue
        elif name in tables.weak_keywords and not (
            sinks.ASKING.search(last) or arguments.keywords.keys() & sinks.BESIDE_SYSTEM
        ):
            continue
        elif name in tables.system_keywords or (name not in ("content", "role") and tables.is_system_name(name)):
            arrive(engine, frame, where, value, f"argument {name} of {last or 'a call'}")
            _state_placeholder(engine, frame, where, value, name, last, agent)
        elif name in sinks.AGENT_KEYWORDS and agent:
            arrive(engine, frame, where, value, f"argument {name} of {last}")
            _state_placeholder(engine, frame, where, value, name, last, agent)
        elif name == "system" and (arguments.keywords.keys() & sinks.BESIDE_SYSTEM):
            arrive(engine, frame, where, value, "argument system of the request")
        elif name == "description" and sinks.TOOL_CALLEES.match(last):
            arrive(engine, frame, where, value, f"description of a tool ({last})", "tools")
        elif name in ("parameters", "input_schema", "args_schema") and sinks.TOOL_SCHEMA_CALLEES.search(last):
            arrive(engine, frame, where, value, f"schema of a tool ({last})", "tools", atoms=value.all_atoms())
        elif last == "apply_chat_template" and sinks.TEMPLATE_CLOCKS.search(name):
            arrive(engine, frame, where, value, f"argument {name} of the chat template")
        elif name == "backstory" or (name == "goal" and "backstory" in arguments.keywords):
            arrive(engine, frame, where, value, f"argument {name} of {last}")
        elif sinks.is_user_name(name):
            user_text(engine, frame, value)
        elif name == "few_shot_examples" or sinks.FEW_SHOT.search(name):
            arrive(engine, frame, where, value, f"few-shot examples ({name})", "few_shot")
    if sinks.PROMPT_ARGUMENTS.search(last):
        for name, (value, where) in arguments.keywords.items():
            arrive(engine, frame, where, value, f"{name} of {last}")
    if last == "add_argument" and "default" in arguments.keywords:
        _option(engine, frame, arguments)
    place = tables.sink_calls.get(last, tables.sink_calls.get(dotted_name(node.func)))
    if isinstance(place, int) and place < len(arguments.positional):
        arrive(
            engine,
            frame,
            arguments.nodes[place],
            arguments.positional[place],
            sinks.DATED_METHODS.get(last, f"argument {place + 1} of {last}"),
        )
    elif isinstance(place, str) and place in arguments.keywords:
        value, where = arguments.keywords[place]
        arrive(engine, frame, where, value, f"argument {place} of {last}")
    if (
        len(arguments.positional) > 1
        and sinks.CHAT_METHODS.search(last)
        and not isinstance(arguments.positional[0].shape, ListShape)
        and _is_chat(arguments.positional[1])
        and _takes_text_first(node, function, last)
    ):
        # chat(system, messages)
        arrive(engine, frame, arguments.nodes[0], arguments.positional[0], f"system text of {last}()")
    if last in sinks.SYSTEM_METHODS and arguments.positional:
        arrive(engine, frame, arguments.nodes[0], arguments.positional[0], f"system message ({last})")
    elif last in sinks.USER_METHODS:
        for value in arguments.every():
            user_text(engine, frame, value)


def returned_request(engine: Engine, frame: Frame, node: ast.Tuple, shape: ListShape) -> None:
    """`return system, messages`: a request in two parts, whose name says which is the system's text."""
    if not any(_is_chat(item) for item in shape.items):
        return
    for part, item in zip(node.elts, shape.items, strict=False):
        if isinstance(part, ast.Name) and part.id in ("system", "sys") and item.atoms:
            mark = new_mark(frame, part, "name")
            arrive(engine, frame, part, item, f"system text that {frame.qualname}() returns", marks=(mark,))


def _option(engine: Engine, frame: Frame, arguments: Arguments) -> None:
    """`add_argument("--system-prompt", default=…)`."""
    for value in arguments.positional:
        if isinstance(value.shape, Const) and isinstance(value.shape.value, str):
            name = value.shape.value.lstrip("-").replace("-", "_")
            if engine.tables.is_system_name(name):
                default, where = arguments.keywords["default"]
                arrive(engine, frame, where, default, f"default of option {value.shape.value}")
                return


def _takes_text_first(node: ast.Call, function: Value, last: str) -> bool:
    """Whether the argument in front of the messages may be their system text: no identifier, and no helper about which
    nothing is known but that it is called."""
    given = dotted_name(node.args[0]).rpartition(".")[2] if node.args else ""
    names = [given]
    if isinstance(function.shape, Func):
        names += [next((p for p in f.params if p not in ("self", "cls")), "") for f in function.shape.functions]
    if any(_IDENTIFIERS.search(name.lower()) for name in names):
        return False
    known = isinstance(node.func, ast.Attribute) or last not in _ANYTHING
    return known or any("system" in name.lower() or "prompt" in name.lower() for name in names)


def _is_chat(value: Value) -> bool:
    shape = value.shape
    return isinstance(shape, ListShape) and any(
        isinstance(i.shape, DictShape) and "role" in i.shape.fields for i in shape.items
    )


def _state_placeholder(
    engine: Engine, frame: Frame, where: ast.AST, value: Value, name: str, last: str, agent: bool
) -> None:
    """`instruction="It is {_time}"`: an agent framework fills it from the state for every request."""
    if (
        not agent
        or name not in ("instruction", "global_instruction")
        or not isinstance(value.shape, Const)
        or not isinstance(value.shape.value, str)
    ):
        return
    for placeholder in dict.fromkeys((*_PLACEHOLDER.findall(value.shape.value), *_SCOPED.findall(value.shape.value))):
        if _CLOCK_WORD.search(placeholder.lower()):
            kind, often, api = "clock", "second", f"{{{placeholder}}}"
        elif placeholder in written_by_tools(engine, frame.module):
            kind, often, api = "state", "call", f"{{{placeholder}}}, {TOOL_WRITES},"
        else:
            continue
        span = engine.span(frame.module, where)
        source = Source(kind, often, api, span)
        step = Step(span.filename, span.row, f"{{{placeholder}}} is filled from the state for every request")
        atom = Atom(("s", span.filename, span.row, span.column, kind), source, (step,))
        frozen, frame.frozen = frame.frozen, False
        hit(engine, frame, where, atom, f"argument {name} of {last}", "system", (), ())
        frame.frozen = frozen
        return


def _message(
    engine: Engine, frame: Frame, node: ast.Call, function: Value, spelt: str, last: str, arguments: Arguments
) -> Value | None:
    if stored(engine, node, function, last):
        # A row of a database: what it says was said once.
        return None
    uncached = arguments.keywords.get("cache")
    if uncached is not None and isinstance(uncached[0].shape, Const) and uncached[0].shape.value is False:
        # A block that asks not to be cached stands behind those that are.
        return NOTHING
    if isinstance(function.shape, Cls):
        cls = function.shape.cls
        words = base_words(engine, cls) - {cls.name}
        known = any(_MESSAGE_BASES.search(w) for w in words) or _holds_content(engine, cls, words)
        if last in sinks.SYSTEM_MAKERS and (not known or _is_drawn(engine, cls, words)):
            # A class of the project that only shares the name, such as a widget.
            return None
    names = sinks.SYSTEM_MAKERS.get(last)
    if names is not None:
        given = arguments.first(*names)
        content, where = given if given is not None else (NOTHING, node)
        mark = message(engine, frame, node, "system", content, where, last)
        fields = {k: v for k, (v, _) in arguments.keywords.items()} | {
            "role": Value(shape=Const("system")),
            "content": content,
        }
        return Value(EMPTY, DictShape(fields, mark))
    if last in sinks.USER_MAKERS:
        for value in arguments.every():
            user_text(engine, frame, value)
        return None
    role = arguments.keywords.get("role")
    positional = role is None and bool(sinks.MESSAGE_MAKERS.search(last)) and len(arguments.positional) > 1
    if role is None and not positional:
        return None
    if role is not None:
        kind = role_of(role[0]) or role_word(dotted_name(role[1]))
    else:
        kind = role_of(arguments.positional[0]) or role_word(dotted_name(arguments.nodes[0]))
    content_name = next((n for n in ("content", "text", "parts", "contents") if n in arguments.keywords), None)
    if content_name is not None:
        content, where = arguments.keywords[content_name]
    elif positional:
        content, where = arguments.positional[1], arguments.nodes[1]
    elif role is not None and arguments.positional and sinks.MESSAGE_MAKERS.search(last):
        content, where = arguments.positional[0], arguments.nodes[0]
    else:
        return None
    if not kind:
        return None
    mark = message(engine, frame, node, kind, content, where, f"system message ({last})" if kind == "system" else "")
    if mark is None:
        return None
    added_to_chat(engine, frame, node, last, [mark])
    fields = {k: v for k, (v, _) in arguments.keywords.items()} | {
        "role": Value(shape=Const("system")),
        "content": content,
    }
    return Value(EMPTY, DictShape(fields, mark))


def _holds_content(engine: Engine, cls: ClassInfo, bases: set[str]) -> bool:
    """Whether a class is made like a message: with a role, or with a content that it does not hand to a base of which
    nothing is known, as the text that a widget shows."""
    init = find_method(engine, cls, "__init__")
    names = set(init.params) if init is not None else {n for c in mro(engine, cls) for n in annotated_names(engine, c)}
    foreign = bases - {known.name for known in mro(engine, cls)} - _NO_BASES
    return "role" in names or ("content" in names and not foreign and _ON_SCREEN.isdisjoint(names))


def _is_drawn(engine: Engine, cls: ClassInfo, bases: set[str]) -> bool:
    """Whether a class draws its text on a screen: nothing of it is the role of a message or gives the fields of one,
    and all that it is built on is seen."""
    own = mro(engine, cls)
    methods = {name for c in own for name in c.methods}
    if not any(_DRAWS.match(name) for name in methods) or any(_GIVES.match(name) for name in methods):
        return False
    init = find_method(engine, cls, "__init__")
    fields = {*(init.params if init is not None else ()), *(n for c in own for n in annotated_names(engine, c))}
    return "role" not in fields and not bases - {c.name for c in own} - _NO_BASES


def _template(
    engine: Engine, frame: Frame, node: ast.Call, spelt: str, last: str, arguments: Arguments
) -> Value | None:
    if last in ("from_messages", "ChatPromptTemplate") and (
        "ChatPromptTemplate" in spelt or last == "ChatPromptTemplate"
    ):
        given = arguments.first("messages")
        if given is None or not isinstance(given[0].shape, ListShape):
            return None
        system: set[str] = set()
        others: set[str] = set()
        for item in given[0].shape.items:
            if isinstance(item.shape, TemplateShape):
                system |= item.shape.system
                others |= item.shape.others
            elif isinstance(item.shape, DictShape):
                found = _placeholders(item.shape.fields.get("content"))
                (system if role_of(item.shape.fields.get("role")) == "system" else others).update(found)
            elif isinstance(item.shape, ListShape) and len(item.shape.items) == 2:
                others.update(_placeholders(item.shape.items[1]))
        shape = TemplateShape(frozenset(system), frozenset(others))
        partial = arguments.keywords.get("partial_variables")
        if partial is not None and isinstance(partial[0].shape, DictShape):
            for name, value in partial[0].shape.fields.items():
                if name in shape.system:
                    arrive(engine, frame, partial[1], value, f"placeholder {{{name}}} of a system message template")
        return Value(EMPTY, shape)
    if last == "from_template" and "SystemMessagePromptTemplate" in spelt and arguments.positional:
        return Value(EMPTY, TemplateShape(frozenset(_placeholders(arguments.positional[0])), frozenset()))
    return None


def _placeholders(value: Value | None) -> list[str]:
    if value is not None and isinstance(value.shape, Const) and isinstance(value.shape.value, str):
        return _PLACEHOLDER.findall(value.shape.value)
    return []
