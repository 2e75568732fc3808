"""Functions of the user's, called for a command: what they raise is told as theirs, in one line."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import reduce, wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from pytest_cachesafe.models.errors import one_line
from pytest_cachesafe.usage import UsageError

__all__ = ["guarded", "guarded_encoder", "imported", "imported_function", "is_import"]

_Call = TypeVar("_Call", bound=Callable[..., Any])


def _told(who: str, error: BaseException, depth: int = 1) -> UsageError:
    """An exception of the user's code as one line: what was raised, by whom, where.

    Args:
        who: begins the line.
        depth: frames at the start of the traceback that are not the user's.
    """
    frames = traceback.extract_tb(error.__traceback__)[depth:]
    # The line in the file that was called; what that calls in turn is some library's.
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    where = f" ({os.path.basename(own[-1].filename)} line {own[-1].lineno})" if own else ""
    words = f": {one_line(error)}" if str(error).strip() else ""
    return UsageError(f"{who} raised {type(error).__name__}{words}{where}")


def guarded(call: _Call, who: str) -> _Call:
    """The same function; what it raises becomes a UsageError that names it."""

    @wraps(call)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return call(*args, **options)
        except UsageError:
            raise
        # Whatever the user's code raises, it is no fault of ours, and no verdict.
        except Exception as error:
            raise _told(who, error) from error

    return cast(_Call, run)


def guarded_encoder(spec: Any, who: str) -> Any:
    """An encoder or a cache of the user's, its functions guarded; a model's name as it is.

    Raises:
        UsageError: see `load_encoder`.
    """
    from pytest_cachesafe.semantic.encoder import CallableEncoder, load_encoder
    from pytest_cachesafe.semantic.model_encoder import ModelEncoder
    from pytest_cachesafe.semantic.served import as_serving_cache

    if isinstance(spec, (str, os.PathLike, ModelEncoder)):
        return spec
    cache = as_serving_cache(spec)
    if cache is not None:
        return cache.wrapped(lambda call: guarded(call, who))
    encoder = load_encoder(spec)
    if isinstance(encoder, CallableEncoder):
        return encoder.wrapped(lambda call: guarded(call, who))
    calls = {name: guarded(getattr(encoder, name), who) for name in ("embed", "count", "truncated_ids")}
    return SimpleNamespace(name=encoder.name, window=encoder.window, notes=encoder.notes, **calls)


def imported_function(word: str, option: str) -> Any:
    """A function of the user's; what it raises is told as its own.

    Raises:
        UsageError: see `imported`; or it cannot be called.
    """
    found = imported(word, option)
    if not callable(found):
        raise UsageError(f"{option} {word}: is {type(found).__name__}, a function is meant")
    return guarded(found, f"{option} {word}")


def is_import(word: str) -> bool:
    """Whether a word has the form `MODULE:NAME`."""
    module, colon, name = word.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


def imported(word: str, option: str) -> Any:
    """What `MODULE:NAME` names, from here or from where Python finds it.

    Raises:
        UsageError: not of that form, or it is not there.
    """
    if not is_import(word):
        raise UsageError(f"{option} {word}: MODULE:NAME is meant, e.g. my_cache:embed")
    module, _, name = word.partition(":")
    # A module beside the prompts, as with python -m.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"{option} {word}: no module {error.name!r} here") from None
    # The module's own code runs here, and may raise anything.
    except Exception as error:
        raise UsageError(
            f"{option} {word}: importing {module} raised {type(error).__name__}: {one_line(error)}"
        ) from error
    try:
        return reduce(getattr, name.split("."), loaded)
    except AttributeError as error:
        raise UsageError(f"{option} {word}: {error}") from None
