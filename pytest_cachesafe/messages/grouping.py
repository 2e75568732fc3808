"""Requests as sent, in any order of conversations: which belong together, and which is compared with which.

A request contains the answer to an earlier one: everything in front of its latest assistant run is what that earlier
request consisted of. So its parent is the request that had exactly those messages, whatever happened since (another
agent's call, a parallel branch, an edit of the newest message). System messages are left out of this: a clock in the
system text must be found by the comparison, not hidden by a split.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from pytest_cachesafe.messages.openai_responses import served_history
from pytest_cachesafe.messages.similarity import Interner, alike, contained, words
from pytest_cachesafe.prompt import Chat

__all__ = ["Link", "conversations", "interleaved"]

# How many of the latest requests are weighed where no request has the wanted messages exactly: keeps long recordings
# of pruned chats linear; an older request is never nearer to a sliding window than the latest ones.
_RECENT = 16
# How many of the newest messages are compared by their words.
_WEIGHED = 8
# Formats that cannot hold the same request: their bodies keep messages under another name.
_LISTS = {"openai-responses": "input", "gemini": "contents"}


class Link(NamedTuple):
    """A recorded request, and the earlier one it must be compared with (None: the first of its conversation)."""

    # The field hides tuple.index(), which nobody needs of a pair.
    index: int  # type: ignore[assignment]
    parent: int | None


class _Request:
    """What grouping needs to know of one request."""

    __slots__ = (
        "answered", "bucket", "chain", "conversation", "exact", "ids", "index", "messages", "served", "system",
        "unique",
    )  # fmt: skip

    def __init__(self, index: int, chat: Chat, interner: Interner, bucket: int) -> None:
        self.index = index
        self.bucket = bucket
        self.messages = [m for m in chat.messages if m.get("role") not in ("system", "developer")]
        self.ids = [interner.message(m) for m in self.messages]
        # chain[n] stands for the first n messages; equal numbers mean equal messages, within one bucket.
        self.chain = interner.chain(bucket, self.ids)
        self.unique = frozenset(self.ids)
        self.system = "\n".join(
            str(m.get("content")) for m in chat.messages if m.get("role") in ("system", "developer")
        )
        self.answered = chat.generated.text if chat.generated is not None else None
        # Whether the provider puts the history in front, so that the messages here are the new ones.
        self.served = chat.body is not None and served_history(chat.body) is not None
        self.conversation = -1
        # Whether the parent had exactly the messages this request builds on.
        self.exact = False

    @property
    def fresh(self) -> bool:
        """Whether the request holds nothing but the user's words: it may open a conversation."""
        return all(m.get("role") == "user" for m in self.messages)

    @property
    def base(self) -> int:
        """How many messages the request had whose answer comes last in this one; 0 if there is none.

        An assistant message at the very end is text to be continued, no answer.
        """
        end = len(self.messages)
        while end and self.messages[end - 1].get("role") == "assistant":
            end -= 1
        while end and self.messages[end - 1].get("role") != "assistant":
            end -= 1
        while end and self.messages[end - 1].get("role") == "assistant":
            end -= 1
        return end


class _Grouper:
    def __init__(self, *, split_models: bool) -> None:
        self.split_models = split_models
        self.interner = Interner()
        self.done: list[_Request] = []
        self.links: list[Link] = []
        self.groups: list[list[int]] = []
        self.buckets: dict[Any, int] = {}
        self.by_bucket: dict[int, list[_Request]] = defaultdict(list)
        # Requests that consist of exactly these messages; the latest requests that begin with them.
        self.complete: dict[int, list[_Request]] = defaultdict(list)
        self.starting: dict[int, list[int]] = defaultdict(list)
        self.by_length: dict[tuple[int, int], list[_Request]] = defaultdict(list)
        self.worded: dict[tuple[int, int, str], list[_Request]] = defaultdict(list)
        self.holding: dict[tuple[int, int], list[int]] = defaultdict(list)

    def add(self, index: int, chat: Chat) -> None:
        model = (chat.model, _LISTS.get(chat.wire)) if self.split_models else None
        identity = (chat.key, model, chat.raw is not None)
        bucket = self.buckets.setdefault(identity, len(self.buckets))
        request = _Request(index, chat, self.interner, bucket)
        if request.served:
            parent = self._repeated(request)
        else:
            parent = self._raw_parent(request) if chat.raw is not None else self._parent(request)
        if parent is None:
            request.conversation = len(self.groups)
            self.groups.append([])
        else:
            request.conversation = parent.conversation
        self.groups[request.conversation].append(len(self.links))
        self.links.append(Link(index, None if parent is None else parent.index))
        self._store(request)

    def _store(self, request: _Request) -> None:
        self.done.append(request)
        if request.served and request.conversation == len(self.groups) - 1 and len(self.groups[-1]) == 1:
            # New items alone: nothing that comes later begins with them.
            return
        self.by_bucket[request.bucket].append(request)
        self.complete[request.chain[-1]].append(request)
        self.by_length[request.bucket, len(request.ids)].append(request)
        if request.messages:
            for word in words(_text(request.messages[-1])):
                found = self.worded[request.bucket, len(request.ids), word]
                found.append(request)
                del found[:-_RECENT]
        for node in request.chain[1:]:
            _remember(self.starting[node], request.conversation)
        for message in request.unique:
            _remember(self.holding[request.bucket, message], request.conversation)

    def _repeated(self, request: _Request) -> _Request | None:
        """For a request whose history the server holds: the one it repeats all the same, if it does."""
        for length in range(len(request.ids), 0, -1):
            known = self.complete.get(request.chain[length])
            if known:
                return _nearest_system(known[-_RECENT:], request)
        return None

    def _raw_parent(self, request: _Request) -> _Request | None:
        # A rendered prompt does not show where its turns end: the requests of one key and model are one conversation.
        known = self.by_bucket[request.bucket]
        return known[-1] if known else None

    def _parent(self, request: _Request) -> _Request | None:
        if not self.by_bucket[request.bucket]:
            return None
        if request.fresh:
            return self._fresh_parent(request)
        found = self._exact(request) or self._cut(request) or self._edited(request) or self._overlapping(request)
        if found is not None:
            return found
        # Nothing in common (everything summarised away): the latest chat with the same instructions, if there is one.
        same = (r for r in reversed(self.by_bucket[request.bucket]) if alike(r.system, request.system))
        return next(same, None)

    def _fresh_parent(self, request: _Request) -> _Request | None:
        """For a request without answers: the same request again, or the one it lengthens; else a new conversation."""
        for length in range(len(request.ids), 0 if request.ids else -1, -1):
            known = [r for r in self.complete[request.chain[length]][-_RECENT:] if alike(r.system, request.system)]
            if known:
                return _nearest_system(known, request)
        if not request.ids or request.chain[1] not in self.starting:
            return None
        conversations = self.starting[request.chain[1]]
        known = [r for c in conversations for r in self._latest(c) if alike(r.system, request.system)]
        return max(known, key=lambda r: (_shared(r, request), r.index), default=None)

    def _exact(self, request: _Request) -> _Request | None:
        base = request.base
        known = self.complete.get(request.chain[base]) if base else None
        if not known:
            return None
        request.exact = True
        answer = _text(request.messages[base])
        # The same system text before the answer: some answers are known, others (that were streamed) are not.
        return max(
            known[-_RECENT:],
            key=lambda r: (
                r.system == request.system,
                r.answered is not None and r.answered == answer,
                alike(r.system, request.system),
                r.index,
            ),
        )

    def _cut(self, request: _Request) -> _Request | None:
        """The request that ended with the messages this one builds on, all of them: its oldest were cut off since.

        Looked for before edits: in a window over questions that resemble each other ("question 1", "question 2"),
        the first one in another wording is not what happened.
        """
        base = request.base
        if not base or request.chain[1] in self.starting:
            return None
        answer, wanted = _text(request.messages[base]), request.ids[:base]
        known = (r for r in self.by_bucket[request.bucket][-_RECENT:] if len(r.ids) > base and r.ids[-base:] == wanted)
        return max(
            known,
            key=lambda r: (r.answered is not None and r.answered == answer, alike(r.system, request.system), r.index),
            default=None,
        )

    def _edited(self, request: _Request) -> _Request | None:
        """The request with as many messages as this one builds on, of which one or a few were changed since."""
        base = request.base
        if not base:
            return None
        answer = _text(request.messages[base])
        best: tuple[tuple[bool, int, float, bool, int], _Request] | None = None
        for known in self._as_long(request, base):
            answers = known.answered is not None and known.answered == answer
            equal = sum(a == b for a, b in zip(known.ids, request.ids, strict=False))
            if base == 1 and not equal and self._gone_on(known):
                # A chat that is under way does not open anew: other words in its place stand for all that was said.
                continue
            weighed, same, near = base, equal, [0.0]
            if 2 * equal < base:
                # Every message changed a little (a stamp in front of each) is still the same chat; a few tell.
                recent = range(max(base - _WEIGHED, 0), base)
                near = [contained(_text(known.messages[n]), _text(request.messages[n])) for n in recent]
                weighed, same = len(near), sum(nearness > 0 for nearness in near)
            if answers or 2 * same >= weighed:
                score = (answers, equal, sum(near), alike(known.system, request.system), known.index)
                if best is None or score > best[0]:
                    best = (score, known)
        return None if best is None else best[1]

    def _gone_on(self, request: _Request) -> bool:
        """Whether a later request of its conversation holds more."""
        return any(len(r.ids) > len(request.ids) for r in self._latest(request.conversation))

    def _as_long(self, request: _Request, base: int) -> Iterator[_Request]:
        """Requests of `base` messages, of which one may be what this request had at its start."""
        known = self.by_length[request.bucket, base]
        # A chat that opens with the same message is this one; only if none does may the opening be what was edited.
        opened = self.starting.get(request.chain[1])
        if opened:
            yield from islice((r for r in reversed(known) if r.conversation in opened), _RECENT)
            return
        candidates = dict.fromkeys(known[-_RECENT:])
        # Among many parallel chats the one meant may be long ago: its newest message has the same rare words.
        lists = [self.worded.get((request.bucket, base, w), []) for w in words(_text(request.messages[base - 1]))]
        for found in sorted(filter(None, lists), key=len)[:4]:
            candidates.update(dict.fromkeys(found))
        yield from candidates

    def _overlapping(self, request: _Request) -> _Request | None:
        """The request with the longest shared prefix, then with most messages in common; among equals the latest."""
        candidates: list[int] = []
        for length in range(len(request.ids), 0, -1):
            candidates = self.starting.get(request.chain[length], [])
            if candidates:
                break
        if not candidates:
            counts: dict[int, int] = defaultdict(int)
            for message in request.unique:
                for conversation in self.holding.get((request.bucket, message), ()):
                    counts[conversation] += 1
            most = max(counts.values(), default=0)
            candidates = [c for c, count in counts.items() if count == most]
        known = [r for c in candidates[-_RECENT:] for r in self._latest(c)]
        return max(
            known,
            key=lambda r: (
                _shared(r, request),
                len(r.unique & request.unique),
                alike(r.system, request.system),
                r.index,
            ),
            default=None,
        )

    def _latest(self, conversation: int) -> list[_Request]:
        return [self.done[position] for position in self.groups[conversation][-_RECENT:]]


def _remember(conversations: list[int], conversation: int) -> None:
    """Keep the latest conversations, each once, the newest last."""
    if conversations and conversations[-1] == conversation:
        return
    if conversation in conversations:
        conversations.remove(conversation)
    conversations.append(conversation)
    del conversations[:-_RECENT]


def _shared(a: _Request, b: _Request) -> int:
    """Length of the shared message prefix."""
    low, high = 0, min(len(a.chain), len(b.chain)) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if a.chain[middle] == b.chain[middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _nearest_system(known: list[_Request], request: _Request) -> _Request:
    return max(known, key=lambda r: (r.system == request.system, r.index))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(b.get("text", "")) if isinstance(b, dict) else str(b) for b in content)
    return ""


def _grouped(requests: Sequence[Chat], *, split_models: bool = True) -> _Grouper:
    grouper = _Grouper(split_models=split_models)
    for index, chat in enumerate(requests):
        grouper.add(index, chat)
    return grouper


def conversations(requests: Sequence[Chat]) -> list[list[Link]]:
    """Recorded requests as conversations, in the order of their first requests.

    Requests with different `key` or `model` never meet, nor do formats that keep messages under different names; a
    request whose history the provider holds meets only one that it repeats. Else a request is compared with the one
    whose answer it contains; if that one is not recorded (a pruned, summarised or sliding history), with the latest
    one that shares the longest prefix, then the most messages. A request opens a conversation when its first non-
    system message is new and it holds no answer or tool result, or when it shares nothing and its system text
    differs as well. An exact retry is compared like the request it repeats. Linear in the number of messages, up to
    a constant number of candidates.
    """
    grouper = _grouped(requests)
    return [[grouper.links[position] for position in group] for group in grouper.groups]


def interleaved(requests: Sequence[Chat]) -> tuple[list[int], list[int]] | None:
    """Two index groups if a list that is compared in order clearly mixes chats (A1, B1, A2, B2); else None.

    Clear is: a request continues exactly a request that is not the one before it, and between the two stands another
    chat that has a first message of its own. Edits and pruning of one chat, a model switch, and requests that nothing
    continues are never called mixed.
    """
    if len({chat.key for chat in requests}) > 1:
        return None
    grouper = _grouped(requests, split_models=False)
    for position, link in enumerate(grouper.links):
        request = grouper.done[position]
        if not request.exact or link.parent is None or link.parent == position - 1:
            continue
        between = [r for r in grouper.done[link.parent + 1 : position] if r.conversation != request.conversation]
        if any(_is_other_chat(r, request, grouper) for r in between):
            first = grouper.done[0].conversation
            ours = [r.index for r in grouper.done if r.conversation == first]
            return ours, [r.index for r in grouper.done if r.conversation != first]
    return None


def _is_other_chat(request: _Request, than: _Request, grouper: _Grouper) -> bool:
    opener = grouper.done[grouper.groups[request.conversation][0]]
    if opener.served or not opener.ids or not opener.fresh or opener.ids[0] == than.ids[0]:
        return False
    continued = any(grouper.done[p].exact for p in grouper.groups[request.conversation])
    # A single request may also be the same question, worded anew: only another chat if the words are others too.
    return continued or not contained(_text(opener.messages[0]), _text(than.messages[0]))
