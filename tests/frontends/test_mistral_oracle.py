"""Mistral's own encoder against the chat template of Mistral Nemo on its tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate, check_prefix_stable

pytestmark = pytest.mark.oracle
common = pytest.importorskip("mistral_common", reason="mistral-common is not installed; `make test-all` brings it")

PLAIN: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello there"},
    {"role": "assistant", "content": "Hi!"},
    {"role": "user", "content": "And what now?"},
    {"role": "assistant", "content": "Now we wait."},
    {"role": "user", "content": "Bye"},
]
TOOL = {
    "type": "function",
    "function": {
        "name": "find_invoice",
        "description": "Find an invoice by number.",
        "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    },
}
CHATS: dict[str, tuple[list[dict[str, Any]], list[Any] | None]] = {
    "plain": (PLAIN, None),
    "system": ([{"role": "system", "content": "You are kind."}, *PLAIN], None),
    "tools": (PLAIN, [TOOL]),
}


def encoded(messages: list[dict[str, Any]], tools: list[Any] | None) -> list[int]:
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    request = ChatCompletionRequest.from_openai(messages=messages, tools=tools)
    return list(MistralTokenizer.v3(is_tekken=True).encode_chat_completion(request).tokens)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", CHATS)
def test_ids_and_verdict_agree(name: str, nemo_dir: Path) -> None:
    messages, tools = CHATS[name]
    template = ChatTemplate.from_pretrained(nemo_dir)
    start = next(i for i, m in enumerate(messages) if m["role"] == "user")
    ends = range(start + 1, len(messages) + 1, 2)
    theirs = [encoded(messages[:end], tools) for end in ends]
    ours = [list(template.render(messages[:end], tools).token_ids or ()) for end in ends]
    assert ours == theirs
    by_ids = check_prefix_stable(theirs)
    by_template = check_prefix_stable(messages, template=template, tools=tools)
    assert [s.shared_tokens for s in by_ids.steps] == [s.shared_tokens for s in by_template.steps]
    assert by_template.verdict == ("stable" if name == "plain" else "history")
    assert by_ids.verdict == by_template.verdict
