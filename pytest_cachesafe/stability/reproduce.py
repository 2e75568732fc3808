"""The last line of a failure: a command that shows the same again, on requests written to pytest's cache folder.

Nothing is written when prompts are to be redacted, when pytest runs without its cache, or when the requests hold
something JSON cannot.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_cachesafe.files import write_atomic
from pytest_cachesafe.findings import fingerprint
from pytest_cachesafe.prefix.accept import Accept
from pytest_cachesafe.prompt import Chat, UsageError

__all__ = ["reproduce_line", "request_json"]


def request_json(chat: Chat) -> dict[str, Any]:
    """One request as a JSON object that `cachesafe stable` reads back to the same request."""
    out: dict[str, Any]
    if chat.raw is not None:
        out = {"prompt": chat.raw} if isinstance(chat.raw, str) else {"prompt_token_ids": list(chat.raw)}
    elif chat.body is not None:
        out = dict(chat.body)
    else:
        out = {"messages": chat.messages}
        if chat.tools is not None:
            out["tools"] = chat.tools
        if chat.model is not None:
            out["model"] = chat.model
    if chat.settings and chat.raw is None:
        out["template_kwargs"] = chat.settings
    if not chat.add_generation_prompt:
        out["add_generation_prompt"] = False
    if chat.continue_final_message:
        out["continue_final_message"] = chat.continue_final_message
    if chat.now is not None:
        out["now"] = chat.now.isoformat()
    if chat.key is not None:
        out["key"] = chat.key
    if chat.generated is not None and chat.generated.text is not None:
        out["generated_text"] = chat.generated.text
    if chat.generated is not None and chat.generated.token_ids is not None:
        out["generated_ids"] = list(chat.generated.token_ids)
    return out


def reproduce_line(
    items: Sequence[Any],
    *,
    node: Any,
    template: Any,
    accept: Sequence[Accept],
    fail_on: Sequence[str],
    block_size: int,
    against: Sequence[Any] | None = None,
) -> str | None:
    """Write the requests (and those they are compared with, one by one) and return the command, or None.

    Args:
        items: requests that fail as a conversation; with `against`, the one request that differs.
        against: the one request that `items` is compared with.
    """
    front_end = _front_end(template)
    cache = getattr(node.config, "cache", None) if node is not None else None
    if front_end is None or cache is None or node.settings["redact"].value != "none":
        return None
    names = []
    for label, group in (("", items),) if against is None else (("a", against), ("b", items)):
        if not group or not all(isinstance(item, Chat) for item in group):
            return None
        requests = [request_json(item) for item in group]
        try:
            text = json.dumps(requests[0] if against is not None else {"requests": requests}, ensure_ascii=False)
        except (TypeError, ValueError):
            return None
        try:
            file = Path(cache.mkdir("cachesafe")) / f"{fingerprint(node.nodeid, label)}.json"
            write_atomic(file, text + "\n")
        except (OSError, UsageError):
            # A read-only project or a full disk must not take the verdict's place.
            return None
        names.append(_short(file))
    if against is not None:
        return shlex.join(["cachesafe", "compare", *names, *front_end])
    words = ["cachesafe", "stable", *names, *front_end]
    for item in accept:
        words += ["--accept", item.option()]
    if tuple(fail_on) != ("history", "raises", "not_rendered"):
        words += ["--fail-on", ",".join(fail_on)]
    if block_size != 16:
        words += ["--block-size", str(block_size)]
    return shlex.join(words)


def _front_end(template: Any) -> list[str] | None:
    """Options that name the front end; None if it exists in this process only."""
    if template is None or template == "wire":
        return []
    if isinstance(template, (str, os.PathLike)):
        name = os.fspath(template)
    else:
        loaded = getattr(template, "tokenizer", None)
        name = getattr(loaded, "name", None)
        sources: Mapping[str, str] | None = getattr(template, "_sources", None)
        given = getattr(loaded, "chat_template", None)
        # Only a template that came with its tokenizer can be found again by the tokenizer's name.
        if not isinstance(name, str) or sources is None or given not in (sources, sources.get("default")):
            return None
    return ["--template" if str(name).endswith(".jinja") else "--model", str(name)]


def _short(file: Path) -> str:
    try:
        return os.path.relpath(file)
    except ValueError:
        return str(file)
