"""The shipped rule tables: complete, dated, and found under every spelling of an id and no other."""

from __future__ import annotations

import re
import string
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.rules.load import load_rules
from pytest_cachesafe.providers.rules.names import FACTS
from pytest_cachesafe.providers.rules.read import PROVIDERS
from pytest_cachesafe.usage import UsageError

RULES = load_rules({})
CHECKED = ("anthropic", "openai", "gemini", "bedrock")

# Models whose ids the SDK lists and of which a number is not published: nothing is filled in for them.
WITHOUT_PRICE = {"claude-mythos-5-2", "claude-mythos-preview"}
WITHOUT_THINKING = {
    *("claude-fable-5", "claude-fable-5-1", "claude-fable-5-2"),
    *("claude-mythos-5", "claude-mythos-5-1", "claude-mythos-5-2", "claude-mythos-preview"),
}


def minimum(provider: str, model_id: str) -> int | None:
    model = RULES.model(provider, model_id)
    return None if model is None or model.minimum is None else model.minimum.value


@pytest.mark.parametrize(
    ("model_id", "tokens"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-opus-4-1", 1024),
        ("claude-sonnet-4-5", 1024),
        ("claude-sonnet-4-6", 1024),
        ("claude-haiku-4-5", 4096),
        ("claude-3-haiku", 2048),
        ("claude-3-haiku-20240307", 2048),
    ],
)
def test_the_minimum_belongs_to_the_model_and_not_to_its_family(model_id: str, tokens: int) -> None:
    assert minimum("anthropic", model_id) == tokens


def test_every_model_of_the_anthropic_sdk_has_its_rules() -> None:
    param = pytest.importorskip("anthropic.types.model_param", reason="needs the Anthropic SDK: it lists the models")
    from typing import get_args

    listed = {name for part in get_args(param.ModelParam) for name in get_args(part)}
    assert len(listed) >= 22
    found = {name: RULES.model("anthropic", name) for name in listed}
    assert [name for name, model in found.items() if model is None] == []
    known = {name: model for name, model in found.items() if model is not None}
    assert [name for name, model in known.items() if model.minimum is None] == []
    assert {name for name, model in known.items() if model.prices is None} == WITHOUT_PRICE
    assert {name for name, model in known.items() if model.keeps_thinking is None} == WITHOUT_THINKING


def test_every_gpt_5_and_later_of_the_openai_sdk_has_its_generation() -> None:
    chat = pytest.importorskip("openai.types.shared.chat_model", reason="needs the OpenAI SDK: it lists the models")
    from typing import get_args

    listed = [name for name in get_args(chat.ChatModel) if name.startswith(("gpt-5", "gpt-6", "gpt-4.1"))]
    assert len(listed) >= 30
    unknown = {name for name in listed if RULES.model("openai", name) is None}
    # Ids of ChatGPT's own models and a name with no price list entry: not the API models they resemble.
    assert unknown == {"gpt-5.1-mini", *(f"gpt-{n}-chat-latest" for n in ("5", "5.1", "5.2", "5.3"))}
    generations = {name: model.generation for name in listed if (model := RULES.model("openai", name)) is not None}
    assert generations["gpt-5.5-2026-04-23"] == "5.5"
    assert {g for name, g in generations.items() if name.startswith(("gpt-6", "gpt-5.6"))} == {"5.6"}
    assert {g for name, g in generations.items() if name.startswith(("gpt-5.4", "gpt-5.2", "gpt-4.1"))} == {"earlier"}


@pytest.mark.parametrize(
    ("provider", "model_id", "stem"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("anthropic", "claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("anthropic", "claude-opus-4-20250514", "claude-opus-4"),
        ("anthropic", "claude-opus-4-0", "claude-opus-4"),
        ("anthropic", "publishers/anthropic/models/claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("bedrock", "anthropic.claude-opus-4-5-20251101-v1:0", "anthropic.claude-opus-4-5"),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4-5"),
        ("bedrock", "global.anthropic.claude-opus-4-6-v1", "anthropic.claude-opus-4-6"),
        ("bedrock", "apac.anthropic.claude-haiku-5-5", "anthropic.claude-haiku-5-5"),
        ("bedrock", "amazon.nova-lite-v1:0:300k", "amazon.nova-lite"),
        (
            "bedrock",
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "anthropic.claude-haiku-4-5",
        ),
        ("bedrock", "arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-opus-5", "anthropic.claude-opus-5"),
        ("openai", "gpt-5-2025-08-07", "gpt-5"),
        ("openai", "gpt-5.6", "gpt-5.6-sol"),
        ("openai", "openai/gpt-6-sol", "gpt-6-sol"),
        ("openai", "anthropic/claude-opus-4.8", "claude-opus-4-8"),
        ("openai", "anthropic/claude-3.5-haiku:beta", "claude-3-5-haiku"),
        ("openai", "openrouter/anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("gemini", "models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini", "gemini-2.5-pro-001", "gemini-2.5-pro"),
    ],
)
def test_an_id_is_found_under_every_spelling(provider: str, model_id: str, stem: str) -> None:
    model = RULES.model(provider, model_id)
    assert model is not None
    assert model.id == stem


@pytest.mark.parametrize(
    ("provider", "model_id"),
    [
        ("anthropic", None),
        ("anthropic", ""),
        ("anthropic", "claude"),
        ("anthropic", "claude-opus-6"),
        ("anthropic", "claude-opus-4-5-preview"),
        ("anthropic", "my-claude-opus-4-5"),
        ("anthropic", "claude-opus-4.5"),
        ("anthropic", "claude-opus-4-5-19991231"),
        ("openai", "gpt-5-chat-latest"),
        ("openai", "gpt-7"),
        ("openai", "azure/gpt-5"),
        ("openai", "someone/gpt-5"),
        ("openai", "ft:gpt-4o-2024-08-06:org::id"),
        ("bedrock", "claude-opus-5"),
        ("bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2"),
        ("bedrock", "moon.anthropic.claude-opus-5"),
        ("gemini", "tunedModels/gemini-2.5-flash"),
    ],
)
def test_what_only_resembles_a_model_is_unknown(provider: str, model_id: str | None) -> None:
    assert RULES.model(provider, model_id) is None


STEMS = [(p, m) for p in CHECKED for m in RULES.provider(p).models]
# Everything an id is known to end with; what else follows a stem makes another model.
LEGAL_END = re.compile(r"|-v\d+(:\d+(:\d+k)?)?|[-@]20\d{6}(-v\d+(:\d+)?)?|-20\d\d-\d\d-\d\d|[-@]latest|@default|-00\d")


@settings(deadline=None)
@given(st.sampled_from(STEMS), st.text(string.ascii_lowercase + string.digits + "-.@:", min_size=1, max_size=12))
def test_a_stem_with_anything_behind_it_never_is_that_model(stem: tuple[str, str], end: str) -> None:
    provider, model_id = stem
    known = {name for _, name in STEMS} | set(RULES.provider(provider).aliases)
    found, text = RULES.model(provider, model_id + end), model_id + end
    if not any(text.startswith(name) and LEGAL_END.fullmatch(text, len(name)) for name in known):
        assert found is None


@settings(deadline=None)
@given(
    st.sampled_from(STEMS),
    st.dates(min_value=date(2024, 1, 1), max_value=date(2030, 12, 31)),
    st.sampled_from(["-{:%Y%m%d}", "@{:%Y%m%d}", "-{:%Y-%m-%d}"]),
)
def test_a_dated_id_always_is_the_model_without_the_date(stem: tuple[str, str], day: date, form: str) -> None:
    provider, model_id = stem
    plain, dated = RULES.model(provider, model_id), RULES.model(provider, model_id + form.format(day))
    assert dated is not None
    assert plain is not None
    assert (dated.id, dated.minimum, dated.prices) == (plain.id, plain.minimum, plain.prices)


def test_an_azure_deployment_is_known_only_where_the_user_names_it() -> None:
    path = "/openai/deployments/gpt-5/chat/completions"
    exchange = Exchange("openai", "chat", {"messages": []}, model="gpt-5", path=path)
    assert RULES.for_exchange(exchange) is None
    mine = load_rules({"openai": {"models": {"gpt-5": {"like": "gpt-5.6-luna"}}}})
    found = mine.for_exchange(exchange)
    assert found is not None
    assert found.generation == "5.6"
    exchange.path = "/v1/chat/completions"
    direct = RULES.for_exchange(exchange)
    assert direct is not None
    assert direct.generation == "earlier"


def test_regional_inference_profiles_cost_a_tenth_more() -> None:
    # global: 4 / 0.2 / 20; times 1.1: 4.4 / 0.22 / 22
    known = RULES.model("bedrock", "us.anthropic.claude-opus-5-5-v1:0")
    everywhere = RULES.model("bedrock", "global.anthropic.claude-opus-5-5")
    bare = RULES.model("bedrock", "anthropic.claude-opus-5-5")
    assert known is not None
    assert everywhere is not None
    assert bare is not None
    assert known.prices is not None
    assert everywhere.prices is not None
    (tier,), (base,) = known.prices.value, everywhere.prices.value
    assert (base.input, base.read, base.output) == (4, 0.2, 20)
    assert (tier.input, tier.read, tier.output, tier.write) == (4.4, 0.22, 22, {"5m": 5.5, "1h": 8.8})
    assert bare.prices is None


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_value_says_where_and_when_it_was_read(name: str) -> None:
    rules = RULES.provider(name)
    facts = [*rules.facts.values(), *rules.statements.values()]
    for model in rules.models.values():
        facts += [f for f in (model.minimum, model.prices, model.keeps_thinking) if f is not None]
        facts += model.routed.values()
    assert facts
    for fact in facts:
        assert fact.source
        assert fact.checked is not None
        assert date(2026, 11, 1) <= fact.checked
        assert not fact.own
    assert set(rules.facts) <= set(FACTS)
    assert {state for v in rules.voids for state in (v.tools, v.system, v.messages)} <= {"void", "valid", "model"}
    known = set(rules.models)
    assert set(rules.aliases.values()) <= known
    assert {m for v in rules.voids for m in v.models} <= known


def test_numbers_of_the_documented_rules() -> None:
    anthropic = RULES.provider("anthropic").facts
    names = ("max_markers", "lookback", "ttl.5m", "ttl.1h", "write.5m", "write.1h")
    assert [anthropic[name].value for name in names] == [4, 20, 300, 3600, 1.25, 2]
    openai = RULES.provider("openai").facts
    names = ("max_markers", "read.first", "read.latest", "read.messages", "floor", "ttl.30m")
    assert [openai[name].value for name in names] == [4, 2, 50, 20, 128, 1800]
    assert RULES.provider("bedrock").facts["max_markers"].value == 4
    voids = {v.change: (v.tools, v.system, v.messages) for v in RULES.provider("anthropic").voids}
    assert voids["tools"] == ("void", "void", "void")
    assert voids["web_search"] == ("valid", "void", "void")
    assert voids["tool_choice"] == ("valid", "valid", "void")
    assert voids["effort"] == ("model", "model", "void")


def test_write_prices_are_the_published_factors_of_the_input_price() -> None:
    # 1.25 and 2 times; Claude Haiku 3's list prices are rounded (0.30 for 0.3125), said in its note.
    for name in ("anthropic", "openai", "bedrock"):
        rules = RULES.provider(name)
        for model in rules.models.values():
            for prices in (model.prices, *model.routed.values()):
                if prices is None or "rounded" in prices.note:
                    continue
                for tier in prices.value:
                    for ttl, price in tier.write.items():
                        factor = rules.facts[f"write.{ttl}"].value
                        assert price == pytest.approx(tier.input * factor), (model.id, ttl)
                    assert tier.read is None or tier.read < tier.input


def test_an_unknown_provider_is_told_with_the_closest_one() -> None:
    with pytest.raises(UsageError, match=r"no rules for provider 'antropic'; did you mean 'anthropic'\?"):
        RULES.provider("antropic")
