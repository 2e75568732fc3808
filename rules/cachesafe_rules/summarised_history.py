"""CSF304 summarised-history."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.cut_histories import is_tail
from cachesafe_rules.excerpts import ends_before_request
from cachesafe_rules.expressions import is_history, last_part, name_words
from cachesafe_rules.history_edits import unguarded_callers
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Call, Expr, MessageItem, MessageList, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.one_chat import is_sent
from cachesafe_rules.replaced_history import replaced
from cachesafe_rules.shape import Request, Shape, shape_of
from cachesafe_rules.summaries import SUMMARY, behind, is_trivial, summarises
from cachesafe_rules.turns import is_setup, overflow_guarded

__all__ = ["SummarisedHistory"]

_HELP = "keep the messages as they were sent; summarise only when the context limit is near, once, and go on from there"


class SummarisedHistory(Rule):
    """Earlier messages are replaced by a summary on every turn.

    What is wrong
    -------------
    A fresh summary of the older messages and the newest ones take the place of the chat, without a test whether the
    context is nearly full. It is reported where all of this is visible: a call that is named like a summary, or a
    request whose answer is, is given messages that were sent, the end of these very messages stands behind its text in
    one list, and that list is sent, given back or kept as the chat; or the text is put among these messages themselves
    in the place of some (`messages[:-2] = [summary]`, emptied and begun anew), behind no test but one of a length that
    the next turns reach again; or a node of a graph with fixed edges gives it back with `RemoveMessage`. Projects of
    several files: only where a request of the same function or of its caller holds that list; a file of up to 40 rows
    that no other file imports is taken as it stands.

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
        for call, found in [*_calls(shape), *_instead(shape)]:
            if call.span not in seen:
                seen.add(call.span)
                shown = is_sent(shape, found.function, Expr("list", found.span), found.conditions)
                yield _report(call, call.span, shown)
        for call, span, shown in replaced(shape):
            if call.span not in seen:
                seen.add(call.span)
                yield _report(call, span, shown)


def _report(call: Call, span: Span, shown: bool) -> Report:
    told = f"{call.name}() replaces earlier messages on every turn: a new text in front of all others"
    return Report(told, span, help=_HELP, data={"shown": shown})


def _calls(shape: Shape) -> Iterator[tuple[Call, MessageList]]:
    """Calls whose summary stands in a list that is sent or kept, in front of the end of what they summarised."""
    for found in shape.view.lists:
        by_name = not SUMMARY.isdisjoint(name_words(last_part(found.function)))
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
            for call, named, conditions in behind(shape, found.function, item.content):
                if (
                    summarises(shape, found.function, call, named, tails)
                    and not overflow_guarded(shape, found.function, conditions)
                ):  # fmt: skip
                    yield call, found


def _instead(shape: Shape) -> Iterator[tuple[Call, MessageList]]:
    """Calls whose summary of the whole chat stands in the system message in place of it, in an excerpt."""
    for found in shape.view.lists if ends_before_request(shape) else ():
        if is_setup(found.function) or any(item.role == "*" for item in found.items) or not _is_sent(shape, found):
            continue
        for item in found.items:
            content = item.content if item.role == "system" else None
            for call, named, conditions in behind(shape, found.function, content) if content is not None else ():
                given = [arg for arg in (*call.args, *call.keywords.values()) if is_history(arg)]
                chats = [arg.name or "" for arg in given if holds_sent(shape, found.function, arg)]
                same = chats and summarises(shape, found.function, call, named, chats)
                if same and not overflow_guarded(shape, found.function, conditions):
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
    if ends_before_request(shape) and all(not is_setup(c.function) and not c.conditions for c in callers):
        # Who else calls it is not seen; what it gives back goes on with the end of the chat.
        return True
    if not all(map(is_trivial, found.conditions)):
        return False
    return any(not is_setup(call.function) and all(map(is_trivial, call.conditions)) for call in callers)


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
