"""GGUF files: the same ids as the model's own tokenizer.json, digits as the engine splits them, damage in one line."""

from __future__ import annotations

import json
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_gguf import from_tokenizer_json, gguf_bytes, tiny_metadata
from tries import tries

from pytest_cachesafe.models import LoadedTokenizer, ModelWarning, load_tokenizer
from pytest_cachesafe.models.gguf_file import read_metadata
from pytest_cachesafe.prompt import UsageError

MIXED = [
    "",
    "x:\n\n1.",
    " 2024-05-17T12:34:56Z 1234567 ½ ٣٤٥",
    "I'LL they'Ve don't",
    "def f(x):\n    return x  # ünïcödé\r\n\r\n\t\t",
    "日本語とカタカナ、漢字。 한국어 مرحبا 🙂👩‍👩‍👧",
    "Hello<|im_end|>[INST]<|eot_id|> world</s>",
    "HTTPServer camelCase XMLHttpRequest $%^&*()_+=[]{}|\\/?!",
]


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def ids(tokenizer: LoadedTokenizer, text: str) -> list[int]:
    return list(tokenizer.backend.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize(
    ("fixture", "pre"),
    [("qwen3_dir", "qwen2"), ("llama32_dir", "llama-bpe"), ("nemo_dir", "tekken"), ("deepseek_v3_dir", "deepseek-v3")],
)
def test_same_ids_as_the_tokenizer_json(
    fixture: str, pre: str, request: pytest.FixtureRequest, gguf: Path, empty_cache: Path
) -> None:
    from tokenizers import Tokenizer

    folder: Path = request.getfixturevalue(fixture)
    gguf.write_bytes(from_tokenizer_json(folder, pre))
    converted, oracle = load_tokenizer(gguf).backend, Tokenizer.from_file(str(folder / "tokenizer.json"))

    @given(st.one_of(st.text(max_size=80), st.sampled_from(MIXED)))
    @settings(max_examples=tries(150), derandomize=True, deadline=None)
    def same(text: str) -> None:
        normalizer = oracle.normalizer
        # llama.cpp has no normalisation; Qwen's tokenizer.json has, which is a difference of the two, not of ours.
        text = text if normalizer is None else normalizer.normalize_str(text)
        assert converted.encode(text, add_special_tokens=False).ids == oracle.encode(text, add_special_tokens=False).ids

    same()
    for text in MIXED:
        same.hypothesis.inner_test(text)


def test_smollm2_splits_digits(smollm2_tokenizer_dir: Path) -> None:
    loaded = load_tokenizer(smollm2_tokenizer_dir)
    # Six ids, two newlines apart, with the plain splitting that transformers' conversion gives.
    assert ids(loaded, "x:\n\n1.") == [104, 42, 1116, 33, 30]
    for number in range(0, 3000, 7):
        assert len(ids(loaded, str(number))) == len(str(number))


def test_smollm2_differs_from_transformers_in_the_splitting_alone(smollm2_gguf: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast.from_pretrained(
        str(smollm2_gguf.parent), gguf_file=smollm2_gguf.name, local_files_only=True
    )
    loaded = load_tokenizer(smollm2_gguf)
    ours, oracle = json.loads(loaded.backend.to_str()), json.loads(theirs.backend_tokenizer.to_str())
    assert ours.pop("pre_tokenizer") != oracle.pop("pre_tokenizer")
    for data in (ours, oracle):
        for name in ("continuing_subword_prefix", "end_of_word_suffix"):
            # None and "" mean the same.
            data["model"][name] = data["model"][name] or ""
    assert ours == oracle
    assert loaded.special_tokens == theirs.special_tokens_map
    assert loaded.chat_template == theirs.chat_template


@pytest.mark.parametrize(
    ("pre", "pieces"),
    [
        ("smollm", ["Ċ", "Ċ", "1", "2"]),
        ("command-r", ["Ċ", "Ċ", "1", "2"]),
        ("gpt-2", ["Ċ", "Ċ", "12"]),
    ],
)
def test_the_kind_named_in_the_file_decides(pre: str, pieces: list[str], gguf: Path, empty_cache: Path) -> None:
    data = tiny_metadata(pre=pre)
    data["tokenizer.ggml.tokens"].append("12")
    data["tokenizer.ggml.token_type"].append(1)
    data["tokenizer.ggml.merges"].append("1 2")
    gguf.write_bytes(gguf_bytes(data))
    loaded = load_tokenizer(gguf)
    assert [loaded.backend.id_to_token(i) for i in ids(loaded, "\n\n12")] == pieces


def test_control_and_user_defined_tokens(gguf: Path, empty_cache: Path) -> None:
    data = tiny_metadata()
    # Characters outside of the byte alphabet, as in DeepSeek's control tokens.
    data["tokenizer.ggml.tokens"] += ["<｜end▁of▁sentence｜>", "<think>"]
    data["tokenizer.ggml.token_type"] += [3, 4]
    gguf.write_bytes(gguf_bytes(data))
    loaded = load_tokenizer(gguf)
    found = loaded.backend.encode("a<｜end▁of▁sentence｜><think>b", add_special_tokens=False)
    assert found.tokens == ["a", "<｜end▁of▁sentence｜>", "<think>", "b"]
    assert loaded.backend.decode(found.ids) == "a<think>b"


def test_bos_and_eos_where_the_file_says_so(gguf: Path, empty_cache: Path) -> None:
    gguf.write_bytes(gguf_bytes(tiny_metadata(**{"tokenizer.ggml.add_bos_token": True})))
    assert load_tokenizer(gguf).backend.encode("ab").tokens == ["<|start|>", "ab"]
    flags = {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True}
    gguf.write_bytes(gguf_bytes(tiny_metadata(**flags)))
    loaded = load_tokenizer(gguf)
    assert loaded.backend.encode("ab").tokens == ["<|start|>", "ab", "<|end|>"]
    assert loaded.backend.encode("ab", add_special_tokens=False).tokens == ["ab"]


def test_named_templates(gguf: Path, empty_cache: Path) -> None:
    more = {"tokenizer.chat_template": "one", "tokenizer.chat_template.tool_use": "two"}
    gguf.write_bytes(gguf_bytes(tiny_metadata(**more)))
    assert load_tokenizer(gguf).chat_template == {"default": "one", "tool_use": "two"}


def test_an_unknown_kind_warns_that_ids_may_differ(gguf: Path, empty_cache: Path) -> None:
    gguf.write_bytes(gguf_bytes(tiny_metadata(pre="nobody-knows")))
    with pytest.warns(ModelWarning, match="transformers does not know how tokenizer.ggml.pre='nobody-knows' splits"):
        assert ids(load_tokenizer(gguf), "ab") == [258]


def test_a_kind_that_transformers_knows_does_not_warn(gguf: Path, empty_cache: Path) -> None:
    gguf.write_bytes(gguf_bytes(tiny_metadata(pre="gpt-4o")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ids(load_tokenizer(gguf), "ab") == [258]


def test_a_sentencepiece_file_goes_through_transformers(gguf: Path, empty_cache: Path) -> None:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "ab", "▁ab"]
    scores = [0.0] * 259 + [-3.0, -4.0, -5.0, -1.0, -2.0]
    data: dict[str, Any] = {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * 5],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    gguf.write_bytes(gguf_bytes(data))
    loaded = load_tokenizer(gguf)
    assert loaded.special_tokens == {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    assert loaded.backend.encode("ab</s>", add_special_tokens=False).tokens == ["▁ab", "</s>"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is a damaged GGUF file"),
        (b"PK\x03\x04" + b"\0" * 40, "is not a GGUF file: it does not begin with the letters GGUF"),
        (b"GGUF\x00\x00\x00\x03" + b"\0" * 40, "big endian"),
        (gguf_bytes({"general.architecture": "llama"}), "carries no tokenizer"),
        (gguf_bytes(tiny_metadata(**{"tokenizer.ggml.merges": ["a nothing"]})), "carries a damaged tokenizer"),
        (gguf_bytes(tiny_metadata(**{"tokenizer.ggml.merges": ["ab"]})), "carries a damaged tokenizer"),
    ],
)
def test_what_cannot_be_used_is_one_line(content: bytes, words: str, gguf: Path, empty_cache: Path) -> None:
    gguf.write_bytes(content)
    with pytest.raises(UsageError, match=words) as caught:
        load_tokenizer(gguf)
    assert str(gguf) in str(caught.value)
    assert "\n" not in str(caught.value)


@given(data=st.data())
@settings(
    max_examples=tries(200),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_damage_never_ends_in_a_traceback_or_in_all_memory(data: st.DataObject, gguf: Path) -> None:
    content = bytearray(gguf_bytes(tiny_metadata()))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    gguf.write_bytes(content)
    # A flipped byte may leave a readable file; anything else must be our own kind of error.
    said = ""
    tracemalloc.start()
    try:
        read_metadata(gguf)
    except UsageError as error:
        said = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert "\n" not in said
    # A length field that lies must not be believed: the file has a few hundred bytes.
    assert peak < 20_000_000
