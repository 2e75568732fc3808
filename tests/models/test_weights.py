"""Folders to load models from: GGUF weights dequantised once, pickles refused, incomplete folders named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_gguf import tiny_metadata

from pytest_cachesafe.models import ModelNotFound, find_causal_lm, find_encoder, load_tokenizer
from pytest_cachesafe.prompt import UsageError


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers with known weights: Q8_0 where whole blocks fit, else float32."""
    import gguf
    import numpy as np

    data = tiny_metadata(pre="smollm", **{"tokenizer.chat_template": "{{ messages }}"})
    vocabulary = len(data["tokenizer.ggml.tokens"])
    path = tmp_path_factory.mktemp("llama") / "tiny.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(16)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(data["tokenizer.ggml.tokens"])
    writer.add_token_types(data["tokenizer.ggml.token_type"])
    writer.add_token_merges(data["tokenizer.ggml.merges"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template("{{ messages }}")
    random = np.random.default_rng(0)
    shapes = {"token_embd": (vocabulary, 32), "output_norm": (32,)}
    for layer in range(2):
        shapes |= {
            f"blk.{layer}.attn_norm": (32,),
            f"blk.{layer}.attn_q": (32, 32),
            f"blk.{layer}.attn_k": (16, 32),
            f"blk.{layer}.attn_v": (16, 32),
            f"blk.{layer}.attn_output": (32, 32),
            f"blk.{layer}.ffn_norm": (32,),
            f"blk.{layer}.ffn_gate": (64, 32),
            f"blk.{layer}.ffn_up": (64, 32),
            f"blk.{layer}.ffn_down": (32, 64),
        }
    for name, shape in shapes.items():
        values = random.standard_normal(shape, dtype=np.float32)
        if len(shape) == 1:
            writer.add_tensor(f"{name}.weight", values)
        else:
            packed = gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_gguf_becomes_a_folder_with_the_same_weights(tiny_llama: Path, empty_cache: Path) -> None:
    import gguf
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = find_causal_lm(tiny_llama)
    assert folder.parent == empty_cache / "weights"
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {file.name for file in folder.iterdir()}
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    assert model.dtype == torch.float32
    assert "quantization_config" not in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(str(tiny_llama)).tensors}
    for ours, theirs in [
        ("model.embed_tokens.weight", "token_embd.weight"),
        ("model.layers.1.mlp.down_proj.weight", "blk.1.ffn_down.weight"),
        ("model.norm.weight", "output_norm.weight"),
    ]:
        tensor = stored[theirs]
        expected = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy())
        assert torch.equal(model.state_dict()[ours], expected), ours
    assert torch.equal(model.state_dict()["lm_head.weight"], model.state_dict()["model.embed_tokens.weight"])
    ours_tokenizer, theirs_tokenizer = load_tokenizer(folder), load_tokenizer(tiny_llama)
    assert ours_tokenizer.backend.to_str() == theirs_tokenizer.backend.to_str()
    assert ours_tokenizer.special_tokens == theirs_tokenizer.special_tokens
    assert ours_tokenizer.chat_template == theirs_tokenizer.chat_template == "{{ messages }}"
    text = AutoTokenizer.from_pretrained(folder)("<|start|>ab 12", add_special_tokens=False)
    assert text.input_ids == theirs_tokenizer.backend.encode("<|start|>ab 12", add_special_tokens=False).ids
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert find_causal_lm(tiny_llama) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.oracle
def test_smollm2_answers_with_the_converted_weights(smollm2_gguf: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = find_causal_lm(smollm2_gguf)
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    chat = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.no_grad():
        answer = model.generate(**prompt, max_new_tokens=8, do_sample=False)
    assert "Paris" in tokenizer.decode(answer[0][prompt["input_ids"].shape[1] :])


def test_a_pickled_model_is_refused(tmp_path: Path, empty_cache: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(UsageError, match=r"pytorch_model\.bin is a pickle, which is never read"):
        find_causal_lm(tmp_path)
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError, match=r"pytorch_model\.bin is a pickle, which can run code when it is read"):
        find_encoder(tmp_path)


def test_missing_shards_are_named(tmp_path: Path, empty_cache: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}), encoding="utf-8")
    (tmp_path / "one.safetensors").write_bytes(b"")
    with pytest.raises(ModelNotFound, match=r"is incomplete: two\.safetensors missing"):
        find_causal_lm(tmp_path)
    (tmp_path / "two.safetensors").write_bytes(b"")
    assert find_causal_lm(tmp_path) == tmp_path
    index.write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be read"):
        find_causal_lm(tmp_path)


def test_an_encoder_folder(tmp_path: Path, empty_cache: Path) -> None:
    for name in ("config.json", "modules.json", "model.safetensors"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert find_encoder(tmp_path) == tmp_path
    with pytest.raises(ModelNotFound, match="cachesafe models --fetch sentence-transformers/all-MiniLM-L6-v2"):
        find_encoder("all-MiniLM-L6-v2")
