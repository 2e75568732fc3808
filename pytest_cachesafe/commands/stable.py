"""`cachesafe stable CHAT.json`: does every request continue the one before it?"""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from pytest_cachesafe.commands.common import Result, add_front_end, chat_from, front_end_of, redacted
from pytest_cachesafe.commands.compare import read_tools
from pytest_cachesafe.commands.load import as_requests, read_json
from pytest_cachesafe.engines.cache import ENGINES
from pytest_cachesafe.prompt import UsageError

__all__ = ["add", "run"]

_WORDS = {"True": True, "False": False, "None": None}
_EXPECTS = ("keeps", "tail", "splits", "report")
_WORD = re.compile(r"\s*[^\W\d]*\s*")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument(
        "chat",
        metavar="CHAT.json",
        help='a message list or body that grows, or requests as sent: a list of bodies, {"requests": […]}, JSON lines; '
        "- is standard input",
    )
    add_front_end(parser)
    parser.add_argument("--requests", metavar="WHICH", choices=("user+tool", "user"), default="user+tool",
        help="requests of a growing chat: that end in a user turn or in tool results (default), or user turns alone",
    )  # fmt: skip
    parser.add_argument("--tools", metavar="FILE", help="tool definitions for bare message lists")
    parser.add_argument("--template-kwarg", metavar="K=V", action="append", default=[],
        help="keyword for the template; V is JSON or a word; repeatable",
    )  # fmt: skip
    parser.add_argument("--toggle", metavar="NAME=V1,V2[:EXPECT]", action="append", default=[],
        help="try a template keyword with several values; order:NAME tries other orders; "
        "EXPECT is keeps, tail, splits or report; repeatable",
    )  # fmt: skip
    parser.add_argument("--under", metavar="SETTING", action="append", default=[],
        help="render once more in another world: clock, clock:day, …; repeatable",
    )  # fmt: skip
    parser.add_argument("--accept", metavar="cause=…,part=…", action="append", default=[],
        help="accept a known divergence: cause, part, role, template, max_lost_tokens, reason (last); repeatable",
    )  # fmt: skip
    parser.add_argument("--reset", metavar="WHERE", action="append", default=[],
        help='an intended new prefix: a request index, a marker text, or "model"; repeatable',
    )  # fmt: skip
    parser.add_argument("--max-resets", metavar="N", type=int, help="the most resets that may happen")
    parser.add_argument("--fail-on", metavar="VERDICTS", default="history,raises,not_rendered",
        help="verdicts that fail, comma separated (default history,raises,not_rendered; tail and date can be added)",
    )  # fmt: skip
    parser.add_argument(
        "--min-shared", metavar="SHARE", type=float, help="least share of shared tokens per step, 0 to 1"
    )
    parser.add_argument("--engine", metavar="NAME", choices=ENGINES,
        help=f"also say what this engine's cache finds: {', '.join(ENGINES)} (unbounded; `simulate` knows sizes)",
    )  # fmt: skip
    parser.add_argument("--block-size", metavar="N", type=int, default=16, help="tokens in a cache block (default 16)")


def run(args: argparse.Namespace) -> Result:
    """Exit status as the report says: 0 fine or notes only, 1 errors or warnings (`--strict`: notes as well).

    Raises:
        UsageError: input or options that cannot be used.
    """
    from pytest_cachesafe.prefix.accept import Accept
    from pytest_cachesafe.stability import check_prefix_stable

    options: dict[str, Any] = {
        "template_kwargs": dict(keyword(text) for text in args.template_kwarg) or None,
        "toggles": [toggle(text) for text in args.toggle],
        "under": args.under,
        "accept": [Accept.parse(text) for text in args.accept],
        "resets": [int(word) if word.isdigit() else word for word in args.reset],
        "fail_on": verdicts(args.fail_on),
        "block_size": args.block_size,
        "requests": args.requests,
        "engine": args.engine,
    }
    if args.min_shared is not None:
        options["min_shared"] = args.min_shared
    if args.max_resets is not None:
        options["max_resets"] = args.max_resets
    chat = _chats(as_requests(read_json(args.chat), args.chat), args.chat, args)
    report = check_prefix_stable(chat, template=front_end_of(args), tools=read_tools(args.tools), **options)
    text = report.text(verbosity=args.verbose, redact=args.redact)
    status = report.exit_status(strict=args.strict)
    if status and not report.exit_status():
        first, _, rest = text.partition("\n")
        text = f"{first}; notes count (--strict)\n{rest}"
    secrets = [step.raised for step in report.judged if step.raised] + [t.raised for t in report.toggles if t.raised]
    data = redacted(report.as_dict(), args.redact, [*secrets, *(m.name for m in report.missing if m.what != "tools")])
    return Result(text, data, status)


def _chats(value: Any, path: str, args: argparse.Namespace) -> Any:
    """One chat, or requests in order, each named in errors by its number."""
    from pytest_cachesafe.messages import is_chat_like

    if isinstance(value, dict) or is_chat_like(value):
        return chat_from(value, path, args)
    if isinstance(value, list) and all(isinstance(item, (dict, list)) for item in value):
        return [chat_from(item, f"{path}: request {i}", args) for i, item in enumerate(value)]
    return value


def keyword(text: str) -> tuple[str, Any]:
    """`K=V` of `--template-kwarg`; V is JSON where it can be read as such, else a word.

    Raises:
        UsageError: no `=`, or no name.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--template-kwarg {text!r}: expected NAME=VALUE, e.g. enable_thinking=false")
    return name.strip(), _value(value)


def verdicts(text: str) -> list[str]:
    """The verdicts of `--fail-on`; which exist is checked with the other options.

    Raises:
        UsageError: none is named; a check that cannot fail is no check.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError(f"--fail-on {text!r}: names no verdict, so that nothing could fail; e.g. --fail-on raises")
    return words


def toggle(text: str) -> Any:
    """`NAME=V1,V2[:EXPECT]` or `order:NAME[:EXPECT]` of `--toggle`.

    Raises:
        UsageError: not of that form, fewer than two values, an unknown expectation.
    """
    from pytest_cachesafe.prefix.toggles import Toggle

    given = text
    head, colon, last = text.rpartition(":")
    expect: Any = None
    # A value may hold a colon ("10:41"), but a bare word behind one is meant as an expectation: read as a part of the
    # value, a misspelt one would pass without a word. A value like that is written in quotes, as JSON.
    if colon and head != "order" and _WORD.fullmatch(last):
        text, expect = head, _expectation(last.strip(), given)
    if text.startswith("order:"):
        name = text.removeprefix("order:").strip()
        if not name:
            raise UsageError(f"--toggle {given!r}: expected order:NAME, e.g. order:tools")
        return Toggle.order(name, expect)
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(
            f"--toggle {given!r}: expected NAME=V1,V2[:EXPECT] or order:NAME, e.g. enable_thinking=true,false"
        )
    return Toggle(name.strip(), [_value(word) for word in values.split(",")], expect)


def _expectation(word: str, given: str) -> str:
    from difflib import get_close_matches

    if word not in _EXPECTS:
        near = get_close_matches(word, _EXPECTS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_EXPECTS)}"
        raise UsageError(
            f"--toggle {given!r}: unknown expectation {word!r}; {hint} (a value with a colon is written in quotes)"
        )
    return word


def _value(text: str) -> Any:
    word = text.strip()
    if word in _WORDS:
        return _WORDS[word]
    try:
        return json.loads(word)
    except ValueError:
        return text
