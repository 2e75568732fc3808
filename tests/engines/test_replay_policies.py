"""What ways to keep a conversation's history cost in prefill, through real templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate, PrefixCache, UsageError
from pytest_cachesafe.engines.replay import policy_costs
from pytest_cachesafe.engines.replay.histories import Histories, Sizes


def agent(turns: int = 8, result: int = 100) -> list[dict[str, Any]]:
    """A chat with a long tool result in every turn."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": "You look things up. " * 20}]
    for i in range(turns):
        call = {"id": f"call{i:05}", "type": "function", "function": {"name": "read", "arguments": {"n": i}}}
        chat += [
            {"role": "user", "content": f"What is in part {i}?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call{i:05}", "content": f"part {i} is long\n" * result},
            {"role": "assistant", "content": f"Part {i} says that it is long."},
        ]
    return chat


def test_append_is_the_engine_on_what_the_template_renders(llama32_dir: Path) -> None:
    chat = [
        {"role": "system", "content": "Be brief. " * 30},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Yes. " * 30},
        {"role": "user", "content": "Two?"},
        {"role": "assistant", "content": "No."},
    ]
    report = policy_costs(chat, template=str(llama32_dir), block_size=4)
    template, cache = ChatTemplate.from_pretrained(llama32_dir), PrefixCache("vllm", block_size=4)
    prefilled = []
    for end in (2, 4):
        ids = list(template.render(chat[:end]).token_ids or ())
        with_reply = list(template.render(chat[: end + 1], add_generation_prompt=False).token_ids or ())
        assert with_reply[: len(ids)] == ids
        sent = cache.request(ids)
        sent.append(with_reply[len(ids) :])
        sent.free()
        prefilled.append(len(ids) - sent.cached_tokens)
    cost = report.cost("append")
    assert cost.prefilled == prefilled
    assert cost.prefilled_tokens == sum(prefilled)
    # The second request computes no more than its own words, the frame of a message and a block.
    assert prefilled[1] < 24
    assert report.requests == 2


def test_what_each_policy_costs(qwen3_dir: Path) -> None:
    report = policy_costs(agent(), template=str(qwen3_dir), tool_chars=200)
    costs = {one.policy: one for one in report.costs}
    assert all(one.refused is None for one in report.costs)
    assert all(len(one.prefilled) == report.requests == 16 for one in report.costs)
    # Cut before they are sent, tool results are shorter from the beginning, and nothing is ever computed twice.
    assert costs["cut_first"].prefilled_tokens < costs["append"].prefilled_tokens
    # Cut later, everything behind the cut is computed again.
    assert costs["cut_first"].prefilled_tokens < costs["cut_later"].prefilled_tokens
    assert costs["cut_later"].tokens < costs["append"].tokens
    # Two replicas: both compute nearly all of the conversation.
    assert 1.5 < costs["route"].prefilled_tokens / costs["append"].prefilled_tokens <= 2.5
    assert costs["route"].tokens == costs["append"].tokens
    # Fewer tokens are sent, but the window's front moves with every turn.
    assert costs["window"].tokens < costs["append"].tokens
    assert max(costs["summarise"].prefilled) > 0
    text = report.text()
    assert text.splitlines()[0].startswith("vLLM prefills ")
    assert "a summary is placeholder text" in text
    assert report.as_dict()["policies"][0]["policy"] == "append"


def test_a_conversation_that_no_policy_touches(llama32_dir: Path) -> None:
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "?"},
    ]
    report = policy_costs(chat, template=str(llama32_dir), limit_tokens=10_000)
    costs = {one.policy: one.prefilled_tokens for one in report.costs}
    assert len({costs[name] for name in ("append", "cut_first", "cut_later", "summarise", "window")}) == 1
    assert len(report.notes) == 2


def test_a_template_that_refuses_a_policy_is_named() -> None:
    class Refuses:
        """Only allows chats whose first message behind the system text is the original first one."""

        name = "strict template"

        def prompt(self, chat: Any) -> Any:
            from pytest_cachesafe.prompt import Prompt, TemplateRaised

            if chat.messages[1]["content"] != "What is in part 0?":
                raise TemplateRaised("the first question is missing")
            text = json.dumps(chat.messages)
            return Prompt(text, front_end=self.name, chat=chat, token_ids=text.encode())

    report = policy_costs(agent(), template=Refuses(), limit_tokens=10**6)
    assert report.cost("window").refused == "the first question is missing"
    assert report.cost("append").refused is None
    assert "refused by the template: the first question is missing" in report.text()


def histories(sizes: Sizes, tokens: int = 0) -> tuple[Histories, list[dict[str, Any]], list[int]]:
    chat = agent(6, 10)
    # Requests end in the user's words and in the tool result of every turn of four messages.
    ends = [end for turn in range(6) for end in (2 + 4 * turn, 4 + 4 * turn)]
    return Histories(chat, ends, sizes, lambda messages: tokens or len(messages)), chat, ends


def test_which_messages_are_sent() -> None:
    sizes = Sizes(tool_chars=5, cut_after=2, limit_tokens=12, summary_chars=40, keep_messages=4)
    kept, chat, ends = histories(sizes)
    assert kept.append(3) == chat[: ends[3]]
    assert [m["content"] for m in kept.cut_first(1) if m["role"] == "tool"] == ["part … [cut]"]
    # Request 3 ends in the second tool result; what request 1 had ended in the first one, which is cut now.
    tools = [m["content"] for m in kept.cut_later(3) if m["role"] == "tool"]
    assert tools[0] == "part … [cut]"
    assert tools[1] == chat[7]["content"]
    # The system text, then from the last user message on that leaves at least... a turn is not torn apart.
    window = kept.window(11)
    assert window[0] == chat[0]
    assert window[1] == chat[21]
    assert window[1]["role"] == "user"
    sent = [kept.summarise(request) for request in range(len(ends))]
    assert kept.summaries >= 1
    assert all(len(messages) <= 12 for messages in sent)
    summarised = next(messages for messages in sent if str(messages[1]["content"]).startswith("Summary 1 "))
    assert summarised[0] == chat[0]
    assert summarised[1]["role"] == "user"
    words, _, question = summarised[1]["content"].partition("\n\n")
    assert len(words) == 40
    assert question.startswith("What is in part ")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"models": 1}, "models=1"),
        ({"tool_chars": -1}, "tool_chars=-1"),
        ({"keep_messages": 0}, "keep_messages=0"),
        ({"limit_tokens": 0}, "limit_tokens=0"),
        ({"engine": "vlm"}, "did you mean 'vllm'"),
        ({"num_blocks": 3}, "more than the whole cache holds"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], says: str, llama32_dir: Path) -> None:
    chat = [{"role": "user", "content": "Hi " * 100}]
    with pytest.raises(UsageError, match=says):
        policy_costs(chat, template=str(llama32_dir), **options)


def test_a_template_without_a_tokenizer(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    with pytest.raises(UsageError, match="has no tokenizer"):
        policy_costs([{"role": "user", "content": "Hi"}], template=str(template))


def test_the_command(tmp_path: Path, llama32_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_cachesafe.cli import main

    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": agent(3)}))
    command = ["simulate", str(path), "--policies", "--model", str(llama32_dir)]
    assert main([*command, "--output-format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [one["policy"] for one in data["policies"]] == [
        "append",
        "cut_first",
        "cut_later",
        "summarise",
        "window",
        "route",
    ]
    assert main([*command, "--policy-size", "tool_chars=7", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"]["tool_chars"] == 7
    assert main([*command, "--policy-size", "toolchars=7"]) == 2
    assert "expected NAME=N, with one of tool_chars" in capsys.readouterr().err
    assert main(command) == 0
    assert "over 6 requests of one conversation" in capsys.readouterr().out
