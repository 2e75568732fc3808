"""CSF303 sliding-window."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.batches import dropped_at_once, is_changed_for_all
from cachesafe_rules.expressions import is_history, last_part, name_words, spelt
from cachesafe_rules.lasting import begins, is_short
from cachesafe_rules.model import Condition, Expr, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.queried_windows import forgotten, reads_newest_rows
from cachesafe_rules.shape import Part, Shape, shape_of
from cachesafe_rules.side_lists import only_asked_about
from cachesafe_rules.turns import is_side_call, overflow_guarded
from cachesafe_rules.volatile import volatile_in
from cachesafe_rules.window_memories import configured, reads_last

__all__ = ["SlidingWindow"]

_HELP = (
    "keep the history append-only and compact it once, in a big step, when the context limit is near; "
    "or drop many turns at a time, so that the front stays the same for the next many requests"
)


class SlidingWindow(Rule):
    """Only the last messages of the chat are sent.

    What is wrong
    -------------
    `history[-20:]`, `deque(maxlen=20)`, `messages.pop(0)`: once the chat is longer than the window, every new message
    pushes the oldest one out. It is reported where all of this is visible:

    - What the cut leaves goes into a request: a text or list that is made of it, in the same function or over at most
      five calls, results and attributes of the project. Where it is stored, shown, counted or read for one message
      alone, nothing is said; where it is cut again on its way, that is the window. Cuts of one list in one function
      are one report. A model that the file runs by itself (`generate(…, max_new_tokens=…)` of transformers) and gives
      no `past_key_values` reuses nothing that a window could move; an agent that is asked one question, or only for
      its tools, drops nothing.
    - The cut is done again turn by turn: not in a constructor or a function that loads a chat, not on demand, and not
      to a list that the same function begins anew and fills without a loop, which never gets longer.
    - It drops few messages at a time. `if len(history) > 60: history = history[-20:]` moves the front once in forty
      messages, if the list itself is cut, not a copy for one request; from eight messages on (four turns) nothing is
      said, below that the report names the number. Limits that are no numbers are taken to drop one by one.
    - It keeps the newest messages, by their place. What reads a chat with a limit (`get_history(limit=20)`) counts
      where the end is seen to be taken: by the project's own function of that name, or by whoever turns its result
      round. Of a reader from elsewhere the name says enough. What is chosen for the question is no window.
    - The file is run by itself, another one or a test takes it in, no other file uses what it takes in, or the project
      has no more than ten files.

    A file of up to 40 rows that no other file imports is taken as it stands: what its functions give back is sent.

    Why
    ---
    The first message of the request is then another one on every turn, and prompt caches compare from the front. A chat
    that was reused until message 20 is processed anew from message 21 on, each time. Costs go up exactly where the
    window was to keep them down: reading 30,000 tokens from a cache is cheaper than processing 10,000 new ones at a
    read price of 0.1 of the input price and less (Claude Platform Docs, "Prompt caching", read 2026-11-29).

    What to do
    ----------
    Append only; when the context limit is near, compact once and go on from there. Tests on tokens or on the context
    size are taken as such a limit and not reported.
    """

    code = "CSF303"
    name = "sliding-window"
    severity = "warning"
    needles = (*CHAT, b"BufferWindowMemory(", b"BufferedChatCompletionContext(", b"WindowConversationManager(")
    INVALID = (
        Example(
            "def build(history, user_text):\n"
            "    recent = history[-10:]\n"
            "    return [{'role': 'system', 'content': 'Help.'}, *recent, {'role': 'user', 'content': user_text}]\n",
            (2,),
        ),
        Example(
            "class Chat:\n"
            "    def ask(self, text):\n"
            "        self.messages.append({'role': 'user', 'content': text})\n"
            "        if len(self.messages) > 20:\n"
            "            self.messages = self.messages[-20:]\n"
            "        return self.client.messages.create(model='m', max_tokens=9, messages=self.messages)\n",
            (5,),
        ),
        Example(
            "def trim(history, keep):\n"
            "    return [history[0]] + history[-keep:]\n\n"
            "def send(client, history):\n"
            "    return client.chat.completions.create(model='m', messages=trim(history, 12))\n",
            (2,),
        ),
        Example(
            "from collections import deque\n\n"
            "class Bot:\n"
            "    def __init__(self, client):\n"
            "        self.client = client\n"
            "        self.history = deque(maxlen=16)\n\n"
            "    def ask(self, text):\n"
            "        self.history.append({'role': 'user', 'content': text})\n"
            "        return self.client.responses.create(model='m', input=list(self.history))\n",
            (6,),
        ),
        Example(
            "def send(client, messages):\n"
            "    while len(messages) > 30:\n"
            "        messages.pop(0)\n"
            "    return client.chat.completions.create(model='m', messages=messages)\n",
            (3,),
        ),
    )
    VALID = (
        Example(
            "def build(history, user_text):\n"
            "    return [{'role': 'system', 'content': 'Help.'}, *history, {'role': 'user', 'content': user_text}]\n"
        ),
        Example(
            "def send(client, messages):\n"
            "    if count_tokens(messages) > 0.9 * CONTEXT_LIMIT:\n"
            "        messages = [messages[0]] + messages[-8:]\n"
            "    return client.chat.completions.create(model='m', messages=messages)\n"
        ),
        Example(
            "def show(client, messages):\n"
            "    for message in messages[-10:]:\n"
            "        print(message['content'])\n"
            "    return client.chat.completions.create(model='m', messages=messages)\n"
        ),
        Example(
            "class Bot:\n"
            "    def ask(self, text):\n"
            "        self.history.append({'role': 'user', 'content': text})\n"
            "        if len(self.history) > 60:\n"
            "            self.history = self.history[-20:]\n"
            "        return self.client.chat.completions.create(model='m', messages=self.history)\n"
        ),
        Example("def newest(messages):\n    last = messages[-1:]\n    return {'model': 'm', 'messages': last}\n"),
        Example(
            "def make_title(client, messages):\n"
            "    return client.chat.completions.create(model='m', messages=[*messages[-4:],\n"
            "        {'role': 'user', 'content': 'A title, please.'}])\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for span, what, function, names, step in [
            *_sliced(shape),
            *_dropped(shape),
            *((span, what, "", (), 1) for span, what in (*_bounded(shape), *configured(shape))),
        ]:
            if span not in seen and step < _SELDOM:
                seen.add(span)
                often = "with each new message" if step < 2 else f"every {step} messages"
                yield Report(
                    f"{what} is a sliding window: {often} the front of the request is another one",
                    span,
                    help=_HELP,
                    # Cuts of one list in one function, as in the branches of an `if`, are one window.
                    group=f"window of {names[0]} in {function}" if function else None,
                    data={"function": function, "names": list(names)} if function else {},
                )
        for span, what in _fitted(shape):
            if span not in seen:
                seen.add(span)
                yield Report(
                    f"{what} drops just enough to fit: from then on every turn drops again and starts differently",
                    span,
                    severity="note",
                    help="drop a large share at once when the limit is reached, so that the next turns can be reused",
                )


_ON_DEMAND = frozenset({"clear", "reset", "forget"})


def _free(shape: Shape, function: str, conditions: tuple[Condition, ...]) -> bool:
    """Whether a place is reached turn by turn, as far as its tests and its function's name say."""
    asked_for = not _ON_DEMAND.isdisjoint(name_words(last_part(function)))
    return not (overflow_guarded(shape, function, conditions) or is_side_call(function) or asked_for)


def is_tail(expr: Expr) -> bool:
    """`x[-n:]`, `x[len(x) - n:]`: the end of a list; `x[-1:]` is the newest message alone."""
    if expr.kind != "subscript" or expr.items[1].kind != "slice":
        return False
    lower, upper, step = expr.items[1].items
    if upper.value is not None or upper.kind != "constant" or step.value is not None:
        return False
    if lower.call is not None and lower.call.name == "max" and lower.call.args:
        lower = lower.call.args[-1]
    if lower.kind == "constant":
        return isinstance(lower.value, int) and lower.value < -1
    if lower.kind == "operation" and lower.name == "*" and _is_negative(lower.items[0]):
        # `[-2 * turns:]`
        return True
    if lower.kind != "operation" or lower.name != "-":
        return False
    first = lower.items[0]
    if len(lower.items) == 1 and first.call is not None and first.call.name == "len":
        # As many as were just added: the rest is at hand elsewhere.
        return False
    return len(lower.items) == 1 or (first.call is not None and first.call.name == "len")


def _is_negative(expr: Expr) -> bool:
    if expr.kind == "operation":
        return expr.name == "-" and len(expr.items) == 1
    return isinstance(expr.value, int) and expr.value < 0


# A place, how it is told, the function, what the list is called there, first before it is cut, and how many messages
# are dropped at once.
_Found = tuple[Span, str, str, tuple[str, ...], int]
# With so many messages, four turns, most requests find what was there before.
_SELDOM = 8


def _sliced(shape: Shape) -> Iterator[_Found]:
    beside = only_asked_about(shape)
    for part in shape.parts:
        expr = part.expr
        if expr.span in beside:
            continue
        if expr.kind != "subscript" or not _free(shape, part.function, part.conditions):
            continue
        if begins(shape, part):
            continue
        if not (
            is_history(expr.items[0])
            or _of_history(shape, part.function, expr.items[0])
            or _becomes_history(shape, part.function, expr)
        ):
            continue
        if is_short(shape, part):
            continue
        if is_tail(expr) or (_drops_first(expr) and _counts(part.conditions)):
            name = spelt(expr.items[0])
            cut = [b.target.name for b in shape.view.bindings if b.value is expr and b.target and b.target.name]
            step = dropped_at_once(shape, part.function, expr, part.conditions) or 1
            yield expr.span, f"{name}[{'-n' if is_tail(expr) else 'n'}:]", part.function, (name, *cut), step


def _of_history(shape: Shape, function: str, expr: Expr) -> bool:
    """A list that was filtered or copied from the history."""
    value = shape.resolve(function, expr)
    if value.kind == "comprehension":
        return is_history(value.generators[0].iterable)
    return value is not expr and is_history(value)


def _becomes_history(shape: Shape, function: str, expr: Expr) -> bool:
    """`messages = store.fetch(user)[-10:]`: what was read is called a chat from there on."""
    call = expr.items[0].call
    return call is not None and any(
        item.value is expr and item.function == function and is_history(item.target) for item in shape.view.bindings
    )


def _drops_first(expr: Expr) -> bool:
    """`x[2:]`."""
    if expr.items[1].kind != "slice":
        return False
    lower, upper, _ = expr.items[1].items
    return isinstance(lower.value, int) and lower.value > 0 and upper.kind == "constant" and upper.value is None


def _sent(shape: Shape) -> set[tuple[str, str]]:
    return {
        (shape.home(part.function, part.expr.name), part.expr.name)
        for part in shape.parts
        if part.expr.name and part.expr.kind in ("name", "attribute") and is_history(part.expr)
    }


def _dropped(shape: Shape) -> Iterator[_Found]:
    sent = _sent(shape)
    for call in shape.view.calls:
        root, _, method = call.name.rpartition(".")
        if (
            (method == "popleft" or (method == "pop" and len(call.args) == 1 and call.args[0].value in (0, 1)))
            and (shape.home(call.function, root), root) in sent
            and _free(shape, call.function, call.conditions)
            and (method == "popleft" or _counts(call.conditions))
        ):
            yield call.span, f"{call.name}(…)", call.function, (root,), 1
    for binding in shape.view.bindings:
        target = binding.target
        if (
            binding.operator == "del"
            and target is not None
            and target.kind == "subscript"
            and is_history(target.items[0])
        ):
            name, key = target.items[0].name or "", target.items[1]
            at_front = key.value in (0, 1) if key.kind == "constant" else key.kind == "slice" and _front(key)
            if (
                at_front
                and (shape.home(binding.function, name), name) in sent
                and _free(shape, binding.function, binding.conditions)
                and _counts(binding.conditions)
            ):
                step = _width(key) if is_changed_for_all(shape, binding, target.items[0]) else 1
                yield binding.span, f"del {name}[…]", binding.function, (name,), step


def _width(key: Expr) -> int:
    """How many messages `del x[:20]` drops."""
    lower, upper = (item.value for item in key.items[:2]) if key.kind == "slice" else (0, 1)
    return upper - (lower or 0) if isinstance(upper, int) and isinstance(lower, int | None) else 1


def _front(key: Expr) -> bool:
    lower, upper = key.items[0], key.items[1]
    return (
        lower.kind == "constant" and lower.value in (None, 0, 1) and upper.value is not None
    ) or upper.kind != "constant"


def _counts(conditions: tuple[Condition, ...]) -> bool:
    """Whether the place depends on how many messages there are."""
    for condition in conditions:
        if condition.test is not None and condition.kind in ("if", "while"):
            test = condition.test
            if any(item.kind == "constant" and item.value in (0, 1) for item in test.items):
                # Whether there is anything behind the first message.
                continue
            if test.kind == "operation" and any(
                item.call is not None and item.call.name == "len" for item in test.items
            ):
                return any(symbol in (test.name or "") for symbol in (">", "<"))
    return False


def _bounded(shape: Shape) -> Iterator[tuple[Span, str]]:
    for part in shape.parts:
        call = part.expr.call
        if call is not None and last_part(call.name) == "deque":
            bound = call.keywords.get("maxlen") or (call.args[1] if len(call.args) > 1 else None)
            if bound is not None and not (bound.kind == "constant" and bound.value is None):
                yield call.span, "deque(maxlen=…)"
        elif call is not None and last_part(call.name) == "trim_messages":
            counter = call.keywords.get("token_counter")
            if counter is not None and counter.name == "len":
                yield call.span, "trim_messages(token_counter=len)"
        elif (
            call is not None
            and reads_last(call)
            and _free(shape, part.function, part.conditions)
            and not begins(shape, part)
            and not _is_cut_again(shape, part)
        ):
            yield call.span, f"{call.name}(limit=…)"
        elif (
            reads_newest_rows(shape, part) and _free(shape, part.function, part.conditions) and not begins(shape, part)
        ):
            yield part.expr.span, "the query of the newest rows"
    yield from _aged(shape)
    for part in forgotten(shape):
        if not overflow_guarded(shape, part.function, part.conditions):
            yield part.span, f"RemoveMessage of {spelt(part.expr.items[0])}[…]"


def _aged(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`[m for m in history if m["at"] > now - HOUR]`: what is older drops out, one message after the other."""
    for part in shape.parts:
        expr = part.expr
        if expr.kind != "comprehension" or not is_history(expr.generators[0].iterable):
            continue
        if not _free(shape, part.function, part.conditions) or begins(shape, part):
            continue
        for test in expr.generators[0].tests:
            if test.kind == "operation" and any(volatile_in(shape, part.function, side) for side in test.items):
                yield expr.span, f"the age of {spelt(expr.generators[0].iterable)}"


def _is_cut_again(shape: Shape, read: Part) -> bool:
    """Whether of what was read only the end is taken: that is the window then."""
    names = {item.target.name for item in shape.view.bindings if item.target and item.value is read.expr}
    return any(
        part.function == read.function
        and is_tail(part.expr)
        and is_history(part.expr.items[0])
        and part.expr.items[0].name in names
        for part in shape.parts
    )


def _fitted(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`while tokens > limit: messages.pop(0)`."""
    sent = _sent(shape)
    for call in shape.view.calls:
        root, _, method = call.name.rpartition(".")
        if method != "popleft" and not (method == "pop" and len(call.args) == 1 and call.args[0].value in (0, 1)):
            continue
        loops = [condition for condition in call.conditions if condition.kind == "while"]
        if (
            loops
            and (shape.home(call.function, root), root) in sent
            and not is_side_call(call.function)
            and overflow_guarded(shape, call.function, loops)
        ):
            yield call.span, f"{call.name}(…)"
