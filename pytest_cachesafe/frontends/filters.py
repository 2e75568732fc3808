"""Jinja's own filters, measured: those whose result can outgrow their input, or that build containers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2.filters import make_attrgetter
from jinja2.utils import pass_context

from pytest_cachesafe.frontends.budget import BudgetExceededError, Meter
from pytest_cachesafe.frontends.context import TemplateContext

__all__ = ["measured_filters"]

# Filters that return a value they were given, a number, or a lazy view of their input: nothing to measure.
_FREE = frozenset(
    {"abs", "attr", "count", "d", "default", "float", "items", "length", "string", "safe", "reverse"}
    | {"map", "reject", "rejectattr", "select", "selectattr"}
)
# Filters built on regular expressions or textwrap, linear at best: their input is kept short.
_SLOW = {"striptags": 1_000_000, "urlize": 100_000, "wordwrap": 1_000_000, "pprint": 1_000_000}
_LAZY = frozenset({"batch", "slice"})


def measured_filters(filters: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Replacements for the filters that need measuring, by name; same results."""
    out = {name: _measured(name, function) for name, function in filters.items() if name not in _FREE}
    out["join"] = _join
    return out


def _measured(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    kind = getattr(function, "jinja_pass_arg", None)
    wanted = getattr(kind, "name", None)
    before = _BEFORE.get(name)
    longest = _SLOW.get(name)

    @pass_context
    def run(context: TemplateContext, value: Any = "", *args: Any, **kwargs: Any) -> Any:
        meter = context.meter
        meter.read(value)
        if before is not None:
            before(meter, value, args, kwargs)
        if longest is not None and isinstance(value, str) and len(value) > longest:
            raise BudgetExceededError(f"{longest:,} characters for the filter {name!r}")
        if wanted is None:
            result = function(value, *args, **kwargs)
        elif wanted == "eval_context":
            result = function(context.eval_ctx, value, *args, **kwargs)
        elif wanted == "environment":
            result = function(context.environment, value, *args, **kwargs)
        else:
            result = function(context, value, *args, **kwargs)
        if name in _LAZY:
            return _each(context, result)
        return context.made(result)

    return run


def _each(context: TemplateContext, values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        context.enter()
        yield context.made(value)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str, default: Any) -> Any:
    return args[index] if len(args) > index else kwargs.get(name, default)


def _center(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    meter.length(_whole(_argument(args, kwargs, 0, "width", 80)))


def _indent(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    width = _argument(args, kwargs, 0, "width", 4)
    size = len(width) if isinstance(width, str) else _whole(width)
    text = str(value)
    meter.length(len(text) + size * (len(text.splitlines()) + 1))


def _replace(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    old, new = _argument(args, kwargs, 0, "old", ""), _argument(args, kwargs, 1, "new", "")
    meter.replaced(str(value), str(old), str(new), _argument(args, kwargs, 2, "count", -1))


def _format(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    meter._measure_percent(str(value), kwargs or args)


def _columns(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for given in (*args[:1], kwargs.get("linecount"), kwargs.get("slices")):
        meter.count(_whole(given))


def _wordwrap(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    wrap = _argument(args, kwargs, 2, "wrapstring", None)
    meter.length(len(str(value)) * (1 + len(wrap) if isinstance(wrap, str) else 1))


def _round(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if abs(_whole(_argument(args, kwargs, 0, "precision", 0))) > 1000:
        raise BudgetExceededError("1,000 digits of precision")


def _to_json(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    indent = _argument(args, kwargs, 1, "indent", None)
    separators = _argument(args, kwargs, 2, "separators", None)
    size = len(indent) if isinstance(indent, str) else _whole(indent)
    extra = sum(len(s) for s in separators if isinstance(s, str)) if isinstance(separators, (list, tuple)) else 0
    if size > 8 or extra > 8:
        items, characters, depth = meter.weigh(value)
        meter.length(characters + items * (size * depth + extra))


def _materialise(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if isinstance(value, (str, bytes, range)):
        meter.count(len(value))


_BEFORE: dict[str, Callable[[Meter, Any, tuple[Any, ...], dict[str, Any]], None]] = {
    "center": _center,
    "indent": _indent,
    "replace": _replace,
    "format": _format,
    "batch": _columns,
    "slice": _columns,
    "wordwrap": _wordwrap,
    "round": _round,
    "tojson": _to_json,
    "list": _materialise,
    "sort": _materialise,
    "unique": _materialise,
}


@pass_context
def _join(context: TemplateContext, value: Any, d: Any = "", attribute: Any = None) -> str:
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    meter = context.meter
    parts, size, separator = [], 0, str(d)
    for item in value:
        if isinstance(item, (list, tuple, Mapping)):
            meter.weigh(item)
        text = str(item)
        parts.append(text)
        size += len(text) + len(separator)
        if size > meter.budget.characters + len(separator):
            meter.length(size - len(separator))
        if not len(parts) % 1024:
            meter.steps(1024)
    return str(context.made(separator.join(parts)))
