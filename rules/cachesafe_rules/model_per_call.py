"""CSF306 model-per-call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.changing import is_local, takes_turn
from cachesafe_rules.expressions import is_constant_name, last_part, name_words, walk, words
from cachesafe_rules.model import Expr, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.one_chat import differs, goes_round, has_two, ifs_in, is_sent_on, looked_at, varied
from cachesafe_rules.picks import by_kind
from cachesafe_rules.shape import Part, Request, Shape, shape_of
from cachesafe_rules.tools_per_turn import tested
from cachesafe_rules.turns import is_chat, is_setup, is_side_call, sent_again

__all__ = ["ModelPerCall"]

_MODEL = ("model", "model_id", "modelId", "model_name")
_EFFORT = ("reasoning_effort", "effort", "reasoning", "thinking", "output_config", "thinking_config", "verbosity")
_PICKING = frozenset({"select", "pick", "choose", "route", "router", "classify", "best", "for", "estimate", "decide"})
_RANDOM = frozenset({"choice", "choices", "sample", "randint"})
_HELP = (
    "keep one model and one effort for a chat; start a new chat (or a sub-agent with its own) where another is wanted"
)


class ModelPerCall(Rule):
    """Model or reasoning effort is chosen anew for each call.

    What is wrong
    -------------
    Within one chat the model, the reasoning effort or the thinking budget depends on the question, its length, a step
    counter or chance.

    When it is reported
    -------------------
    - The request carries a conversation. One question with its system text has no chat that a switch would cost.
    - The choice hangs on what differs between the turns: a test of the newest text or of the chat's length, a counter,
      a table that is asked for the question's kind, chance, a router that is given the newest text.
    - It is no fallback: a request that is sent once more because the answer was empty, or in an `except`, is no switch.
    - Projects of several files: only where one function, with the helpers that it calls, shows all of it. The requests
      continue one chat (a loop sends a list that it lets grow, or the list holds earlier messages), the choice reads
      what is another thing in the next of them (the loop's counter or state, the list's length, its newest message, the
      text that the function puts there, chance), and two different values are seen. A loop of attempts is none. A file
      of up to 40 rows that no other file imports is taken as it stands.

    In a project of more than ten files, a file that nothing runs or takes in, not even a test, is left out where other
    files use what it takes in: the project goes on without it.

    Why
    ---
    A cache belongs to one model: every switch is a full miss, and coming back within the lifetime finds only what that
    model had seen. Effort and thinking settings are rendered into the prompt at Anthropic (messages always void, tools
    and system for some models: "Prompt caching", Claude Platform Docs, read 2026-11-29) and are part of the prefix at
    OpenAI ("Prompt caching", OpenAI docs, copy of 2026-09-20).

    What to do
    ----------
    Choose once per chat. Route whole chats or sub-tasks, not single turns. Where the provider offers a change that is
    appended to the chat (an effort in a later system message, a configuration item), use that.
    """

    code = "CSF306"
    name = "model-per-call"
    severity = "warning"
    needles = CHAT
    INVALID = (
        Example(
            "def ask(client, messages, user_text):\n"
            "    model = 'big' if len(user_text) > 500 else 'small'\n"
            "    return client.chat.completions.create(model=model, messages=messages)\n",
            (2,),
        ),
        Example(
            "def ask(client, messages, hard_question):\n"
            "    return client.responses.create(\n"
            "        model='m', input=messages, reasoning={'effort': 'high' if hard_question else 'low'})\n",
            (3,),
        ),
        Example(
            "import random\n\n"
            "def ask(client, messages):\n"
            "    return client.messages.create(model=random.choice(MODELS), max_tokens=9, messages=messages)\n",
            (4,),
        ),
        Example(
            "def ask(client, messages, query):\n"
            "    if 'prove' in query:\n"
            "        effort = 'high'\n"
            "    else:\n"
            "        effort = 'low'\n"
            "    return client.chat.completions.create(model='m', messages=messages, reasoning_effort=effort)\n",
            (2, 3, 5),
        ),
        Example(
            "def ask(client, history, question):\n"
            "    return {'model': pick_model(question), 'messages': [*history, user(question)]}\n",
            (2,),
        ),
    )
    VALID = (
        Example(
            "def ask(client, messages, model=None):\n"
            "    return client.chat.completions.create(model=model or DEFAULT, messages=messages)\n"
        ),
        Example(
            "class Agent:\n"
            "    def __init__(self, client, hard_task):\n"
            "        self.client, self.model = client, 'small'\n"
            "        if hard_task:\n"
            "            self.model = 'big'\n\n"
            "    def ask(self, messages):\n"
            "        return self.client.chat.completions.create(model=self.model, messages=messages)\n"
        ),
        Example(
            "def ask(client, messages):\n"
            "    try:\n"
            "        return client.chat.completions.create(model=FIRST, messages=messages)\n"
            "    except Overloaded:\n"
            "        return client.chat.completions.create(model=SECOND, messages=messages)\n"
        ),
        Example(
            "def ask(client, messages, config):\n"
            "    effort = 'high' if config.careful else 'low'\n"
            "    return client.chat.completions.create(model='m', messages=messages, reasoning_effort=effort)\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: dict[Span, Report] = {}
        for span, what, why, shown in _found(shape):
            if shown or span not in seen:
                seen[span] = Report(
                    f"the {what} depends on {why}: a switch in the middle of a chat is a full cache miss",
                    span,
                    help=_HELP,
                    data={"shown": shown},
                )
        yield from seen.values()


def _found(shape: Shape) -> Iterator[tuple[Span, str, str, bool]]:
    for request in shape.requests:
        if is_setup(request.function) or (is_side_call(request.function) and not goes_round(shape, request)):
            continue
        if sent_again(shape, request.function, request.conditions) or not is_chat(shape, request):
            continue
        for field in (*_MODEL, *_EFFORT):
            if field not in request.fields:
                continue
            what = "model" if field in _MODEL else "reasoning effort"
            done: set[int] = set()
            for value in _values(shape, request.function, request.fields[field]):
                parts = shape.flow_of_field(value, request.function, request.conditions)
                for part in parts:
                    if _of_another(shape, request, part):
                        continue
                    why = (
                        _chosen(shape, part)
                        or (_worked_out(shape, part) if what != "model" else None)
                        or (
                            None
                            if part.expr.kind in ("name", "attribute")
                            and any(item.function for item in shape.bindings(part.function, part.expr))
                            else tested(shape, part.function, part.conditions, request.conditions)
                            or _by_image(shape, part)
                            or _by_round(shape, request, part, parts)
                        )
                    )
                    # One report for both branches of a choice.
                    tests = {id(condition.test) for condition in part.conditions}
                    if why and not (tests & done):
                        done |= tests
                        yield _place(shape, part, parts), what, why, _shown(shape, request, part, parts)

    senders: dict[str, list[Request]] = {}
    for request in shape.requests:
        if is_chat(shape, request):
            senders.setdefault(request.function, []).append(request)
    for binding in shape.view.bindings:
        target = binding.target
        if target is None or binding.value is None or binding.function not in senders or target.kind != "subscript":
            continue
        key = target.items[1].value
        if (
            (key in _MODEL or key in _EFFORT)
            and not is_side_call(binding.function)
            and not sent_again(shape, binding.function, binding.conditions)
            and (why := tested(shape, binding.function, binding.conditions, ()))
        ):
            choices = ifs_in(binding.conditions)
            shown = any(differs(shape, request, choices) for request in senders[binding.function])
            yield binding.span, "model" if key in _MODEL else "reasoning effort", why, shown


def _place(shape: Shape, part: Part, parts: Sequence[Part]) -> Span:
    """Where a choice is told: of a helper's word for a level, where the helper is called."""
    for other in parts if part.expr.kind == "constant" else ():
        call = other.expr.call
        if call is not None and shape.local_function(call, other.function) == part.function:
            return other.span
    return part.span


def _by_round(shape: Shape, request: Request, part: Part, parts: Sequence[Part]) -> str | None:
    """What the loop of a chat counts or sets, and a choice looks at; of a call that stands elsewhere its name must say
    that it chooses."""
    call = part.expr.call
    if call is not None and (shape.local_function(call, part.function) or _PICKING.isdisjoint(name_words(call.name))):
        return None
    if call is None and part.expr.kind != "subscript" and not has_two(shape, parts):
        return None
    return varied(shape, request, looked_at(shape, request, part))


def _shown(shape: Shape, request: Request, part: Part, parts: Sequence[Part]) -> bool:
    """Whether the function shows that the choice comes out another way in the next request of the same chat."""
    call = part.expr.call
    if call is not None and last_part(call.name) in _RANDOM:
        return part.function == request.function and is_sent_on(shape, request)
    picks = part.expr.kind == "subscript" or call is not None
    if not picks and not has_two(shape, parts):
        return False
    return differs(shape, request, looked_at(shape, request, part))


def _of_another(shape: Shape, request: Request, part: Part) -> bool:
    """Whether a value is chosen for another request, in a branch of its own that this one does not stand in."""
    own = {(id(condition.test), condition.negated) for condition in request.conditions}
    branches = {(id(c.test), c.negated) for c in part.conditions if c.kind == "if"} - own
    return any(
        not other.partial
        and other.function == part.function
        and not branches.isdisjoint({(id(c.test), c.negated) for c in other.conditions})
        for other in shape.requests
    )


def _values(shape: Shape, function: str, expr: Expr) -> Iterator[Expr]:
    """The field's value, or the values inside of `{"effort": …}`."""
    value = shape.resolve(function, expr)
    if value.kind == "dict":
        yield from value.entries.values()
    else:
        yield expr


def _chosen(shape: Shape, part: Part) -> str | None:
    if is_setup(part.function):
        return None
    if part.expr.kind == "subscript" and is_constant_name(part.expr.items[0]):
        return by_kind(shape, part.function, part.expr.items[1])
    call = part.expr.call
    if call is None:
        return None
    name = last_part(call.name)
    if (
        name == "get"
        and call.receiver is not None
        and is_constant_name(call.receiver)
        and call.args
        and (why := by_kind(shape, part.function, call.args[0]))
    ):
        return why
    if name in _RANDOM and ("random" in call.target or "random" in call.name):
        return f"{call.name}()"
    if not _PICKING.isdisjoint(name_words(name)) and any(
        takes_turn(shape, part.function, arg) for arg in (*call.args, *call.keywords.values())
    ):
        return f"{call.name}()"
    return None


_SPENT = frozenset({"used", "remaining", "left", "spent", "turn", "turns", "step", "round", "iteration"})
_ARITHMETIC = frozenset({"-", "+", "*", "//", "/", "%"})


def _worked_out(shape: Shape, part: Part) -> str | None:
    """What a budget is computed from that moves with each request: `max(1024, (window - used_tokens) // 2)`."""
    root = part.expr
    computed = root.kind == "operation" and root.name in _ARITHMETIC
    if not computed and (root.call is None or last_part(root.call.name) not in ("max", "min", "int", "round")):
        return None
    stack, depth = [root], 0
    while stack and depth < 12:
        depth += 1
        for inner in walk(stack.pop()):
            if inner.kind not in ("name", "attribute") or not inner.name:
                continue
            if is_local(shape, part.function, inner) and not _SPENT.isdisjoint(name_words(last_part(inner.name))):
                return inner.name
            stack += [b.value for b in shape.bindings(part.function, inner) if b.value is not None and b.function]
    return None


_IMAGE = frozenset({"image", "images", "vision", "picture", "photo"})


def _by_image(shape: Shape, part: Part) -> str | None:
    """A choice by whether the newest message has an image (`VISION if has_image else TEXT`)."""
    for condition in part.conditions:
        test = condition.test
        if (
            condition.kind == "if"
            and test is not None
            and test.kind == "name"
            and not is_setup(part.function)
            and is_local(shape, part.function, test)
            and _IMAGE & words(test)
        ):
            return test.name
    return None
