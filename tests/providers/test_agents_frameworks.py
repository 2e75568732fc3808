"""Five-turn tool agents of three frameworks as their users write them: the clean stay silent, what breaks is named.

Each turn is three requests: text with a call, two parallel calls, the answer.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from pytest_cachesafe import Reply, ToolCall, capture_traffic, check_requests

MANUAL = "You are a support bot. " + "Answer from the manual. " * 400
TURNS = 5
Found = list[tuple[str, str, int, str]]


def script(turns: int = TURNS) -> list[Reply]:
    out = []
    for turn in range(turns):
        out.append(Reply("Let me look.", tools=[ToolCall("search", {"q": f"Zürich {turn}"})]))
        out.append(Reply(tools=[ToolCall("search", {"q": f"a{turn}"}), ToolCall("lookup", {"city": f"b{turn}"})]))
        out.append(Reply(f"answer {turn}"))
    return out


def words(query: str, count: int = 60) -> str:
    """What a tool finds: another text for each query."""
    random = Random(query)
    return " ".join("".join(random.choices("abcdefghij", k=6)) for _ in range(count))


def findings(agent: Callable[[], None], replies: Any = None) -> Found:
    """(severity, code, request, path) of everything that is found but notes."""
    with warnings.catch_warnings(), capture_traffic(script() if replies is None else replies) as rec:
        # Frameworks deprecate their own parts on import.
        warnings.simplefilter("ignore")
        agent()
    report = check_requests(rec)
    assert len(report.requests) == len(rec.exchanges) > 0
    return [
        (str(f.severity), f.code, f.location.request or 0, f.location.path or "")
        for f in report.findings
        if str(f.severity) != "note"
    ]


class Ticking:
    """A clock that moves a second whenever somebody looks."""

    def __init__(self) -> None:
        self.seconds = 0

    def __call__(self, *_: Any) -> str:
        self.seconds += 1
        return f"The time is 10:41:{self.seconds:02}."


# pydantic-ai


def pydantic_agent(model: str, build: Callable[[Any], Any], **settings: Any) -> Callable[[], None]:
    """A five-turn chat of an agent that `build` makes from its class."""
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="needs pydantic-ai-slim[anthropic,openai]")

    def run() -> None:
        agent = build(lambda **given: pydantic_ai.Agent(model, model_settings=settings or None, **given))

        @agent.tool_plain  # type: ignore[untyped-decorator]
        def search(q: str) -> str:
            return words(q)

        @agent.tool_plain  # type: ignore[untyped-decorator]
        def lookup(city: str) -> str:
            return f"city {city}"

        history: list[Any] = []
        for turn in range(TURNS):
            history = asyncio.run(agent.run(f"question {turn}", message_history=history)).all_messages()

    return run


CACHED = {
    "anthropic_cache_instructions": True,
    "anthropic_cache_tool_definitions": True,
    "anthropic_cache_messages": True,
}


@pytest.mark.parametrize(
    ("model", "settings"),
    [("anthropic:claude-opus-5", CACHED), ("openai-responses:gpt-6-sol", {}), ("openai-chat:gpt-5", {})],
)
def test_a_clean_pydantic_ai_agent_has_no_finding(model: str, settings: dict[str, Any]) -> None:
    assert findings(pydantic_agent(model, lambda make: make(instructions=MANUAL), **settings)) == []


def test_pydantic_ai_instructions_with_a_clock_break_every_request() -> None:
    def build(make: Any) -> Any:
        agent = make(instructions=MANUAL)
        agent.instructions(Ticking())
        return agent

    found = findings(pydantic_agent("openai-chat:gpt-5", build))
    assert found == [("error", "system-changed", n, "messages[1].content") for n in range(1, 15)]


def test_a_pydantic_ai_system_prompt_with_a_clock_is_evaluated_once() -> None:
    def build(make: Any) -> Any:
        agent = make(instructions=MANUAL)
        agent.system_prompt(Ticking())
        return agent

    assert findings(pydantic_agent("openai-chat:gpt-5", build)) == []


def test_a_dynamic_pydantic_ai_system_prompt_breaks_at_each_user_turn() -> None:
    def build(make: Any) -> Any:
        agent = make()
        tick = Ticking()
        agent.system_prompt(dynamic=True)(lambda: f"{tick()} {MANUAL}")
        return agent

    found = findings(pydantic_agent("anthropic:claude-opus-5", build, **CACHED))
    assert [(code, request) for _, code, request, _ in found] == [("system-changed", n) for n in (3, 6, 9, 12)] or [
        (code, request) for _, code, request, _ in found
    ] == [("marker-on-changing-block", n) for n in (3, 6, 9, 12)]


# LangChain and LangGraph


def langchain_agent(model: Any, middleware: Any = (), system: str | None = MANUAL) -> Callable[[], None]:
    agents = pytest.importorskip("langchain.agents", reason="needs langchain")
    from langchain_core.tools import tool

    @tool
    def search(q: str) -> str:
        """Search the manual."""
        return words(q)

    @tool
    def lookup(city: str) -> str:
        """Look a city up."""
        return words(city)

    def run() -> None:
        agent = agents.create_agent(
            model(), tools=[search, lookup], system_prompt=system, middleware=[make() for make in middleware]
        )
        messages: list[Any] = []
        for turn in range(TURNS):
            asked = [*messages, {"role": "user", "content": f"question {turn}"}]
            messages = agent.invoke({"messages": asked})["messages"]

    return run


def claude() -> Any:
    return pytest.importorskip("langchain_anthropic").ChatAnthropic(model="claude-opus-5", max_tokens=100)


def gpt(model: str, **options: Any) -> Callable[[], Any]:
    return lambda: pytest.importorskip("langchain_openai").ChatOpenAI(model=model, **options)


def caching() -> Any:
    return pytest.importorskip("langchain_anthropic.middleware").AnthropicPromptCachingMiddleware()


@pytest.mark.parametrize(
    ("model", "middleware"),
    [
        (claude, (caching,)),
        (gpt("gpt-5"), ()),
        (gpt("gpt-6-sol"), ()),
        (gpt("gpt-6-sol", use_previous_response_id=True), ()),
    ],
    ids=["claude", "gpt chat", "gpt responses", "gpt previous_response_id"],
)
def test_a_clean_langchain_agent_has_no_finding(model: Any, middleware: Any) -> None:
    assert findings(langchain_agent(model, middleware)) == []


def test_a_langchain_dynamic_prompt_with_a_clock_is_named_at_every_request() -> None:
    agents = pytest.importorskip("langchain.agents.middleware", reason="needs langchain")
    tick = Ticking()
    clock = agents.dynamic_prompt(lambda request: f"{MANUAL} {tick()}")
    found = findings(langchain_agent(claude, (lambda: clock, caching)))
    assert [(severity, request, path) for severity, _, request, path in found] == [
        ("error", n, "system[0]") for n in range(1, 15)
    ]


def test_tools_in_another_order_each_time_are_named() -> None:
    agents = pytest.importorskip("langchain.agents.middleware", reason="needs langchain")
    calls = [0]

    def shuffle(request: Any, handler: Any) -> Any:
        calls[0] += 1
        tools = list(request.tools)
        return handler(request.override(tools=tools if calls[0] % 2 else tools[::-1]))

    found = findings(langchain_agent(claude, (lambda: agents.wrap_model_call(shuffle), caching)))
    assert found == [("error", "tools-reordered", n, "tools[0]") for n in range(1, 15)]


def test_middleware_that_clears_tool_results_is_named_as_pruning() -> None:
    agents = pytest.importorskip("langchain.agents.middleware", reason="needs langchain")
    prune = lambda: agents.ContextEditingMiddleware(edits=[agents.ClearToolUsesEdit(trigger=1200, keep=2)])  # noqa: E731
    found = findings(langchain_agent(claude, (prune, caching)))
    assert {code for _, code, _, _ in found} == {"history-pruned"}
    assert all(path.startswith("messages[") for *_, path in found)


def test_middleware_that_summarises_is_named_and_its_own_calls_are_not() -> None:
    agents = pytest.importorskip("langchain.agents.middleware", reason="needs langchain")
    calls = [0]

    def answer(exchange: Any) -> Any:
        if "tools" not in exchange.body:
            return "a summary of it"
        calls[0] += 1
        return script()[calls[0] - 1]

    def summarise() -> Any:
        return agents.SummarizationMiddleware(model=claude(), trigger=("messages", 12), keep=("messages", 4))

    found = findings(langchain_agent(claude, (summarise, caching)), replies=answer)
    assert found
    assert {code for _, code, _, _ in found} == {"history-summarised"}
    # The second summary is worded like the first: what differs stands behind it.
    assert [path.partition(".")[0] for *_, path in found][:2] == ["messages[0]", "messages[1]"]


def test_a_fifth_marker_through_the_caching_middleware_is_refused() -> None:
    pytest.importorskip("langchain.agents", reason="needs langchain")
    from langchain_core.messages import HumanMessage, SystemMessage

    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": f"{MANUAL} part {n}", **mark} for n in range(3)]

    def run() -> None:
        from langchain.agents import create_agent
        from langchain_core.tools import tool

        @tool
        def search(q: str) -> str:
            """Search the manual."""
            return q

        agent = create_agent(
            claude(), tools=[search], system_prompt=SystemMessage(content=system), middleware=[caching()]
        )
        with pytest.raises(Exception, match="4"):
            agent.invoke({"messages": [HumanMessage(content=[{"type": "text", "text": "hi", **mark}])]})

    found = findings(run)
    assert [(severity, code) for severity, code, *_ in found] == [("error", "too-many-markers")]


def test_a_switch_between_endpoints_is_named() -> None:
    pytest.importorskip("langchain_openai", reason="needs langchain-openai")
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_core.tools import tool

    @tool
    def search(q: str) -> str:
        """Search the manual."""
        return q

    def run() -> None:
        model = gpt("gpt-6-sol")()
        messages = [SystemMessage(MANUAL), HumanMessage("question 0")]
        reply = model.bind_tools([search]).invoke(messages)
        model.invoke([*messages, reply, HumanMessage("question 1")])

    assert [(code, request) for _, code, request, _ in findings(run, replies=["ok", "ok"])] == [("endpoint-changed", 1)]


# OpenAI Agents SDK


def agents_sdk(**options: Any) -> Any:
    agents = pytest.importorskip("agents", reason="needs openai-agents")

    @agents.function_tool  # type: ignore[untyped-decorator]
    def search(q: str) -> str:
        """Search the manual."""
        return words(q)

    @agents.function_tool  # type: ignore[untyped-decorator]
    def lookup(city: str) -> str:
        """Look a city up."""
        return f"city {city}"

    given = {"instructions": MANUAL, "tools": [search, lookup], "model": "gpt-6-sol", **options}
    return agents.Agent("bot", **given)


def runs(make: Callable[[], Any], *, grouped: bool = False) -> Callable[[], None]:
    def run() -> None:
        import agents

        agent = make()
        config = agents.RunConfig(group_id="g") if grouped else None
        items: list[Any] = []
        for turn in range(TURNS):
            asked = [*items, {"role": "user", "content": f"question {turn}"}]
            items = asyncio.run(agents.Runner.run(agent, asked, run_config=config)).to_input_list()

    return run


def test_a_clean_agents_sdk_agent_has_no_finding() -> None:
    pytest.importorskip("agents", reason="needs openai-agents")
    assert findings(runs(agents_sdk, grouped=True)) == []


def test_a_cache_key_per_run_is_named() -> None:
    pytest.importorskip("agents", reason="needs openai-agents")
    assert findings(runs(agents_sdk)) == [
        ("error", "prompt-cache-key-changed", n, "prompt_cache_key") for n in (3, 6, 9, 12)
    ]


def test_agents_sdk_instructions_with_a_clock_are_named() -> None:
    pytest.importorskip("agents", reason="needs openai-agents")
    tick = Ticking()
    found = findings(runs(lambda: agents_sdk(instructions=lambda ctx, agent: f"{tick()} {MANUAL}"), grouped=True))
    assert found == [("error", "system-changed", n, "instructions") for n in range(1, 15)]


def test_a_handoff_is_an_expected_change_with_a_code_of_its_own() -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents")

    def run() -> None:
        billing = agents_sdk(instructions="You look into bills and pay back what was charged twice. " * 60)
        billing.name = "billing"
        triage = agents_sdk(instructions=f"You send people on. {MANUAL}", tools=[], handoffs=[billing])
        asyncio.run(agents.Runner.run(triage, "my bill", run_config=agents.RunConfig(group_id="g")))

    replies = [ToolCall("transfer_to_billing", {}), "done"]
    assert [(code, request) for _, code, request, _ in findings(run, replies)] in ([], [("handoff", 1)])
