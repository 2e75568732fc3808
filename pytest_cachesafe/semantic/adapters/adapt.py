"""Which package's cache it is, and how that one is asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pytest_cachesafe.semantic.adapters import asked
from pytest_cachesafe.usage import UsageError

__all__ = ["AdaptedCache", "adapt", "known"]

_FOUND: dict[str, tuple[str, str, Callable[[Any], asked.Asked]]] = {
    # Package whose class it must be or derive from, its name, how it is asked.
    "GPTCache": ("gptcache.core", "Cache", asked.gptcache),
    "RedisVL": ("redisvl.extensions", "SemanticCache", asked.redisvl),
    "LangCache": ("redisvl.extensions", "LangCacheSemanticCache", asked.redisvl),
    "LangChain": ("langchain_core.caches", "BaseCache", asked.langchain),
}


class AdaptedCache:
    """A cache of another package as `lookup(prompt)` and `store(prompt, answer)`; `reset()` where it may be emptied."""

    def __init__(self, name: str, ask: asked.Asked, reset: Callable[[], Any] | None) -> None:
        self.name = name
        self._ask = ask
        # None where it must not be emptied: then it is asked about a set of prompts once, and about pairs not at all.
        self.reset = reset

    def lookup(self, prompt: str) -> str | None:
        """The stored answer that the cache serves, or None; what the cache raises is passed on."""
        return self._ask.lookup(prompt)

    def store(self, prompt: str, answer: str) -> None:
        """Keep an answer; what the cache raises is passed on."""
        self._ask.store(prompt, answer)


def adapt(cache: Any, *, clear: bool = False, reset: Callable[[], Any] | None = None) -> AdaptedCache:
    """A semantic cache of GPTCache, RedisVL or LangChain, ready for `CollisionJudge`.

    It is asked as the package itself does it (gptcache 0.1.44 `adapter.api`, redisvl 0.28 `SemanticCache.check`,
    langchain-core 1.8 `BaseCache.lookup`), with its own threshold, index and evaluation.

    Args:
        cache: one that is made for the test and empty: answers that are no answers are stored in it.
        clear: it may be emptied by its own `clear()`, with everything in it. Needed to judge pairs and mutants.
        reset: empties it, where it has no `clear()` of its own (GPTCache), or another way is wanted.

    Raises:
        UsageError: no cache of these packages, or one that cannot be emptied as asked.
    """
    for name, (module, kind, make) in _FOUND.items():
        if _is(cache, module, kind):
            emptied = reset if reset is not None else _clear(cache, name) if clear else None
            return AdaptedCache(f"{name} {type(cache).__name__}", make(cache), emptied)
    if inspect.isclass(cache):
        raise UsageError(f"cache {cache.__name__} is a class: give an instance of it")
    raise UsageError(
        f"cache {type(cache).__name__} is none of {', '.join(_FOUND)}: give a tuple (lookup, store, reset) of functions"
    )


def known(cache: Any) -> str | None:
    """The package whose cache it is; None for anything else."""
    return next((name for name, (module, kind, _) in _FOUND.items() if _is(cache, module, kind)), None)


def _is(cache: Any, module: str, name: str) -> bool:
    classes: Sequence[type] = type(cache).__mro__
    return any(cls.__name__ == name and f"{cls.__module__}.".startswith(f"{module}.") for cls in classes)


def _clear(cache: Any, name: str) -> Callable[[], Any]:
    found = getattr(cache, "clear", None)
    if not callable(found):
        raise UsageError(f"{name} has no clear(): give reset=, a function that empties the cache or makes it anew")
    if name == "LangChain" and asked.takes_model(found):
        return lambda: found(llm_string=asked.MODEL)
    return found  # type: ignore[no-any-return]
