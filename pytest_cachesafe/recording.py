"""A recording with its assertions: requests noted by hand (or caught from SDKs), judged together at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pytest_cachesafe import prompt
from pytest_cachesafe.prefix.inputs import tool_list
from pytest_cachesafe.prefix.result import StabilityReport
from pytest_cachesafe.prompt import Chat, UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.engines.cache import PrefixCache
    from pytest_cachesafe.providers.chats import ChatMaker
    from pytest_cachesafe.providers.checks.result import CacheReport
    from pytest_cachesafe.providers.exchange import Exchange
    from pytest_cachesafe.reuse import EngineReport

__all__ = ["Recording"]


class Recording(prompt.Recording):
    """Requests as sent, in order; conversations that interleave are told apart before anything is compared.

    Args:
        template: front end for the assertions (see `assert_prefix_stable`); None: the wire front end.
        key: conversation key for requests that name none.
    """

    def __init__(self, *, template: Any = None, key: str | None = None) -> None:
        super().__init__(key=key)
        self.template = template
        # What was caught on the wire, as sent; read as chats when a check first asks for them.
        self.exchanges: list[Exchange] = []
        # (exchange, why it is no chat): a body in no known shape is kept and said.
        self.unread: list[tuple[Exchange, str]] = []
        self._taken = 0
        self._maker: ChatMaker | None = None

    @property
    def requests(self) -> list[Chat]:
        """Everything recorded so far, in order."""
        if self._taken < len(self.exchanges):
            self._read_exchanges()
        return self._requests

    def catch(self, exchange: Exchange) -> None:
        """Note a request that was caught on its way out; its reply may be filled in later."""
        self.exchanges.append(exchange)

    def _read_exchanges(self) -> None:
        from pytest_cachesafe.providers.chats import ChatMaker

        maker = self._maker = self._maker or ChatMaker()
        new, self._taken = self.exchanges[self._taken :], len(self.exchanges)
        for exchange in new:
            try:
                chat = maker.chat(exchange)
            except UsageError as error:
                self.unread.append((exchange, str(error)))
                continue
            chat.key = chat.key or self.key
            self._requests.append(chat)

    def request(
        self,
        messages: Any,
        tools: Sequence[Any] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        model: str | None = None,
        key: str | None = None,
        now: datetime | None = None,
    ) -> None:
        """Note one request: a message list or a whole wire body, as it is sent.

        Args:
            messages: message list or body; it is copied, later changes to your list do not reach the recording.
            tools: tool definitions where `messages` is no body; settings: template keywords.
            model: model name; key: conversation key; now: the clock that the template sees.

        Raises:
            UsageError: not a request.
        """
        from copy import deepcopy

        from pytest_cachesafe.messages import to_chat

        # The conversion copies; a Chat passes through it as it is.
        chat = deepcopy(messages) if isinstance(messages, Chat) else to_chat(messages)
        if tools is not None:
            if chat.tools is not None and chat.body is not None and "tools" in chat.body:
                raise UsageError("request(…, tools=…): the body already has tools; give them once")
            chat.tools = deepcopy(tool_list(tools))
            if chat.body is not None and chat.wire in ("gemini", "bedrock"):
                raise UsageError(f"tools= beside a {chat.wire} body: put them into the body, in its own form")
            if chat.body is not None:
                chat.body = {**chat.body, "tools": chat.tools}
        if settings is not None and not isinstance(settings, Mapping):
            raise UsageError(f"request(…, settings=…) takes a mapping, got {type(settings).__name__}")
        if settings:
            chat.settings = {**chat.settings, **deepcopy(dict(settings))}
        chat.model = model or chat.model
        chat.key = key or chat.key
        chat.now = now or chat.now
        self.add(chat)

    def assert_stable(self, **options: Any) -> StabilityReport:
        """`assert_prefix_stable` over everything recorded; takes its options.

        Raises:
            PrefixFailure: a conversation loses its prefix.
            UsageError: nothing was recorded, or no request continues another.
        """
        __tracebackhide__ = True
        from pytest_cachesafe.stability import assert_prefix_stable

        options.setdefault("template", self.template)
        return assert_prefix_stable(self, **options)

    def assert_reused(self, engine: str | PrefixCache = "vllm", **options: Any) -> EngineReport:
        """`assert_reuse` over everything recorded: `rec.assert_reused("vllm", min_share=0.8)`; takes its options.

        Raises:
            ReuseFailure: the engine finds less than was asked for.
            UsageError: nothing was recorded, no request continues another, or there are no token ids.
        """
        __tracebackhide__ = True
        from pytest_cachesafe.reuse import assert_reuse

        options.setdefault("template", self.template)
        return assert_reuse(self, engine=engine, **options)

    def assert_cache_safe(self, **options: Any) -> CacheReport:
        """Assert that nothing is wrong with what was sent, by its provider's rules; takes `check_requests`' options.

        Raises:
            CacheFailure: a marker is refused or does nothing, or a conversation loses its prefix.
            UsageError: nothing was recorded.
        """
        __tracebackhide__ = True
        from pytest_cachesafe.providers.assertions import assert_cache_safe

        return assert_cache_safe(self, **options)

    def assert_cached(self, min_share: float = 0.8, **options: Any) -> CacheReport:
        """Assert which share of the prompt tokens the provider's cache serves, over requests that continue another.

        Raises:
            CacheFailure: less is read.
            UsageError: nothing was recorded, or no request continues another.
        """
        __tracebackhide__ = True
        from pytest_cachesafe.providers.assertions import assert_cached

        return assert_cached(self, min_share=min_share, **options)

    def assert_read(self, request: int, at_least: int, **options: Any) -> CacheReport:
        """Assert how many tokens one request reads from the provider's cache; requests count from 0.

        Raises:
            CacheFailure: it reads less.
            UsageError: there is no such request, or it was not answered.
        """
        __tracebackhide__ = True
        from pytest_cachesafe.providers.assertions import assert_read

        return assert_read(self, request=request, at_least=at_least, **options)
