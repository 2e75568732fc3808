"""Whether the next request goes on with what the model generated: a statement beside the verdict on the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate, UsageError, check_prefix_stable

CHAT = [
    {"role": "user", "content": "Name a pear."},
    {"role": "assistant", "content": "Conference."},
    {"role": "user", "content": "Another one?"},
    {"role": "assistant", "content": "Williams."},
    {"role": "user", "content": "Thanks."},
]
PLAIN = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
TRIMS = PLAIN.replace("m.content", "m.content | trim")
# A turn replayed with a space in front, as older Mistral templates write it.
SPACED = PLAIN.replace("{{ m.content }}", "{{ ' ' if m.role == 'assistant' }}{{ m.content }}")
# The prompt opens a think block that no replayed turn has.
THINKS = PLAIN.replace("<assistant>{% endif %}", "<assistant><think>{% endif %}")
NO_PROMPT = PLAIN.partition("{% if add_generation_prompt")[0]


def template(source: str) -> ChatTemplate:
    return ChatTemplate.from_string(source, name="small")


@pytest.mark.parametrize(
    ("source", "verdict", "reused"),
    [(PLAIN, "stable", True), (SPACED, "stable", False), (THINKS, "tail", False), (NO_PROMPT, "stable", False)],
    ids=["plain", "spaced", "thinks", "ignores the generation prompt"],
)
def test_templates(source: str, verdict: str, reused: bool) -> None:
    report = check_prefix_stable(CHAT, template=template(source))
    assert (report.verdict, report.generated_text_reused) == (verdict, reused)
    assert report.as_dict()["generated_text_reused"] is reused
    # It is no reason to fail: the prompt's own verdict decides.
    assert report.passed
    assert ("is reused" if reused else "is not reused") in report.text()


def steps(generated: dict[str, Any], replayed: str) -> list[dict[str, Any]]:
    return [
        {"messages": CHAT[:1], **generated},
        {"messages": [CHAT[0], {"role": "assistant", "content": replayed}, CHAT[2]]},
    ]


@pytest.mark.parametrize(
    ("source", "generated", "replayed", "reused"),
    [
        (PLAIN, "Conference.", "Conference.", True),
        (PLAIN, "Conference.\n", "Conference.", False),
        (PLAIN, " Conference.", "Conference.", False),
        (PLAIN, "<think>A pear.</think>Conference.", "Conference.", False),
        (TRIMS, "Conference.", "Conference.", True),
        (TRIMS, "Conference.\n", "Conference.\n", False),
        # What was cut off at max_tokens and replayed as it came.
        (PLAIN, "Confer", "Confer", True),
    ],
)
def test_a_text_that_is_given(source: str, generated: str, replayed: str, reused: bool) -> None:
    report = check_prefix_stable(steps({"generated_text": generated}, replayed), template=template(source))
    assert report.verdict == "stable"
    assert report.generated_text_reused is reused


def test_one_answer_that_is_lost_decides() -> None:
    requests: list[dict[str, Any]] = [
        {"messages": CHAT[:1], "generated_text": "Conference."},
        {"messages": CHAT[:3], "generated_text": "Williams.\n"},
        {"messages": CHAT},
    ]
    report = check_prefix_stable(requests, template=template(PLAIN))
    assert [s.generated_reused for s in report.steps] == [True, False]
    assert report.generated_text_reused is False


def test_nothing_known_is_no_statement() -> None:
    """A tool call or reasoning is generated in markup that a message does not show; a provider's framing is unknown."""
    call = {"id": "c1", "type": "function", "function": {"name": "pears", "arguments": {}}}
    agent = [
        CHAT[0],
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Conference"},
    ]
    assert check_prefix_stable(agent, template=template(PLAIN)).generated_text_reused is None
    thought = [CHAT[0], {**CHAT[1], "reasoning_content": "A pear."}, CHAT[2]]
    assert check_prefix_stable(thought, template=template(PLAIN)).generated_text_reused is None
    wire = check_prefix_stable(CHAT)
    assert wire.generated_text_reused is None
    assert "generated text" not in wire.text()


def test_texts_and_ids_as_given(smollm2_tokenizer_dir: Path) -> None:
    texts = [{"prompt": "Once upon", "generated_text": " a time"}, {"prompt": "Once upon a time there"}]
    assert check_prefix_stable(texts).generated_text_reused is True
    assert check_prefix_stable(texts, template=smollm2_tokenizer_dir).generated_text_reused is True
    ids = [{"prompt_token_ids": [1, 2], "generated_ids": [3, 4]}, {"prompt_token_ids": [1, 2, 3, 4, 5]}]
    assert check_prefix_stable(ids).generated_text_reused is True
    ids[1] = {"prompt_token_ids": [1, 2, 3, 9, 5]}
    assert check_prefix_stable(ids).generated_text_reused is False


def test_sampled_ids_decide_over_their_text(smollm2_tokenizer_dir: Path) -> None:
    loaded = ChatTemplate.from_pretrained(smollm2_tokenizer_dir)
    backend: Any = loaded.tokenizer.backend  # type: ignore[union-attr]
    canonical = backend.encode("Conference.", add_special_tokens=False).ids
    pieces = [i for part in ("Conf", "erence", ".") for i in backend.encode(part, add_special_tokens=False).ids]
    assert pieces != canonical
    for ids, reused in ((canonical, True), (pieces, False)):
        given = steps({"generated_text": "Conference.", "generated_ids": ids}, "Conference.")
        report = check_prefix_stable(given, template=loaded)
        assert (report.verdict, report.generated_text_reused) == ("stable", reused)


def test_a_merge_over_the_boundary_is_not_reused(smollm2_tokenizer_dir: Path) -> None:
    """The prompt ends in a line feed; an answer that begins with one is another token once it is replayed."""
    given = steps({"generated_text": "\n\nConference."}, "\n\nConference.")
    report = check_prefix_stable(given, template=smollm2_tokenizer_dir)
    assert report.verdict == "tail"
    assert report.generated_text_reused is False


@pytest.mark.parametrize(
    ("generated", "words"),
    [
        ({"generated_text": 7}, "generated_text"),
        ({"generated_ids": "abc"}, "generated_ids"),
        ({"generated_ids": [1, "a"]}, "generated_ids"),
    ],
)
def test_misuse(generated: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        check_prefix_stable(steps(generated, "Conference."), template=template(PLAIN))
    assert "\n" not in str(caught.value)
    assert "request 0" in str(caught.value)
