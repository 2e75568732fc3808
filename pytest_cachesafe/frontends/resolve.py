"""Which front end a `template=` argument means."""

from __future__ import annotations

import os
from typing import Any

from pytest_cachesafe.prompt import FrontEnd, UsageError

__all__ = ["resolve_front_end"]


def resolve_front_end(template: Any) -> FrontEnd:
    """The front end a user means.

    None is the wire front end (as is "wire", for a project that sets a model for all tests); a `.jinja` file a chat
    template at text level; a model name, folder or `.gguf` its template and tokenizer; "harmony" the format vLLM sends
    for gpt-oss; a front end is itself; a transformers tokenizer its own template; any other callable gives ids or text
    for messages.

    Raises:
        UsageError: nothing of these, or the model or file cannot be found or read.
    """
    if template is None or template == "wire":
        from pytest_cachesafe.frontends.wire import WireFrontEnd

        return WireFrontEnd()
    if isinstance(template, (str, os.PathLike)):
        name = os.fspath(template)
        if name == "harmony":
            from pytest_cachesafe.frontends.harmony import HarmonyFrontEnd

            return HarmonyFrontEnd()
        from pytest_cachesafe.frontends.template import ChatTemplate

        return ChatTemplate.from_file(name) if name.endswith(".jinja") else ChatTemplate.from_pretrained(name)
    if not isinstance(template, type):
        if isinstance(template, FrontEnd):
            return template
        if callable(getattr(template, "apply_chat_template", None)):
            from pytest_cachesafe.frontends.template import ChatTemplate

            return ChatTemplate.from_tokenizer(template)
        if callable(template):
            from pytest_cachesafe.frontends.callables import CallableFrontEnd

            return CallableFrontEnd(template)
    raise UsageError(
        f"template= is {getattr(template, '__name__', type(template).__name__)!r}; give None, a model name, a path, "
        "a ChatTemplate, or a function from messages to token ids"
    )
