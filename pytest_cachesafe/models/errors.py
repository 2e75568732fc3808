"""What can go wrong while a model is found and loaded, each said in one line."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, metadata
from types import ModuleType

from pytest_cachesafe.prompt import UsageError

__all__ = ["ModelNotFound", "ModelWarning", "need", "need_transformers", "one_line"]


class ModelNotFound(UsageError):
    """A model that is in none of the places looked at; the line names the places and how to get it."""


class ModelWarning(UserWarning):
    """The model can be used, but something about it may not be what its engine does."""


def one_line(error: BaseException, limit: int = 300) -> str:
    """An exception's own words as one line of at most `limit` characters: messages of the hub run over many."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= limit else words[: limit - 1] + "…"


def need(module: str, extra: str, why: str) -> ModuleType:
    """Import an optional dependency.

    Raises:
        UsageError: it is not installed; the line holds the install command.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # A dependency that is installed but broken is its own fault, not a missing extra.
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise UsageError(f'{why} needs {module}: pip install "pytest-cachesafe[{extra}]"') from None


def need_transformers(why: str, also: Sequence[tuple[str, str]] = ()) -> None:
    """Check that transformers 5 or later is installed, and the (module, extra) pairs of `also`, importing only these.

    Raises:
        UsageError: one is missing or too old; the line holds the install command.
    """
    try:
        found = metadata.version("transformers")
    except metadata.PackageNotFoundError:
        # The extras of what else is needed bring transformers too: one command, not two in a row.
        extra = also[0][1] if also else "render"
        raise UsageError(f'{why} needs transformers: pip install "pytest-cachesafe[{extra}]"') from None
    if found.partition(".")[0].isdigit() and int(found.partition(".")[0]) < 5:
        raise UsageError(
            f'{why} needs transformers 5 or later, {found} is installed: pip install -U "pytest-cachesafe[render]"'
        )
    for module, extra in also:
        need(module, extra, why)
