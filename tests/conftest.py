"""Fixtures for all tests: real tokenizers, fetched by `make test` into the cache folder of the user.

Where they are missing, tests that need them are skipped with the command that brings them; with CI set they fail.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "support"))

from fetch_tokenizers import FILES, TOKENIZERS, tokenizer_folder

from pytest_cachesafe.models import LoadedTokenizer, load_tokenizer
from pytest_cachesafe.models.cache import build_once, cache_root
from pytest_cachesafe.models.packages import package_payload, weight_package
from pytest_cachesafe.prompt import UsageError

# pytester gives each test a home of its own; without this, every such test would look into an empty cache there.
os.environ.setdefault("CACHESAFE_CACHE", str(cache_root(create=False)))
# A test that reaches for the hub is wrong, and must say so on every machine.
os.environ["HF_HUB_OFFLINE"] = "1"
# Several processes at once on few cores: threads of a model that wait for each other take three times the time of one.
# Before torch is imported, which reads it then.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Each client of an SDK loads all certificates of the machine (30 ms), and none of these calls leaves it.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "certificate.pem")
# Half of what hypothesis tries by itself; `make test-all` asks for all of it.
settings.register_profile("deep", settings.default)
settings.register_profile("first", settings.default, max_examples=50)
settings.load_profile("first")

# Where things are before any test changes the environment: a session fixture may first be asked for by such a test.
_CACHE = os.environ["CACHESAFE_CACHE"]
_FOLDERS = {name: tokenizer_folder(name) for name in TOKENIZERS}


# Folders whose tests load torch or transformers, or start many processes.
_LONG = ("kv", "models", "examples")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, whatever the order of the rest: one worker loads torch, and no worker waits at the end."""
    folder = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(folder).parts[0] not in _LONG)


def _absent(what: str) -> NoReturn:
    reason = f"{what}; `make test` brings it"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _npm_folder(name: str) -> Path:
    folder = _FOLDERS[name]
    if not all((folder / file).is_file() for file in FILES):
        _absent(f"tokenizer {name} is not in {folder.parent}")
    return folder


def _save(loaded: LoadedTokenizer, folder: Path) -> None:
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "chat_template": loaded.chat_template,
        **loaded.special_tokens,
    }
    (folder / "tokenizer.json").write_text(loaded.backend.to_str(), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


@pytest.fixture(scope="session")
def smollm2_tokenizer_dir() -> Path:
    """Folder with tokenizer.json and tokenizer_config.json of HuggingFaceTB/SmolLM2-135M-Instruct."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHESAFE_CACHE", _CACHE)
        try:
            loaded = load_tokenizer("HuggingFaceTB/SmolLM2-135M-Instruct")
        except UsageError as error:
            _absent(str(error))
        target = cache_root() / "test-folders" / f"smollm2-{loaded.fingerprint[:16]}-1"
        return build_once(target, lambda folder: _save(loaded, folder))


@pytest.fixture(scope="session")
def qwen3_dir() -> Path:
    """Folder with tokenizer.json and tokenizer_config.json of Qwen3 (template of Qwen3-0.6B)."""
    return _npm_folder("qwen3")


@pytest.fixture(scope="session")
def llama32_dir() -> Path:
    """Folder with tokenizer.json and tokenizer_config.json of Llama 3.2 Instruct."""
    return _npm_folder("llama3_2")


@pytest.fixture(scope="session")
def nemo_dir() -> Path:
    """Folder with tokenizer.json and tokenizer_config.json of Mistral Nemo Instruct."""
    return _npm_folder("mistral_nemo")


@pytest.fixture(scope="session")
def deepseek_v3_dir() -> Path:
    """Folder with tokenizer.json and tokenizer_config.json of DeepSeek V3."""
    return _npm_folder("deepseek_v3")


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """The GGUF file (Q4_1, 98 MB) of HuggingFaceTB/SmolLM2-135M-Instruct."""
    package = weight_package("smollm2")
    assert package is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHESAFE_CACHE", _CACHE)
        payload = package_payload(package)
    if payload is None:
        _absent(f"{package.words} is neither installed nor in {_CACHE}")
    return payload
