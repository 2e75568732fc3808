"""What must hold for every conversation: counters add up, time empties a cache, growth never loses a prefix."""

from __future__ import annotations

from typing import Any

from cache_requests import HOUR, MARK, NO_MINIMUM, anthropic, chat, converse, gemini, letters, said, text, user
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.providers.cache.counters import counters
from pytest_cachesafe.providers.cache.simulate import Prediction, ProviderCache
from pytest_cachesafe.providers.exchange import Exchange

WORDS = st.text("abc", min_size=1, max_size=30)
MARKS = st.sampled_from([{}, {}, MARK, HOUR])
MODELS = ["gpt-6-sol", "gpt-5.5", "gpt-5", "unknown"]


@st.composite
def any_requests(draw: st.DrawFn) -> list[Exchange]:
    """Requests of every API, markers and settings anywhere, legal or not, at growing times."""
    out: list[Exchange] = []
    now = 0.0
    for _ in range(draw(st.integers(1, 8))):
        now += draw(st.sampled_from([0.0, 1.0, 200.0, 1_000.0, 10_000.0]))
        roles = draw(st.lists(st.sampled_from([user, said]), min_size=1, max_size=4))
        kind = draw(st.sampled_from(["anthropic", "converse", "chat", "gemini"]))
        if kind == "anthropic":
            messages = [role(*(text(w, **draw(MARKS)) for w in draw(st.lists(WORDS, max_size=4)))) for role in roles]
            extra = draw(st.sampled_from([{}, MARK, {"system": "s"}, {"tool_choice": {"type": "any"}}]))
            out.append(anthropic(messages, at=now, **extra))
        elif kind == "converse":
            parts: list[Any] = [{"text": "a"}, {"text": "b"}, {"cachePoint": {"type": "default"}}]
            content = draw(st.lists(st.sampled_from(parts), min_size=1, max_size=5))
            out.append(converse([{"role": "user", "content": content}], at=now))
        elif kind == "chat":
            words = draw(st.sampled_from(["a" * 1_100, "a" * 3_000, "b" * 2_000, "c"]))
            point = draw(st.sampled_from([{}, {"prompt_cache_breakpoint": {"mode": "explicit"}}]))
            lead = {"role": "user", "content": [text(words, **point)]}
            out.append(
                chat([lead, *(role(draw(WORDS)) for role in roles)], at=now, model=draw(st.sampled_from(MODELS)))
            )
        else:
            out.append(gemini([{"parts": [{"text": draw(WORDS) * 100}]}], at=now))
    return out


def total_of(names: dict[str, Any], api: str) -> int:
    """All input tokens, from the provider's own counters."""
    if api == "messages":
        return sum(names[f"{n}input_tokens"] for n in ("", "cache_read_", "cache_creation_"))
    if api == "converse":
        return sum(names[n] for n in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"))
    return int(names["prompt_tokens" if api == "chat" else "promptTokenCount"])


def length(exchange: Exchange) -> int:
    """Tokens of a request where a letter is one, counted without a layout."""

    def of(value: Any) -> int:
        if isinstance(value, dict):
            inner = [len(v) if k == "text" else of(v) for k, v in value.items() if k not in ("role", "model", "type")]
            return sum(inner)
        return sum(map(of, value)) if isinstance(value, list) else 0

    total = of(exchange.body.get("messages", exchange.body.get("contents")))
    strings = sum(len(m["content"]) for m in exchange.body.get("messages", ()) if isinstance(m["content"], str))
    return total + strings + len(exchange.body.get("system", ""))


@given(any_requests(), st.booleans())
@settings(deadline=None, max_examples=tries(150))
def test_counters_always_add_up(requests: list[Exchange], begin: bool) -> None:
    provider = ProviderCache(NO_MINIMUM, letters)
    for exchange in requests:
        found = provider.request(exchange)
        if begin:
            provider.began(exchange, exchange.sent_at or 0.0)
        usage = found.usage
        assert min(usage.read, usage.uncached, *(n for _, n in usage.written), 0) == 0
        assert usage.read + usage.write + usage.uncached == usage.total == length(exchange)
        assert total_of(counters(usage, exchange), exchange.api) == usage.total


@given(any_requests())
@settings(deadline=None, max_examples=75)
def test_estimates_add_up_as_well(requests: list[Exchange]) -> None:
    provider = ProviderCache(NO_MINIMUM)
    for exchange in requests:
        found = provider.request(exchange)
        usage = found.usage
        assert usage.read + usage.write + usage.uncached == usage.total
        assert found.total.low <= usage.total <= found.total.high


def run(provider: ProviderCache, requests: list[Exchange]) -> list[Prediction]:
    out = []
    for exchange in requests:
        out.append(provider.request(exchange))
        provider.began(exchange, exchange.sent_at or 0.0)
    return out


@given(any_requests())
@settings(deadline=None, max_examples=75)
def test_replaying_after_the_lifetime_gives_the_same_as_the_first_time(requests: list[Exchange]) -> None:
    # Gemini does not publish a lifetime; a day is the longest of the others.
    requests = [r for r in requests if r.provider != "gemini"]
    provider = ProviderCache(NO_MINIMUM, letters)
    first = run(provider, requests)
    late = [Exchange(e.provider, e.api, e.body, model=e.model, sent_at=(e.sent_at or 0.0) + 200_000) for e in requests]
    assert [p.usage for p in run(provider, late)] == [p.usage for p in first]


@given(any_requests())
@settings(deadline=None, max_examples=75)
def test_the_first_request_after_the_lifetime_reads_nothing(requests: list[Exchange]) -> None:
    requests = [r for r in requests if r.provider != "gemini"]
    provider = ProviderCache(NO_MINIMUM, letters)
    run(provider, requests)
    for n, exchange in enumerate(requests):
        late = Exchange(
            exchange.provider, exchange.api, exchange.body, model=exchange.model, sent_at=200_000.0 * (n + 1)
        )
        assert run(provider, [late])[0].usage.read == 0


@st.composite
def clean(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """A tool agent's message lists: each goes on from the one before, at most a dozen blocks further."""
    messages: list[dict[str, Any]] = [user(text(draw(WORDS)))]
    out = [list(messages)]
    for n in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            calls = [
                {"type": "tool_use", "id": f"{n}.{i}", "name": "f", "input": {"x": i}}
                for i in range(draw(st.integers(1, 6)))
            ]
            results = [{"type": "tool_result", "tool_use_id": c["id"], "content": draw(WORDS)} for c in calls]
            messages += [said(text(draw(WORDS)), *calls), user(*results)]
        else:
            messages += [said(text(draw(WORDS))), user(text(draw(WORDS)))]
        out.append(list(messages))
    return out


def with_marker(messages: list[dict[str, Any]], automatic: bool) -> Exchange:
    """The marker on the newest block, which is where it is in every request."""
    if automatic:
        return anthropic(messages, system="rules", cache_control={"type": "ephemeral"})
    *earlier, last = messages
    *blocks, newest = last["content"]
    return anthropic([*earlier, {**last, "content": [*blocks, {**newest, **MARK}]}], system="rules")


@given(clean(), st.booleans())
@settings(deadline=None, max_examples=100)
def test_a_clean_turn_never_lowers_the_cached_prefix(turns: list[list[dict[str, Any]]], automatic: bool) -> None:
    provider = ProviderCache(NO_MINIMUM, letters)
    before = 0
    for messages in turns:
        found = provider.request(with_marker(messages, automatic))
        # Exactly what the request before had in all is read, and the rest is written.
        assert (found.usage.read, found.usage.uncached) == (before, 0)
        assert found.miss is None
        assert found.cause is None
        before = found.usage.total


@given(clean(), st.sampled_from(MODELS[:3]))
@settings(deadline=None, max_examples=50)
def test_nor_at_openai(turns: list[list[dict[str, Any]]], model: str) -> None:
    provider = ProviderCache({}, letters)
    lead = {"role": "developer", "content": "r" * 2_500}
    before = 0
    for messages in turns:
        flat = [{"role": m["role"], "content": str(m["content"])} for m in messages]
        found = provider.request(chat([lead, *flat], model=model))
        assert found.usage.read >= before
        assert found.miss is None
        before = found.usage.read
    assert before > 0


@given(clean(), st.integers(0, 3))
@settings(deadline=None, max_examples=50)
def test_markers_and_spellings_never_change_keys(turns: list[list[dict[str, Any]]], place: int) -> None:
    provider = ProviderCache(NO_MINIMUM, letters)
    messages = turns[-1]
    plain = provider.request(anthropic(messages, system="rules")).layout
    respelled = [
        {"content": m["content"][0]["text"], "role": m["role"]}
        if len(m["content"]) == 1 and m["content"][0]["type"] == "text"
        else m
        for m in messages
    ]
    at = place % len(messages)
    content = messages[at]["content"]
    respelled[at] = {**messages[at], "content": [{**content[0], **HOUR}, *content[1:]]}
    body = dict(reversed(list(anthropic(respelled, system=[text("rules", **MARK)]).body.items())))
    found = provider.request(Exchange("anthropic", "messages", body, model="claude-opus-5-5")).layout
    assert [b.key for b in found.blocks] == [b.key for b in plain.blocks]
    assert sum(b.marker is not None for b in found.blocks) == 2
