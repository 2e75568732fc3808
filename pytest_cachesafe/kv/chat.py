"""A chat with one cache kept over its turns: each request pays for what it adds, as in an engine."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.kv.boundary import common_length
from pytest_cachesafe.kv.caches import CacheMaker, crop, length
from pytest_cachesafe.kv.forward import Forward
from pytest_cachesafe.kv.greedy import Decoded, compare_logits, decode, text_gap
from pytest_cachesafe.kv.load import LoadedModel
from pytest_cachesafe.kv.result import ChatReport, ChatTurn, Setting
from pytest_cachesafe.prefix.compare import compare
from pytest_cachesafe.prefix.rendered import not_rendered
from pytest_cachesafe.prompt import Chat, Prompt, TemplateRaised
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.frontends.template import ChatTemplate

__all__ = ["check_chat"]

_ASKS = ("user", "tool", "function")


@dataclass(frozen=True, slots=True)
class _Ask:
    """A request: the chat up to a user turn or the last of a run of tool results, and the reply if it is given."""

    messages: list[dict[str, Any]]
    reply: dict[str, Any] | None


def check_chat(
    loaded: LoadedModel,
    forward: Forward,
    setting: Setting,
    messages: Any,
    *,
    new_tokens: int,
    verify: bool,
    step_by_step: bool,
    template_kwargs: Mapping[str, Any] | None,
    quantized: Mapping[str, Any],
    engine: PrefixCache | None = None,
) -> ChatReport:
    """See `KVProbe.chat`. `step_by_step`: given replies are fed one token a step, as if they were generated.

    With an `engine`, of each prompt no more is reused than that engine would.
    """
    from pytest_cachesafe.messages import to_chat

    template = loaded.template
    if template is None:
        raise UsageError(f"{loaded.name} has no chat template; use reuse() with texts or ids")
    if isinstance(new_tokens, bool) or not isinstance(new_tokens, int) or new_tokens < 1:
        raise UsageError(f"new_tokens={new_tokens!r}: a whole number, at least 1")
    chat = to_chat(messages)
    if chat.raw is not None:
        raise UsageError("chat() takes messages; use reuse() with texts or ids")
    _warn_of_unread(template, template_kwargs or {})
    chat.settings = {**chat.settings, **(template_kwargs or {})}
    maker = CacheMaker(setting.cache, loaded.model.config, quantized)
    turns = _Turns(loaded, forward, maker, chat, new_tokens, step_by_step, engine)
    report = ChatReport(setting, [], [], [], [])
    replies, prompts, sampled = [], [], []
    with maker.ready():
        for turn, ids, found in turns:
            if verify:
                _verify(forward, loaded, ids, found, turn, maker.kind, 1 if engine is None else 2)
            report.turns.append(turn)
            prompts.append(ids)
            sampled.append(found.token_ids)
            replies.append(loaded.words.decode(found.token_ids))
    if not report.turns:
        roles = ", ".join(dict.fromkeys(str(m.get("role")) for m in chat.messages)) or "none"
        raise UsageError(f"chat() found no request: no user turn or tool result in the messages (roles: {roles})")
    report.replies, report.prompts, report.sampled = replies, prompts, sampled
    notes = list(turns.notes)
    for number, turn in enumerate(report.turns):
        if turn.difference == math.inf:
            notes.append(f"turn {number}: logits are no numbers (NaN or infinite); nothing can be said of its text")
    if turns.before is not None and (missing := not_rendered(turns.before)):
        paths = ", ".join(m.path for m in missing[:6]) + (" …" if len(missing) > 6 else "")
        notes.append(f"not rendered: the template leaves out {paths}; the model never sees what is sent there")
    report.notes = notes
    return report


def _warn_of_unread(template: ChatTemplate, given: Mapping[str, Any]) -> None:
    from pytest_cachesafe.stability import CachesafeWarning

    known = getattr(template, "keywords", None)
    for name in given:
        if known is not None and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (it reads {near[0]!r})" if near else ""
            words = f"template keyword {name!r} is never read by {template.name}{hint}"
            # This function, check_chat, the probe's method, the test.
            warnings.warn(words, CachesafeWarning, stacklevel=4)


class _Turns:
    """Runs the requests of a chat one after the other on one cache."""

    def __init__(
        self,
        loaded: LoadedModel,
        forward: Forward,
        maker: CacheMaker,
        chat: Chat,
        new_tokens: int,
        step_by_step: bool,
        engine: PrefixCache | None,
    ) -> None:
        self.loaded = loaded
        self.forward = forward
        self.maker = maker
        self.chat = chat
        self.new_tokens = new_tokens
        self.step_by_step = step_by_step
        self.engine = engine
        self.history: list[dict[str, Any]] = []
        self.cache: Any = None
        # Tokens that a static cache has room for.
        self.room = 0
        self.notes: list[str] = []
        # What the cache holds.
        self.cached: list[int] = []
        # The latest prompt.
        self.before: Prompt | None = None

    def __iter__(self) -> Iterator[tuple[ChatTurn, list[int], Decoded]]:
        for number, ask in enumerate(self._asks()):
            prompt = self._prompt(ask.messages, True)
            ids = list(prompt.token_ids or ())
            forced = None if ask.reply is None else self._reply_ids(ids, ask)
            self._check_length(number, ids, forced)
            request = None if self.engine is None else self._send(number, ids)
            turn, found = self._run(ids, forced, None if request is None else request.cached_tokens)
            if request is not None:
                self._end(number, request, found.token_ids)
            if self.before is not None:
                turn.stable_tokens = compare(self.before, prompt).shared_tokens
            self.before = prompt
            if ask.reply is None:
                text = self.loaded.words.decode([t for t in found.token_ids if t not in self.loaded.ends])
                self.history.append({"role": "assistant", "content": text})
            yield turn, ids, found

    def _check_length(self, number: int, ids: list[int], forced: list[int] | None) -> None:
        reply = f"new_tokens={self.new_tokens}" if forced is None else f"reply {len(forced)}"
        # The last token of the reply is never computed.
        total = len(ids) + max(self._reply_room(forced) - 1, 0)
        self.loaded.words.check_length(
            total, f"turn {number} (prompt {len(ids)}, {reply}, its last token not computed)"
        )

    def _send(self, number: int, ids: list[int]) -> Request:
        assert self.engine is not None
        request = self.engine.request(ids)
        if not request.admitted:
            # Nothing else is sent at the same time, so it never will be.
            words = request.refused or "it does not fit into the cache"
            name = self.engine.label or self.engine.engine
            raise UsageError(
                f"turn {number}: {name} refuses the prompt of {len(ids)} tokens: {words}; give the cache more room"
            )
        return request

    def _end(self, number: int, request: Request, reply: list[int]) -> None:
        if not request.append(reply):
            words = request.refused or "no room"
            self.notes.append(
                f"turn {number}: the engine has no room for the reply of {len(reply)} tokens and would preempt the"
                f" request ({words}); counted as if it kept the prompt alone"
            )
        request.free()

    def _asks(self) -> Iterator[_Ask]:
        messages, last = self.chat.messages, None
        for index, message in enumerate(messages):
            self.history.append(message)
            following = messages[index + 1] if index + 1 < len(messages) else None
            role = message.get("role")
            if role not in _ASKS or (role != "user" and following is not None and following.get("role") == role):
                continue
            given = following if following is not None and following.get("role") == "assistant" else None
            last = index + (given is not None)
            yield _Ask(list(self.history), given)
        if last is not None and last + 1 < len(messages):
            role = messages[last + 1].get("role")
            self.notes.append(
                f"not sent: messages from number {last + 1} (role {role!r}) on come behind the last request"
            )

    def _prompt(self, messages: list[dict[str, Any]], ask: bool) -> Prompt:
        assert self.loaded.template is not None
        chat = replace(self.chat, messages=messages, add_generation_prompt=ask, body=None, paths=())
        return self.loaded.template.prompt(chat)

    def _render(self, messages: list[dict[str, Any]], ask: bool) -> list[int]:
        return list(self._prompt(messages, ask).token_ids or ())

    def _reply_ids(self, ids: list[int], ask: _Ask) -> list[int]:
        """The ids of a given reply: as the template renders it where it continues the prompt, else its text's."""
        assert ask.reply is not None
        whole = self._render([*ask.messages, ask.reply], False)
        if whole[: len(ids)] == ids and len(whole) > len(ids):
            reply = whole[len(ids) :]
            end = next((i for i, token in enumerate(reply) if token in self.loaded.ends), len(reply) - 1)
            return reply[: end + 1]
        content = ask.reply.get("content")
        ends = sorted(self.loaded.ends)[:1]
        return [*(self.loaded.words.encode(content) if isinstance(content, str) else ()), *ends]

    def _run(self, ids: list[int], forced: list[int] | None, most: int | None) -> tuple[ChatTurn, Decoded]:
        held = len(self.cached)
        # The last prompt token is always computed: its logits choose the first token of the reply.
        shared = min(common_length(self.cached, ids), len(ids) - 1)
        if most is not None:
            most = min(most, len(ids) - 1)
            shared = min(shared, most)
        rebuilt = self.cache is None or not crop(self.cache, shared) or not self._has_room(ids, forced)
        if rebuilt:
            shared = 0
            self.room = self._capacity(ids, forced)
            self.cache = self.maker.make(self.room)
        if most is not None and shared < most:
            # The engine holds more than the model: from before the chat, or of an earlier turn.
            self.forward(ids[shared:most], self.cache)
            held, shared = held + most - shared, most
        done = self.forward(ids[shared:], self.cache)
        seconds = done.seconds
        if most and crop(self.cache, shared):
            done = self.forward(ids[shared:], self.cache)
            seconds = min(seconds, done.seconds)
        found = self._answer(done.logits, forced)
        # The last token of the reply is in no cache.
        self.cached = ids + found.token_ids[:-1]
        return ChatTurn(
            prompt_tokens=len(ids),
            cached_tokens=held,
            reused_tokens=shared,
            computed_tokens=done.tokens,
            cache_tokens=length(self.cache),
            reply_tokens=len(found.token_ids),
            given=forced is not None,
            rebuilt=rebuilt and held > 0,
            seconds=seconds,
            decode_seconds=found.seconds,
            engine_tokens=most,
        ), found

    def _answer(self, logits: Any, forced: list[int] | None) -> Decoded:
        if forced is None or self.step_by_step:
            return decode(self.forward, logits, self.cache, self.new_tokens, self.loaded.ends, forced)
        found = Decoded(list(forced), [logits[-1]] if forced else [])
        if len(forced) > 1:
            done = self.forward(forced[:-1], self.cache, keep=len(forced) - 1)
            found.rows.extend(done.logits)
            found.seconds = done.seconds
        return found

    def _capacity(self, ids: list[int], forced: list[int] | None) -> int:
        """Room in a static cache: for all of the chat where it can be rendered, at least for twice this request."""
        if self.maker.kind != "static":
            return 0
        try:
            whole = len(self._render(list(self.chat.messages), True))
        except TemplateRaised:
            whole = 0
        asks = sum(message.get("role") in _ASKS for message in self.chat.messages)
        # A reply comes with a few tokens of the template's own.
        return max(2 * (len(ids) + self._reply_room(forced)), whole + asks * (self.new_tokens + 16))

    def _reply_room(self, forced: list[int] | None) -> int:
        return self.new_tokens if forced is None else len(forced)

    def _has_room(self, ids: list[int], forced: list[int] | None) -> bool:
        if self.maker.kind != "static":
            return True
        return len(ids) + self._reply_room(forced) <= self.room


def _verify(
    forward: Forward, loaded: LoadedModel, ids: list[int], found: Decoded, turn: ChatTurn, kind: str, times: int
) -> None:
    """The prompt from nothing, the lowest of `times` measurements; then prompt and reply in one pass without any cache.

    Where each token of the reply is the choice at its place in that pass, a run without a cache would have written the
    same, token by token.
    """
    if kind == "dynamic" and not turn.reused_tokens:
        # That was computed from nothing: two measurements of the same work would differ by noise alone.
        turn.recompute_seconds = turn.seconds
    else:
        maker = CacheMaker("dynamic", loaded.model.config)
        turn.recompute_seconds = min(forward(ids, maker.make(0)).seconds for _ in range(times))
    if not found.token_ids:
        return
    number = len(found.token_ids)
    rows = list(forward(ids + found.token_ids[:-1], None, keep=number).logits)
    turn.difference = compare_logits(found.rows, rows)
    # Rows without numbers have no best token.
    turn.same_text = turn.difference < math.inf and [int(r.argmax()) for r in rows] == [
        int(r.argmax()) for r in found.rows
    ]
    turn.text_gap = text_gap([int(r.argmax()) for r in found.rows], rows)
