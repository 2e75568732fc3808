"""A tokenizer from the metadata of a GGUF file, split the way its engine (llama.cpp) splits.

Byte-level BPE is built here from `tokenizers` alone; transformers' own conversion needs torch and knows fewer
pre-tokenizers: it reads `tokenizer.ggml.pre`, but gives GPT-2's byte-level splitting for every value missing in its
table, SmolLM2's among them. Other vocabularies (SentencePiece, unigram) go through transformers.

As in llama.cpp there is no Unicode normalisation, even where the model's `tokenizer.json` has one (Qwen: NFC).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.models.errors import need, need_transformers, one_line
from pytest_cachesafe.models.gguf_file import read_metadata
from pytest_cachesafe.prompt import UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["CONVERTER_VERSION", "GGUFTokenizer", "convert_tokenizer"]

# Part of every cache key: raise it when the same file would be converted differently.
CONVERTER_VERSION = 1

_CONTROL = 3
_USER_DEFINED = 4


@dataclass(frozen=True, slots=True)
class GGUFTokenizer:
    """What a GGUF file says about its tokenizer."""

    backend: Tokenizer
    special_tokens: dict[str, Any]
    chat_template: str | dict[str, str] | None
    # Each a warning in words.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Split:
    """How text is cut before merging: regular expressions in turn, or single digits and then GPT-2's rule."""

    patterns: tuple[str, ...] = ()
    single_digits: bool = False
    # Whole words in the vocabulary are taken even where no merge leads to them.
    ignore_merges: bool = False

    def build(self) -> Any:
        from tokenizers import Regex, pre_tokenizers

        if self.patterns:
            steps: list[Any] = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in self.patterns]
            return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        # Without patterns ByteLevel cuts by GPT-2's own rule.
        gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        if self.single_digits:
            return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2])
        return gpt2


_GPT2 = _Split()
_DIGITS = _Split(single_digits=True)
_QWEN2 = _Split(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+",
    )
)
_LLAMA3 = _Split(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+",
    ),
    ignore_merges=True,
)
_TEKKEN = _Split(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    ignore_merges=True,
)
_DEEPSEEK3 = _Split(
    (
        r"\p{N}{1,3}",
        "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
)
# Values of `tokenizer.ggml.pre` whose rule in llama.cpp (src/llama-vocab.cpp, 2025) is known to be one of the above.
_SPLITS: dict[str, _Split] = {
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), _DIGITS),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling"), _GPT2),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen"), _QWEN2),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral"), _LLAMA3),
    "tekken": _TEKKEN,
    "deepseek-v3": _DEEPSEEK3,
}


def convert_tokenizer(path: Path) -> GGUFTokenizer:
    """The tokenizer, special tokens and chat template that a GGUF file carries.

    Raises:
        UsageError: the file is damaged, carries no tokenizer, or needs an extra that is missing.
    """
    metadata = read_metadata(path)
    tokens = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens:
        raise UsageError(f"{path} carries no tokenizer: tokenizer.ggml.tokens is missing")
    split = _SPLITS.get(str(metadata.get("tokenizer.ggml.pre")))
    notes: tuple[str, ...] = ()
    if metadata.get("tokenizer.ggml.model") == "gpt2" and split is not None:
        need("tokenizers", "render", f"the tokenizer of {path}")
        backend = _byte_level(path, metadata, split)
    else:
        backend, notes = _through_transformers(path, metadata)
    return GGUFTokenizer(backend, _special_tokens(metadata, tokens), _chat_template(metadata), notes)


def _byte_level(path: Path, metadata: dict[str, Any], split: _Split) -> Tokenizer:
    from tokenizers import AddedToken, Tokenizer, decoders, models

    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    try:
        # A merge is "left right"; the left part has at least one character, which itself may be a blank.
        merges = [
            (merge[:at], merge[at + 1 :])
            for merge in metadata.get("tokenizer.ggml.merges", ())
            for at in (merge.index(" ", 1),)
        ]
        model = models.BPE(
            vocab={token: number for number, token in enumerate(tokens)},
            merges=merges,
            ignore_merges=split.ignore_merges,
        )
    # `tokenizers` raises plain Exception for a merge whose parts are not in the vocabulary.
    except Exception as error:
        raise UsageError(f"{path} carries a damaged tokenizer: {one_line(error)}") from error
    backend = Tokenizer(model)
    backend.pre_tokenizer = split.build()
    backend.decoder = decoders.ByteLevel()
    kinds = list(metadata.get("tokenizer.ggml.token_type", ()))
    added = list(zip(tokens, kinds, strict=False))
    # llama.cpp matches both kinds whole in text; only the first is left out when ids are turned into text again.
    backend.add_special_tokens([AddedToken(t, normalized=False, special=True) for t, k in added if k == _CONTROL])
    backend.add_tokens([AddedToken(t, normalized=False, special=False) for t, k in added if k == _USER_DEFINED])
    backend.post_processor = _framing(metadata, tokens)
    return backend


def _framing(metadata: dict[str, Any], tokens: list[str]) -> Any:
    """What is put around a text that no template framed: BOS and EOS where the file says so."""
    from tokenizers import processors

    bos = _token(metadata, tokens, "bos") if metadata.get("tokenizer.ggml.add_bos_token") else None
    eos = _token(metadata, tokens, "eos") if metadata.get("tokenizer.ggml.add_eos_token") else None
    special = [(text, tokens.index(text)) for text in (bos, eos) if text is not None]

    def framed(name: str, type_id: int) -> list[str]:
        return [f"{piece}:{type_id}" for piece in (bos, name, eos) if piece is not None]

    first = framed("$A", 0)
    return processors.TemplateProcessing(single=first, pair=[*first, *framed("$B", 1)], special_tokens=special)


def _through_transformers(path: Path, metadata: dict[str, Any]) -> tuple[Tokenizer, tuple[str, ...]]:
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    need_transformers(f"the tokenizer of {path} ({kind}, {pre})", also=[("torch", "kv"), ("gguf", "kv")])
    from transformers import PreTrainedTokenizerFast

    try:
        loaded = PreTrainedTokenizerFast.from_pretrained(str(path.parent), gguf_file=path.name, local_files_only=True)
    # It raises ValueError, KeyError and its own kinds for files it does not know; all mean the same to the user.
    except Exception as error:
        raise UsageError(f"the tokenizer of {path} ({kind}, {pre}) cannot be converted: {one_line(error)}") from error
    backend: Tokenizer = loaded.backend_tokenizer
    if kind == "gpt2" and type(backend.pre_tokenizer).__name__ == "ByteLevel":
        return backend, (
            f"transformers does not know how tokenizer.ggml.pre={pre!r} splits text and uses GPT-2's rule;"
            " token ids may differ from the engine's, so give the model's own tokenizer.json if you have it",
        )
    return backend, ()


def _token(metadata: dict[str, Any], tokens: list[str], name: str) -> str | None:
    number = metadata.get(f"tokenizer.ggml.{name}_token_id")
    return tokens[number] if isinstance(number, int) and 0 <= number < len(tokens) else None


def _special_tokens(metadata: dict[str, Any], tokens: list[str]) -> dict[str, Any]:
    names = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    found = {name: _token(metadata, tokens, key) for name, key in names.items()}
    return {name: token for name, token in found.items() if token is not None}


def _chat_template(metadata: dict[str, Any]) -> str | dict[str, str] | None:
    default = metadata.get("tokenizer.chat_template")
    prefix = "tokenizer.chat_template."
    named = {key[len(prefix) :]: value for key, value in metadata.items() if key.startswith(prefix)}
    if named:
        return {**({} if default is None else {"default": default}), **named}
    return default if isinstance(default, str) else None
