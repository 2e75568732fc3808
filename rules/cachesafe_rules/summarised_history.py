"""CSF304 summarised-history."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.assembled import role_and_content
from cachesafe_rules.excerpts import is_excerpt
from cachesafe_rules.expressions import is_history, last_part, name_words, walk, words_of_name
from cachesafe_rules.history_edits import unguarded_callers
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Call, Condition, Expr, MessageItem, MessageList, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.one_chat import is_sent
from cachesafe_rules.shape import SEND, Request, Shape, shape_of
from cachesafe_rules.sliding_window import is_tail
from cachesafe_rules.turns import is_setup, overflow_guarded

__all__ = ["SummarisedHistory"]

_SUMMARY = frozenset(
    {"summarize", "summarise", "summary", "summarizer", "summariser", "condense", "compress", "recap", "digest",
     "compact", "summarized", "summarised"}
)  # fmt: skip
_DEPTH = 3
_HELP = "keep the messages as they were sent; summarise only when the context limit is near, once, and go on from there"


class SummarisedHistory(Rule):
    """Earlier messages are replaced by a summary on every turn.

    What is wrong
    -------------
    A fresh summary of the older messages and the newest ones take the place of the chat, without a test whether the
    context is nearly full. It is reported where all of this is visible: a call that is named like a summary, or a
    request whose answer is, is given messages that were sent, the end of these very messages stands behind its text in
    one list, and that list is sent, given back or kept as the chat. Projects of several files: only where a request of
    the same function or of its caller holds that list; a file of up to 40 rows that no other file imports is taken as
    it stands.

    In a project of more than ten files, a file that nothing runs or takes in, not even a test, is left out where other
    files use what it takes in: the project goes on without it.

    Why
    ---
    A summary is another text each time, and it stands before everything that could be reused. So each turn pays for
    the summary, for the whole request, and (at providers that charge for writes) for a cache entry that is never read.

    What to do
    ----------
    Summarise when the context limit is near, store the summary, and append to it from then on: one rewrite in many
    turns. Such a guard on tokens or context size is recognised and not reported.
    """

    code = "CSF304"
    name = "summarised-history"
    severity = "warning"
    needles = CHAT
    INVALID = (
        Example(
            "def build(llm, history, user_text):\n"
            "    summary = summarize(llm, history[:-4])\n"
            "    return [{'role': 'system', 'content': 'You help.'},\n"
            "            {'role': 'system', 'content': f'So far: {summary}'},\n"
            "            *history[-4:], {'role': 'user', 'content': user_text}]\n",
            (2, 4),
        ),
        Example(
            "class Chat:\n"
            "    def ask(self, text):\n"
            "        self.messages.append({'role': 'user', 'content': text})\n"
            "        summary = self.summarise(self.messages[:-6])\n"
            "        self.messages = [{'role': 'system', 'content': summary}] + self.messages[-6:]\n"
            "        return self.client.chat.completions.create(model='m', messages=self.messages)\n",
            (4, 5),
        ),
        Example(
            "def build(history, user_text):\n"
            "    if len(history) > 6:\n"
            "        history = [{'role': 'user', 'content': summarize(history[:-2])}] + history[-2:]\n"
            "    return {'model': 'm', 'messages': history + [{'role': 'user', 'content': user_text}]}\n",
            (3,),
        ),
    )
    VALID = (
        Example(
            "def build(llm, history, user_text):\n"
            "    if count_tokens(history) > 150_000:\n"
            "        summary = summarize(llm, history[:-4])\n"
            "        history = [{'role': 'user', 'content': f'So far: {summary}'}, *history[-4:]]\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': user_text}]}\n"
        ),
        Example(
            "def summarize(client, messages):\n"
            "    return client.chat.completions.create(model='m', messages=[\n"
            "        {'role': 'system', 'content': 'Summarise the chat.'}, *messages])\n"
        ),
        Example(
            "def build(history, text):\n"
            "    summary = summarize(history)\n"
            "    return {'model': 'm', 'messages': [{'role': 'user', 'content': f'{summary} {text}'}]}\n"
        ),
        Example(
            "def build(history, document):\n"
            "    text = summarize(document)\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': text}]}\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for call, found in [*_calls(shape), *_in_place(shape)]:
            if call.span not in seen:
                seen.add(call.span)
                yield Report(
                    f"{call.name}() replaces earlier messages on every turn: a new text in front of all others",
                    call.span,
                    help=_HELP,
                    data={"shown": is_sent(shape, found.function, Expr("list", found.span), found.conditions)},
                )


def _calls(shape: Shape) -> Iterator[tuple[Call, MessageList]]:
    """Calls whose summary stands in a list that is sent or kept, in front of the end of what they summarised."""
    for found in shape.view.lists:
        by_name = not _SUMMARY.isdisjoint(name_words(last_part(found.function)))
        if (
            is_setup(found.function)
            or (by_name and not _is_each_turn(shape, found))
            or overflow_guarded(shape, found.function, found.conditions)
            or not unguarded_callers(shape, found.function)
            or not _is_sent(shape, found)
        ):
            continue
        for number, item in enumerate(found.items):
            tails = [name for later in found.items[number + 1 :] if (name := _tail_of(shape, found, later))]
            if item.content is None or not tails:
                continue
            for call, named, conditions in _behind(shape, found.function, item.content):
                if (
                    _summarises(shape, found.function, call, named, tails)
                    and not overflow_guarded(shape, found.function, conditions)
                ):  # fmt: skip
                    yield call, found


def _in_place(shape: Shape) -> Iterator[tuple[Call, MessageList]]:
    """`messages[1:-6] = [summary]`: what was said before is replaced in the list itself, the newest messages stay."""
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if target is None or value is None or target.kind != "subscript" or target.items[1].kind != "slice":
            continue
        whole, end = target.items[0], target.items[1].items[1]
        if not is_history(whole) or value.kind != "list" or not holds_sent(shape, binding.function, whole):
            continue
        if (end.kind == "constant" and end.value is None) or overflow_guarded(
            shape, binding.function, binding.conditions
        ):
            continue
        if is_setup(binding.function) or not unguarded_callers(shape, binding.function):
            continue
        found = MessageList(value.span, [], binding.function, binding.conditions, value)
        for item in value.items:
            content = role_and_content(item)[1]
            for call, named, conditions in _behind(shape, binding.function, content) if content is not None else ():
                if _summarises(shape, binding.function, call, named, [whole.name or ""]) and not overflow_guarded(
                    shape, binding.function, conditions
                ):
                    yield call, found


def _is_sent(shape: Shape, found: MessageList) -> bool:
    """Whether a list is given back, becomes the chat, or stands in a request."""
    if any(_stands_in(shape, request, found) for request in shape.requests):
        return True
    return any(
        item.function == found.function
        and item.value is not None
        and item.value.span == found.span
        and (item.operator == "return" or _is_chat(item.target))
        for item in shape.view.bindings
    )


def _is_chat(target: Expr | None) -> bool:
    """`self.messages`, `messages[:]`."""
    if target is not None and target.kind == "subscript" and target.items[1].kind == "slice":
        target = target.items[0]
    return is_history(target)


def _is_each_turn(shape: Shape, found: MessageList) -> bool:
    """Whether what a function named for it makes is the chat from then on, and not the request for a summary: callers
    run it on every turn, behind no test that could say when."""
    if any(_stands_in(shape, request, found) for request in shape.requests):
        return False
    callers = shape.callers(found.function)
    if is_excerpt(shape.view) and (not callers or not all(is_setup(call.function) for call in callers)):
        # Who else calls it is not seen; what it gives back goes on with the end of the chat.
        return True
    if not all(map(_is_trivial, found.conditions)):
        return False
    return any(not is_setup(call.function) and all(map(_is_trivial, call.conditions)) for call in callers)


def _is_trivial(condition: Condition) -> bool:
    """Whether a test only asks if there is anything: `if not old: return`."""
    if condition.kind in ("for", "while"):
        return True
    test = condition.test
    if condition.kind not in ("if", "left") or test is None:
        return False
    while test.kind == "operation" and test.name == "not":
        test = test.items[0]
    return test.kind == "name" and condition.negated is (condition.kind == "left")


def _stands_in(shape: Shape, request: Request, found: MessageList) -> bool:
    sent = shape.resolve(request.function, request.messages) if request.messages is not None else None
    return sent is not None and request.function == found.function and sent.span == found.span


def _tail_of(shape: Shape, found: MessageList, item: MessageItem) -> str | None:
    """The name of the sent messages whose end an item is."""
    expr = item.expr.items[0] if item.expr.kind == "star" else item.expr
    tail = shape.resolve(found.function, expr)
    if item.role != "*" or not is_tail(tail) or not holds_sent(shape, found.function, tail.items[0]):
        return None
    return tail.items[0].name


# A call, whether its result is named like a summary, and the tests around it.
_Made = tuple[Call, bool, tuple[Condition, ...]]


def _behind(shape: Shape, function: str, content: Expr) -> Iterator[_Made]:
    for part in walk(content):
        if part.call is not None:
            yield part.call, False, ()
        elif part.kind in ("name", "attribute"):
            for binding in shape.bindings(function, part):
                if binding.value is None or binding.function != function:
                    continue
                if binding.value.call is not None:
                    yield binding.value.call, False, binding.conditions
                if binding.target is not None and not _SUMMARY.isdisjoint(words_of_name(binding.target)):
                    for call in _asked(shape, function, binding.value):
                        yield call, True, binding.conditions


def _asked(shape: Shape, function: str, value: Expr) -> Iterator[Call]:
    """The requests whose answer a value is: `client.create(…).choices[0].message.content`, or of a name for it."""
    for part in walk(value):
        whole = shape.resolve(function, part) if part.kind == "name" else part
        if whole.call is not None and last_part(whole.call.name) in SEND:
            yield whole.call


def _summarises(shape: Shape, function: str, call: Call, named: bool, tails: list[str]) -> bool:
    """Whether a call is named like a summary, or its result is, and it is given the messages whose end is kept."""
    if call.name[:1].isupper() or not (named or not _SUMMARY.isdisjoint(name_words(call.name))):
        return False
    local = shape.local_function(call, function)
    if local and all(overflow_guarded(shape, local, item.conditions) for item in shape.returns(local)):
        # It looks at the size itself.
        return False
    given = [*call.args, *call.keywords.values()]
    return any(part.name in tails for arg in given for part in _made_of(shape, function, arg, _DEPTH))


def _made_of(shape: Shape, function: str, expr: Expr, depth: int) -> Iterator[Expr]:
    """What an argument is made of, names followed."""
    for part in walk(expr):
        yield part
        if depth and part.kind == "name":
            value = shape.resolve(function, part)
            if value is not part:
                yield from _made_of(shape, function, value, depth - 1)
