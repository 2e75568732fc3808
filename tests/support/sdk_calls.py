"""One call of each SDK in each of its ways, against a base URL; each gives the text that came back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

MODEL = "claude-sonnet-4-6"
USER: list[Any] = [{"role": "user", "content": "hi"}]
ON_BEDROCK = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
INVOKED = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": USER})


class Way(NamedTuple):
    """A call: its SDK (to skip where it is missing), what it must be caught as, and the call itself."""

    sdk: str
    api: str
    library: str
    stream: bool
    call: Callable[[str], str]


def anthropic_whole(url: str) -> str:
    import anthropic

    client = anthropic.Anthropic(base_url=url, max_retries=0)
    return client.messages.create(model=MODEL, max_tokens=9, messages=USER).content[0].text  # type: ignore[union-attr]


def anthropic_stream(url: str) -> str:
    import anthropic

    client = anthropic.Anthropic(base_url=url, max_retries=0)
    with client.messages.stream(model=MODEL, max_tokens=9, messages=USER) as stream:
        return stream.get_final_text()


async def anthropic_async(url: str) -> str:
    import anthropic

    async with anthropic.AsyncAnthropic(base_url=url, max_retries=0) as client:
        reply = await client.messages.create(model=MODEL, max_tokens=9, messages=USER)
        return reply.content[0].text  # type: ignore[union-attr]


async def anthropic_async_stream(url: str) -> str:
    import anthropic

    async with (
        anthropic.AsyncAnthropic(base_url=url, max_retries=0) as client,
        client.messages.stream(model=MODEL, max_tokens=9, messages=USER) as stream,
    ):
        return await stream.get_final_text()


async def anthropic_aiohttp(url: str) -> str:
    import anthropic

    http: Any = anthropic.DefaultAioHttpClient()
    async with anthropic.AsyncAnthropic(base_url=url, max_retries=0, http_client=http) as client:
        reply = await client.messages.create(model=MODEL, max_tokens=9, messages=USER)
        return reply.content[0].text  # type: ignore[union-attr]


async def anthropic_aiohttp_stream(url: str) -> str:
    import anthropic

    http: Any = anthropic.DefaultAioHttpClient()
    async with (
        anthropic.AsyncAnthropic(base_url=url, max_retries=0, http_client=http) as client,
        client.messages.stream(model=MODEL, max_tokens=9, messages=USER) as stream,
    ):
        return await stream.get_final_text()


def openai_chat(url: str) -> str:
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", max_retries=0)
    return client.chat.completions.create(model="gpt-5", messages=USER).choices[0].message.content or ""


def openai_chat_stream(url: str) -> str:
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", max_retries=0)
    chunks = client.chat.completions.create(model="gpt-5", messages=USER, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def openai_responses(url: str) -> str:
    import openai

    return openai.OpenAI(base_url=f"{url}/v1", max_retries=0).responses.create(model="gpt-5", input="hi").output_text


def openai_responses_stream(url: str) -> str:
    import openai

    with openai.OpenAI(base_url=f"{url}/v1", max_retries=0).responses.stream(model="gpt-5", input="hi") as stream:
        return stream.get_final_response().output_text


def openai_legacy(url: str) -> str:
    import httpx
    import openai

    http: Any = httpx.Client()
    client = openai.OpenAI(base_url=f"{url}/v1", max_retries=0, http_client=http)
    return client.responses.create(model="gpt-5", input="hi").output_text


async def openai_async(url: str) -> str:
    import openai

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", max_retries=0) as client:
        return (await client.responses.create(model="gpt-5", input="hi")).output_text


async def openai_async_stream(url: str) -> str:
    import openai

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", max_retries=0) as client:
        chunks = await client.chat.completions.create(model="gpt-5", messages=USER, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])


async def openai_aiohttp_stream(url: str) -> str:
    import openai

    http: Any = openai.DefaultAioHttpClient()
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", max_retries=0, http_client=http) as client:
        chunks = await client.chat.completions.create(model="gpt-5", messages=USER, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])


def _genai(url: str) -> Any:
    from google import genai

    return genai.Client(http_options=genai.types.HttpOptions(base_url=url))


def genai_whole(url: str) -> str:
    client = _genai(url)
    return str(client.models.generate_content(model="gemini-2.5-flash", contents="hi").text)


def genai_stream(url: str) -> str:
    client = _genai(url)
    chunks = client.models.generate_content_stream(model="gemini-2.5-flash", contents="hi")
    return "".join(chunk.text or "" for chunk in chunks)


async def genai_async(url: str) -> str:
    client = _genai(url)
    reply = await client.aio.models.generate_content(model="gemini-2.5-flash", contents="hi")
    await client.aio.aclose()
    return str(reply.text)


async def genai_async_stream(url: str) -> str:
    client = _genai(url)
    chunks = await client.aio.models.generate_content_stream(model="gemini-2.5-flash", contents="hi")
    text = "".join([chunk.text or "" async for chunk in chunks])
    await client.aio.aclose()
    return text


def _boto(url: str) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client("bedrock-runtime", endpoint_url=url, config=Config(retries={"total_max_attempts": 1}))


def boto_converse(url: str) -> str:
    reply = _boto(url).converse(modelId=ON_BEDROCK, messages=[{"role": "user", "content": [{"text": "hi"}]}])
    return str(reply["output"]["message"]["content"][0]["text"])


def boto_converse_stream(url: str) -> str:
    reply = _boto(url).converse_stream(modelId=ON_BEDROCK, messages=[{"role": "user", "content": [{"text": "hi"}]}])
    deltas = [event["contentBlockDelta"]["delta"] for event in reply["stream"] if "contentBlockDelta" in event]
    return "".join(delta["text"] for delta in deltas)


def boto_invoke(url: str) -> str:
    reply = _boto(url).invoke_model(modelId=ON_BEDROCK, body=INVOKED)
    return str(json.loads(reply["body"].read())["content"][0]["text"])


def boto_invoke_stream(url: str) -> str:
    reply = _boto(url).invoke_model_with_response_stream(modelId=ON_BEDROCK, body=INVOKED)
    events = [json.loads(event["chunk"]["bytes"]) for event in reply["body"]]
    return "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")


def anthropic_bedrock(url: str) -> str:
    import anthropic

    client = anthropic.AnthropicBedrock(base_url=url, max_retries=0)
    with client.messages.stream(model=ON_BEDROCK, max_tokens=9, messages=USER) as stream:
        return stream.get_final_text()


def run(call: Callable[[str], Awaitable[str]]) -> Callable[[str], str]:
    """An async call as a plain one, in a loop of its own."""

    async def main(url: str) -> str:
        return await call(url)

    return lambda url: asyncio.run(main(url))


WAYS: dict[str, Way] = {
    "anthropic": Way("anthropic", "messages", "httpx2", False, anthropic_whole),
    "anthropic-stream": Way("anthropic", "messages", "httpx2", True, anthropic_stream),
    "anthropic-async": Way("anthropic", "messages", "httpx2", False, run(anthropic_async)),
    "anthropic-async-stream": Way("anthropic", "messages", "httpx2", True, run(anthropic_async_stream)),
    "anthropic-aiohttp": Way("anthropic", "messages", "aiohttp", False, run(anthropic_aiohttp)),
    "anthropic-aiohttp-stream": Way("anthropic", "messages", "aiohttp", True, run(anthropic_aiohttp_stream)),
    "openai-chat": Way("openai", "chat", "httpx2", False, openai_chat),
    "openai-chat-stream": Way("openai", "chat", "httpx2", True, openai_chat_stream),
    "openai-responses": Way("openai", "responses", "httpx2", False, openai_responses),
    "openai-responses-stream": Way("openai", "responses", "httpx2", True, openai_responses_stream),
    "openai-legacy-httpx": Way("openai", "responses", "httpx", False, openai_legacy),
    "openai-async": Way("openai", "responses", "httpx2", False, run(openai_async)),
    "openai-async-stream": Way("openai", "chat", "httpx2", True, run(openai_async_stream)),
    "openai-aiohttp-stream": Way("openai", "chat", "aiohttp", True, run(openai_aiohttp_stream)),
    "genai": Way("google.genai", "gemini", "httpx2", False, genai_whole),
    "genai-stream": Way("google.genai", "gemini", "httpx2", True, genai_stream),
    "genai-async": Way("google.genai", "gemini", "aiohttp", False, run(genai_async)),
    "genai-async-stream": Way("google.genai", "gemini", "aiohttp", True, run(genai_async_stream)),
    "boto-converse": Way("boto3", "converse", "botocore", False, boto_converse),
    "boto-converse-stream": Way("boto3", "converse", "botocore", True, boto_converse_stream),
    "boto-invoke": Way("boto3", "invoke", "botocore", False, boto_invoke),
    "boto-invoke-stream": Way("boto3", "invoke", "botocore", True, boto_invoke_stream),
    "anthropic-bedrock": Way("anthropic", "invoke", "httpx2", True, anthropic_bedrock),
}
