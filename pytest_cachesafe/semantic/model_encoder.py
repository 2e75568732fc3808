"""A sentence-transformers model as encoder: loaded when the first vector is missing; a second run needs no torch.

Pooling and normalisation are the model's own, made by sentence-transformers, which is what caches use. The window and
the token ids are read from the model's files with `tokenizers`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.kv.lock import default_threads, loading_alone, threads_set
from pytest_cachesafe.models import find_encoder
from pytest_cachesafe.models.cache import file_sha256
from pytest_cachesafe.models.errors import need, one_line
from pytest_cachesafe.models.packages import canonical_name
from pytest_cachesafe.semantic.encoder import VectorError, unit_vectors
from pytest_cachesafe.semantic.vectors import VectorStore
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float32]]

__all__ = ["ModelEncoder"]

# Texts between two looks at the clock and two writes to disk: what is lost by Ctrl-C.
_CHUNK = 256
_BATCH = 32
_DECIDES = (".safetensors", ".json", ".txt", ".model")


class ModelEncoder:
    """See `Encoder`.

    Args:
        name_or_path: as for `find_encoder`.
        keep: keep vectors on disk, by checksums of the model's files.

    Raises:
        UsageError: the model is nowhere (how to get it), or its folder is incomplete.
    """

    def __init__(self, name_or_path: str | os.PathLike[str], *, keep: bool = True) -> None:
        self._folder = find_encoder(name_or_path)
        _check_modules(self._folder)
        self.name = canonical_name(os.fspath(name_or_path))
        self.window = _window(self._folder)
        self.notes: list[str] = []
        self._store = VectorStore(_identity(self._folder, self.window)) if keep else None
        self._model: Any = None
        self._tokenizer: Any = None
        self._last: tuple[str, list[int]] = ("", [])

    def embed(self, texts: Sequence[str]) -> Array:
        """See `Encoder`. Each distinct text is encoded once; a bar shows on a terminal when it takes long."""
        np = need("numpy", "semantic", "comparing embeddings")
        index: dict[str, int] = {}
        places = [index.setdefault(text, len(index)) for text in texts]
        distinct = list(index)
        kept = self._store.get(distinct) if self._store is not None else {}
        rows: list[Any] = [kept.get(i) for i in range(len(distinct))]
        # Texts of one length are padded least; the longest first, so that a lack of memory shows at once.
        missing = sorted((i for i, row in enumerate(rows) if row is None), key=lambda i: -len(distinct[i]))
        for part, vectors in self._encoded(missing, distinct):
            for row, i in zip(vectors, part, strict=True):
                rows[i] = row
        if not rows:
            return np.empty((0, 0), dtype=np.float32)  # type: ignore[no-any-return]
        found: Array = np.stack(rows)[places]
        return found

    def _encoded(self, missing: list[int], texts: list[str]) -> Iterator[tuple[list[int], Array]]:
        from pytest_cachesafe.report.progress import Progress

        bar = Progress()
        try:
            for start in range(0, len(missing), _CHUNK):
                part = missing[start : start + _CHUNK]
                batch = [texts[i] for i in part]
                try:
                    vectors, _ = unit_vectors(self._encode(batch), len(part), f"encoder {self.name}")
                except VectorError as error:
                    raise VectorError(error.who, part[error.index], error.rest) from None
                if self._store is not None:
                    self._store.put(batch, vectors)
                yield part, vectors
                if bar.due():
                    done = start + len(part)
                    bar.show(done, len(missing), f"{done:,} of {len(missing):,} prompts embedded")
        finally:
            bar.clear()

    def _encode(self, texts: list[str]) -> Any:
        if self._model is None:
            self._model = _load(self._folder, self.name)
        # On a machine that runs several workers, each takes its share of the cores.
        with threads_set(default_threads()):
            return self._model.encode(texts, batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True)

    def count(self, text: str) -> int | None:
        """See `Encoder`."""
        return len(self._ids(text))

    def truncated_ids(self, text: str) -> tuple[int, ...] | None:
        """See `Encoder`."""
        ids = self._ids(text)
        if self.window is None or len(ids) <= self.window:
            return tuple(ids)
        # What closes a text (one special token in BERT's way) stays.
        return (*ids[: self.window - 1], ids[-1])

    def _ids(self, text: str) -> list[int]:
        if self._tokenizer is None:
            self._tokenizer = _tokenizer(self._folder, self.name)
        # Who counts a text asks for its ids next; a long one takes seconds.
        if not self._last[1] or self._last[0] != text:
            self._last = (text, self._tokenizer.encode(text).ids)
        return self._last[1]


def _check_modules(folder: Path) -> None:
    """Only modules of sentence-transformers itself: before its version 6 it imports any that a folder names.

    Raises:
        UsageError: a module of another package, or of the folder's own code.
    """
    file = folder / "modules.json"
    try:
        types = [str(module["type"]) for module in json.loads(file.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{file} cannot be read: {one_line(error)}") from error
    for name in types:
        if not name.startswith("sentence_transformers."):
            raise UsageError(
                f"{file} names {name}, which is code that comes with the model and is never run here: load the model "
                "yourself and give it as encoder"
            )


def _load(folder: Path, name: str) -> Any:
    need("sentence_transformers", "semantic", f"encoding with {name}")
    with loading_alone(), _quiet():
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)
        # Every loader has exceptions of its own; whatever is wrong, it is wrong in the user's folder or machine.
        except Exception as error:
            raise UsageError(f"{name} cannot be loaded: {one_line(error)}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own bar: loading takes a second."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _tokenizer(folder: Path, name: str) -> Any:
    tokenizers = need("tokenizers", "semantic", f"counting tokens for {name}")
    file = folder / "tokenizer.json"
    try:
        found = tokenizers.Tokenizer.from_file(str(file))
    # tokenizers raises plain Exception.
    except Exception as error:
        raise UsageError(f"{file} cannot be read: {one_line(error)}") from error
    found.no_truncation()
    found.no_padding()
    return found


def _identity(folder: Path, window: int | None) -> str:
    """What decides a model's vectors: every file that sentence-transformers reads, and the window."""
    files = sorted(path for path in (*folder.iterdir(), *folder.glob("*/*")) if path.suffix in _DECIDES)
    return "\n".join(
        [*(f"{file.relative_to(folder).as_posix()} {file_sha256(file)}" for file in files), f"window {window}"]
    )


def _window(folder: Path) -> int | None:
    """As sentence-transformers decides it: its own setting, else the smaller of what model and tokenizer can take."""
    given = _number(folder / "sentence_bert_config.json", "max_seq_length")
    if given is not None:
        return given
    limits = [
        _number(folder / "config.json", "max_position_embeddings"),
        _number(folder / "tokenizer_config.json", "model_max_length"),
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def _number(file: Path, key: str) -> int | None:
    try:
        value = json.loads(file.read_text(encoding="utf-8")).get(key)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{file} cannot be read: {one_line(error)}") from error
    # transformers writes 1e30 where a tokenizer has no limit.
    return int(value) if isinstance(value, (int, float)) and 0 < value < 10**9 else None
