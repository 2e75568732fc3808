"""The order of retrieved documents, and CacheBlend's segments."""

from __future__ import annotations

import itertools
import json

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.lmcache.blend import BlendStore
from pytest_cachesafe.engines.rag import rag_order
from pytest_cachesafe.report.rag import render
from pytest_cachesafe.usage import UsageError

MARK = [1, 2, 1]
RULES = list(range(10, 110))
DOCUMENTS = {name: list(range(1000 * number, 1000 * number + 300)) for number, name in enumerate("abc", 1)}


def prompt(*parts: list[int]) -> list[int]:
    ids: list[int] = []
    for part in parts:
        ids += [*MARK, *part] if ids else part
    return ids


def test_segments_are_found_in_any_order() -> None:
    store = BlendStore(MARK)
    a, b, c = DOCUMENTS.values()
    question = [7, 8, 9]
    assert store.add(prompt(RULES, a, b, c, question)).hit_tokens == 0
    hit = store.add(prompt(RULES, c, a, b, [9, 9, 9, 9]))
    # 100 + 3 * (3 + 300): all but the question and the separator in front of it.
    assert hit.hit_tokens == 1009
    assert [segment.reused for segment in hit.segments] == [True, True, True, True, False]
    assert [segment.end - segment.start for segment in hit.segments] == [100, 300, 300, 300, 4]
    # 1016 - 1009 = 7 are new, and int(1009 * 0.15) = 151 are computed again.
    assert hit.recomputed(0.15) == 158


def test_a_segment_that_is_not_stored_ends_the_search() -> None:
    store = BlendStore(MARK)
    a, b, c = DOCUMENTS.values()
    store.add(prompt(RULES, a, c))
    hit = store.add(prompt(RULES, a, b, c))
    assert hit.hit_tokens == 100 + 3 + 300
    assert [(segment.stored, segment.reused) for segment in hit.segments] == [
        (True, True),
        (True, True),
        (False, False),
        (True, False),
    ]
    # The new one is stored now.
    assert store.lookup(prompt(RULES, c, b)).hit_tokens == 100 + 303 + 303


def test_a_prompt_that_begins_with_the_separator_finds_nothing() -> None:
    store = BlendStore(MARK)
    a = DOCUMENTS["a"]
    store.add([*MARK, *a])
    assert store.add([*MARK, *a]).hit_tokens == 0
    # The document itself is stored.
    assert store.lookup(a).hit_tokens == 300


def test_a_prompt_with_no_new_chunk_is_not_stored_again() -> None:
    store = BlendStore(MARK)
    store.add(RULES)
    # 100 tokens were found: up to 255 tokens nothing is stored, from 256 on it is.
    store.add(prompt(RULES, list(range(300, 400))))
    assert len(store) == 1
    store.add(prompt(RULES, list(range(300, 453))))
    # 100 + 3 + 153 = 256; the first segment is stored as it was.
    assert len(store) == 2


def test_ids_whose_bytes_look_like_the_separator_are_none() -> None:
    store = BlendStore([1])
    # Packed little-endian, 256 is 00 01 00 00, which holds 01 00 00 00 across two ids with a 0 behind it.
    assert len(store.lookup([256, 0, 5]).segments) == 1
    assert len(store.lookup([256, 1, 5]).segments) == 2


def test_short_segments_do_not_count_if_so_wished() -> None:
    for least, hit in ((0, 403), (101, 0)):
        store = BlendStore(MARK, min_tokens=least)
        store.add(prompt(RULES, DOCUMENTS["a"]))
        assert store.lookup(prompt(RULES, DOCUMENTS["a"])).hit_tokens == hit


def test_what_is_computed_again_is_never_less_than_a_token() -> None:
    store = BlendStore(MARK)
    store.add(RULES)
    hit = store.lookup(RULES)
    # Found as a whole: the last token is computed, and at least one is computed again.
    assert (hit.hit_tokens, hit.recomputed(0)) == (100, 2)
    assert BlendStore(MARK).lookup(RULES).recomputed(0.5) == 100
    with pytest.raises(UsageError, match="ratio=2"):
        hit.recomputed(2)


@settings(deadline=None, max_examples=60)
@given(
    order=st.permutations([0, 1, 2, 3]),
    lengths=st.lists(st.integers(1, 9), min_size=4, max_size=4),
    rules=st.integers(1, 5),
)
def test_any_order_of_stored_segments_is_found_as_a_whole(order: list[int], lengths: list[int], rules: int) -> None:
    documents = [[100 * number + place for place in range(length)] for number, length in enumerate(lengths, 1)]
    head = [50 + place for place in range(rules)]
    store = BlendStore(MARK, chunk_size=1)
    store.add(prompt(head, *documents))
    moved = prompt(head, *(documents[number] for number in order))
    assert store.lookup(moved).hit_tokens == len(moved)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BlendStore([]), "separator_ids is empty"),
        (lambda: BlendStore([-1]), r"separator_ids\[0\] is -1"),
        (lambda: BlendStore(MARK, chunk_size=0), "chunk_size=0"),
        (lambda: rag_order(DOCUMENTS, []), "orders is no list, or empty"),
        (lambda: rag_order(DOCUMENTS, 3), "orders is no list"),
        (lambda: rag_order(DOCUMENTS, [3]), r"orders\[0\] is int"),
        (lambda: rag_order(DOCUMENTS, [[["a"]]]), r"orders\[0\] names a document that is not"),
        (lambda: rag_order([[1]], [["a"]]), "documents is list"),
        (lambda: rag_order({1: [1], "a": [2]}, [["a", 1]]), r"orders\[0\]: document ids that cannot be sorted"),
        (lambda: rag_order({"a": "text"}, [["a"]]), r"documents\['a'\]: a sequence of token ids, not str"),
        (lambda: rag_order(DOCUMENTS, [["a"]], ratio=-1), "ratio=-1"),
        # 300 tokens are 19 blocks of 16, the pool has 9 beside the null block.
        (
            lambda: rag_order(DOCUMENTS, [["a"]], engines=PrefixCache("vllm", num_blocks=10)),
            "request 0: vLLM refuses it: 300 tokens need 19 blocks, the whole pool has 9; give the cache more room",
        ),
        (
            lambda: rag_order(DOCUMENTS, [["a"]], engines=PrefixCache("sglang", capacity=10)),
            "request 0: SGLang refuses it: 300 tokens need room for 300, 10 of 10",
        ),
        (
            lambda: rag_order(DOCUMENTS, [["a"]], engines=PrefixCache("llamacpp", n_ctx=10)),
            "request 0: llama.cpp refuses it: 300 tokens do not fit into a context of 10",
        ),
        (lambda: rag_order(DOCUMENTS, ["ab"]), r"orders\[0\] is a string"),
        (lambda: rag_order(DOCUMENTS, [["a", "z"]]), r"orders\[0\] names a document that is not in documents: 'z'"),
        (lambda: rag_order(DOCUMENTS, [["a"]], questions=[[1], [2]]), "2 questions for 1 orders"),
        (lambda: rag_order(DOCUMENTS, [["a"]], engines=["vllm", "vllm"]), "engines names vllm twice"),
        (lambda: rag_order(DOCUMENTS, [["a"]], engines="vlm"), "did you mean 'vllm'"),
    ],
)
def test_bad_input_is_named(make: object, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_sorting_by_id_makes_another_order_reusable() -> None:
    report = rag_order(DOCUMENTS, [["a", "b", "c"], ["c", "a", "b"]], prefix_ids=RULES, engines=["vllm", "sglang"])
    by_name = {totals.engine: totals for totals in report.engines}
    # 1000 tokens each. As given only the 100 tokens in front are shared: 6 blocks of 16, or 100 by the token.
    assert by_name["vllm"].cached == 96
    assert by_name["sglang"].cached == 100
    # Sorted, the second prompt is the first: 999 may be found, 62 blocks of 16 are 992.
    assert by_name["vllm"].cached_sorted == 992
    assert by_name["sglang"].cached_sorted == 999
    assert report.best_gain == 899
    assert report.blend is None


def test_the_text_is_that_of_the_report() -> None:
    report = rag_order(DOCUMENTS, [["a", "b"], ["b", "a"]], engines="vllm")
    assert report.text() == str(report) == render(report)


def test_chunks_of_lmcache_and_slots_of_llamacpp() -> None:
    report = rag_order(
        DOCUMENTS, [["a", "b"], ["b", "a"], ["a", "b"]], prefix_ids=RULES, engines=["lmcache", "llamacpp"]
    )
    by_name = {totals.engine: totals for totals in report.engines}
    # 700 tokens each. vLLM in front of LMCache finds 96 of the second, 688 of the third.
    assert by_name["lmcache"].cached == 96 + 688
    # The second request keeps 100 of 700 tokens of the slot, so the first prompt went to RAM; it comes back whole.
    assert by_name["llamacpp"].cached == 100 + 699


def test_caches_with_options_are_checked_on_copies() -> None:
    cache = PrefixCache("vllm", block_size=4)
    report = rag_order(DOCUMENTS, [["a"], ["a"]], engines=cache)
    # 299 may be found: 74 blocks of 4.
    assert report.engines[0].cached == 296
    assert cache.request(DOCUMENTS["a"]).cached_tokens == 0


def test_the_report_counts_and_names_nothing() -> None:
    documents = {f"secret-{name}": ids for name, ids in DOCUMENTS.items()}
    orders = list(itertools.permutations(documents))[:3]
    report = rag_order(documents, orders, prefix_ids=RULES, separator_ids=MARK, questions=[[7, 8], [9], [5]])
    text = render(report)
    assert "secret" not in text + json.dumps(report.as_dict())
    # 3 * 1009, a separator before each question, and 2 + 1 + 1 tokens of questions.
    assert text.splitlines()[0] == "document order: 3 requests, 3040 prompt tokens"
    assert "fix: put the documents in an order that does not depend on the query" in text
    assert report.blend is not None
    # The second and third request find all but their question and the separator in front of it.
    assert report.blend.found == 2 * 1009
    assert "(estimate, 15% of what is found and all of the rest)" in text
    assert report.as_dict()["engines"]["vllm"]["cached_tokens"] == report.engines[0].cached


def test_nothing_is_said_where_sorting_gains_nothing() -> None:
    report = rag_order(DOCUMENTS, [["a", "b"], ["a", "b"]], engines="vllm")
    assert "fix" not in render(report)
    assert "sorted" not in render(report)
