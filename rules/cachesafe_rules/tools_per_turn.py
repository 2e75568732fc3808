"""CSF305 tools-per-turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.expressions import last_part, walk
from cachesafe_rules.model import Call, Condition, Expr, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.one_chat import differs, goes_round, has_two, ifs_in, looked_at, turned_later
from cachesafe_rules.picks import picked
from cachesafe_rules.revealed_tools import changed_tools
from cachesafe_rules.shape import SEND, Part, Request, Shape, shape_of
from cachesafe_rules.tool_values import FIELDS, tool_values, unwrapped
from cachesafe_rules.turns import is_chat, is_setup, is_side_call, is_single, is_switch, turn_test

__all__ = ["ToolsPerTurn"]

# What takes something out of a list of tools.
_TAKES = frozenset({"remove", "pop", "clear"})
_HELP = (
    "send all tools in one fixed order for the whole chat and steer with tool_choice or allowed_tools; "
    "where a tool must be added later, use the provider's deferred tools"
)


class ToolsPerTurn(Rule):
    """The list of tools depends on the turn.

    What is wrong
    -------------
    Tools are added, left out or selected by the question, a step counter or another value of the turn.

    When it is reported
    -------------------
    - The request carries a conversation: one that is written down as a system text and a question has nothing to lose.
    - What the choice looks at is seen and differs between the turns: the newest text, the length of the chat, a counter
      of steps, a flag that calls give both ways, the kind of a question that a table is asked for, what a search by the
      newest text finds. Of a function that is called the body is read; of one that stands elsewhere nothing is said.
    - A switch of the user or of the whole run (`enable_web`, `single_turn`) is a setting, and a tool that an object
      loses elsewhere in the program is lost once.
    - Projects of several files: only where one function, with the helpers that it calls, shows all of it. The requests
      continue one chat (a loop sends a list that it lets grow, or the list holds earlier messages), and the choice
      reads what is another thing in the next of them: the loop's counter or state, the list's length, its newest
      message, or the text that the function puts there. A file of up to 40 rows that no other file imports is taken as
      it stands.

    In a project of more than ten files, a file that nothing runs or takes in, not even a test, is left out where other
    files use what it takes in: the project goes on without it.

    Why
    ---
    Tool definitions are rendered at the very front of a request, before the system text. Adding, removing or
    reordering one voids tools, system and messages at Anthropic ("Prompt caching", invalidation table, Claude Platform
    Docs, read 2026-11-29) and the prefix at OpenAI ("Prompt caching", OpenAI docs, copy of 2026-09-20); in chat
    templates the tools are text in front of the first message.

    What to do
    ----------
    Define the tools once for an agent or a session. Keep unwanted ones from being called with `tool_choice`,
    `allowed_tools`, or a sentence in the newest message; both leave the definitions in place. Tool search with
    `defer_loading` appends definitions instead of changing the front.
    """

    code = "CSF305"
    name = "tools-per-turn"
    severity = "warning"
    needles = (*CHAT, b".tools = ")
    INVALID = (
        Example(
            "def build(history, user_text, need_search):\n"
            "    tools = [CALC]\n"
            "    if need_search:\n"
            "        tools.append(SEARCH)\n"
            "    return {'model': 'm', 'tools': tools, 'messages': [*history, user(user_text)]}\n",
            (3, 4),
        ),
        Example(
            "def ask(client, messages, query):\n"
            "    tools = [t for t in TOOLS if t['name'] in query]\n"
            "    return client.messages.create(model='m', max_tokens=9, tools=tools, messages=messages)\n",
            (2,),
        ),
        Example(
            "def ask(client, messages, question):\n"
            "    return client.chat.completions.create(\n"
            "        model='m', messages=messages, tools=index.search(question))\n",
            (3,),
        ),
        Example(
            "def ask(client, messages, user_text):\n"
            "    kwargs = {'model': 'm', 'messages': messages}\n"
            "    if 'weather' in user_text.lower():\n"
            "        kwargs['tools'] = [WEATHER]\n"
            "    return client.chat.completions.create(**kwargs)\n",
            (3, 4),
        ),
        Example(
            "def step(client, messages, turn):\n"
            "    return client.responses.create(model='m', input=messages, tools=TOOLS if turn < 3 else [])\n",
            (2,),
        ),
    )
    VALID = (
        Example(
            "def ask(client, messages, question):\n"
            "    return client.chat.completions.create(\n"
            "        model='m', messages=messages, tools=select_tools(question))\n"
        ),
        Example(
            "def ask(client, question):\n"
            "    messages = [{'role': 'system', 'content': 'You help.'}, {'role': 'user', 'content': question}]\n"
            "    tools = [WEATHER] if 'weather' in question else []\n"
            "    return client.chat.completions.create(model='m', messages=messages, tools=tools)\n"
        ),
        Example(
            "class Agent:\n"
            "    def __init__(self, client, need_search):\n"
            "        self.client = client\n"
            "        self.tools = [CALC]\n"
            "        if need_search:\n"
            "            self.tools.append(SEARCH)\n\n"
            "    def ask(self, messages):\n"
            "        return self.client.messages.create(model='m', max_tokens=9, tools=self.tools, messages=messages)\n"
        ),
        Example(
            "def ask(client, messages, tools=None):\n"
            "    kwargs = {'model': 'm', 'messages': messages}\n"
            "    if tools:\n"
            "        kwargs['tools'] = tools\n"
            "    return client.chat.completions.create(**kwargs)\n"
        ),
        Example(
            "def ask(client, messages, settings):\n"
            "    tools = [CALC]\n"
            "    if settings.search:\n"
            "        tools.append(SEARCH)\n"
            "    return client.chat.completions.create(model='m', messages=messages, tools=tools)\n"
        ),
        Example(
            "def ask(client, messages, question):\n"
            "    choice = 'required' if 'weather' in question else 'auto'\n"
            "    return client.chat.completions.create(model='m', messages=messages, tools=TOOLS, tool_choice=choice)\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: dict[Span, Report] = {}
        for span, why, function, shown in _found(shape):
            # A list and each of its tools hang on the same test: one thing to mend.
            made = Report(
                f"the tools depend on {why}: each change of the list voids the whole prefix",
                span,
                help=_HELP,
                group=f"tools of {function}: {why}",
                data={"shown": shown},
            )
            if shown or span not in seen:
                seen[span] = made
        yield from seen.values()


# A place, what the tools depend on there, its function, and whether the function shows that this differs in one chat.
_Found = tuple[Span, str, str, bool]


def _found(shape: Shape) -> Iterator[_Found]:
    for request in shape.requests:
        if is_setup(request.function) or not is_chat(shape, request):
            continue
        if is_side_call(request.function) and not goes_round(shape, request):
            continue
        for tools in tool_values(shape, request):
            yield from _field(shape, request, tools)
            for span, what, function in changed_tools(shape, request, tools):
                yield span, what, function, False
    for call in shape.view.calls:
        # LangChain: the tools are bound to the model, and the request is sent in the same function.
        if last_part(call.name) == "bind_tools" and call.args and not is_setup(call.function):
            parts = shape.flow_of_field(call.args[0], call.function, call.conditions)
            sent = list(_invoked(shape, call))
            if sent and all(is_single(shape, request) for request in sent):
                continue
            for part, reason, calls in _choices(shape, parts, call.conditions):
                shown = any(_shown(shape, request, one, parts) for request in sent for one in (part, *calls))
                yield part.span, reason, part.function, shown
            for request in sent:
                yield from _turned(shape, request, parts)
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if (
            (
                target is not None
                and value is not None
                and target.kind == "attribute"
                and last_part(target.name) == "tools"
            )
            and not is_setup(binding.function)
            and (why := picked(shape, binding.function, value))
        ):
            yield binding.span, why, binding.function, False
    senders: dict[str, list[Request]] = {}
    for request in shape.requests:
        if is_chat(shape, request):
            senders.setdefault(request.function, []).append(request)
    for binding in shape.view.bindings:
        target = binding.target
        if target is None or binding.value is None or binding.function not in senders or target.kind != "subscript":
            continue
        if target.items[1].value in FIELDS and not is_side_call(binding.function):
            # Whether the request has the field already, or there are any tools, is no choice.
            given = binding.value.name
            asked = tuple(
                c
                for c in binding.conditions
                if c.test is not None and (_asks_for(c.test, target.items[1]) or (given and c.test.name == given))
            )
            # What holds where the request is begun holds for all of it.
            asked += tuple(c for b in shape.bindings(binding.function, target.items[0]) for c in b.conditions)
            if why := tested(shape, binding.function, binding.conditions, asked):
                tests = ifs_in(binding.conditions, asked)
                shown = any(differs(shape, request, tests) for request in senders[binding.function])
                yield binding.span, why, binding.function, shown
            for tools in unwrapped(shape, binding.function, str(target.items[1].value), binding.value):
                parts = shape.flow_of_field(tools, binding.function, binding.conditions)
                for part in parts:
                    if why := _chosen(shape, part, binding.conditions):
                        shown = any(_shown(shape, request, part, parts) for request in senders[binding.function])
                        yield part.span, why, part.function, shown


def _asks_for(test: Expr, key: Expr) -> bool:
    """`request.get("tools")`, `"tools" in request`."""
    return any(part.kind == "constant" and part.value == key.value for part in walk(test))


def _field(shape: Shape, request: Request, value: Expr) -> Iterator[_Found]:
    parts = shape.flow_of_field(value, request.function, request.conditions)
    for part, why, calls in _choices(shape, parts, request.conditions):
        if not _set_elsewhere(shape, part, request.function):
            shown = any(_shown(shape, request, one, parts) for one in (part, *calls))
            yield part.span, why, part.function, shown
    yield from _turned(shape, request, parts)


def _choices(
    shape: Shape, parts: Sequence[Part], known: tuple[Condition, ...]
) -> Iterator[tuple[Part, str, list[Part]]]:
    """The parts that something of the turn chooses, with what that is; the calls of a helper that chooses itself are
    given with what it chooses."""
    chosen = [(part, why) for part in parts if (why := _chosen(shape, part, known))]
    inside = {part.function for part, _ in chosen}
    calls: dict[str, list[Part]] = {}
    for part, _ in chosen:
        local = shape.local_function(part.expr.call, part.function) if part.expr.call is not None else ""
        if local in inside:
            calls.setdefault(local, []).append(part)
    for part, why in chosen:
        if not any(part is call for several in calls.values() for call in several):
            yield part, why, calls.get(part.function, [])


def _turned(shape: Shape, request: Request, parts: Sequence[Part]) -> Iterator[_Found]:
    """What the loop of a chat adds to the tools, takes away or puts in their place in the middle of it."""
    several = has_two(shape, parts)
    for part in parts:
        gone_through = any(condition.test is part.expr for condition in part.conditions)
        if part.function != request.function or gone_through or not (part.element or several):
            continue
        if why := turned_later(shape, request, part.conditions):
            yield part.span, why, part.function, True
    for name in {part.expr.name: part.expr for part in parts if part.expr.kind == "name"}.values():
        for call in shape.mutations(request.function, name):
            if last_part(call.name) in _TAKES and (why := turned_later(shape, request, call.conditions)):
                yield call.span, why, request.function, True


def _invoked(shape: Shape, bound: Call) -> Iterator[Request]:
    """The requests that a function sends with the model that it binds tools to."""
    for call in shape.view.calls:
        if call.function != bound.function or call.receiver is None or last_part(call.name) not in SEND:
            continue
        model = shape.resolve(call.function, call.receiver)
        given = call.args[0] if call.args else call.keywords.get("input")
        if given is not None and any(part.call is bound for part in walk(model)):
            messages = given.entries.get("messages", given)
            yield Request(
                {"messages": messages, "tools": bound.args[0]}, call.function, call.span, call.conditions, call
            )


def _shown(shape: Shape, request: Request, part: Part, parts: Sequence[Part]) -> bool:
    """Whether what chooses a part is seen to differ between two requests of one chat."""
    picks = part.expr.kind == "comprehension" or part.expr.call is not None or part.expr.kind == "subscript"
    if not (part.element or picks or has_two(shape, parts)):
        return False
    return differs(shape, request, looked_at(shape, request, part))


def _set_elsewhere(shape: Shape, part: Part, function: str) -> bool:
    """Whether another function than the request's gives an object's field this value."""
    return part.function != function and any(
        binding.value is part.expr and binding.target is not None and binding.target.kind == "attribute"
        for binding in shape.view.bindings
    )


def tested(shape: Shape, function: str, conditions: tuple[Condition, ...], known: tuple[Condition, ...]) -> str | None:
    """What of the turn an `if` around a place looks at; tests in `known` hold for the whole request."""
    if is_setup(function):
        return None
    for condition in conditions:
        if condition.kind == "except":
            return None
        if (
            condition.kind == "if"
            and condition.test is not None
            and condition not in known
            and (why := turn_test(shape, function, condition.test))
        ):
            return why
    return None


def _switched(shape: Shape, part: Part, known: tuple[Condition, ...]) -> str | None:
    """The flag of the call under which a tool is added to a list that has others."""
    if not part.element or is_setup(part.function):
        return None
    for condition in part.conditions:
        if (
            condition.kind == "if"
            and condition.test is not None
            and condition not in known
            and (why := is_switch(shape, part.function, condition.test))
        ):
            return why
    return None


def _chosen(shape: Shape, part: Part, known: tuple[Condition, ...]) -> str | None:
    expr = part.expr
    if is_setup(part.function):
        return None
    if expr.kind == "comprehension":
        for generator in expr.generators:
            for test in generator.tests:
                if why := turn_test(shape, part.function, test):
                    return why
    if why := picked(shape, part.function, expr):
        return why
    if (
        expr.kind in ("name", "attribute")
        and not part.element
        and any(item.function for item in shape.bindings(part.function, expr))
    ):
        # The tests are read where the name gets its value.
        return None
    return tested(shape, part.function, part.conditions, known) or _switched(shape, part, known)
