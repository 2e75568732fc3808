"""What subcommands share: the options that choose a front end, and the shape of their results."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.commands.load import read_text
from pytest_cachesafe.prompt import Chat, UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.report.visible import Redact

__all__ = ["WIRE_NAMES", "Result", "add_front_end", "chat_from", "front_end_of", "redacted"]

# As typed; "openai" is Responses where the body has `input`.
WIRE_NAMES = ("anthropic", "bedrock", "gemini", "openai", "openai-chat", "openai-responses")


class Result(NamedTuple):
    """Outcome of a subcommand; only the asked form is made."""

    text: str
    data: Mapping[str, Any]
    status: int


def add_front_end(parser: argparse.ArgumentParser) -> None:
    """`--model`, `--template`, `--wire`: what turns a chat into the prompt that is compared."""
    group = parser.add_argument_group("front end (default: the wire format found in the body)")
    group.add_argument(
        "--model", metavar="M", help="render with the template and tokenizer of a model: name, folder, .gguf"
    )
    group.add_argument(
        "--template", metavar="FILE", help="render with a .jinja file; text level unless --model is given too"
    )
    group.add_argument(
        "--no-generation-prompt", action="store_true", help="leave out what asks the model to answer (template only)"
    )
    group.add_argument(
        "--wire", metavar="FORMAT", choices=WIRE_NAMES, help=f"compare wire bodies: {', '.join(WIRE_NAMES)}"
    )


def front_end_of(args: argparse.Namespace) -> Any:
    """The `template=` argument these options stand for; None is the wire front end.

    Raises:
        UsageError: options that exclude each other, a missing file, an unknown model.
    """
    if args.wire and (args.model or args.template):
        raise UsageError("--wire compares bodies as sent and uses no template: drop it, or drop --model and --template")
    if not args.template:
        return args.model
    from pytest_cachesafe.frontends import ChatTemplate

    read_text(args.template)
    tokenizer = None
    if args.model:
        from pytest_cachesafe.models import load_tokenizer

        tokenizer = load_tokenizer(args.model)
    return ChatTemplate.from_file(args.template, tokenizer=tokenizer)


def chat_from(value: Any, where: str, args: argparse.Namespace) -> Chat:
    """One request as a `Chat`, in the wire format asked for; errors begin with `where`, the file's name.

    Raises:
        UsageError: not a chat.
    """
    from pytest_cachesafe.messages import to_chat

    wire = args.wire
    if wire == "openai":
        wire = "openai-responses" if isinstance(value, Mapping) and "input" in value else "openai-chat"
    if isinstance(value, list) and value and all(isinstance(x, int) and not isinstance(x, bool) for x in value):
        value = {"prompt_token_ids": value}
    try:
        chat = to_chat(value, wire=wire)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    if args.no_generation_prompt:
        chat.add_generation_prompt = False
    return chat


def redacted(value: Any, mode: Redact, words: Sequence[str] = ()) -> Any:
    """A JSON result without prompt text: `before` and `after`, and each of `words` wherever it stands in a sentence."""
    from pytest_cachesafe.report.visible import redact

    if mode == "none":
        return value
    if isinstance(value, Mapping):
        return {
            key: redact(item, mode)
            if key in ("before", "after") and isinstance(item, str)
            else redacted(item, mode, words)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redacted(item, mode, words) for item in value]
    if isinstance(value, str):
        for word in words:
            value = value.replace(word, redact(word, mode))
    return value
