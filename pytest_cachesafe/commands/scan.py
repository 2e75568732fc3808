"""`cachesafe scan PROMPT|BODY.json`: values that look volatile, their place, and how much of the prompt is behind."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_cachesafe.commands.common import Result, add_front_end, chat_from, front_end_of
from pytest_cachesafe.commands.compare import read_tools, rendered
from pytest_cachesafe.commands.load import as_requests, parse_json, read_text
from pytest_cachesafe.findings import Severity
from pytest_cachesafe.prompt import Prompt, Segment, UsageError
from pytest_cachesafe.values import find_values
from pytest_cachesafe.values.policy import volatility

__all__ = ["Hit", "add", "run"]

# A page of text findings; JSON has all of them.
_SHOWN = 30
_ID_KEYS = ("id", "tool_call_id", "tool_use_id", "call_id", "toolUseId", "signature", "encrypted_content")


class Hit(NamedTuple):
    """One value that looks volatile. `offset` counts characters of the prompt, `share_behind` is 0 to 1."""

    request: int
    kind: str
    severity: Severity
    message: str
    text: str
    granularity: str | None
    offset: int
    share_behind: float
    part: str | None
    message_index: int | None
    role: str | None
    path: str | None
    path_offset: int


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("prompt", metavar="PROMPT|BODY.json",
        help="a prompt as plain text, or a message list, body or JSON lines of bodies; - is standard input",
    )  # fmt: skip
    add_front_end(parser)
    parser.add_argument("--tools", metavar="FILE", help="tool definitions for bare message lists")


def run(args: argparse.Namespace) -> Result:
    """Exit status 1 for errors and warnings (`--strict`: notes as well), else 0.

    Raises:
        UsageError: nothing to scan, or input that cannot be read.
    """
    text = read_text(args.prompt)
    front_end = None
    hits: list[Hit] = []
    size = 0
    prompts = 0
    for index, prompt in enumerate(_prompts(text, args)):
        hits += _hits(prompt, index)
        size += len(prompt.text)
        prompts += 1
        front_end = prompt.front_end
    status = 1 if any(h.severity is not Severity.NOTE for h in hits) or (args.strict and hits) else 0
    from pytest_cachesafe.report.visible import redact

    counts = {str(s) + "s": sum(h.severity is s for h in hits) for s in Severity}
    values = [
        {
            **hit._asdict(),
            "severity": str(hit.severity),
            "text": hit.text if args.redact == "none" else redact(hit.text, args.redact),
            "share_behind": round(hit.share_behind, 4),
        }
        for hit in hits
    ]
    data = {"values": values, **counts, "requests": prompts, "characters": size, "front_end": front_end}
    return Result(_text(hits, prompts, size, args), data, status)


def _prompts(text: str, args: argparse.Namespace) -> Iterator[Prompt]:
    given = _json(text, args.prompt)
    if not given:
        if args.model or args.template or args.wire:
            raise UsageError(
                f"{args.prompt}: plain text is scanned as it is; --model, --template and --wire need a JSON chat"
            )
        if not text.strip():
            raise UsageError(f"{args.prompt}: is empty; a prompt or a JSON chat is meant")
        yield Prompt(text, front_end="plain text", segments=[Segment(0, len(text), "message", "data")])
        return
    from pytest_cachesafe.messages import is_chat_like

    value = as_requests(given[0], args.prompt)
    several = isinstance(value, list) and not is_chat_like(value) and all(isinstance(x, (dict, list)) for x in value)
    template, tools = front_end_of(args), read_tools(args.tools)
    front_end: Any = None
    for i, item in enumerate(value if several else [value]):
        where = f"{args.prompt}: request {i}" if several else args.prompt
        prompt, front_end = rendered(chat_from(item, where, args), where, template, tools, front_end)
        if not prompt.text:
            raise UsageError(f"{where}: token ids carry no text to scan")
        yield prompt


def _json(text: str, path: str) -> list[Any]:
    """The JSON value in the file; empty where it is a prompt in plain text, even one that begins like JSON."""
    if path.endswith((".json", ".jsonl", ".ndjson")):
        return [parse_json(text, path)]
    if text.lstrip()[:1] not in ("{", "["):
        return []
    try:
        return [parse_json(text, path)]
    except UsageError:
        return []


def _hits(prompt: Prompt, request: int) -> Iterator[Hit]:
    total = len(prompt.text)
    for segment in prompt.segments:
        if segment.path == "model" or _key(segment.path) in _ID_KEYS:
            continue
        text = prompt.text[segment.start : segment.end]
        for value in find_values(text):
            judged = volatility(value, text)
            if judged is None:
                continue
            severity, message = judged
            plain = segment.path is None and segment.message_index is None and segment.writer == "data"
            if segment.part == "message" and not plain and severity is not Severity.NOTE:
                # What was sent once stays as it is; the newest message is where clocks belong.
                severity, message = Severity.NOTE, f"{message}, unless the message is replayed as it was sent"
            start = segment.start + value.start
            yield Hit(
                request, value.kind, severity, message, value.text, value.granularity, start, (total - start) / total,
                None if plain else segment.part, segment.message_index, segment.role, segment.path, value.start,
            )  # fmt: skip


def _key(path: str | None) -> str | None:
    return None if path is None else path.rsplit(".", 1)[-1].split("[")[0]


def _text(hits: list[Hit], prompts: int, size: int, args: argparse.Namespace) -> str:
    """One line per value and place: a growing chat sends the same message in every request."""
    from pytest_cachesafe.report.visible import clip, redact, visible

    places: dict[tuple[Any, ...], list[Hit]] = {}
    for hit in hits:
        at = (hit.path, hit.path_offset) if hit.path else (None, hit.offset)
        places.setdefault((hit.severity, hit.kind, hit.text, hit.message, *at), []).append(hit)
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    shown = sorted(places.values(), key=lambda same: (order[same[0].severity], same[0].request, same[0].offset))
    found = {s: sum(same[0].severity is s for same in shown) for s in order}
    counts = ", ".join(f"{n} {s}{'' if n == 1 else 's'}" for s, n in found.items() if n)
    where = visible(args.prompt) if args.prompt != "-" else "standard input"
    scanned = f"{size:,} characters" + (f" in {prompts} requests" if prompts > 1 else "")
    lines = [f"{where}: {counts or 'nothing that looks volatile'} ({scanned})"]
    limit = len(shown) if args.verbose >= 2 else _SHOWN
    for same in shown[:limit]:
        hit = same[0]
        place = visible(hit.path) + f", character {hit.path_offset:,}" if hit.path else f"character {hit.offset:,}"
        requests = f"{_requests([h.request for h in same])}, " if prompts > 1 else ""
        word = clip(redact(hit.text, args.redact), 60)
        lines.append(
            f"  {hit.severity}: {hit.kind} {word} at {requests}{place}, {_share(same)} of the prompt behind it"
        )
        lines.append(f"    {hit.message}")
    if len(shown) > limit:
        lines.append(f"  … {len(shown) - limit} more (-vv shows all)")
    return "\n".join(lines) + "\n"


def _share(hits: list[Hit]) -> str:
    """Of the least and of the greatest prompt."""
    least, most = (f"{share:.0%}" for share in (f(h.share_behind for h in hits) for f in (min, max)))
    return least if least == most else f"{least} to {most}"


def _requests(numbers: list[int]) -> str:
    """`request 3`, `requests 0 to 5`, `requests 0, 2 to 4 and 9`; a value may stand twice at one place."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    words = [w for run in runs for w in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"request{'s' if len(set(numbers)) > 1 else ''} {listed}"
