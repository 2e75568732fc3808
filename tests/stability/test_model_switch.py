"""A recorded chat that goes on with another model passes, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import Recording, check_prefix_stable

CHAT: list[dict[str, Any]] = [{"role": ("user", "assistant")[i % 2], "content": f"words {i}"} for i in range(9)]


def recorded(models: str, *, key: str | None = None, system: bool = False) -> Recording:
    rec = Recording(key=key)
    head = [{"role": "system", "content": "You keep the shop."}] if system else []
    for i, model in enumerate(models):
        rec.request({"model": model, "messages": [*head, *CHAT[: 2 * i + 1]]})
    return rec


def switches(rec: Recording, **options: Any) -> list[str]:
    return [note for note in check_prefix_stable(rec, **options).notes if "model changes" in note]


@pytest.mark.parametrize("options", [{}, {"key": "k"}, {"system": True}])
def test_a_switch_is_noted_once_for_each_model(options: Any) -> None:
    (note,) = switches(recorded("aabba", **options))
    assert note.startswith("the model changes inside a chat at request 2 (a to b)")
    assert "\n" not in note


def test_a_declared_switch_is_meant() -> None:
    assert switches(recorded("aabb"), resets=["model"]) == []


def test_no_switch_no_note() -> None:
    assert switches(recorded("aaa")) == []
    rec = recorded("aa")
    for n in (1, 3):
        # Another chat, with another model from its first request on.
        rec.request({"model": "b", "messages": [{"role": "user", "content": "Else."}, *CHAT[1:n]]})
    assert switches(rec) == []


def test_one_question_to_several_models_is_no_switch() -> None:
    rec = Recording()
    for n in (1, 3):
        for model in "ab":
            answer = {"role": "assistant", "content": f"{model} answers"}
            messages = [CHAT[0], answer, CHAT[2]] if n == 3 else CHAT[:1]
            rec.request({"model": model, "messages": messages})
    assert switches(rec) == []
