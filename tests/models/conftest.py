"""A cache folder of its own for each test that asks for one."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from pytest_cachesafe.models.packages import WEIGHT_PACKAGES


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a hub cache and environment in which nothing is found."""
    root = tmp_path / "cache"
    monkeypatch.setenv("CACHESAFE_CACHE", str(root))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("CACHESAFE_ALLOW_DOWNLOAD", raising=False)
    real = metadata.distribution
    pinned = {package.distribution for package in WEIGHT_PACKAGES}

    def distribution(name: str) -> metadata.Distribution:
        if name in pinned:
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    return root
