"""Live figures: rates, prices and the weather over the network, what a database counts, how long a queue is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.policy import FETCHED
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Const

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["live_answer"]

_FETCHES = frozenset(("get", "urlopen", "fetch"))
# What is another figure in a minute, as words of an address or of the function around.
_LIVE = lazy_pattern(
    r"(?:^|[^a-z])(?:(?:exchange|fx|forex|spot)?_?-?rates|prices?|quotes|weather|forecast|tickers?|stock_?-?levels?|"
    r"occupancy|availability|departures|arrivals|traffic|headlines|live|realtime|real-time|queue_?-?lengths?|states|sensors?|telemetry|vitals|readings?|inventory|alerts?|incidents?)(?:$|[^a-z])"
)
# What addresses begin with, by its name: `f"{API}/stock"`, `BASE_URL + "/stock"`.
_BASE = lazy_pattern(
    r"^_*(?:[A-Z]+|(?i:(?:\w+_)?(?:url|uri|base|host|api|endpoint|server|root|origin|address|service)))$"
)
_QUERIES = frozenset(("execute", "fetchval", "fetchrow", "fetch", "fetch_one", "fetch_all", "scalar", "query"))
# What a query selects that is another figure in a minute. Names, texts and schemas stay as they are.
_FIGURES = lazy_pattern(
    r"^\s*select\s+(?:(?!\bfrom\b)[\s\S])*?(?:\b(?:count|sum|avg)\s*\(|"
    r"\b(?:state|status|stock|in_stock|quantity|qty|balance|pending|on_hand|occupied|temperature|level)\b)"
)
# How many arguments methods have that tell how long a queue is.
_LENGTHS = {"qsize": 0, "llen": 1, "zcard": 1, "scard": 1, "xlen": 1}
# Texts and settings lie at addresses as well, the same until somebody releases another.
_STILL = lazy_pattern(r"prompt|config|docs?[/.]|releases?/|\.(?:md|txt|ya?ml|html)(?:$|\?)")


def live_answer(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> Value | None:
    """`httpx.get("https://…/rates/latest")`, `db.execute("select count(*) from jobs")`, `jobs.qsize()`; None for
    anything else, and where it is fetched once, at import."""
    if frame.frozen or frame.function is None:
        return None
    if _is_length(node, last, arguments) or (last in _QUERIES and _is_figure(arguments)):
        return engine.source(frame, node, "state", "call", f"{FETCHED} {dotted_name(node.func)}()")
    if last not in _FETCHES or not arguments.positional:
        return None
    address = _address(arguments.nodes[0], arguments.positional[0])
    if address is None or _STILL.search(address):
        return None
    if not _LIVE.search(address) and not _LIVE.search(frame.function.name.lower()):
        return None
    return engine.source(frame, node, "state", "call", f"{FETCHED} {dotted_name(node.func)}()")


def _is_length(node: ast.Call, last: str, arguments: Arguments) -> bool:
    """`jobs.qsize()` of queues, `redis.llen("jobs")`."""
    known = isinstance(node.func, ast.Attribute) and last in _LENGTHS
    return known and len(arguments.positional) == _LENGTHS[last] and not arguments.keywords


def _is_figure(arguments: Arguments) -> bool:
    """Whether a query asks how many there are, or for a column that says how things stand."""
    shape = arguments.positional[0].shape if arguments.positional else None
    text = shape.value if isinstance(shape, Const) else None
    return isinstance(text, str) and _FIGURES.search(text.lower()) is not None


def _address(node: ast.expr, value: Value) -> str | None:
    """The fixed part of an address of the network, in small letters; None for anything else."""
    text = value.shape.value if isinstance(value.shape, Const) else None
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    if parts:
        text = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        first = parts[0].value if isinstance(parts[0], ast.FormattedValue) else parts[0]
        if text.startswith("/") and _BASE.match(dotted_name(first).rpartition(".")[2]):
            return text.lower()
    if isinstance(text, str) and text.startswith(("https://", "http://")):
        return text.lower()
    return None
