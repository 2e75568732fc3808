"""CSF302 history-insert."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.assembled import assembled_lists, role_and_content
from cachesafe_rules.changing import changing_value
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, walk, words_of_name
from cachesafe_rules.model import Call, Condition, Expr, MessageList
from cachesafe_rules.needles import CHAT
from cachesafe_rules.shape import Shape, shape_of
from cachesafe_rules.turns import is_setup, overflow_guarded

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
    messages that stay.

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
        sent = {part.expr.name for part in shape.parts if part.expr.name}
        for call in context.view.calls:
            if (
                last_part(call.name) in ("insert", "appendleft")
                and call.name.rpartition(".")[0] in sent
                and _at_front(call)
                and self._is_new(shape, call)
            ):
                yield Report(
                    f"{spelt_call(call)} puts a message in front of the earlier ones: nothing behind it is reused",
                    call.span,
                    help=_HELP,
                )
        for found in [*context.view.lists, *assembled_lists(shape)]:
            if (item := _newest_first(shape, found)) is not None:
                yield Report(
                    "the new message stands before the history, so every turn moves all earlier messages",
                    item.span,
                    help=_HELP,
                )

    def _is_new(self, shape: Shape, call: Call) -> bool:
        item = shape.resolve(call.function, call.args[-1])
        if is_setup(call.function) or overflow_guarded(shape, call.function, call.conditions):
            return False
        if any(_is_new_chat(condition, call.name.rpartition(".")[0]) for condition in call.conditions):
            return False
        looped = {
            condition.target.name for condition in call.conditions if condition.kind == "for" and condition.target
        }
        if any(part.name in looped for part in walk(call.args[-1]) if part.kind == "name"):
            return False
        role, content = role_and_content(item)
        if content is None:
            return False
        if not role and "role" in item.entries:
            named = shape.resolve(call.function, item.entries["role"]).value
            role = named if isinstance(named, str) else role
        if not role and _asks_for_first(call):
            role = "system"
        if role in ("user", "system") and not _index(call) and _is_fallback(shape, call):
            return False
        if role == "system" and not _index(call):
            return changing_value(shape, call.function, content) is not None or _is_kept(shape, call)
        if changing_value(shape, call.function, content) is not None:
            return True
        return any(
            part.kind in ("name", "attribute")
            and not part.name.isupper()
            and not _TOLD.isdisjoint(words_of_name(part))
            and not _assembled(shape, call.function, part)
            and shape.resolve(call.function, part).kind != "constant"
            for part in walk(content)
            if part.name
        )


def _is_new_chat(condition: Condition, name: str) -> bool:
    """`len(messages) == 1`: the chat has only begun, nothing of it was sent."""
    test = condition.test
    if condition.kind != "if" or condition.negated or test is None or test.kind != "operation" or len(test.items) != 2:
        return False
    size, limit = test.items
    return (
        (test.name, limit.value) in (("==", 0), ("==", 1), ("<", 2), ("<=", 1), ("<", 1))
        and size.call is not None
        and size.call.name == "len"
        and [arg.name for arg in size.call.args] == [name]
    )


def _asks_for_first(call: Call) -> bool:
    """Whether a test looks at the first message, so that one is put there only where it is missing."""
    name = call.name.rpartition(".")[0]
    return any(
        part.kind == "subscript" and part.items[0].name == name and part.items[1].value == 0
        for condition in call.conditions
        if condition.kind in ("if", "left") and condition.test is not None
        for part in walk(condition.test)
    )


def _is_fallback(shape: Shape, call: Call) -> bool:
    """Whether a test says that the list has no such message yet: `not any(…["role"] …)`, `not found` where the local
    name is only ever true or false."""
    for condition in call.conditions:
        test = condition.test
        if condition.kind not in ("if", "left") or test is None:
            continue
        negated = condition.negated
        while test.kind == "operation" and test.name == "not" and len(test.items) == 1:
            test, negated = test.items[0], not negated
        if negated and test.kind == "name":
            values = [item.value for item in shape.bindings(call.function, test)]
            if len(values) > 1 and all(value is not None and isinstance(value.value, bool) for value in values):
                return True
            test = shape.resolve(call.function, test)
        if (
            negated
            and test.call is not None
            and test.call.name in ("any", "next")
            and any(p.kind == "constant" and p.value == "role" for arg in test.call.args for p in walk(arg))
        ):
            return True
    return False


def spelt_call(call: Call) -> str:
    """`messages.insert(0, …)`."""
    first = call.args[0].value if len(call.args) > 1 else None
    return f"{call.name}({'' if first is None else f'{first}, '}…)"


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
    if star.call is not None and star.call.name == "reversed" and star.call.args and is_history(star.call.args[0]):
        return star
    if not is_history(star):
        return None
    for item in found.items[:at]:
        if item.role == "user" and item.content is not None and item.content.kind in ("name", "attribute", "fstring"):
            names = [
                part
                for part in walk(item.content)
                if part.kind in ("name", "attribute")
                and not is_constant_name(part)
                and shape.resolve(found.function, part).kind != "constant"
                and not _assembled(shape, found.function, part)
            ]
            if any(map(_is_newest, names)):
                return item.expr
    return None


def _is_newest(part: Expr) -> bool:
    """`question`, `user_text`, a bare `text`. A bare `prompt` is as often the task, which stays the same."""
    named = words_of_name(part)
    return (not _NEWEST.isdisjoint(named) and _OWN.isdisjoint(named)) or named == {"text"}


def _assembled(shape: Shape, function: str, part: Expr) -> bool:
    """Whether a name stands for a template that was filled, which comes out the same as long as the task does."""
    call = shape.resolve(function, part).call
    return call is not None and last_part(call.name) in ("format", "render", "substitute", "safe_substitute")


_STORE = frozenset({"set", "save", "put", "store", "persist", "update", "write", "set_messages", "save_messages"})


def _is_kept(shape: Shape, call: Call) -> bool:
    """Whether the list is stored with its new first message, so that the next turn puts another one in front."""
    name = call.name.rpartition(".")[0]
    if any(condition.kind in ("if", "while") for condition in call.conditions):
        return False
    for other in shape.view.calls:
        if (
            other.function == call.function
            and other.span > call.span
            and last_part(other.name) in _STORE
            and any(arg.name == name for arg in other.args)
        ):
            return True
    return False
