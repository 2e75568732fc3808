"""Packed token ids: what is one, and how far two prompts are alike."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pytest_cachesafe.engines.token_ids import WIDTH, common_prefix, pack, unpack
from pytest_cachesafe.usage import UsageError

IDS = st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 2))


class Index:
    """A number of another library."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


@settings(deadline=None)
@given(ids=IDS)
def test_packing_loses_nothing(ids: list[int]) -> None:
    assert unpack(pack(ids)) == tuple(ids)
    assert unpack(pack([Index(i) for i in ids])) == tuple(ids)  # type: ignore[misc]


@settings(deadline=None)
@given(ids=IDS, at=st.integers(0), bad=st.sampled_from([-1, 2**31, 2**40, 1.0, True, False, None, "7", Index(-5)]))
def test_whatever_is_no_id_is_named_by_its_position(ids: list[int], at: int, bad: object) -> None:
    mixed: list[object] = [*ids]
    at %= len(ids) + 1
    mixed.insert(at, bad)
    with pytest.raises(UsageError, match=rf"^sampled_ids\[{at}\] is "):
        pack(mixed, "sampled_ids")  # type: ignore[arg-type]


@settings(deadline=None)
@given(head=IDS, a=IDS, b=IDS, lead=IDS)
def test_the_common_prefix_is_that_of_the_ids(head: list[int], a: list[int], b: list[int], lead: list[int]) -> None:
    same = 0
    left, right = head + a, head + b
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    found = common_prefix(pack(left), pack(lead + right), len(lead) * WIDTH)
    assert found // WIDTH == same


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 191, 192, 193, 1000])
def test_the_common_prefix_of_long_prompts(length: int) -> None:
    a, b = list(range(2000)), [*range(length), 5000, *range(length + 1, 2000)]
    assert common_prefix(pack(a), pack(b)) // WIDTH == length
