"""`cachesafe compare A.json B.json`: does the second prompt begin with all of the first?"""

from __future__ import annotations

import argparse
from typing import Any

from pytest_cachesafe.commands.common import Result, add_front_end, chat_from, front_end_of, redacted
from pytest_cachesafe.commands.load import as_requests, read_json
from pytest_cachesafe.prompt import Prompt, TemplateRaised, UsageError

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("a", metavar="A.json", help="the earlier request: a message list or body; - is standard input")
    parser.add_argument("b", metavar="B.json", help="the later request")
    add_front_end(parser)
    parser.add_argument("--tools", metavar="FILE", help="tool definitions for bare message lists")
    parser.add_argument("--block-size", metavar="N", type=int, default=16, help="tokens in a cache block (default 16)")


def run(args: argparse.Namespace) -> Result:
    """Exit status 0 if B extends A and nothing is left out of the prompts, else 1.

    Raises:
        UsageError: a file that is no chat, or a template that refuses one.
    """
    from pytest_cachesafe.prefix.compare import compare_prompts
    from pytest_cachesafe.prefix.inputs import comparable
    from pytest_cachesafe.prefix.rendered import not_rendered
    from pytest_cachesafe.report.compare import comparison_text

    if args.block_size < 1:
        raise UsageError(f"--block-size must be at least 1, got {args.block_size}")
    if args.a == args.b == "-":
        raise UsageError("only one of the two can be standard input")
    chats = [chat_from(_one(path), path, args) for path in (args.a, args.b)]
    template = front_end_of(args)
    tools = read_tools(args.tools)
    prompts: list[Prompt] = []
    front_end: Any = None
    for path, chat in zip((args.a, args.b), chats, strict=True):
        prompt, front_end = rendered(chat, path, template, tools, front_end)
        prompts.append(prompt)
    comparable(prompts[0], prompts[1], args.a, args.b)
    result = compare_prompts(prompts[0], prompts[1], args.block_size)
    # A template that leaves out what was said makes every comparison look good.
    missing = list(dict.fromkeys(m for prompt in prompts for m in not_rendered(prompt)))
    text = comparison_text(result, (prompts[0].text, prompts[1].text), missing, redact=args.redact)
    data = {**result.as_dict(), "not_rendered": [m.as_dict() for m in missing]}
    secrets = [m.name for m in missing if m.what != "tools"]
    return Result(text, redacted(data, args.redact, secrets), 0 if result.extends and not missing else 1)


def _one(path: str) -> Any:
    """The one request a file holds.

    Raises:
        UsageError: several requests, or none.
    """
    value = as_requests(read_json(path), path)
    several = isinstance(value, list) and value and all(isinstance(x, dict) and "role" not in x for x in value)
    if several and any(isinstance(x.get("messages"), list) for x in value):
        raise UsageError(f"{path}: holds {len(value)} requests; compare takes one in each file, stable takes several")
    return value


def rendered(chat: Any, path: str, template: Any, tools: Any, front_end: Any) -> tuple[Prompt, Any]:
    """One chat as a prompt, and the front end for the next one; a refusal is the user's to mend, so it names the file.

    Raises:
        UsageError: the template refuses the chat (its words), or the chat cannot be rendered.
    """
    from pytest_cachesafe.prefix.inputs import to_prompt

    try:
        return to_prompt(chat, template, tools, front_end)
    except TemplateRaised as error:
        which = f" (message {error.message_index})" if error.message_index is not None else ""
        raise UsageError(f"{path}: the template refuses the chat{which}: {error}") from None


def read_tools(path: str | None) -> list[Any] | None:
    """Tool definitions: a JSON list, or a body that holds one.

    Raises:
        UsageError: neither, or a list of something else (messages).
    """
    if path is None:
        return None
    from pytest_cachesafe.messages.parts import check_tools

    value = read_json(path)
    tools = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(tools, list):
        raise UsageError(f"{path}: a JSON list of tool definitions is meant")
    try:
        check_tools(tools, "tools")
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return tools
