"""Caches of other packages, asked as the packages do it. The real ones are used where they are installed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from pytest_cachesafe.semantic.adapters import adapt
from pytest_cachesafe.semantic.judge import CollisionJudge
from pytest_cachesafe.usage import UsageError


def class_of(module: str, name: str, **members: Any) -> type:
    """A class that says it is of another package."""
    return type(name, (), {"__module__": module, **members})


def key(prompt: str) -> str:
    """Such a cache cannot tell apart what begins alike."""
    return prompt[:9]


def redisvl(**more: Any) -> Any:
    """As `redisvl.extensions.cache.llm.SemanticCache` of 0.28: keywords, and a list of entries."""

    def check(self: Any, prompt: str | None = None, vector: Any = None, num_results: int = 1) -> list[dict[str, Any]]:
        found = self.kept.get(key(prompt or ""))
        return [] if found is None else [{"response": found, "prompt": prompt, "vector_distance": 0.01}]

    def store(self: Any, prompt: str, response: str, metadata: Any = None) -> str:
        self.kept[key(prompt)] = response
        return "llmcache:1"

    made = class_of("redisvl.extensions.cache.llm.semantic", "SemanticCache",
                    **{"check": check, "store": store, "clear": lambda self: self.kept.clear(), **more})()  # fmt: skip
    made.kept = {}
    return made


def test_redisvl_is_asked_by_check_and_fed_by_store() -> None:
    cache = adapt(redisvl())
    assert cache.lookup("How do I enable it?") is None
    cache.store("How do I enable it?", "Like this.")
    assert cache.lookup("How do I disable it?") == "Like this."
    assert cache.lookup("Where is it?") is None


def test_a_subclass_of_a_known_cache_is_known() -> None:
    plain = redisvl()
    made = type("Mine", (type(plain),), {})()
    made.kept = {}
    assert adapt(made).name == "RedisVL Mine"


def test_nothing_is_emptied_unless_it_is_said() -> None:
    plain = redisvl()
    plain.kept[key("How do I pay?")] = "an answer of the user's"
    assert adapt(plain).reset is None
    with pytest.raises(UsageError):
        CollisionJudge(adapt(plain)).mutants(["How do I enable it for 3 days?"])
    assert plain.kept[key("How do I pay?")] == "an answer of the user's"
    cleared = adapt(plain, clear=True)
    assert cleared.reset is not None
    cleared.reset()
    assert plain.kept == {}


def test_a_function_that_empties_can_be_given() -> None:
    calls = []
    cache = adapt(redisvl(), reset=lambda: calls.append(1))
    assert cache.reset is not None
    cache.reset()
    assert calls == [1]


def test_a_judge_takes_it() -> None:
    judge = CollisionJudge(adapt(redisvl(), clear=True))
    report = judge.collisions(["How do I enable it?", "How do I activate it?", "How do I disable it?", "Where is it?"])
    assert [(pair.verdict.a, pair.verdict.b) for pair in report.collisions][:1]
    mutants = judge.mutants(["How do I enable it for 3 days?"])
    assert mutants.judged_by == "RedisVL SemanticCache"
    assert {one.mutant.mutator for one in mutants.wrong} >= {"number", "antonym"}


def langchain_cache() -> Any:
    caches = pytest.importorskip("langchain_core.caches")

    class PrefixCache(caches.BaseCache):  # type: ignore[name-defined,misc]
        """Merges what begins alike."""

        def __init__(self) -> None:
            self.kept: dict[tuple[str, str], Any] = {}

        def lookup(self, prompt: str, llm_string: str) -> Any:
            return self.kept.get((key(prompt), llm_string))

        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            self.kept[key(prompt), llm_string] = return_val

        def clear(self, **kwargs: Any) -> None:
            self.kept.clear()

    return PrefixCache()


def test_langchain_is_asked_with_one_model_and_fed_with_generations() -> None:
    plain = langchain_cache()
    cache = adapt(plain, clear=True)
    assert cache.lookup("How do I enable it?") is None
    cache.store("How do I enable it?", "Like this.")
    assert cache.lookup("How do I disable it?") == "Like this."
    ((generation,),) = plain.kept.values()
    assert type(generation).__name__ == "Generation"
    assert cache.reset is not None
    cache.reset()
    assert plain.kept == {}


@pytest.mark.parametrize("spelling", ["keyword", "anything"])
def test_a_langchain_cache_with_an_index_a_model_is_emptied(spelling: str) -> None:
    """langchain-community's Redis, Azure and Cassandra caches need `llm_string`, the base class takes anything."""
    cleared: list[Any] = []

    def keyword(self: Any, llm_string: str) -> None:
        cleared.append(llm_string)

    def anything(self: Any, **kwargs: Any) -> None:
        cleared.append(kwargs["llm_string"])

    asked: list[str] = []
    caches = pytest.importorskip("langchain_core.caches")
    members = {
        "lookup": lambda self, prompt, llm_string: asked.append(llm_string),
        "update": lambda self, prompt, llm_string, return_val: None,
        "clear": keyword if spelling == "keyword" else anything,
    }
    cache = adapt(type("IndexedCache", (caches.BaseCache,), members)(), clear=True)
    cache.lookup("Hi")
    assert cache.reset is not None
    cache.reset()
    assert cleared == asked


def test_a_langchain_cache_that_is_told_nothing_is_emptied() -> None:
    caches = pytest.importorskip("langchain_core.caches")
    emptied: list[int] = []
    members = {
        "lookup": lambda self, prompt, llm_string: None,
        "update": lambda self, prompt, llm_string, return_val: None,
        "clear": lambda self: emptied.append(1),
    }
    cache = adapt(type("PlainCache", (caches.BaseCache,), members)(), clear=True)
    assert cache.reset is not None
    cache.reset()
    assert emptied == [1]


def test_a_known_cache_that_was_not_adapted_is_told_how() -> None:
    with pytest.raises(UsageError, match=r"a cache of RedisVL: give adapt\(cache, clear=True\)"):
        CollisionJudge(redisvl()).judge("How do I pay?", "How do I not pay?")


def test_langchains_own_cache_works() -> None:
    caches = pytest.importorskip("langchain_core.caches")
    cache = adapt(caches.InMemoryCache(), clear=True)
    cache.store("Hi", "Hello")
    assert (cache.lookup("Hi"), cache.lookup("hi")) == ("Hello", None)


def test_gptcache_is_asked_through_its_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """As gptcache 0.1.44: `put(prompt, data, **request)`, `get(prompt, **request)`, the cache in `cache_obj`."""
    kept: dict[Any, Any] = {}
    api = ModuleType("gptcache.adapter.api")
    api.put = lambda prompt, data, *, messages, cache_obj: kept.update({(cache_obj, key(prompt)): data})  # type: ignore[attr-defined]
    api.get = lambda prompt, *, messages, cache_obj: kept.get((cache_obj, key(messages[-1]["content"])))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gptcache", ModuleType("gptcache"))
    monkeypatch.setitem(sys.modules, "gptcache.adapter", ModuleType("gptcache.adapter"))
    monkeypatch.setitem(sys.modules, "gptcache.adapter.api", api)
    plain = class_of("gptcache.core", "Cache", has_init=True)()
    cache = adapt(plain, reset=kept.clear)
    cache.store("How do I enable it?", "Like this.")
    assert cache.lookup("How do I disable it?") == "Like this."
    assert (plain, key("How do I enable it?")) in kept


def test_the_real_gptcache_works(tmp_path: Any) -> None:
    gptcache = pytest.importorskip("gptcache")
    manager = pytest.importorskip("gptcache.manager")
    plain = gptcache.Cache()
    plain.init(data_manager=manager.get_data_manager(data_path=str(tmp_path / "map.txt")))
    cache = adapt(plain)
    assert cache.lookup("Hi") is None
    cache.store("Hi", "Hello")
    assert cache.lookup("Hi") == "Hello"


def test_gptcache_that_is_not_ready_is_an_error() -> None:
    with pytest.raises(UsageError, match="call its init"):
        adapt(class_of("gptcache.core", "Cache", has_init=False)())


def test_gptcache_has_no_way_to_empty_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="GPTCache has no clear"):
        adapt(class_of("gptcache.core", "Cache", has_init=True)(), clear=True)


async def _answer() -> str:
    return "Hello"


def test_an_async_cache_is_an_error() -> None:
    cache = adapt(redisvl(check=lambda self, **options: _answer()))
    with pytest.raises(UsageError, match="this RedisVL cache is async"):
        cache.lookup("Hi")


@pytest.mark.parametrize("other", [{}, object(), class_of("mine", "SemanticCache")(), "redis://localhost"])
def test_other_objects_are_errors_that_say_what_to_do(other: Any) -> None:
    with pytest.raises(UsageError, match=r"none of GPTCache, RedisVL, LangCache, LangChain: give a tuple"):
        adapt(other)


def test_a_class_is_an_error() -> None:
    with pytest.raises(UsageError, match="is a class"):
        adapt(class_of("mine", "Cache"))
