"""What a file's requests are made of: which expressions flow into the messages, the system text and the tools.

One function at a time, with the methods and helpers of the same file that it calls; worked out once for a file and
shared by the structure rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cachesafe_rules.excerpts import handed_chats, handed_fields, is_excerpt
from cachesafe_rules.expressions import is_history, last_part, spelt
from cachesafe_rules.model import Binding, Call, Condition, Display, Expr, MessageList, ModuleView, Span
from cachesafe_rules.observers import is_observer
from cachesafe_rules.results import element_of, entry_of, with_spread

__all__ = ["SEND", "Part", "Request", "Shape", "shape_of"]

_MESSAGES = ("messages", "contents", "input", "chat_history", "history", "conversation", "input_items")
# A dict or a call that has messages and one of these is a request.
_SETTINGS = frozenset(
    {"model", "tools", "system", "max_tokens", "temperature", "stream", "instructions", "system_prompt", "functions",
     "reasoning_effort", "reasoning", "thinking", "max_output_tokens", "max_completion_tokens", "system_instruction",
     "config", "generation_config", "tool_choice", "response_format", "prompt_cache_key", "extra_body", "modelId",
     "model_id", "toolConfig", "cache_control"}
)  # fmt: skip
SEND = frozenset(
    {"create", "stream", "completion", "acompletion", "generate_content", "generate_content_stream", "converse",
     "converse_stream", "invoke", "ainvoke", "astream", "chat", "achat", "generate", "agenerate", "complete",
     "acomplete", "parse", "send", "call_llm", "respond", "apply_chat_template", "generate_content_async", "llm"}
)  # fmt: skip
_SAME = frozenset(
    {"list", "tuple", "copy", "deepcopy", "reversed", "chain", "filter", "sorted", "cast", "convert_to_messages"}
)
# What a message holds that goes to a model; a row of a database or of an export has fields beside them.
_OF_MESSAGES = frozenset(
    {"role", "content", "parts", "text", "name", "type", "id", "tool_calls", "tool_call_id", "function_call",
     "cache_control", "reasoning_content", "refusal", "images", "audio", "thinking", "tool_name"}
)  # fmt: skip
# What asks something of messages, or takes one of them, and sends none.
_LOOKS = frozenset({"next", "any", "all", "sum", "len", "max", "min", "join", "set", "str", "print", "dict"})
_OVERRIDDEN = frozenset({"tools", "model", "system_prompt", "system_message", "model_settings"})
_RUNS = frozenset({"run", "run_sync", "run_streamed"})
_DEPTH = 12


@dataclass(slots=True)
class Request:
    """A call or a dict display that is a request to a model, with its fields as written there. `partial`: some fields
    of a request whose messages stand elsewhere, in an excerpt."""

    fields: dict[str, Expr]
    function: str
    span: Span
    conditions: tuple[Condition, ...] = ()
    call: Call | None = None
    partial: bool = False

    @property
    def messages(self) -> Expr | None:
        return next((self.fields[name] for name in _MESSAGES if name in self.fields), None)


@dataclass(slots=True)
class Part:
    """An expression that flows into the messages of a request: where it stands and under which tests."""

    expr: Expr
    function: str
    span: Span
    conditions: tuple[Condition, ...]
    element: bool = False


@dataclass(slots=True)
class Shape:
    """The requests of a file, and what its names are bound to."""

    view: ModuleView
    requests: list[Request] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    _bindings: dict[tuple[str, str], list[Binding]] = field(default_factory=dict)
    _mutations: dict[tuple[str, str], list[Call]] = field(default_factory=dict)
    _returns: dict[str, list[Binding]] = field(default_factory=dict)
    _methods: dict[str, Span] = field(default_factory=dict)

    # Names

    def home(self, function: str, name: str) -> str:
        """Where a name lives: the class for `self.x`, else the function."""
        if name.startswith(("self.", "cls.")):
            known = self.view.functions.get(function)
            return f"class {known.owner}" if known is not None else ""
        return function

    def bindings(self, function: str, expr: Expr) -> list[Binding]:
        """What gives a name its value: in the function, in the functions around it, in the module; for `self.x` in
        the whole class."""
        name = expr.name
        if not name or expr.kind not in ("name", "attribute") or name.startswith("."):
            # Of `f(x).y` it is not known whose `y` it is.
            return []
        home = self.home(function, name)
        while True:
            found = self._bindings.get((home, name))
            known = self.view.functions.get(home)
            if found or not home or home.startswith("class ") or (known and name in known.parameters):
                return found or []
            home = home.rpartition(".")[0]

    def mutations(self, function: str, expr: Expr) -> list[Call]:
        """The calls `name.method(…)` in the name's function (class for `self.x`)."""
        if not expr.name:
            return []
        return self._mutations.get((self.home(function, expr.name), expr.name), [])

    def is_parameter(self, function: str, expr: Expr) -> bool:
        known = self.view.functions.get(function)
        return expr.kind == "name" and known is not None and expr.name in known.parameters

    def local_function(self, call: Call, function: str) -> str:
        """The qualified name of the function of this file that a call runs, "" for any other."""
        name = call.name
        known = self.view.functions.get(function)
        if name.startswith(("self.", "cls.")) and known is not None:
            name = f"{known.owner}.{name.partition('.')[2]}".lstrip(".")
        elif f"{function}.{name}" in self.view.functions:
            return f"{function}.{name}"
        if name in self.view.functions:
            return name
        return self._method(call.name, function)

    def _method(self, name: str, function: str) -> str:
        """The method of a class of this file that `picker.pick()` runs, where `picker` is bound once, to an object that
        is made of it."""
        root, _, method = name.rpartition(".")
        if not root or method not in self._methods:
            return ""
        kind = "attribute" if "." in root else "name"
        made = self.resolve(function, Expr(kind, self._methods[method], name=root)).call
        found = f"{made.name}.{method}" if made is not None else ""
        if found in self.view.functions:
            return found
        # In an excerpt one class alone has such a method, and its object is handed over.
        owners = [known for known in self.view.functions if last_part(known) == method and "." in known]
        return owners[0] if is_excerpt(self.view) and len(owners) == 1 and made is None else ""

    def callers(self, function: str) -> list[Call]:
        """The calls of this file that run a function of it."""
        last = last_part(function)
        return [
            call
            for call in self.view.calls
            if last_part(call.name) == last and self.local_function(call, call.function) == function
        ]

    def returns(self, function: str) -> list[Binding]:
        return self._returns.get(function, [])

    def resolve(self, function: str, expr: Expr, depth: int = 4) -> Expr:
        """The expression a name stands for, where it is bound once; the expression itself otherwise."""
        while depth and expr.kind in ("name", "attribute"):
            bound = [item for item in self.bindings(function, expr) if item.operator in ("=", ":=")]
            if len(bound) != 1 or bound[0].value is None or bound[0].target is None:
                break
            if bound[0].target.kind not in ("name", "attribute"):
                break
            expr, depth = bound[0].value, depth - 1
        return expr

    # Reading the view

    def read(self) -> None:
        self._methods = {last_part(name): known.span for name, known in self.view.functions.items() if known.owner}
        for binding in self.view.bindings:
            if binding.operator in ("return", "yield"):
                self._returns.setdefault(binding.function, []).append(binding)
                continue
            for target, bound in _unpacked(binding):
                name = target.name
                if name and target.kind in ("name", "attribute"):
                    self._bindings.setdefault((self.home(bound.function, name), name), []).append(bound)
        for call in self.view.calls:
            root, _, method = call.name.rpartition(".")
            if root and method in _MUTATORS:
                self._mutations.setdefault((self.home(call.function, root), root), []).append(call)
            if call.keywords:
                self._request_call(call)
        for display in self.view.dicts:
            self._request_dict(display)
        asked = {request.span for request in self.requests}
        for fields, function, span, conditions in handed_fields(self):
            if span not in asked:
                self.requests.append(Request(fields, function, span, conditions, partial=True))
        self._flow()

    def _with_config(self, fields: dict[str, Expr], function: str) -> dict[str, Expr]:
        """The fields together with those inside `config=GenerateContentConfig(…)` and its like."""
        for name in ("config", "generation_config", "extra_body", "options"):
            if name in fields:
                inner = self.resolve(function, fields[name])
                more = inner.call.keywords if inner.call is not None else inner.entries
                fields = {**more, **fields}
        return fields

    def _request_call(self, call: Call) -> None:
        fields = with_spread(self, call) if call.spread else call.keywords
        if any(name in fields for name in _MESSAGES[:4]) and (
            not _SETTINGS.isdisjoint(fields) or last_part(call.name) in SEND
        ):
            self.requests.append(
                Request(self._with_config(fields, call.function), call.function, call.span, call.conditions, call)
            )

        elif last_part(call.name) == "override" and not _OVERRIDDEN.isdisjoint(fields):
            # A middleware's request, whose messages stay as they were.
            self.requests.append(Request(fields, call.function, call.span, call.conditions, partial=True))

    def _request_dict(self, display: Display) -> None:
        fields = display.expr.entries
        if ("messages" in fields or "contents" in fields or "input" in fields) and not _SETTINGS.isdisjoint(fields):
            self.requests.append(
                Request(
                    self._with_config(fields, display.function), display.function, display.expr.span, display.conditions
                )
            )

    # What flows into the messages

    def _flow(self) -> None:
        seen: set[int] = set()
        for request in self.requests:
            if request.messages is not None:
                self._visit(request.messages, request.function, request.span, request.conditions, seen)
        for call in self.view.calls:
            if call.args and last_part(call.name) in SEND and (is_history(call.args[0]) or call.args[0].kind == "list"):
                self._visit(call.args[0], call.function, call.span, call.conditions, seen)
            elif last_part(call.name) in _RUNS and "Runner" in call.name and len(call.args) > 1:
                # `Runner.run(agent, items)` of the Agents SDK.
                self._visit(call.args[1], call.function, call.span, call.conditions, seen)
        for found in self.view.lists:
            if found.expr is not None and _is_request_list(found):
                self._visit(found.expr, found.function, found.span, found.conditions, seen)
        builders = {item.function for item in self.view.lists}
        builders |= {
            display.function
            for display in self.view.dicts
            if "role" in display.expr.entries and _OF_MESSAGES.issuperset(display.expr.entries)
        }
        for binding in self.view.bindings:
            if binding.operator == "=" and self._is_chat(binding) and binding.target is not None:
                self._visit(binding.target, binding.function, binding.span, binding.conditions, seen)
            if (
                binding.operator == "return"
                and binding.value is not None
                and is_history(binding.value)
                and binding.function in builders
            ):
                self._visit(binding.value, binding.function, binding.span, binding.conditions, seen)
        for expr, function, span, conditions in handed_chats(self):
            self._visit(expr, function, span, conditions, seen)

    def flow(self, root: Expr, function: str, span: Span, conditions: tuple[Condition, ...] = ()) -> list[Part]:
        """What an expression is made of, names and this file's functions followed."""
        out: list[Part] = []
        self._visit(root, function, span, conditions, set(), out)
        return out

    def flow_of_field(self, root: Expr, function: str, conditions: tuple[Condition, ...] = ()) -> list[Part]:
        """The same for a field such as the tools, into which the messages do not flow."""
        out: list[Part] = []
        self._visit(root, function, root.span, conditions, set(), out, chat=False)
        return out

    def _is_chat(self, binding: Binding) -> bool:
        """Whether a local list holds messages, or gets some appended."""
        target, value = binding.target, binding.value
        if target is None or value is None or target.kind != "name" or value.kind != "list" or not binding.function:
            return False
        added = [call.args[0] for call in self.mutations(binding.function, target) if len(call.args) == 1]
        roles = [item.entries["role"].value for item in (*value.items, *added) if "role" in item.entries]
        return "system" in roles or "developer" in roles or (bool(roles) and value.kind == "list" and len(roles) > 1)

    def _visit(
        self,
        root: Expr,
        function: str,
        span: Span,
        conditions: tuple[Condition, ...],
        seen: set[int],
        out: list[Part] | None = None,
        chat: bool = True,
    ) -> None:
        out = self.parts if out is None else out
        stack = [(root, function, span, conditions, False, _DEPTH)]
        while stack:
            expr, function, span, conditions, element, depth = stack.pop()
            if id(expr) in seen or depth < 1 or (not chat and is_history(expr)):
                continue
            seen.add(id(expr))
            here = Part(expr, function, span, conditions, element)
            out.append(here)
            for part in self._below(here):
                stack.append((part.expr, part.function, part.span, part.conditions, part.element, depth - 1))

    def _below(self, part: Part) -> Iterator[Part]:
        expr, function, span, conditions = part.expr, part.function, part.span, part.conditions
        if expr.kind in ("name", "attribute"):
            yield from self._named(expr, function)
        elif expr.kind in ("list", "tuple"):
            for item in expr.items:
                inner = item.items[0] if item.kind == "star" else item
                yield Part(inner, function, inner.span, conditions, element=item.kind != "star")
        elif expr.kind == "star" or (expr.kind == "operation" and expr.name in ("+", "or", ":=")):
            for item in expr.items:
                yield Part(item, function, item.span, conditions)
        elif expr.kind == "conditional":
            test, then, other = expr.items
            yield Part(then, function, span, (*conditions, Condition("if", test)))
            yield Part(other, function, span, (*conditions, Condition("if", test, negated=True)))
        elif expr.kind == "comprehension":
            for generator in expr.generators:
                yield Part(generator.iterable, function, span, conditions)
        elif expr.kind == "subscript":
            if expr.items[1].kind == "slice":
                yield Part(expr.items[0], function, span, conditions)
            elif is_history(expr):
                # `state["messages"] = state["messages"][-4:]`
                for binding in self.view.bindings:
                    target, value = binding.target, binding.value
                    same = target is not None and target.kind == "subscript" and spelt(target) == spelt(expr)
                    if same and value is not None and binding.function == function and binding.operator == "=":
                        yield Part(value, function, binding.span, binding.conditions)
            else:
                found = entry_of(self, function, expr.items[0], expr.items[1].value)
                yield from (Part(value, where, at or span, (*conditions, *more)) for value, where, at, more in found)
        elif expr.call is not None:
            yield from self._called(expr.call, function, span, conditions)

    def _named(self, expr: Expr, function: str) -> Iterator[Part]:
        for binding in self.bindings(function, expr):
            value = binding.value
            if value is None or binding.target is None:
                continue
            if binding.target.kind in ("name", "attribute"):
                yield Part(value, binding.function, binding.span, binding.conditions)
            elif binding.operator == "=":
                number = next((n for n, item in enumerate(binding.target.items) if item.name == expr.name), 0)
                yield from (Part(*one) for one in element_of(self, binding, value, number, len(binding.target.items)))
        for call in self.mutations(function, expr):
            method = last_part(call.name)
            if method in ("extend", "append", "insert", "appendleft") and call.args:
                yield Part(call.args[-1], call.function, call.span, call.conditions, element=method != "extend")
                for condition in call.conditions:
                    if condition.kind == "for" and condition.test is not None:
                        yield Part(condition.test, call.function, condition.test.span, call.conditions)

    def _called(self, call: Call, function: str, span: Span, conditions: tuple[Condition, ...]) -> Iterator[Part]:
        local = self.local_function(call, function)
        if local:
            for binding in self.returns(local):
                if binding.value is not None:
                    yield Part(binding.value, local, binding.span, (*conditions, *binding.conditions))
        for arg in (*call.args, *call.keywords.values()):
            same = last_part(call.name) in _SAME or call.name.endswith("from_iterable")
            inner = arg.items[0] if arg.kind == "star" else arg
            sliced = inner.kind == "subscript" and is_history(inner.items[0])
            taken = inner.kind == "comprehension" and last_part(call.name) not in _LOOKS
            if same or is_history(inner) or sliced or taken:
                yield Part(inner, function, inner.span, conditions)
        if call.receiver is not None and last_part(call.name) == "copy":
            yield Part(call.receiver, function, span, conditions)


_MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "popleft", "remove", "clear", "appendleft", "reverse", "sort", "update"}
)


def _is_all_of(target: Expr) -> bool:
    """`x[:] = …`: the list stays, all that is in it is another one."""
    if target.kind != "subscript" or target.items[1].kind != "slice":
        return False
    return all(item.kind == "constant" and item.value is None for item in target.items[1].items)


def _unpacked(binding: Binding) -> Iterator[tuple[Expr, Binding]]:
    """The names that a statement binds; `a, b = x, y` is two bindings, `a[:] = x` gives `a` other items."""
    target, value = binding.target, binding.value
    if target is None:
        return
    if _is_all_of(target):
        yield target.items[0], replace(binding, target=target.items[0])
    elif target.kind not in ("tuple", "list"):
        yield target, binding
    elif value is not None and value.kind in ("tuple", "list") and len(value.items) == len(target.items):
        for name, part in zip(target.items, value.items, strict=True):
            yield name, replace(binding, target=name, value=part)
    else:
        for name in target.items:
            yield name, binding


def _is_request_list(found: MessageList) -> bool:
    roles = {item.role for item in found.items}
    return "system" in roles or ("*" in roles and "user" in roles)


def shape_of(view: ModuleView) -> Shape:
    """The file's shape, worked out on the first call."""
    shape = view.memo.get("shape")
    if not isinstance(shape, Shape):
        shape = view.memo["shape"] = Shape(ModuleView(view.filename) if is_observer(view.filename) else view)
        shape.read()
    return shape
