"""A missing extra gives one line, whose command brings everything that is needed."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

from pytest_cachesafe.models.errors import need_transformers
from pytest_cachesafe.usage import UsageError


@pytest.mark.parametrize(("also", "extra"), [((), "render"), ([("torch", "kv"), ("gguf", "kv")], "kv")])
def test_one_command_is_enough(also: Any, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(UsageError) as caught:
        need_transformers("loading it", also)
    assert str(caught.value) == f'loading it needs transformers: pip install "pytest-cachesafe[{extra}]"'
