"""CSF307 edited-history."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.first_message import first_rewritten, first_swapped, first_varied
from cachesafe_rules.history_edits import appended, assigned, parts_taken, rebuilt, taken_off
from cachesafe_rules.model import Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.one_chat import is_sent
from cachesafe_rules.shape import shape_of

__all__ = ["EditedHistory"]

_HELP = "store each message as it was sent and send it again unchanged; add new text in the newest message only"


class EditedHistory(Rule):
    """Earlier messages are changed before they are sent again.

    What is wrong
    -------------
    Old messages are cut or replaced by a placeholder as soon as k others follow them, get the present time, or the
    first message is rewritten with a text of the turn: recalled text, a counter, or the state that a method of the
    object or the loop that sends sets anew. It is reported where all of this is visible: the messages were sent (a chat
    that is handed in, kept in an object or a state, read from a memory, or grown in a loop), and which of them are
    edited counts from the end of the list (`messages[:-k]`, `i < len(messages) - k`, a counter in a loop over
    `reversed(messages)`) and the edit loses text, or the text that is written into them is another one in the next
    request. An edit that is the same for every message and every time (a strip, a filter by role) is none, nor is one
    behind a test on tokens or context size. Projects of several files: only where a request of the same function or of
    its caller in the file holds the edited list; a file of up to 40 rows that no other file imports is taken as it
    stands.

    In a project of more than ten files, a file that nothing runs or takes in, not even a test, is left out where other
    files use what it takes in: the project goes on without it.

    Why
    ---
    A prompt cache reuses what is equal from the front. A message that is sent again in another form ends the reuse
    there, and where the border moves along with the chat, with every turn. Anthropic's cache diagnostics call this
    `messages_changed` ("Prompt caching", Claude Platform Docs, read 2026-11-29).

    What to do
    ----------
    Stamp, cut and encode a message once, when it is stored; send the stored form. Clear old tool results in one step
    when the context limit is near.
    """

    code = "CSF307"
    name = "edited-history"
    severity = "warning"
    needles = CHAT
    INVALID = (
        Example(
            "from datetime import datetime\n\n"
            "def build(history, text):\n"
            "    now = datetime.now().isoformat()\n"
            "    old = [{'role': m['role'], 'content': f'[{now}] ' + m['content']} for m in history]\n"
            "    return {'model': 'm', 'messages': old + [{'role': 'user', 'content': text}]}\n",
            (5,),
        ),
        Example(
            "def build(history, text):\n"
            "    messages = []\n"
            "    for i, m in enumerate(history):\n"
            "        if i < len(history) - 3:\n"
            "            m['content'] = m['content'][:200]\n"
            "        messages.append(m)\n"
            "    return {'model': 'm', 'messages': messages + [{'role': 'user', 'content': text}]}\n",
            (5,),
        ),
        Example(
            "class Agent:\n"
            "    def step(self, step):\n"
            "        self.messages[0]['content'] = f'You are at step {step}.'\n"
            "        return self.client.chat.completions.create(model='m', messages=self.messages)\n",
            (3,),
        ),
        Example(
            "class Planner:\n"
            "    def __init__(self, client):\n"
            "        self.client, self.plan = client, []\n"
            "        self.messages = [{'role': 'system', 'content': 'You plan.'}]\n\n"
            "    def done(self, item):\n"
            "        self.plan.remove(item)\n\n"
            "    def step(self, text):\n"
            "        self.messages.append({'role': 'user', 'content': text})\n"
            "        self.messages[0]['content'] = f'You plan. Open: {self.plan}'\n"
            "        return self.client.chat.completions.create(model='m', messages=self.messages)\n",
            (11,),
        ),
        Example(
            "def trim(messages):\n"
            "    seen = 0\n"
            "    for m in reversed(messages):\n"
            "        seen += m['role'] == 'tool'\n"
            "        if seen > 3 and m['role'] == 'tool':\n"
            "            m['content'] = '[removed]'\n\n"
            "def send(client, messages):\n"
            "    trim(messages)\n"
            "    return client.chat.completions.create(model='m', messages=messages)\n",
            (6,),
        ),
    )
    VALID = (
        Example(
            "def build(history, text):\n"
            "    kept = [m for m in history if m['role'] != 'tool']\n"
            "    return {'model': 'm', 'messages': [*kept, {'role': 'user', 'content': text}]}\n"
        ),
        Example(
            "def build(history, text):\n"
            "    return {'model': 'm', 'messages': [\n"
            "        *({'role': m['role'], 'content': m['content'].strip()} for m in history),\n"
            "        {'role': 'user', 'content': text}]}\n"
        ),
        Example(
            "def build(history, text):\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': text.strip()}]}\n"
        ),
        Example(
            "def convert(messages):\n"
            "    system = [m['content'] for m in messages if m['role'] == 'system']\n"
            "    rest = [{'role': m['role'], 'content': m['content']} for m in messages if m['role'] != 'system']\n"
            "    return {'model': 'm', 'system': system[0], 'messages': rest}\n"
        ),
        Example(
            "def build(history, text):\n"
            "    messages = [*history, {'role': 'user', 'content': text}]\n"
            "    messages[-1]['content'] += ' Answer in one sentence.'\n"
            "    return {'model': 'm', 'messages': messages}\n"
        ),
        Example(
            "def send(client, messages):\n"
            "    if count_tokens(messages) > CONTEXT_LIMIT:\n"
            "        for i, m in enumerate(messages):\n"
            "            if i < len(messages) - 3:\n"
            "                m['content'] = '[cleared]'\n"
            "    return client.chat.completions.create(model='m', messages=messages)\n"
        ),
        Example(
            "def show(history):\n    return '\\n'.join(m['content'].strip() for m in history if m['role'] == 'user')\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        found = [
            *rebuilt(shape),
            *assigned(shape),
            *appended(shape),
            *taken_off(shape),
            *parts_taken(shape),
            *first_rewritten(shape),
            *first_swapped(shape),
        ]
        # What changes by its name alone is told where the file is complete as it stands.
        named = [(*edit, False) for edit in first_varied(shape)]
        for span, what, function, messages, seen_to_change in [*((*edit, True) for edit in found), *named]:
            if span not in seen:
                seen.add(span)
                yield Report(
                    f"{what}: what was cached of them no longer matches",
                    span,
                    help=_HELP,
                    data={"shown": seen_to_change and is_sent(shape, function, messages)},
                )
