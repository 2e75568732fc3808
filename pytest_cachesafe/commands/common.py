"""What subcommands share: the options that choose a front end, and the shape of their results."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.commands.load import read_text
from pytest_cachesafe.prompt import Chat, UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.report.visible import Redact

__all__ = ["WIRE_NAMES", "Result", "add_front_end", "chat_from", "front_end_of", "keep_apart", "redacted"]

# As typed; "openai" is Responses where the body has `input`.
WIRE_NAMES = ("anthropic", "bedrock", "gemini", "openai", "openai-chat", "openai-responses")
# Options that name a file to write.
_OUTPUTS = ("output_file", "export", "curve", "write_baseline")
# A baseline is written anew over the one that was read.
_MEANT = ("write_baseline", "baseline")


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


def keep_apart(args: argparse.Namespace, actions: Sequence[argparse.Action]) -> None:
    """Refuse to write over what is read, or two results into one file, whatever links there are.

    Standard input and output (`-`), devices and pipes are left alone.

    Args:
        args: as parsed.
        actions: what the subcommand declares; every word that is no choice from a list may be a file.

    Raises:
        UsageError: one file in two places.
    """
    words = [
        (action, word)
        for action in actions
        if action.choices is None
        for word in _words(getattr(args, action.dest, None))
    ]
    outputs = [(action, word) for action, word in words if action.dest in _OUTPUTS]
    for i, (action, output) in enumerate(outputs):
        for other, word in outputs[:i]:
            if _same_file(output, word):
                raise UsageError(
                    f"{_option(action)} {output}: {_option(other)} writes to the same file; name another one"
                )
        for other, word in words:
            if other.dest in _OUTPUTS or (action.dest, other.dest) == _MEANT:
                continue
            if _same_file(output, word):
                raise UsageError(
                    f"{_option(action)} {output}: the file is read as {_option(other)}; name another one to write to"
                )


def _words(value: Any) -> Iterator[str]:
    for word in value if isinstance(value, list) else [value]:
        if isinstance(word, str) and word not in ("", "-"):
            yield word


def _option(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)


def _same_file(one: str, other: str) -> bool:
    try:
        first, second = os.stat(one), os.stat(other)
    except (OSError, ValueError):
        # One that is not there yet: what it will be called decides.
        return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))
    return S_ISREG(first.st_mode) and os.path.samestat(first, second)


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
