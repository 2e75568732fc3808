"""Chunks prefilled apart: wrong when put together, and what computing a share of the tokens again mends."""

from __future__ import annotations

import pytest

from pytest_cachesafe.kv import KVProbe, StitchReport
from pytest_cachesafe.kv.rotary import Rotary
from pytest_cachesafe.usage import UsageError

CHUNKS = [
    "Mira keeps the red notebook in the kitchen drawer. It holds the recipes of her aunt.",
    "\nThe brown dog belongs to the neighbour. She walks it every morning before work.",
    "\nNext to the recipes there is a list of birthdays, among them that of her brother on the ninth of May.",
]


@pytest.fixture(scope="module")
def recipes(probe: KVProbe) -> StitchReport:
    """Three chunks and a question, with none, a fifth, half and all of the tokens computed again."""
    question = "\nQuestion: Where are the recipes of Mira's aunt kept? Answer: in the"
    return probe.stitch(CHUNKS, question, shares=(0, 0.2, 0.5, 1))


def test_stitched_chunks_are_wrong(recipes: StitchReport) -> None:
    # Against 1e-3 at most for KV that is reused where it belongs.
    assert recipes.curve()[0].recomputed_tokens == 0
    assert recipes.curve()[0].difference > 1
    assert recipes.unmoved_difference > 1


@pytest.mark.parametrize("choose", ["deviation", "first"])
def test_computing_tokens_again_recovers_the_logits(recipes: StitchReport, choose: str) -> None:
    none, fifth, half, everything = recipes.curve(choose)
    context = sum(recipes.chunk_tokens)
    assert [p.recomputed_tokens for p in (none, fifth, half, everything)] == [
        0,
        round(0.2 * context),
        round(0.5 * context),
        context,
    ]
    assert none.difference > fifth.difference > half.difference > everything.difference
    assert everything.difference <= 1e-3
    assert everything.same_token


def test_tokens_computed_again_are_counted(tiny: KVProbe) -> None:
    before = tiny.tokens_computed
    tiny.stitch([[5] * 6, [7] * 4], [9, 9], shares=(0, 0.5), choose=["first"])
    # Trial of the keys' turn: 4 + 4; full prefill: 6 + 4 + 2; chunks apart: 6 + 4; the question: unmoved 2, then with
    # none of the context 2 and with half of it 5 + 2.
    assert tiny.tokens_computed - before == 8 + 12 + 10 + 2 + 2 + 7


def test_a_moved_key_is_the_key_computed_there(probe: KVProbe) -> None:
    forward, ids = probe._forward, probe.encode("The brown dog belongs to the neighbour.")
    at, there = probe.prefilled(ids), probe.prefilled([ids[0]])
    there.crop(-1)
    forward(ids, there, positions=range(37, 37 + len(ids)))
    rotary = Rotary(forward, ids[:4])
    for layer, wanted in zip(at.layers, there.layers, strict=True):
        # Keys reach a few tens.
        assert float((rotary.move(layer.keys, 37) - wanted.keys).abs().max()) < 1e-2
        assert float((layer.values - wanted.values).abs().max()) < 1e-2
    first = at.layers[0].keys
    assert float((first - there.layers[0].keys).abs().max()) > 1, "unmoved they would not be"


def test_the_first_chunk_alone_is_right(tiny: KVProbe) -> None:
    """Everything behind the first chunk computed again is everything: nothing comes before the first chunk."""
    report = tiny.stitch([[5, 6, 7, 8], [9, 10, 11, 12]], [13], shares=(0.5,), choose=["first"])
    assert report.points[0].difference <= 1e-3


def test_report(recipes: StitchReport) -> None:
    lines = str(recipes).splitlines()
    assert lines[0].startswith(f"3 chunks prefilled apart ({sum(recipes.chunk_tokens)} tokens, question of ")
    assert sum(line.startswith("  deviation") for line in lines) == 4
    assert "Mira" not in str(recipes)
    assert len(recipes.as_dict()["points"]) == 8


@pytest.mark.parametrize(
    ("chunks", "options", "words"),
    [
        (["a"], {}, "1 chunks: stitching takes at least two"),
        ("ab", {}, "chunks takes a list"),
        (["a", ""], {}, r"chunks\[1\] is empty"),
        (["a", "b"], {"shares": (1.5,)}, "shares: 1.5"),
        (["a", "b"], {"shares": (True,)}, "shares: True"),
        (["a", "b"], {"choose": ["best"]}, "choose='best': known are"),
        ([[1] * 2000, [1] * 40], {}, None),
        ([[1] * 2000, [1] * 48], {}, "chunks and question has 2049 tokens"),
    ],
)
def test_mistakes(tiny: KVProbe, chunks: object, options: dict[str, object], words: str | None) -> None:
    if words is None:
        assert tiny.stitch(chunks, [1], shares=(0,), choose=["first"]).points  # type: ignore[arg-type]
        return
    with pytest.raises(UsageError, match=words):
        tiny.stitch(chunks, [1], **options)  # type: ignore[arg-type]


def test_keys_that_cannot_be_moved_are_refused(tiny: KVProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tiny._loaded.model.get_decoder().rotary_emb
    with monkeypatch.context() as patch:
        patch.setattr(module, "attention_scaling", 1.2)
        with pytest.raises(UsageError, match=r"cannot be moved \(no plain rotary embedding\)"):
            tiny.stitch([[1], [2]], [3])

    def interleaved(self: object, keys: object, by: int) -> object:
        return keys

    monkeypatch.setattr(Rotary, "move", interleaved)
    with pytest.raises(UsageError, match=r"cannot be moved \(turned by 1000 positions they are"):
        tiny.stitch([[1], [2, 3, 4, 5]], [3])
