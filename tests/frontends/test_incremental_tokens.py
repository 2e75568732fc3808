"""Incremental ids equal whole-text ids: on every tokenizer at hand, and on made-up ones that break the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.frontends.tokens import IncrementalEncoder, common_prefix
from pytest_cachesafe.models import load_tokenizer
from pytest_cachesafe.prompt import UsageError

tokenizers = pytest.importorskip("tokenizers")

REAL = ("smollm2_tokenizer_dir", "qwen3_dir", "llama32_dir", "nemo_dir", "deepseek_v3_dir")
EXACT = settings(derandomize=True, deadline=None, max_examples=80)


@pytest.fixture(scope="module", params=REAL)
def real(request: pytest.FixtureRequest) -> Any:
    folder: Path = request.getfixturevalue(request.param)
    return load_tokenizer(folder).backend


def whole(backend: Any, text: str) -> list[int]:
    ids: list[int] = backend.encode(text, add_special_tokens=False).ids
    return ids


def pieces(backend: Any) -> st.SearchStrategy[str]:
    """Bits of text a tokenizer trips over: added tokens whole and cut, white space, control characters, any unicode."""
    added = [t.content for t in backend.get_added_tokens_decoder().values() if t.content]
    some = st.sampled_from(added[:40] + added[-40:])
    cut = st.tuples(some, st.integers(0, 12)).map(lambda p: p[0][: p[1]])
    words = st.sampled_from(
        ["word", " word", "\n", "\n\n", "  ", "\t", "1", "12.5", ".\n", "e\u0301", "ﬁ", "▁", "\x00", "\u200d"]
    )
    free = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    return st.one_of(some, cut, words, free)


def grown(backend: Any) -> st.SearchStrategy[list[str]]:
    """Texts in a row: each keeps some of the one before, cut anywhere, and goes on."""
    step = st.tuples(st.floats(0, 1), st.lists(pieces(backend), max_size=6).map("".join))

    def build(steps: list[tuple[float, str]]) -> list[str]:
        texts = [""]
        for share, more in steps:
            kept = len(texts[-1]) if share > 0.5 else int(share * 2 * len(texts[-1]))
            texts.append(texts[-1][:kept] + more)
        return texts[1:]

    return st.lists(step, min_size=1, max_size=8).map(build)


@given(st.data())
@EXACT
def test_ids_of_growing_texts_are_the_ids_of_the_whole_text(real: Any, data: st.DataObject) -> None:
    encoder = IncrementalEncoder(real)
    assert encoder.exact_split
    for text in data.draw(grown(real)):
        assert encoder.encode(text) == whole(real, text)


@given(st.data())
@EXACT
def test_ids_up_to_a_boundary_do_not_depend_on_what_follows(real: Any, data: st.DataObject) -> None:
    encoder = IncrementalEncoder(real)
    text = "".join(data.draw(st.lists(pieces(real), max_size=12)))
    upto = data.draw(st.integers(0, len(text)))
    other = text[:upto] + "".join(data.draw(st.lists(pieces(real), max_size=4)))
    if data.draw(st.booleans()):
        encoder.encode(text)
    boundary = encoder.last_boundary(text, upto)
    assert 0 <= boundary <= upto
    head = whole(real, text[:boundary])
    assert whole(real, text)[: len(head)] == head
    assert whole(real, other)[: len(head)] == head


def test_a_boundary_is_found_behind_the_last_added_token(qwen3_dir: Path) -> None:
    encoder = IncrementalEncoder(load_tokenizer(qwen3_dir).backend)
    text = "<|im_start|>user\nHi<|im_end|>\n" + "and some text that is longer than any added token"
    assert encoder.last_boundary(text, len(text)) == text.index("\nand")
    assert encoder.last_boundary(text, 3) == 0


def test_the_list_returned_is_the_callers(qwen3_dir: Path) -> None:
    encoder = IncrementalEncoder(load_tokenizer(qwen3_dir).backend)
    first = encoder.encode("<|im_start|>a")
    first.append(-1)
    assert encoder.encode("<|im_start|>a") == first[:-1]
    assert encoder.encode("<|im_start|>a<|im_end|>")[:-1] == first[:-1]


def test_only_what_is_new_is_tokenised(qwen3_dir: Path) -> None:
    backend = load_tokenizer(qwen3_dir).backend
    encoder = IncrementalEncoder(backend)
    seen: list[int] = []

    class Counting:
        def encode(self, text: str, add_special_tokens: bool) -> Any:
            seen.append(len(text))
            return backend.encode(text, add_special_tokens=add_special_tokens)

    encoder._backend = Counting()  # type: ignore[assignment]
    turn = "<|im_start|>user\n{} " + "word " * 200 + "<|im_end|>\n"
    text = ""
    for i in range(30):
        text += turn.format(i)
        assert encoder.encode(text) == whole(backend, text)
    assert sum(seen) < 2 * len(text)
    before = sum(seen)
    # An edit far back costs the edited piece, not the text behind it.
    edited = text.replace("user\n3 ", "user\nthree ")
    assert encoder.encode(edited) == whole(backend, edited)
    assert sum(seen) - before < 4 * len(turn)


def test_a_lone_surrogate_is_a_usage_error(qwen3_dir: Path) -> None:
    encoder = IncrementalEncoder(load_tokenizer(qwen3_dir).backend)
    with pytest.raises(UsageError, match=r"lone surrogate \\ud83d"):
        encoder.encode("<|im_start|>half a smile: \ud83d<|im_end|>")


def made(*, added: Any = (), pre: Any = None, normalizer: Any = None, dropout: float | None = None) -> Any:
    """A small BPE tokenizer over characters, with merges that cross where pieces could be glued wrongly."""
    from tokenizers import Tokenizer, models

    letters = [chr(c) for c in range(32, 127)] + ["▁", "\n", "é"]
    merges = [("a", "b"), ("▁", "a"), ("▁", "b"), (" ", "a"), (">", "a"), ("b", "<")]
    vocabulary = {t: i for i, t in enumerate([*letters, *("".join(m) for m in merges), "?"])}
    backend = Tokenizer(models.BPE(vocabulary, merges, unk_token="?", dropout=dropout))
    if pre is not None:
        backend.pre_tokenizer = pre
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.add_special_tokens([t for t in added if t.special])
    backend.add_tokens([t for t in added if not t.special])
    return backend


def token(content: str, **flags: bool) -> Any:
    from tokenizers import AddedToken

    return AddedToken(content, **{"normalized": False, "special": True, **flags})


def variants() -> dict[str, Any]:
    from tokenizers import normalizers, pre_tokenizers

    plain = [token("<s>"), token("<a>"), token("<a>b"), token("[X]"), token("[XY]")]
    out: dict[str, Any] = {
        "plain": made(added=plain),
        "lstrip": made(added=[*plain, token("<m>", lstrip=True)]),
        "rstrip": made(added=[*plain, token("<m>", rstrip=True)]),
        "single_word": made(added=[*plain, token("<m>", single_word=True), token("ab", single_word=True)]),
        "all stripped": made(added=[token("<s>", rstrip=True), token("<a>", lstrip=True)]),
        "normalized": made(
            added=[*plain, token("ab", normalized=True, special=False)], normalizer=normalizers.Lowercase()
        ),
        "prepend": made(added=plain, normalizer=normalizers.Prepend("▁")),
        "strip": made(added=plain, normalizer=normalizers.Strip()),
        "prefix space": made(added=plain, pre=pre_tokenizers.ByteLevel(add_prefix_space=True)),
        "whitespace tokens": made(added=[*plain, token("\n\n"), token("  "), token("<m>", rstrip=True)]),
        "none": made(),
    }
    for scheme in ("first", "always", "never"):
        out[f"metaspace {scheme}"] = made(added=plain, pre=pre_tokenizers.Metaspace(prepend_scheme=scheme))
    return out


@pytest.mark.parametrize("kind", list(variants()))
@given(texts=st.data())
@EXACT
def test_made_up_tokenizers_get_whole_text_ids(kind: str, texts: st.DataObject) -> None:
    backend = VARIANTS[kind]
    encoder = IncrementalEncoder(backend)
    bits = [
        "a",
        "b",
        "ab",
        "A",
        " ",
        "  ",
        "\n",
        "\n\n",
        "▁",
        "é",
        "<",
        ">",
        "<s>",
        "<a>",
        "<a>b",
        "[X]",
        "[XY]",
        "[X",
        "<m>",
    ]
    for text in texts.draw(st.lists(st.lists(st.sampled_from(bits), max_size=9).map("".join), min_size=1, max_size=5)):
        assert encoder.encode(text) == whole(backend, text)
        # Growing, too: the state left by one text is used for the next.
        assert encoder.encode(text + "<a>b ab") == whole(backend, text + "<a>b ab")


VARIANTS = variants()


def test_what_cannot_be_split_says_why() -> None:
    assert IncrementalEncoder(made(added=[token("<s>")])).why_not is None
    assert "added token" in str(IncrementalEncoder(made()).why_not)
    assert "random" in str(IncrementalEncoder(made(added=[token("<s>")], dropout=0.5)).why_not)
    padded = made(added=[token("<s>")])
    padded.enable_truncation(4)
    assert "truncation" in str(IncrementalEncoder(padded).why_not)
    literal = made(added=[token("<s>")])
    literal.encode_special_tokens = True
    assert "as text" in str(IncrementalEncoder(literal).why_not)


@given(st.text("ab", max_size=40), st.text("ab", max_size=40), st.integers(1, 5000))
@settings(derandomize=True, deadline=None)
def test_common_prefix(a: str, b: str, times: int) -> None:
    a, b = a * times, a * times + b
    for one, other in ((a, b), (a + "a", a + "b"), (b, a[: len(a) // 2])):
        n = common_prefix(one, other)
        assert one[:n] == other[:n]
        assert n == min(len(one), len(other)) or one[n] != other[n]
