"""The plugin's fixtures. What they give is imported when a test first asks for it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_cachesafe.engines.cache import PrefixCache
    from pytest_cachesafe.fixture import Cachesafe
    from pytest_cachesafe.frontends.template import ChatTemplate
    from pytest_cachesafe.kv.probe import KVProbe
    from pytest_cachesafe.providers.capture.captured import Captured
    from pytest_cachesafe.semantic.judge import CollisionJudge

__all__ = ["cachesafe", "chat_template", "llm_traffic", "prefix_cache", "semantic_cache", "smollm2"]


@pytest.fixture(scope="session")
def _cachesafe_templates() -> dict[str, Any]:
    """Templates by name: a tokenizer takes a fraction of a second to load."""
    return {}


@pytest.fixture(scope="session")
def _cachesafe_probes() -> dict[str, Any]:
    """Models by name: weights take a second to load."""
    return {}


@pytest.fixture
def cachesafe(
    request: pytest.FixtureRequest, _cachesafe_templates: dict[str, Any], _cachesafe_probes: dict[str, Any]
) -> Generator[Cachesafe, None, None]:
    """Templates, recordings and snapshots for prompt-cache tests, with the options in force."""
    from pytest_cachesafe.fixture import Cachesafe

    made = Cachesafe(request, _cachesafe_templates, _cachesafe_probes)
    yield made
    made.close()


@pytest.fixture
def chat_template(cachesafe: Cachesafe) -> ChatTemplate:
    """The chat template of the default model: `cachesafe.template()`."""
    return cachesafe.template()


@pytest.fixture
def prefix_cache(cachesafe: Cachesafe) -> PrefixCache:
    """vLLM's prefix cache, empty, with a pool that never runs out: `cachesafe.engine()`."""
    return cachesafe.engine()


@pytest.fixture
def semantic_cache(cachesafe: Cachesafe) -> CollisionJudge:
    """A judge of semantic-cache collisions with the encoder and threshold of the options: `cachesafe.semantic()`."""
    return cachesafe.semantic()


@pytest.fixture
def llm_traffic(cachesafe: Cachesafe) -> Generator[Captured, None, None]:
    """What the LLM SDKs send during the whole test, caught and answered "ok": `cachesafe.record()`."""
    with cachesafe.record() as caught:
        yield caught


@pytest.fixture(scope="session")
def smollm2(_cachesafe_probes: dict[str, Any]) -> KVProbe:
    """SmolLM2-135M-Instruct with its weights, loaded once per session: `cachesafe.kv()`."""
    from pytest_cachesafe.fixture import DEFAULT_MODEL
    from pytest_cachesafe.kv.probe import KVProbe

    if DEFAULT_MODEL not in _cachesafe_probes:
        _cachesafe_probes[DEFAULT_MODEL] = KVProbe.load(DEFAULT_MODEL)
    found: KVProbe = _cachesafe_probes[DEFAULT_MODEL]
    return found
