"""A model is named by text or path: anything else is the user's mistake, told in one line at every door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate
from pytest_cachesafe.models import fetch, find_causal_lm, find_encoder, load_tokenizer
from pytest_cachesafe.prompt import UsageError

DOORS: list[Callable[[Any], Any]] = [
    load_tokenizer,
    find_causal_lm,
    find_encoder,
    fetch,
    ChatTemplate.from_pretrained,
    ChatTemplate.from_file,
    ChatTemplate.from_string,
]


@pytest.mark.parametrize("name", [None, 3, b"some/model", ["some/model"]], ids=["None", "number", "bytes", "list"])
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__qualname__)
def test_what_is_no_name(door: Callable[[Any], Any], name: Any) -> None:
    with pytest.raises(UsageError) as caught:
        door(name)
    assert type(name).__name__ in str(caught.value)
    assert "\n" not in str(caught.value)
