"""What a web request brings along: its headers, its query, the address of who sent it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Ext

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["is_declared", "request_attribute", "request_item"]

_REQUESTS = frozenset(("request", "req", "http_request", "websocket", "ws"))
# Parts that are looked into with a key.
_PARTS = frozenset(("headers", "cookies", "args", "query_params", "META"))
# Parts that are a value themselves; of the sender's address the host, as frameworks nest it.
_VALUES = frozenset(("remote_addr", "user_agent", "accept_languages", "access_route", "client_ip"))
_SENDERS = frozenset(("client.host", "user_agent.string"))
# What is asked comes by the query as well; and what the server says of itself is the same for all who ask.
_OTHERS = lazy_pattern(
    r"^(?:q|query|question|message|msg|prompt|text|input|content|task|topic|search|host|server_\w+|content-\w+)$"
)
_SESSIONS = frozenset(("session", "flask_session", "web_session"))
_WEB_SESSIONS = frozenset(("flask.session", "quart.session"))
# A chat that is kept in a session is what is sent, and so is the state of a login.
_PAST = lazy_pattern(r"histor|messages|chat|turns|conversation|transcript|token|csrf|state|prompt")
# Parameters that FastAPI fills from a header or a cookie.
_DECLARED = frozenset(("Header", "Cookie"))


def request_attribute(engine: Engine, frame: Frame, node: ast.Attribute) -> Value | None:
    """`request.remote_addr`, `request.client.host`; None for anything else."""
    if node.attr in _VALUES and _is_request(node.value):
        return engine.source(frame, node, "user", "user", f"request.{node.attr}")
    owner = node.value
    if isinstance(owner, ast.Attribute) and f"{owner.attr}.{node.attr}" in _SENDERS and _is_request(owner.value):
        return engine.source(frame, node, "user", "user", f"request.{owner.attr}.{node.attr}")
    return None


def request_item(engine: Engine, frame: Frame, node: ast.expr, owner: ast.expr, key: ast.expr | None) -> Value | None:
    """`request.headers["user-agent"]`, `request.args.get("city")`; None for anything else. `owner` is what is looked
    into, `node` the whole."""
    word = key.value if isinstance(key, ast.Constant) else None
    if not isinstance(word, str) or _OTHERS.match(word.lower()):
        return None
    if _is_web_session(engine, frame, owner) and not _PAST.search(word.lower()):
        return engine.source(frame, node, "user", "user", f"session[{word!r}]")
    if not (isinstance(owner, ast.Attribute) and owner.attr in _PARTS and _is_request(owner.value)):
        return None
    return engine.source(frame, node, "user", "user", f"request.{owner.attr}[{word!r}]")


def _is_web_session(engine: Engine, frame: Frame, owner: ast.expr) -> bool:
    """Flask's `session`, `request.session` of Django and Starlette: what one visitor left there earlier."""
    if isinstance(owner, ast.Attribute):
        return owner.attr == "session" and _is_request(owner.value)
    if not isinstance(owner, ast.Name) or owner.id not in _SESSIONS:
        return False
    shape = evaluate(engine, frame, owner).shape
    return isinstance(shape, Ext) and shape.dotted in _WEB_SESSIONS


def is_declared(annotation: ast.expr | None, default: ast.expr | None) -> bool:
    """Whether a parameter is given a header or a cookie: `agent: str = Header()`, `agent: Annotated[str, Header()]`."""
    parts = [default]
    if isinstance(annotation, ast.Subscript) and dotted_name(annotation.value).endswith("Annotated"):
        parts += annotation.slice.elts[1:] if isinstance(annotation.slice, ast.Tuple) else []
    return any(isinstance(p, ast.Call) and dotted_name(p.func).rpartition(".")[2] in _DECLARED for p in parts)


def _is_request(node: ast.expr) -> bool:
    """`request`, `self.request`, `flask.request`."""
    return dotted_name(node).rpartition(".")[2] in _REQUESTS
