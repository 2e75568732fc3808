"""CSF304 summarised-history."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.expressions import is_history, last_part, name_words, walk, words_of_name
from cachesafe_rules.model import Binding, Call, Condition, Expr, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.shape import Part, Shape, shape_of
from cachesafe_rules.turns import is_setup, overflow_guarded

__all__ = ["SummarisedHistory"]

_SUMMARY = frozenset(
    {"summarize", "summarise", "summary", "summarizer", "summariser", "condense", "compress", "recap", "digest",
     "compact", "summarized", "summarised"}
)  # fmt: skip
_CHAT = frozenset({"history", "messages", "conversation", "chat", "turns", "dialog"})
# What a request of its own is called.
_ASKED = frozenset({"prompt", "query", "text", "input", "instruction", "instructions", "request", "question"})
_HELP = "keep the messages as they were sent; summarise only when the context limit is near, once, and go on from there"


class SummarisedHistory(Rule):
    """Earlier messages are replaced by a summary on every turn.

    What is wrong
    -------------
    The request is built from a fresh summary of the older messages and the newest ones, without a test whether the
    context is nearly full. A text that is named as a prompt of its own is none of the history.

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
            "        summary = self.summarise(self.messages)\n"
            "        self.messages = [{'role': 'system', 'content': summary}, {'role': 'user', 'content': text}]\n"
            "        return self.client.chat.completions.create(model='m', messages=self.messages)\n",
            (3, 4),
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
            "def build(history, document):\n"
            "    text = summarize(document)\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': text}]}\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        for call in _calls(shape):
            if call.span not in seen:
                seen.add(call.span)
                yield Report(
                    f"{call.name}() replaces earlier messages on every turn: a new text in front of all others",
                    call.span,
                    help=_HELP,
                )


def _calls(shape: Shape) -> Iterator[Call]:
    """Calls that summarise the chat and whose result stands before or instead of its messages."""
    for part in shape.parts:
        if is_setup(part.function) or _is_compaction(part.function):
            continue
        call = part.expr.call
        if (
            call is not None
            and _summarises(shape, part.function, call)
            and _stands_in_history(shape, part)
            and _lasting(shape, part.function, part.conditions)
        ):
            yield call
    for found in shape.view.lists:
        if is_setup(found.function) or _is_compaction(found.function):
            continue
        for number, item in enumerate(found.items):
            follows = any(later.role in ("*", "user") for later in found.items[number + 1 :])
            if item.content is None or not follows:
                continue
            for call, conditions in _behind(shape, found.function, item.content):
                if _summarises(shape, found.function, call) and _lasting(
                    shape, found.function, (*found.conditions, *conditions)
                ):
                    yield call


def _stands_in_history(shape: Shape, part: Part) -> bool:
    """Whether what a call gives is the messages or one of them, and not named as the text of a request of its own."""
    targets = [
        item.target
        for item in shape.view.bindings
        if item.function == part.function and item.value is part.expr and item.target is not None
    ]
    return not targets or any(is_history(target) or _ASKED.isdisjoint(words_of_name(target)) for target in targets)


def _behind(shape: Shape, function: str, content: Expr) -> Iterator[tuple[Call, tuple[Condition, ...]]]:
    for part in walk(content):
        if part.call is not None:
            yield part.call, ()
        elif part.kind in ("name", "attribute"):
            for binding in shape.bindings(function, part):
                if binding.value is not None and binding.value.call is not None and binding.function == function:
                    yield binding.value.call, binding.conditions


def _summarises(shape: Shape, function: str, call: Call) -> bool:
    name = last_part(call.name)
    local = shape.local_function(call, function)
    if local and not any(_lasting(shape, local, item.conditions) for item in shape.returns(local) if _is_new(item)):
        # It looks at the size itself.
        return False
    if local and all(_only_selects(item.value) for item in shape.returns(local)):
        # Nothing new is written, whatever it is called: where it begins is a window's matter.
        return False
    if name[:1].isupper() or _SUMMARY.isdisjoint(name_words(call.name)):
        return False
    if _CHAT & name_words(name):
        return True
    given = [*call.args, *call.keywords.values()]
    given += [shape.resolve(function, arg) for arg in given]
    return any(is_history(part) for arg in given for part in walk(arg))


def _is_new(binding: Binding) -> bool:
    """Whether a return gives something else than the messages as they came."""
    return binding.value is not None and not is_history(binding.value)


def _only_selects(value: Expr | None) -> bool:
    """`window[i:]`, `[]`, `history`: messages that are left out or kept, none that is new."""
    if value is None:
        return False
    if value.kind == "subscript":
        return value.items[1].kind == "slice"
    if value.kind == "list":
        return not value.items
    return value.kind == "name" and is_history(value)


def _lasting(shape: Shape, function: str, conditions: tuple[Condition, ...]) -> bool:
    return not overflow_guarded(shape, function, conditions)


def _is_compaction(function: str) -> bool:
    return not _SUMMARY.isdisjoint(last_part(function).lower().split("_"))
