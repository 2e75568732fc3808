"""Options, salts and adapters that are none: one line, whatever the engine."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe.engines.cache import ENGINES, PrefixCache
from pytest_cachesafe.usage import UsageError

SWITCHES = [
    (engine, flag)
    for engine in ENGINES
    for flag in type(PrefixCache(engine)).flags
    if flag in PrefixCache(engine).options
]


def refuses(call: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["off", "false", "", 0, 1, None])
@pytest.mark.parametrize(("engine", "flag"), SWITCHES)
def test_a_switch_is_true_or_false(engine: str, flag: str, value: object) -> None:
    if flag == "kv_unified" and value is None:
        # The server's choice.
        assert PrefixCache(engine, kv_unified=None)
        return
    refuses(lambda: PrefixCache(engine, **{flag: value}), f"{flag}={value!r}: True or False")
    assert PrefixCache(engine, **{flag: True})
    assert PrefixCache(engine, **{flag: False})


def test_every_boolean_option_is_a_switch() -> None:
    import inspect

    for engine in ENGINES:
        made = type(PrefixCache(engine))
        booleans = {
            name for name, one in inspect.signature(made.__init__).parameters.items() if "bool" in str(one.annotation)
        }
        assert booleans <= set(made.flags)
        assert set(made.flags) <= set(made.options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("salt", [["x"], 5, b"x"])
def test_a_salt_is_text(engine: str, salt: Any) -> None:
    refuses(lambda: PrefixCache(engine).request([1, 2], salt=salt), f"salt={salt!r}: text, or None")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lora", [5, (), ("a",), ("a", "b", "c"), ("a", 1), b"ab"])
def test_an_adapter_is_a_name_or_a_name_and_a_path(engine: str, lora: Any) -> None:
    refuses(lambda: PrefixCache(engine).request([1, 2], lora=lora), f"lora={lora!r}: the adapter's name, or (name")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_sampled_is_called_so(engine: str) -> None:
    request = PrefixCache(engine).request([1, 2])
    for sampled in ("a", [1.5]):
        refuses(lambda sampled=sampled: request.append(sampled), "sampled_ids")


@pytest.mark.parametrize(
    ("engine", "given", "meant"),
    [
        ("vllm", "enable_prefix_caching", "caching"),
        ("vllm", "no_enable_prefix_caching", "caching"),
        ("lmcache", "num_gpu_blocks_override", "num_blocks"),
        ("sglang", "max_total_tokens", "capacity"),
        ("llamacpp", "ctx_size", "n_ctx"),
    ],
)
def test_a_servers_own_name_leads_to_ours(engine: str, given: str, meant: str) -> None:
    refuses(lambda: PrefixCache(engine, **{given: True}), f"no option {given!r}; did you mean {meant!r}?")
