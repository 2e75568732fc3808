"""How each package's cache is asked and fed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from pytest_cachesafe.usage import UsageError

__all__ = ["MODEL", "Asked", "gptcache", "langchain", "redisvl", "takes_model"]

# LangChain keeps answers apart by a text that describes model and settings; all of ours are one model's.
MODEL = "cachesafe"


class Asked(NamedTuple):
    """The two functions of a cache."""

    lookup: Callable[[str], str | None]
    store: Callable[[str, str], Any]


def gptcache(cache: Any) -> Asked:
    """Through GPTCache's own `adapter.api`, with its evaluation and threshold.

    The prompt is given as `prompt` and as the last message, as it depends on `pre_embedding_func` which one is read.
    """
    from importlib import import_module

    if not getattr(cache, "has_init", False):
        raise UsageError("GPTCache is not initialised: call its init() first, as the application does")
    api = import_module("gptcache.adapter.api")

    def given(prompt: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": prompt}], "cache_obj": cache}

    def store(prompt: str, answer: str) -> None:
        api.put(prompt, answer, **given(prompt))

    return Asked(lambda prompt: _text(api.get(prompt, **given(prompt)), "GPTCache"), store)


def redisvl(cache: Any) -> Asked:
    """`check` gives a list of entries, the closest first."""

    def lookup(prompt: str) -> str | None:
        entries = cache.check(prompt=prompt, num_results=1)
        _no_coroutine(entries, "RedisVL")
        return _text(entries[0].get("response"), "RedisVL") if entries else None

    return Asked(lookup, lambda prompt, answer: cache.store(prompt=prompt, response=answer))


def langchain(cache: Any) -> Asked:
    """`lookup` gives a list of generations."""
    from importlib import import_module

    generation = import_module("langchain_core.outputs").Generation

    def lookup(prompt: str) -> str | None:
        generations = cache.lookup(prompt, MODEL)
        _no_coroutine(generations, "LangChain")
        return _text(generations[0].text, "LangChain") if generations else None

    return Asked(lookup, lambda prompt, answer: cache.update(prompt, MODEL, [generation(text=answer)]))


def takes_model(clear: Callable[..., Any]) -> bool:
    """Whether a LangChain cache's `clear` is told whose answers to drop, as the ones with an index a model need it."""
    try:
        parameters = inspect.signature(clear).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(found.kind is found.VAR_KEYWORD or found.name == "llm_string" for found in parameters)


def _text(answer: Any, name: str) -> str | None:
    _no_coroutine(answer, name)
    return answer if answer is None or isinstance(answer, str) else str(answer)


def _no_coroutine(value: Any, name: str) -> None:
    if inspect.iscoroutine(value):
        value.close()
        raise UsageError(f"this {name} cache is async: give a tuple of functions that wait, e.g. with asyncio.run")
