"""`PrefixCache("vllm", …)`: one engine's prefix cache, request by request."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.usage import UsageError

__all__ = ["ENGINES", "PrefixCache", "check_flag", "check_names", "check_size"]

# Engine name: module and class with its rules.
_HOMES = {
    "vllm": ("pytest_cachesafe.engines.vllm.manager", "VllmCache"),
    "sglang": ("pytest_cachesafe.engines.sglang.radix_cache", "SglangCache"),
    "lmcache": ("pytest_cachesafe.engines.lmcache.chunk_store", "LMCacheCache"),
    "llamacpp": ("pytest_cachesafe.engines.llamacpp.slots", "LlamaCppCache"),
}
ENGINES = tuple(_HOMES)


class PrefixCache:
    """The prefix cache of one engine; `PrefixCache(name, …)` makes that of the named engine.

    Args:
        engine: `vllm`, `sglang`, `lmcache` or `llamacpp`.
        options: the engine's own, named as the engine names them; each engine's class lists them.

    Raises:
        UsageError: an unknown engine or option (with the closest name), a size that is no positive whole number.
    """

    # Options that the engine's constructor takes.
    options: ClassVar[tuple[str, ...]] = ()
    # Those of `options` that are on or off.
    flags: ClassVar[tuple[str, ...]] = ()
    # The server's own names of options that are called otherwise here; only for the hint in an error.
    servers_names: ClassVar[Mapping[str, str]] = {}
    # How the engine is called in reports, e.g. "vLLM".
    label: ClassVar[str] = ""
    # Those of `options` that bound how much is kept; without them nothing is evicted.
    bounds: ClassVar[tuple[str, ...]] = ()
    # Tokens that are reused together (block, page, chunk); 1 where any prefix is.
    unit: int = 1
    # Why this engine, set up like this, cannot reuse what is stable; None where it can.
    limits: str | None = None
    # Sizes that nobody gave and that results depend on, in words; None where there are none.
    assumed: str | None = None
    # The options it was made with.
    given: dict[str, Any]

    def __new__(cls, engine: str = "vllm", **options: Any) -> PrefixCache:
        if cls is not PrefixCache:
            return cls._made(cls, options)
        if engine not in _HOMES:
            near = difflib.get_close_matches(str(engine).lower(), ENGINES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(ENGINES)}"
            raise UsageError(f"unknown engine {engine!r}; {hint}")
        module, name = _HOMES[engine]
        home: type[PrefixCache] = getattr(import_module(module), name)
        for option in options:
            if option not in home.options:
                named = home.servers_names.get(option.removeprefix("no_"))
                near = [named] if named else difflib.get_close_matches(option, home.options, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(home.options)}"
                raise UsageError(f"PrefixCache({engine!r}) has no option {option!r}; {hint}")
        return cls._made(home, options)

    @staticmethod
    def _made(home: type[PrefixCache], options: dict[str, Any]) -> PrefixCache:
        made = object.__new__(home)
        made.given = options
        return made

    def __init__(self, engine: str = "vllm", **options: Any) -> None:
        self.engine = engine

    def request(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        read: bool = True,
        **more: Any,
    ) -> Request:
        """Send one prompt: look up what is cached, take room for the rest, keep what the engine keeps at prefill.

        Args:
            token_ids: the whole prompt.
            salt: cache salt (namespace) of the request.
            lora: name of the adapter, or (name, path).
            read: False for a request that must not read the cache (it still writes).
            more: what only some engines know; see their classes.

        Raises:
            UsageError: no ids, or something that is no token id (a whole number from 0 to 2**31 - 1).
        """
        raise NotImplementedError

    def unbounded(self) -> PrefixCache:
        """An empty cache of the same engine and options that never evicts."""
        options = {name: value for name, value in self.given.items() if name not in self.bounds}
        return PrefixCache(self.engine, **options)

    @property
    def bounded(self) -> bool:
        """Whether it ever evicts."""
        return any(self.given.get(name) is not None for name in self.bounds)

    def reset(self) -> bool:
        """Forget everything that is cached; False, and nothing done, where the engine refuses (requests are live)."""
        raise NotImplementedError


def check_size(name: str, value: object, least: int = 1) -> int:
    """`value` as a size.

    Raises:
        UsageError: no whole number, or below `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name}={value!r}: a whole number, at least {least}")
    return value


def check_flag(name: str, value: object) -> bool:
    """`value` as a switch.

    Raises:
        UsageError: neither True nor False: a word like "off" would count as true.
    """
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r}: True or False")
    return value


def check_names(salt: object, lora: object) -> tuple[str, str] | None:
    """The adapter as (name, path); None without one. A name alone is enough to keep adapters apart.

    Raises:
        UsageError: a salt that is no text, an adapter that is no name and no (name, path).
    """
    if salt is not None and not isinstance(salt, str):
        raise UsageError(f"salt={salt!r}: text, or None")
    if lora is None:
        return None
    pair = (lora, "") if isinstance(lora, str) else lora
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
        raise UsageError(f"lora={lora!r}: the adapter's name, or (name, path)")
    return pair[0], pair[1]
