"""CSF303 sliding-window."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.cut_histories import bounded, dropped, fitted, sliced
from cachesafe_rules.model import Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.shape import shape_of
from cachesafe_rules.window_memories import configured

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
            *sliced(shape),
            *dropped(shape),
            *((span, what, "", (), 1) for span, what in (*bounded(shape), *configured(shape))),
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
        for span, what in fitted(shape):
            if span not in seen:
                seen.add(span)
                yield Report(
                    f"{what} drops just enough to fit: from then on every turn drops again and starts differently",
                    span,
                    severity="note",
                    help="drop a large share at once when the limit is reached, so that the next turns can be reused",
                )


# With so many messages, four turns, most requests find what was there before.
_SELDOM = 8
