"""CSF302 history-insert."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.assembled import assembled_lists, role_and_content
from cachesafe_rules.changing import changing_value
from cachesafe_rules.excerpts import ends_before_request, is_excerpt
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, spelt, walk, words_of_name
from cachesafe_rules.growing_front import grows_in_front, is_stored, put_in_front
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Call, Expr, MessageList, Span
from cachesafe_rules.moment_names import varies_in_excerpt
from cachesafe_rules.needles import CHAT
from cachesafe_rules.one_chat import is_sent
from cachesafe_rules.shape import Shape, shape_of
from cachesafe_rules.turns import is_setup

__all__ = ["HistoryInsert"]

_HELP = "append the new text behind the history (in the newest user message); send a fixed prefix first and unchanged"
# What differs between the turns of a chat, by its name.
_TOLD = frozenset(
    {"user", "query", "question", "input", "new", "latest", "current", "note", "notes", "memory", "memories",
     "recalled", "reminder", "context", "summary", "facts", "retrieved", "docs", "documents", "results", "state",
     "status"}
)  # fmt: skip
_NEWEST = frozenset({"user", "query", "question", "input", "new", "latest", "current"})
# Words that make a text of the program of such a name: `system_prompt`, `plan_text`, `user_template`.
_OWN = frozenset({"system", "template", "instruction", "instructions", "plan", "rules", "dummy", "default", "task"})


class HistoryInsert(Rule):
    """A message is put in front of the earlier ones.

    What is wrong
    -------------
    `messages.insert(0, …)`, `[new, *history]` or `appendleft` places text that differs from turn to turn before the
    messages that stay. It is reported where all of this is visible: the list holds messages that were sent (a chat
    that is handed in, kept in an object or a state, read from a memory, or grown in a loop), no test looks at the list
    itself (a message that is put in where it is missing costs once), what is put in differs between requests (or the
    list is kept with it and so grows in front), and the list is sent. Projects of several files: only where a request
    of the same function, in no branch that excludes the insert, holds that very list, and what is put in is seen to
    change with the turn, or each turn puts a message into the list that it keeps and takes none out; a file of up to
    40 rows that no other file imports is taken as it stands.

    In a project of more than ten files, a file that nothing runs or takes in, not even a test, is left out where other
    files use what it takes in: the project goes on without it.

    Why
    ---
    Every prompt cache compares from the front and stops at the first difference: engines by a hash chain over blocks
    of token ids, Anthropic by a hash of the whole prefix up to a marker ("Prompt caching", Claude Platform Docs, read
    2026-11-29), OpenAI by the longest equal prefix. One new message at the front moves all others, so the whole chat is
    processed and paid again on every turn.

    What to do
    ----------
    Append. Put retrieved text, memories and reminders into the newest user message, behind the history. A system
    message that is always the same may stand first.
    """

    code = "CSF302"
    name = "history-insert"
    severity = "warning"
    needles = CHAT
    INVALID = (
        Example(
            "def build(history, note):\n"
            "    messages = list(history)\n"
            "    messages.insert(0, {'role': 'user', 'content': f'Note: {note}'})\n"
            "    return {'model': 'm', 'messages': messages}\n",
            (3,),
        ),
        Example(
            "from langchain_core.messages import HumanMessage, SystemMessage\n\n"
            "class Agent:\n"
            "    def ask(self, memories, question):\n"
            "        self.messages.append(HumanMessage(question))\n"
            "        self.messages.insert(1, SystemMessage(f'You remember: {memories}'))\n"
            "        return self.llm.invoke(self.messages)\n",
            (6,),
        ),
        Example(
            "def build(history, user_text):\n    return [{'role': 'user', 'content': user_text}] + history\n",
            (2,),
        ),
        Example(
            "def build(history, user_text):\n"
            "    history = [{'role': 'user', 'content': user_text}, *history]\n"
            "    return [{'role': 'system', 'content': 'You help.'}, *history]\n",
            (2,),
        ),
        Example(
            "class Desk:\n"
            "    def ask(self, text):\n"
            "        self.history.append({'role': 'user', 'content': text})\n"
            "        self.history[:0] = [{'role': 'user', 'content': f'Delays: {self.board.delays()}'}]\n"
            "        return self.client.chat.completions.create(model='m', messages=self.history)\n",
            (4,),
        ),
    )
    VALID = (
        Example(
            "def sample(llm, params, Message, Role):\n"
            "    messages = [Message(role=Role.user, content=m) for m in params.messages]\n"
            "    if params.system_prompt:\n"
            "        messages.insert(0, Message(role=Role.system, content=params.system_prompt))\n"
            "    return llm.chat(messages=messages)\n"
        ),
        Example(
            "SYSTEM = 'You help.'\n\n"
            "def build(history, user_text):\n"
            "    messages = [*history, {'role': 'user', 'content': user_text}]\n"
            "    messages.insert(0, {'role': 'system', 'content': SYSTEM})\n"
            "    return {'model': 'm', 'messages': messages}\n"
        ),
        Example(
            "def replay(client, log):\n"
            "    messages = []\n"
            "    for entry in reversed(log):\n"
            "        messages.insert(0, entry)\n"
            "    return client.chat.completions.create(model='m', messages=messages)\n"
        ),
        Example(
            "def convert(messages):\n"
            "    out = [m for m in messages]\n"
            "    if out and out[0]['role'] != 'user':\n"
            "        out.insert(0, {'role': 'user', 'content': 'Hello'})\n"
            "    return {'model': 'm', 'messages': out}\n"
        ),
        Example(
            "def show(window, messages, banner):\n"
            "    messages.insert(0, f'<b>{banner}</b>')\n"
            "    window.draw(messages)\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        sent = {(shape.home(part.function, part.expr.name), part.expr.name) for part in shape.parts if part.expr.name}
        for call in context.view.calls:
            if last_part(call.name) not in ("insert", "appendleft") or call.receiver is None or not _at_front(call):
                continue
            name = call.name.rpartition(".")[0]
            if (
                ((shape.home(call.function, name), name) in sent or _is_handed_on(shape, call))
                and not is_setup(call.function)
                and holds_sent(shape, call.function, call.receiver)
                and not _looks_at(shape, call, name)
                and _varies(shape, call)
            ):
                yield Report(
                    f"{spelt_call(call)} puts a message in front of the earlier ones: nothing behind it is reused",
                    call.span,
                    help=_HELP,
                    data={"shown": _shown(shape, call)},
                )
        seen: set[Span] = set()
        for span, function, messages, conditions in put_in_front(shape):
            if grows_in_front(shape, function, messages, conditions):
                seen.add(span)
                yield Report(
                    f"each turn puts a message in front of {messages.name}: nothing behind it is reused",
                    span,
                    help=_HELP,
                    data={"shown": True},
                )
        for found in [*context.view.lists, *assembled_lists(shape)]:
            if (item := _newest_first(shape, found)) is not None and item.span not in seen:
                seen.add(item.span)
                shown = is_sent(shape, found.function, Expr("list", found.span), found.conditions)
                lost = next(one.expr.span.row for one in found.items if one.role == "*")
                yield Report(
                    "the new message stands before the history, so every turn moves all earlier messages",
                    item.span,
                    help=_HELP,
                    data={"shown": shown, "lost": lost},
                )


def _is_handed_on(shape: Shape, call: Call) -> bool:
    """`state["messages"].insert(…)` in an excerpt: whoever has the state sends it; a parameter that a caller sends."""
    receiver = call.receiver
    if receiver is not None and shape.is_parameter(call.function, receiver) and is_history(receiver):
        return is_sent(shape, call.function, receiver)
    return is_excerpt(shape.view) and receiver is not None and receiver.kind == "subscript" and is_history(receiver)


def _shown(shape: Shape, call: Call) -> bool:
    """Whether a request of this function holds the very list, and what is put in is seen to change with the turn."""
    if call.receiver is not None and grows_in_front(shape, call.function, call.receiver, call.conditions):
        return True
    content = role_and_content(shape.resolve(call.function, call.args[-1]))[1]
    return (
        call.receiver is not None
        and content is not None
        and changing_value(shape, call.function, content) is not None
        and is_sent(shape, call.function, call.receiver, call.conditions)
    )


def _looks_at(shape: Shape, call: Call, name: str) -> bool:
    """Whether a test looks at the list itself: it is only begun there (`len(x) == 1`), or lacks such a message
    (`x[0].role != "system"`, `not any(…)`, a flag that a loop over it set). One of many that is looked for by its own
    text (`for note in notes: if note not in x`) is missing whenever there is a new one."""
    if _is_one_of_many(shape, call):
        return False
    for condition in call.conditions:
        if condition.kind == "for" or condition.test is None:
            continue
        for part in walk(condition.test):
            bound = shape.bindings(call.function, part) if part.kind == "name" else []
            exprs = [part, *(item.value for item in bound if item.value is not None)]
            exprs += [loop.test for item in bound for loop in item.conditions if loop.kind == "for" and loop.test]
            if any(inner.name == name for expr in exprs for inner in walk(expr)):
                return True
    return False


def _is_one_of_many(shape: Shape, call: Call) -> bool:
    """Whether a loop over something else than the list makes the message that is put in front."""
    loops = [c for c in call.conditions if c.kind == "for" and c.target is not None and not is_history(c.test)]
    targets = {part.name for loop in loops if loop.target is not None for part in walk(loop.target)}
    content = role_and_content(shape.resolve(call.function, call.args[-1]))[1]
    if content is None or not targets:
        return False
    whole = shape.resolve(call.function, content)
    return any(part.kind == "name" and part.name in targets for part in walk(whole))


def _varies(shape: Shape, call: Call) -> bool:
    """Whether what is put in front is another text in the next request, or stands there once more each time."""
    role, content = role_and_content(shape.resolve(call.function, call.args[-1]))
    if call.receiver is not None and grows_in_front(shape, call.function, call.receiver, call.conditions):
        return True
    if content is None:
        return False
    if _is_one_of_many(shape, call):
        return True
    if changing_value(shape, call.function, content) is not None:
        return True
    if role == "system" and not _index(call) and (is_stored(shape, call) or not ends_before_request(shape)):
        return is_stored(shape, call)
    if not _is_plain_system(shape, call.function, role, content) and varies_in_excerpt(shape, call.function, content):
        return True
    return any(
        part.kind in ("name", "attribute")
        and not _TOLD.isdisjoint(words_of_name(part))
        and _is_variable(shape, call.function, part)
        for part in walk(content)
        if part.name
    )


def _is_plain_system(shape: Shape, function: str, role: str, content: Expr) -> bool:
    """Whether a system message is handed on as it was given: a name or an attribute by itself."""
    value = shape.resolve(function, content)
    return role == "system" and (value.kind in ("constant", "attribute") or shape.is_parameter(function, value))


def _is_variable(shape: Shape, function: str, part: Expr) -> bool:
    """Whether a name is none of the program's own texts: a constant, a template that was filled, a plan."""
    return (
        _OWN.isdisjoint(words_of_name(part))
        and not is_constant_name(part)
        and not _assembled(shape, function, part)
        and shape.resolve(function, part).kind != "constant"
    )


def spelt_call(call: Call) -> str:
    """`messages.insert(0, …)`."""
    first = call.args[0].value if len(call.args) > 1 else None
    of_item = call.receiver is not None and call.receiver.kind == "subscript"
    named = f"{spelt(call.receiver)}.{last_part(call.name)}" if of_item and call.receiver is not None else call.name
    return f"{named}({'' if first is None else f'{first}, '}…)"


def _index(call: Call) -> int:
    value = call.args[0].value if len(call.args) > 1 else 0
    return value if isinstance(value, int) else -1


def _at_front(call: Call) -> bool:
    if last_part(call.name) == "appendleft":
        return bool(call.args)
    return len(call.args) == 2 and call.args[0].kind == "constant" and _index(call) in (0, 1)


def _newest_first(shape: Shape, found: MessageList) -> Expr | None:
    """The item with the user's newest text that stands before the earlier messages, which nothing follows."""
    roles = [item.role for item in found.items]
    if "*" not in roles or is_setup(found.function):
        return None
    at = roles.index("*")
    if "user" in roles[at:]:
        return None
    star = found.items[at].expr
    star = star.items[0] if star.kind == "star" else star
    if star.call is not None and star.call.name == "reversed" and holds_sent(shape, found.function, star):
        return star if is_history(star.call.args[0]) else None
    if not is_history(star) or not holds_sent(shape, found.function, star):
        return None
    for item in found.items[:at]:
        if item.role == "user" and item.content is not None and item.content.kind in ("name", "attribute", "fstring"):
            names = [part for part in walk(item.content) if part.kind in ("name", "attribute")]
            if any(_is_newest(part) and _is_variable(shape, found.function, part) for part in names):
                return item.expr
    return None


def _is_newest(part: Expr) -> bool:
    """`question`, `user_text`, a bare `text`. A bare `prompt` is as often the task, which stays the same."""
    named = words_of_name(part)
    return not _NEWEST.isdisjoint(named) or named == {"text"}


def _assembled(shape: Shape, function: str, part: Expr) -> bool:
    """Whether a name stands for a template that was filled, which comes out the same as long as the task does."""
    call = shape.resolve(function, part).call
    return call is not None and last_part(call.name) in ("format", "render", "substitute", "safe_substitute")
