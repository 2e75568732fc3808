"""SmolLM2 with its real weights, loaded once; and a tiny model with random ones where any model will do."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pytest_cachesafe.kv import KVProbe
from pytest_cachesafe.usage import UsageError

pytest.importorskip("torch")

# Shows only the newest answer's text behind its marker: earlier answers are rendered shorter than they were.
FORGETFUL = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% if m.role == 'assistant' and not loop.last %}{{ m.content[:6] }}{% else %}{{ m.content }}{% endif %}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="session")
def probe() -> KVProbe:
    """SmolLM2-135M-Instruct in float32."""
    try:
        return KVProbe.load()
    except UsageError as error:
        reason = f"{error}; `make test` brings it"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def tiny_folder(smollm2_tokenizer_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers, 4 heads over 2 KV heads of size 8, random weights; SmolLM2's tokenizer, a template that
    forgets."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("tiny")
    config = LlamaConfig(
        vocab_size=49152, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=2048, bos_token_id=1, eos_token_id=2, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        LlamaForCausalLM(config).save_pretrained(folder)
    shutil.copy(smollm2_tokenizer_dir / "tokenizer.json", folder)
    facts = json.loads((smollm2_tokenizer_dir / "tokenizer_config.json").read_text(encoding="utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**facts, "chat_template": FORGETFUL}), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> KVProbe:
    """The tiny model."""
    return KVProbe.load(tiny_folder)
