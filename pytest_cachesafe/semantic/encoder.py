"""Encoders: from what a user names or hands over to unit vectors, one a text.

A cache's cosine can only be foretold with the cache's own encoder. So anything that makes vectors of texts is taken: a
model's name or folder, a loaded SentenceTransformer, a LangChain, RedisVL or GPTCache embedding, any `embed(texts)`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pytest_cachesafe.models.errors import need
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    import numpy as np

    from pytest_cachesafe.semantic.prompts import PromptSet

    Array = np.ndarray[Any, np.dtype[np.float32]]

__all__ = [
    "DEFAULT_ENCODER",
    "CallableEncoder",
    "Encoder",
    "VectorError",
    "embed_set",
    "load_encoder",
    "unit_vectors",
]

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
# The method of an object that embeds a list of texts: LangChain's Embeddings, RedisVL's vectorizers,
# SentenceTransformer, and the name of our own protocol.
_METHODS = ("embed_documents", "embed_many", "encode", "embed")
# What a unit vector's length may differ from 1 by: float16 and rounded vectors still count as normalised.
_NEAR_ONE = 1e-2


@runtime_checkable
class Encoder(Protocol):
    """Texts in, unit vectors out."""

    # For reports.
    name: str
    # Tokens that are read of a text, special tokens included; what lies behind them changes nothing. None: unknown.
    window: int | None
    # What a report should say about the vectors.
    notes: list[str]

    def embed(self, texts: Sequence[str]) -> Array:
        """float32, one row of length 1 a text.

        Raises:
            UsageError: the vectors cannot be used (number, shape, NaN, zero), or the model cannot be loaded.
        """

    def count(self, text: str) -> int | None:
        """Tokens of a text, special tokens included, as if there were no window; None where unknown."""

    def truncated_ids(self, text: str) -> tuple[int, ...] | None:
        """The token ids that are read of a text; None where unknown."""


def load_encoder(spec: Any = DEFAULT_ENCODER, *, keep: bool = True) -> Encoder:
    """The encoder that a user names or hands over.

    Args:
        spec: a model's name or folder (sentence-transformers), a callable `embed(texts)` that gives one vector a text,
            or an object that embeds lists of texts: SentenceTransformer, LangChain `Embeddings`, RedisVL vectorizer.
        keep: keep the vectors of a model on disk, in the cache folder. Those of a callable are never kept: nothing
            says whether it is the same one next time.

    Raises:
        UsageError: no encoder; or the model is nowhere (how to get it).
    """
    if isinstance(spec, CallableEncoder):
        return spec
    if isinstance(spec, (str, os.PathLike)):
        name = os.fspath(spec)
        # A folder is meant from where this process is now.
        return _model(os.path.abspath(name) if os.path.isdir(name) else name, keep, os.environ.get("CACHESAFE_CACHE"))
    if not inspect.isclass(spec) and all(hasattr(spec, name) for name in ("window", "truncated_ids", "embed")):
        ready: Encoder = spec
        return ready
    if inspect.isclass(spec):
        raise UsageError(f"encoder={spec.__name__}: is a class; give an instance of it")
    for method in _METHODS:
        if callable(found := getattr(spec, method, None)):
            return CallableEncoder(found, type(spec).__name__)
    if callable(spec):
        return CallableEncoder(spec, getattr(spec, "__qualname__", type(spec).__name__))
    from pytest_cachesafe.semantic.adapters.adapt import known

    if (package := known(spec)) is not None:
        raise UsageError(
            f"encoder={type(spec).__name__}: a cache of {package}: give adapt(cache, clear=True), from "
            "pytest_cachesafe.semantic.adapters, of one that is made for the test: answers are stored in it"
        )
    raise UsageError(
        f"encoder={repr(spec)[:80]}: a model's name or folder, a function embed(texts) that gives one vector a text, "
        "an object with embed, encode, embed_documents or embed_many, or a cache with lookup and store is meant"
    )


@lru_cache(maxsize=4)
def _model(name: str, keep: bool, folder: str | None) -> Encoder:
    """Loaded once a process: every assertion makes a judge of its own. `folder` is where vectors are kept."""
    from pytest_cachesafe.semantic.model_encoder import ModelEncoder

    return ModelEncoder(name, keep=keep)


class VectorError(UsageError):
    """A vector that cannot be used; `index` is that of its text among those given, `rest` follows its name."""

    def __init__(self, who: str, index: int, rest: str) -> None:
        super().__init__(f"{who}: the vector of text {index} {rest}")
        self.who, self.index, self.rest = who, index, rest

    def __reduce__(self) -> tuple[type[VectorError], tuple[str, int, str]]:
        return type(self), (self.who, self.index, self.rest)


def embed_set(encoder: Encoder, found: PromptSet) -> Array:
    """The vectors of a set of prompts.

    Raises:
        UsageError: see `Encoder.embed`; what is wrong with one vector names the place of its prompt.
    """
    try:
        return encoder.embed(found.texts)
    except VectorError as error:
        name = f"{found.name}: " if found.name else ""
        place = f"{name}{found.unit} {found.places[error.index]}"
        raise UsageError(f"{error.who}: the vector of {place} {error.rest}") from None


class CallableEncoder:
    """The user's own `embed(texts)`; what it gives is checked, and brought to length 1 where it is not."""

    window: int | None = None

    def __init__(self, embed: Callable[[list[str]], Any], name: str) -> None:
        self._embed = embed
        # A lambda has no name that would help anybody.
        self.name = "embed()" if "<lambda>" in name else name
        self.notes: list[str] = []
        self._dimension: int | None = None

    def wrapped(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> CallableEncoder:
        """The same encoder, its function wrapped."""
        return CallableEncoder(wrap(self._embed), self.name)

    def embed(self, texts: Sequence[str]) -> Array:
        """See `Encoder`; what the callable itself raises is passed on."""
        wanted = list(texts)
        raw = self._embed(wanted)
        if inspect.iscoroutine(raw):
            raw.close()
            raise UsageError(f"encoder {self.name} is async: give a function that waits, e.g. with asyncio.run")
        vectors, normalised = unit_vectors(raw, len(wanted), f"encoder {self.name}", self._dimension)
        self._dimension = vectors.shape[1]
        if not normalised:
            note = (
                f"encoder {self.name} gives vectors that are not of length 1; they were normalised here: a cache that "
                "compares by inner product or Euclidean distance merges other pairs"
            )
            if note not in self.notes:
                self.notes.append(note)
        return vectors

    def count(self, text: str) -> int | None:
        """Unknown: only the callable knows its tokens."""
        return None

    def truncated_ids(self, text: str) -> tuple[int, ...] | None:
        """Unknown: only the callable knows its tokens."""
        return None


def unit_vectors(raw: Any, count: int, who: str, dimension: int | None = None) -> tuple[Array, bool]:
    """Vectors as `count` rows of length 1, and whether they were so before.

    Args:
        raw: an array, a tensor, or lists of numbers.
        who: subject of the error messages.
        dimension: columns that are expected; None takes any.

    Raises:
        UsageError: another number of vectors, no numbers, different or wrong dimensions, NaN, infinite or zero vectors
            (with the index of the text).
    """
    np = need("numpy", "semantic", "comparing embeddings")
    rows = _plain(raw, who)
    array = _matrix(np, rows, count, who)
    if array.shape[0] != count:
        raise UsageError(f"{who} gives {array.shape[0]} vectors for {count} texts: one each is needed, in their order")
    if dimension is not None and array.shape[1] != dimension:
        raise UsageError(f"{who} gives vectors of dimension {array.shape[1]}, and of {dimension} before")
    if not array.shape[1]:
        raise UsageError(f"{who} gives empty vectors")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise VectorError(who, int(np.argmin(finite)), "holds NaN or infinity")
    # Divided by the largest entry first: squares of very large or very small numbers leave the range.
    largest = np.abs(array).max(axis=1, keepdims=True)
    if not largest.all():
        raise VectorError(who, int(np.argmin(largest)), "is all zeros, which has no direction")
    scaled = array / largest
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        lengths = norms * largest
    normalised = bool((np.abs(lengths - 1.0) <= _NEAR_ONE).all())
    found: Array = (scaled / norms).astype(np.float32)
    return found, normalised


def _plain(raw: Any, who: str) -> Any:
    """Without what autograd or a generator adds."""
    if raw is None:
        raise UsageError(f"{who} gives None: one vector a text is needed")
    if hasattr(raw, "detach"):
        raw = raw.detach().cpu()
        # numpy knows no bfloat16.
        return raw.float().numpy() if hasattr(raw, "float") else raw
    if hasattr(raw, "shape"):
        return raw
    try:
        return [item.detach().cpu().float().numpy() if hasattr(item, "detach") else item for item in raw]
    except TypeError:
        raise UsageError(f"{who} gives {type(raw).__name__}: one vector a text is needed") from None


def _matrix(np: Any, rows: Any, count: int, who: str) -> Any:
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (ValueError, TypeError):
        sizes = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else None for row in rows]
        other = next((i for i, size in enumerate(sizes) if size is not None and size != sizes[0]), None)
        if other is not None and sizes[0] is not None:
            raise VectorError(
                who, other, f"has dimension {sizes[other]}, that of the first one {sizes[0]}: different dimensions"
            ) from None
        raise UsageError(f"{who} gives no numbers: one vector of numbers a text is needed") from None
    if array.ndim == 1 and count != array.shape[0]:
        raise UsageError(f"{who} gives one vector for {count} texts: embed takes a list of texts and gives one each")
    if array.ndim != 2:
        raise UsageError(f"{who} gives an array of {array.ndim} dimensions: texts by numbers are meant")
    return array
