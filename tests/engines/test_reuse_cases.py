"""The same two prompts on every engine: what is stable and what is reused are two statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.models import load_tokenizer

# Retrieved chunks in another order; short prompts with the same instructions.
ORDER = [
    "Rules.\n" + "\n".join(f"chunk {n}: some policy text about topic {n} and its limits." for n in order)
    for order in ((1, 2, 3, 4), (2, 1, 3, 4))
]
SHORT = ["Answer briefly. Be polite. What is DNS?", "Answer briefly. Be polite. What is TCP?"]


@pytest.fixture(scope="module")
def encode(smollm2_tokenizer_dir: Path) -> Any:
    backend = load_tokenizer(str(smollm2_tokenizer_dir)).backend
    return lambda text: backend.encode(text, add_special_tokens=False).ids


def second(engine: str, prompts: list[list[int]], **options: object) -> int:
    """Tokens that the second prompt finds."""
    cache = PrefixCache(engine, **options)
    for prompt in prompts:
        request = cache.request(prompt)
        request.free()
    return request.cached_tokens


@pytest.mark.parametrize(
    ("engine", "options", "reused"),
    [
        # 5 of 66 tokens are common: below a block, a page of 16, a chunk.
        ("vllm", {}, 0),
        ("sglang", {}, 5),
        ("sglang", {"page_size": 16}, 0),
        ("lmcache", {}, 0),
        # The only slot is taken whether or not the prompt resembles it; its first 5 tokens stay.
        ("llamacpp", {"slots": 1}, 5),
        # With four slots 5 of 66 are too few to choose the one with the first prompt: an empty one is taken.
        ("llamacpp", {}, 0),
        ("llamacpp", {"slots": 1, "model_type": "hybrid"}, 0),
    ],
)
def test_retrieved_chunks_in_another_order(encode: Any, engine: str, options: dict[str, object], reused: int) -> None:
    prompts = [encode(text) for text in ORDER]
    assert [len(prompt) for prompt in prompts] == [66, 66]
    assert second(engine, prompts, **options) == reused


@pytest.mark.parametrize(
    ("engine", "options", "reused"),
    [
        # 8 of 10 tokens are common.
        ("vllm", {}, 0),
        ("sglang", {}, 8),
        ("sglang", {"page_size": 16}, 0),
        ("lmcache", {}, 0),
        ("llamacpp", {}, 8),
    ],
)
def test_prompts_shorter_than_a_block(encode: Any, engine: str, options: dict[str, object], reused: int) -> None:
    prompts = [encode(text) for text in SHORT]
    assert [len(prompt) for prompt in prompts] == [10, 10]
    assert second(engine, prompts, **options) == reused


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmcache"])
@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_models_with_recurrent_state_are_stable_and_not_reused(engine: str, kind: str) -> None:
    first = list(range(561))
    cache = PrefixCache(engine, model_type=kind)
    assert cache.limits
    assert second(engine, [first, [*first, 7, 8, 9]], model_type=kind) == 0


@pytest.mark.parametrize(("engine", "found"), [("vllm", 992), ("sglang", 999), ("lmcache", 992), ("llamacpp", 999)])
def test_never_more_than_all_but_one_token(engine: str, found: int) -> None:
    prompt = list(range(1000))
    # vLLM: floor(999 / 16) * 16; LMCache's three chunks of 256 are fewer.
    assert second(engine, [prompt, prompt]) == found
