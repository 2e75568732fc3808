"""CSF307 edited-history."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.first_message import first_rewritten
from cachesafe_rules.history_edits import all_but_last, appended, assigned, rebuilt
from cachesafe_rules.model import Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.shape import shape_of

__all__ = ["EditedHistory"]

_HELP = "store each message as it was sent and send it again unchanged; add new text in the newest message only"


class EditedHistory(Rule):
    """Earlier messages are changed before they are sent again.

    What is wrong
    -------------
    Old messages get a time stamp, are cut, stripped, re-encoded, replaced by a placeholder or left out, or the first
    message is rewritten.

    Why
    ---
    A prompt cache reuses what is equal from the front. A message that is sent again in another form ends the reuse
    there. Even a change that is always the same (a strip) differs from the tokens the engine generated and keeps: the
    answer is processed a second time. Anthropic's cache diagnostics call this `messages_changed` ("Prompt caching",
    Claude Platform Docs, read 2026-11-29).

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
            "def build(history, text):\n"
            "    kept = [m for m in history if m['role'] != 'assistant']\n"
            "    return {'model': 'm', 'messages': [*kept, {'role': 'user', 'content': text}]}\n",
            (2,),
        ),
        Example(
            "def build(history, text):\n"
            "    return {'model': 'm', 'messages': [\n"
            "        *({'role': m['role'], 'content': m['content'].strip()} for m in history),\n"
            "        {'role': 'user', 'content': text}]}\n",
            (3,),
        ),
        Example(
            "class Agent:\n"
            "    def step(self, step):\n"
            "        self.messages[0]['content'] = f'You are at step {step}.'\n"
            "        return self.client.chat.completions.create(model='m', messages=self.messages)\n",
            (3,),
        ),
        Example(
            "import base64\n\n"
            "def build(history, text):\n"
            "    for m in history:\n"
            "        if m.get('image'):\n"
            "            m['content'] = base64.b64encode(shrink(m['image'])).decode()\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': text}]}\n",
            (6,),
        ),
    )
    VALID = (
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
        for span, what in [
            *rebuilt(shape),
            *assigned(shape),
            *all_but_last(shape),
            *appended(shape),
            *first_rewritten(shape),
        ]:
            if span not in seen:
                seen.add(span)
                yield Report(f"{what}: what was cached of them no longer matches", span, help=_HELP)
