"""What a request is, by the shape of its path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.capture.recognise import is_loopback, matches_host, recognise, target_of

MESSAGES = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
INPUT = {"model": "m", "input": "hi"}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
INVOKED = {"anthropic_version": "bedrock-2023-05-31", "messages": MESSAGES["messages"]}


def seen(url: str, body: Any = None, method: str = "POST", **options: Any) -> Any:
    return recognise(method, url, options.pop("headers", {}), body, **options)


@pytest.mark.parametrize(
    ("url", "body", "api", "model", "stream", "framing"),
    [
        ("https://api.anthropic.com/v1/messages", MESSAGES, "messages", "m", False, "json"),
        ("https://api.anthropic.com/v1/messages?beta=true", {**MESSAGES, "stream": True}, "messages", "m", True, "sse"),
        ("https://gw.example/anthropic/v1/messages", MESSAGES, "messages", "m", False, "json"),
        ("https://api.openai.com/v1/chat/completions", MESSAGES, "chat", "m", False, "json"),
        ("https://openrouter.ai/api/v1/chat/completions", {**MESSAGES, "stream": True}, "chat", "m", True, "sse"),
        ("http://127.0.0.1:8000/v1/chat/completions", MESSAGES, "chat", "m", False, "json"),
        ("https://x.openai.azure.com/openai/deployments/dep%201/chat/completions?api-version=1",
         {"messages": []}, "chat", "dep 1", False, "json"),
        ("https://x.openai.azure.com/openai/v1/responses", INPUT, "responses", "m", False, "json"),
        ("https://api.openai.com/v1/responses", {**INPUT, "stream": True}, "responses", "m", True, "sse"),
        ("https://generativelanguage.googleapis.com/v1/models/gemini-3-pro:generateContent", CONTENTS, "gemini",
         "gemini-3-pro", False, "json"),
        ("https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse", CONTENTS, "gemini",
         "g", True, "sse"),
        ("https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent", CONTENTS, "gemini",
         "g", True, "array"),
        ("https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/"
         "claude-x@20250929:streamRawPredict", {**MESSAGES, "stream": True}, "messages", "claude-x@20250929", True,
         "sse"),
        ("https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/g:generateContent",
         CONTENTS, "gemini", "g", False, "json"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.c-v1%3A0/converse", MESSAGES, "converse",
         "us.anthropic.c-v1:0", False, "json"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream", MESSAGES, "converse", "m", True,
         "eventstream"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/"
         "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fp/invoke", INVOKED, "invoke",
         "arn:aws:bedrock:us-east-1:1:inference-profile/p", False, "json"),
        ("http://127.0.0.1:9/model/m/invoke-with-response-stream", INVOKED, "invoke", "m", True, "eventstream"),
    ],
)  # fmt: skip
def test_generation(url: str, body: Any, api: str, model: str, stream: bool, framing: str) -> None:
    found = seen(url, body)
    assert (found.kind, found.api, found.model) == ("generate", api, model)
    assert (found.stream, found.framing) == (stream, framing)
    # Without its body, the request must at least not be refused before it is read.
    assert seen(url).kind == "generate"


@pytest.mark.parametrize(
    ("url", "api"),
    [
        ("https://api.anthropic.com/v1/messages/count_tokens", "messages"),
        ("https://api.openai.com/v1/responses/input_tokens", "responses"),
        ("https://generativelanguage.googleapis.com/v1beta/models/g:countTokens", "gemini"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/count-tokens", "converse"),
        ("https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/"
         "count-tokens:rawPredict", "messages"),
    ],
)  # fmt: skip
def test_token_counting(url: str, api: str) -> None:
    found = seen(url)
    assert (found.kind, found.api) == ("count_tokens", api)


@pytest.mark.parametrize(
    ("method", "url", "name"),
    [
        ("POST", "https://api.anthropic.com/v1/messages/batches", "Anthropic Message Batches"),
        ("GET", "https://api.anthropic.com/v1/messages/batches/b/results", "Anthropic Message Batches"),
        ("POST", "https://api.openai.com/v1/embeddings", "embeddings"),
        ("GET", "https://api.openai.com/v1/models", "the list of models"),
        ("GET", "https://api.anthropic.com/v1/models/claude-x", "the list of models"),
        ("POST", "https://api.openai.com/v1/files", "files"),
        ("GET", "https://api.openai.com/v1/responses/resp_1", "OpenAI Responses, stored responses"),
        ("POST", "https://generativelanguage.googleapis.com/v1beta/models/e:embedContent",
         "Gemini embeddings and media"),
        ("POST", "https://generativelanguage.googleapis.com/v1beta/cachedContents", "Gemini cached contents"),
        ("POST", "https://api.openai.com/v1/something/new", "POST /v1/something/new"),
    ],
)  # fmt: skip
def test_endpoints_that_are_not_scripted_have_a_name(method: str, url: str, name: str) -> None:
    found = seen(url, {}, method)
    assert (found.kind, found.name) == ("unscripted", name)


def test_another_vendors_model_on_bedrock_is_not_scripted() -> None:
    found = seen("https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.titan/invoke", {"inputText": "hi"})
    assert found.kind == "unscripted"
    assert "not Anthropic's" in found.name


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("POST", "https://api.openai.com/v1/traces/ingest"),
        ("POST", "https://api.smith.langchain.com/runs/multipart"),
        ("GET", "https://api.smith.langchain.com/info"),
        ("POST", "https://oauth2.googleapis.com/token"),
        ("POST", "https://collector.example/v1/traces"),
    ],
)
def test_telemetry(method: str, url: str) -> None:
    assert seen(url, None, method).kind == "telemetry"


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("POST", "https://shop.example/orders", {"messages": []}),
        ("GET", "https://shop.example/v1/messages", None),
        # An application's own endpoints, with bodies of their own.
        ("POST", "http://127.0.0.1:5000/survey/responses", {"answers": [1]}),
        ("POST", "http://127.0.0.1:5000/api/v1/messages", {"to": "ann", "text": "hi"}),
        ("POST", "http://127.0.0.1:4318/v1/traces", {"resourceSpans": []}),
    ],
)
def test_what_is_none_of_ours(method: str, url: str, body: Any) -> None:
    assert seen(url, body, method).kind == "unknown"


def test_a_gateways_own_paths_need_its_host() -> None:
    url = "https://llm.corp.example/rerank"
    assert seen(url, {}).kind == "unknown"
    assert seen(url, {}, hosts=["llm.corp.example"]).kind == "unscripted"
    assert seen(url, {}, hosts=[".corp.example"]).kind == "unscripted"
    assert seen(url, {}, hosts=["corp.example"]).kind == "unknown"


def test_hosts_with_ports() -> None:
    target = target_of("https://gw.example:8443/x")
    assert matches_host(target, ["gw.example:8443"])
    assert matches_host(target, ["GW.example"])
    assert not matches_host(target, ["gw.example:9"])
    # A scheme's own port is not shown.
    assert target_of("https://gw.example:443/x").host == "gw.example"
    assert target_of("http://[::1]:80/x").host == "[::1]"


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]", "a.localhost", "0.0.0.0", "::ffff:127.0.0.1"]
)
def test_loopback(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize(
    "name", ["localhost.example", "10.0.0.1", "::2", "example", "1270.0.0.1", "169.254.169.254", "::ffff:8.8.8.8"]
)
def test_not_loopback(name: str) -> None:
    assert not is_loopback(name)


_PATHS = st.text(alphabet="abv1/:{}%.-_ ", max_size=40)


@settings(deadline=None)
@given(path=_PATHS, method=st.sampled_from(["GET", "POST", "PUT"]), body=st.none() | st.just(MESSAGES) | st.just({}))
def test_an_unknown_host_never_counts_as_a_providers(path: str, method: str, body: Any) -> None:
    """Only a path of a model endpoint makes an unknown host one; nothing makes it "not scripted"."""
    found = seen(f"https://shop.example/{path}", body, method)
    assert found.kind in ("unknown", "generate", "telemetry")
    if found.kind == "generate":
        assert method == "POST"


@settings(deadline=None)
@given(path=_PATHS, method=st.sampled_from(["GET", "POST", "DELETE"]))
def test_a_providers_host_is_never_unknown(path: str, method: str) -> None:
    assert seen(f"https://api.openai.com/{path}", {}, method).kind != "unknown"
