"""What templates find in the environment: `dict`, `namespace`, `strftime_now`, `tojson`, `generation`, `format`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Namespace, pass_context

from pytest_cachesafe.frontends.budget import Budget, BudgetExceededError, Meter
from pytest_cachesafe.frontends.context import TemplateContext

__all__ = ["DictMaker", "Format", "GenerationTag", "TemplateNamespace", "raise_exception", "strftime_now", "to_json"]


class GenerationTag(Extension):
    """`{% generation %}`: marks what the assistant wrote, for training. It prints its body."""

    tags = {"generation"}  # noqa: RUF012  # declared as an instance attribute by the base class

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Callable[[], str]) -> str:
        return caller()


class DictMaker:
    """`dict` in a template: makes mappings, gives no class to climb up from."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class TemplateNamespace(Namespace):
    """`namespace` in a template: like Jinja's, without attributes that start with an underscore."""

    _printing = False

    def __init__(*args: Any, **kwargs: Any) -> None:
        # `self` may be a keyword here, as in Jinja: namespace(self=1).
        self = args[0]
        values = dict(*args[1:], **kwargs)
        for name in values:
            _check_namespace_name(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_namespace_name(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        # Namespaces can hold each other, so that their tree can be far larger than they are: one level is printed.
        if TemplateNamespace._printing:
            return "<Namespace ...>"
        TemplateNamespace._printing = True
        try:
            return super().__repr__()
        finally:
            TemplateNamespace._printing = False


def _check_namespace_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace attribute may not start with an underscore: {name!r}")


class Format:
    """`'…'.format` of a template string; the environment calls it with the meter of the render."""

    def __init__(self, environment: SandboxedEnvironment, text: str, is_map: bool) -> None:
        self._environment = environment
        self._text = text
        self._is_map = is_map

    def run(self, meter: Meter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if self._is_map:
            if kwargs or len(args) != 1:
                raise TypeError("format_map() takes exactly one argument and no keywords")
            (kwargs,) = args
            args = ()
        result: str = meter.made(_Formatter(self._environment, meter).vformat(self._text, args, kwargs))
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        return self.run(Meter(Budget()), args, kwargs)


class _Formatter(SandboxedFormatter):
    def __init__(self, environment: SandboxedEnvironment, meter: Meter) -> None:
        super().__init__(environment)
        self._meter = meter
        self._size = 0

    def format_field(self, value: Any, format_spec: str) -> str:
        digits = "".join(c if c.isdigit() else " " for c in format_spec).split()
        self._meter.length(sum(int(d[:12]) for d in digits))
        text: str = super().format_field(value, format_spec)
        self._size += len(text)
        self._meter.length(self._size)
        return text


def to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message: Any) -> None:
    raise jinja2.exceptions.TemplateError(message)


@pass_context
def strftime_now(context: TemplateContext, format: str) -> str:  # noqa: A002  # keyword name of transformers' function
    if len(format) > 10_000:
        raise BudgetExceededError("10,000 characters in a date format")
    return context.clock().strftime(format)
