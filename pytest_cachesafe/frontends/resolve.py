"""Which front end a `template=` argument means."""

from __future__ import annotations

import os
from typing import Any

from pytest_cachesafe.prompt import FrontEnd

__all__ = ["resolve_front_end"]


def resolve_front_end(template: Any) -> FrontEnd:
    """None: the wire front end; a `.jinja` file: text level; a name or path: its template and tokenizer."""
    if template is None:
        from pytest_cachesafe.frontends.wire import WireFrontEnd

        return WireFrontEnd()
    from pytest_cachesafe.frontends.template import ChatTemplate

    if isinstance(template, (str, os.PathLike)):
        name = os.fspath(template)
        return ChatTemplate.from_file(name) if name.endswith(".jinja") else ChatTemplate.from_pretrained(name)
    return template
