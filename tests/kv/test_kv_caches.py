"""Dynamic, static and quantized caches: same work, known memory, refused before anything runs."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.kv import KVFailure, KVProbe
from pytest_cachesafe.kv.caches import copy, crop, length, recurrent
from pytest_cachesafe.kv.memory import bytes_per_token, measured_bytes
from pytest_cachesafe.usage import UsageError

TEXT = "The library opens at nine and closes at six. Members may borrow up to five books for three weeks."


def test_bytes_per_token_by_configuration_and_measured(probe: KVProbe) -> None:
    # 30 layers x 3 KV heads x head size 64 x 2 (key and value) x 4 bytes = 46,080.
    assert probe.bytes_per_token() == 46_080
    tokens = len(probe.encode(TEXT))
    assert measured_bytes(probe.prefilled(TEXT)) == tokens * 46_080
    # A static cache has its room from the beginning.
    assert measured_bytes(probe.prefilled(TEXT, "static", capacity=64)) == 64 * 46_080


def test_a_static_cache_gives_the_same_logits(probe: KVProbe) -> None:
    report = probe.reuse(TEXT, ["\nWhen does it open?"], "static", new_tokens=3)
    assert report.largest_difference is not None
    assert report.largest_difference <= 1e-3
    assert report.same_text
    assert report.prefix_intact


def test_a_quantized_cache_is_smaller_and_lossy(probe: KVProbe) -> None:
    pytest.importorskip("optimum.quanto")
    tokens = 20
    made = probe.prefilled(probe.encode(TEXT)[:tokens], "quantized")
    # 30 layers x 3 KV heads x 64 x 2 = 11,520 numbers a token: half a byte each, and for each group of 64 of them a
    # scale and a zero point of 4 bytes each: 5,760 + 11,520 / 64 x 8 = 7,200 bytes, 6.4 times less than 46,080.
    # (Groups are packed in pairs; 3 x 20 of them leave none over.)
    assert measured_bytes(made) == tokens * 7_200
    report = probe.reuse(TEXT, ["\nWhen does it open?"], "quantized", new_tokens=3)
    assert report.setting.tolerance is None
    assert report.largest_difference is not None
    assert report.largest_difference > 1e-3
    assert report.prefix_intact
    assert "no bound: a quantized cache is lossy" in str(report)


def test_copies_of_a_quantized_cache_stay_packed_and_apart(tiny: KVProbe) -> None:
    pytest.importorskip("optimum.quanto")
    base = tiny.prefilled([5] * 8, "quantized", quantized={"q_group_size": 16})
    size = measured_bytes(base)
    private = copy(base)
    assert measured_bytes(private) == size
    report = tiny.reuse([5] * 8, [[1], [2, 3]], "quantized", quantized={"q_group_size": 16})
    assert report.prefix_intact
    assert length(base) == 8


def test_a_quantized_chat_that_cannot_go_back_begins_anew(tiny: KVProbe) -> None:
    pytest.importorskip("optimum.quanto")
    chat = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "A long answer that is shortened when the chat goes on."},
        {"role": "user", "content": "Two"},
    ]
    first, second = tiny.chat(chat, "quantized", quantized={"q_group_size": 16}, new_tokens=2).turns
    assert not first.rebuilt
    assert second.rebuilt
    assert second.computed_tokens == second.prompt_tokens


@pytest.mark.parametrize(
    ("options", "words"),
    [
        # 2 KV heads x head size 8 = 16 numbers a token: a group of 64 fits only every fourth length.
        ({}, r"q_group_size=64 does not divide 16 \(2 KV heads x head size 8, axis_key=0\).*take q_group_size=16"),
        ({"q_group_size": 12}, "q_group_size=12 does not divide 16"),
        ({"q_group_size": 16, "axis_value": -1}, r"does not divide 2 \(KV heads, axis_value=-1\).*take q_group_size=2"),
        ({"q_group_size": 0}, "q_group_size=0: a whole number, at least 1"),
        ({"q_group_size": True}, "q_group_size=True"),
        ({"q_group_size": 16, "axis_key": 1}, "axis_key=1: 0 or -1"),
        ({"nbits": 3}, "nbits=3: optimum-quanto stores keys and values in 2 or 4 bits"),
        ({"bits": 4}, "no option 'bits'; known: nbits"),
    ],
)
def test_what_the_quantizer_would_refuse_is_refused_before(tiny: KVProbe, options: dict[str, Any], words: str) -> None:
    before = tiny.tokens_computed
    with pytest.raises(UsageError, match=words):
        tiny.reuse("Hello", [" there"], "quantized", quantized=options)
    assert tiny.tokens_computed == before


def test_a_missing_quantizer_is_one_line(tiny: KVProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "optimum"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optimum.quanto", None)
    with pytest.raises(UsageError) as caught:
        tiny.reuse("Hello", [" there"], "quantized", quantized={"q_group_size": 16})
    assert str(caught.value) == 'a quantized cache needs optimum.quanto: pip install "pytest-cachesafe[quantized]"'


def test_a_quantized_cache_cannot_be_cropped_back(tiny: KVProbe) -> None:
    pytest.importorskip("optimum.quanto")
    with pytest.raises(UsageError, match="a quantized cache cannot be cut back; take way='copy'"):
        tiny.reuse("Hello", [" there"], "quantized", way="crop", quantized={"q_group_size": 16})


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layers of kind sliding_attention"),
        ({"layer_types": ["linear_attention"]}, "layers of kind linear_attention"),
        ({"sliding_window": 4096}, "layers of kind sliding_attention"),
        ({"kv_lora_rank": 512}, "latent attention"),
        ({"num_hidden_layers": None}, "names no layers"),
    ],
)
def test_memory_is_said_only_where_it_is_a_constant(facts: dict[str, Any], words: str) -> None:
    class Config:
        model_type = "odd"
        num_hidden_layers = 2
        num_attention_heads = 4
        hidden_size = 32

    # 2 layers x 4 heads (no KV heads given) x 32 / 4 x 2 x 2 bytes = 256.
    assert bytes_per_token(Config(), "bfloat16") == 256
    config = Config()
    vars(config).update(facts)
    with pytest.raises(UsageError, match=words):
        bytes_per_token(config, "float32")


@pytest.fixture(scope="module")
def sliding(smollm2_tokenizer_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> KVProbe:
    """A Mistral of two layers that look at the last 8 tokens, random weights."""
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    folder = tmp_path_factory.mktemp("sliding")
    config = MistralConfig(
        vocab_size=49152, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=8, bos_token_id=1, eos_token_id=2, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        MistralForCausalLM(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(smollm2_tokenizer_dir / name, folder)
    return KVProbe.load(folder)


def test_a_sliding_window_is_copied_and_never_cut_back(sliding: KVProbe) -> None:
    report = sliding.reuse(list(range(100, 120)), [[7, 8], [9]], new_tokens=4)
    assert report.same_text
    assert report.largest_difference is not None
    assert report.largest_difference <= 1e-3
    assert report.prefix_intact
    assert report.bytes_per_token is None
    assert "by the configuration" not in str(report)
    # What fell out of the window is gone.
    with pytest.raises(UsageError, match=r"way='crop': the cache of .* cannot be cut back; take way='copy'"):
        sliding.reuse(list(range(100, 120)), [[7, 8], [9]], way="crop")


def test_what_is_for_full_attention_says_so(sliding: KVProbe) -> None:
    before = sliding.tokens_computed
    with pytest.raises(UsageError, match=r"cache='quantized' is for .* not for layers of kind sliding_attention"):
        sliding.reuse("Hello", [" there"], "quantized")
    with pytest.raises(UsageError, match=r"stitching takes .* has layers of kind sliding_attention"):
        sliding.stitch([[1], [2]], [3])
    # The model could not go back where the engine is said to.
    with pytest.raises(UsageError, match=r"compare\(\): the engines' rules are those for full attention, .* sliding_"):
        sliding.compare([{"role": "user", "content": "One"}])
    assert sliding.tokens_computed == before


def test_a_static_cache_of_older_transformers_is_not_blamed_on_the_model(
    tiny: KVProbe, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.cache_utils import Cache, StaticCache, StaticLayer

    # Such as 5.6: no crop, and the length under another name.
    monkeypatch.delattr(Cache, "is_croppable")
    monkeypatch.delattr(StaticLayer, "crop")
    for kind in (Cache, StaticCache, StaticLayer):
        monkeypatch.delattr(kind, "get_max_length", raising=False)
    with pytest.raises(UsageError, match=r"way='crop': transformers .* cannot cut back a static cache .*way='copy'"):
        tiny.reuse([5] * 8, [[7], [9]], "static", way="crop", verify=0)
    chat = [{"role": "user", "content": "One"}, {"role": "user", "content": "Two"}]
    report = tiny.chat(chat, "static", new_tokens=2)
    assert report.turns[1].rebuilt
    assert report.same_text


def test_a_recurrent_state_is_never_cut_back(tiny: KVProbe) -> None:
    cache = tiny.prefilled([5] * 8)
    assert not recurrent(cache)
    # As transformers marks layers with a convolution's or a recurrence's state.
    cache.layers[0].is_conv_states_initialized = True
    assert recurrent(cache)
    assert not crop(cache, 6)
    assert length(cache) == 8


def test_logits_without_numbers_are_no_agreement(tiny_folder: Path) -> None:
    import torch

    broken = KVProbe.load(tiny_folder)
    with torch.no_grad():
        broken._loaded.model.get_output_embeddings().weight.fill_(float("nan"))
    options: dict[str, Any] = {"quantized": {"q_group_size": 16}, "new_tokens": 2, "min_reused": 0.0}
    kinds = ["dynamic"] + ["quantized"] * (find_spec("optimum") is not None)
    for kind in kinds:
        more = options if kind == "quantized" else {**options, "quantized": None}
        with pytest.raises(KVFailure, match=r"logits are no numbers \(NaN or infinite\) in 1 of 1 continuations"):
            broken.assert_reuse([5] * 8, [[7]], cache=kind, **more)
    chat = broken.chat([{"role": "user", "content": "One"}], new_tokens=2)
    assert chat.same_text is False
    assert "turn 0: logits are no numbers" in str(chat)
    assert "greedy text" not in str(chat)


def test_a_chat_on_a_sliding_window_is_right(sliding: KVProbe) -> None:
    report = sliding.chat([{"role": "user", "content": "One two three"}, {"role": "user", "content": "Four"}])
    assert report.same_text
    assert report.largest_difference is not None
    assert report.largest_difference <= 1e-3
