"""One sandboxed Jinja environment for chat templates: the text transformers makes, under a budget.

What templates may see and call follows transformers' chat template environment (5.24): trimmed blocks, loop controls,
the `generation` tag, `raise_exception`, `strftime_now`, `tojson` with json.dumps defaults, and `dict` and `namespace`
without a way to the interpreter. The code generator differs in one respect only: it leaves marks in the compiled code
where loops, macros and growing values are measured (see `budget`), and where provenance learns which message a loop
is at. `lipsum` is missing: random text has no place in a prompt that is to be compared.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from threading import Lock
from types import BuiltinMethodType, CodeType
from typing import Any

import jinja2
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pytest_cachesafe.frontends.budget import BudgetExceededError, Meter
from pytest_cachesafe.frontends.codegen import MeasuringGenerator, NamesGenerator
from pytest_cachesafe.frontends.context import TemplateContext
from pytest_cachesafe.frontends.filters import measured_filters
from pytest_cachesafe.frontends.globals import (
    DictMaker,
    Format,
    GenerationTag,
    TemplateNamespace,
    raise_exception,
    strftime_now,
    to_json,
)

__all__ = [
    "SOURCE_LIMIT",
    "TemplateEnvironment",
    "code_of",
    "environment",
    "names_read",
    "pieces_of",
    "run",
    "template_line",
]

# A source above this is no chat template (the largest of 786 public ones has 45,000 characters), and compiling it costs
# memory: about a kilobyte for each character.
SOURCE_LIMIT = 200_000

_STRING_METHODS = frozenset(n for n in dir(str) if not n.startswith("_")) - {"format", "format_map"}
_GROWING_METHODS = frozenset(
    {"center", "ljust", "rjust", "zfill", "expandtabs", "replace", "join", "translate"}
    | {"split", "rsplit", "splitlines", "to_bytes"}
)
_DICT_NAMES = frozenset(dir(dict))
_DICT_METHODS = frozenset({"get", "items", "keys", "values", "copy"})
_LOOP_NAMES = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length"}
    | {"depth", "depth0", "previtem", "nextitem", "cycle", "changed"}
)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox. One instance serves all templates; what belongs to a render is in its context."""

    code_generator_class = MeasuringGenerator
    context_class = TemplateContext

    def __init__(self) -> None:
        # Not optimized: the optimizer would run constant expressions, 'a' * 300000000 among them, while compiling.
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            extensions=[GenerationTag, "jinja2.ext.loopcontrols"],
        )
        self.filters["tojson"] = to_json
        self.globals.update(
            raise_exception=raise_exception, strftime_now=strftime_now, dict=DictMaker(), namespace=TemplateNamespace
        )
        del self.globals["lipsum"]
        self.filters.update(measured_filters(self.filters))

    def getattr(self, obj: Any, attribute: str) -> Any:
        # The first four branches give what the sandbox's general way gives, without its checks: their outcome is
        # known for these types and names.
        kind = type(obj)
        if kind is dict:
            if attribute not in _DICT_NAMES:
                try:
                    return obj[attribute]
                except KeyError:
                    return self.undefined(obj=obj, name=attribute)
            if attribute in _DICT_METHODS:
                return getattr(obj, attribute)
        elif (kind is str and attribute in _STRING_METHODS) or (kind is LoopContext and attribute in _LOOP_NAMES):
            return getattr(obj, attribute)
        elif kind is TemplateNamespace and not attribute.startswith("_"):
            try:
                return getattr(obj, attribute)
            except AttributeError:
                return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if super().wrap_str_format(value) is None:
            return None
        return Format(self, value.__self__, value.__name__ == "format_map")

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  # as in the base class
        kind = type(__obj)
        if kind is BuiltinMethodType:
            owner = __obj.__self__
            if isinstance(owner, (str, dict, bytes, int)):
                kwargs.pop("_loop_vars", None)
                kwargs.pop("_block_vars", None)
                if isinstance(owner, dict):
                    return __obj(*args, **kwargs)
                name = __obj.__name__
                __context.meter.read(owner)
                if name in _GROWING_METHODS:
                    args = tuple(__context.meter.before_method(owner, name, args, kwargs))
                return __context.made(__obj(*args, **kwargs))
        elif kind is Format:
            kwargs.pop("_loop_vars", None)
            kwargs.pop("_block_vars", None)
            return __obj.run(__context.meter, args, kwargs)
        result = super().call(__context, __obj, *args, **kwargs)
        if isinstance(result, (list, tuple, Mapping)):
            __context.meter.weigh(result)
        return result


_code_lock = Lock()
_code_cache: OrderedDict[tuple[str, str], CodeType] = OrderedDict()
_environment: TemplateEnvironment | None = None


def environment() -> TemplateEnvironment:
    """The one environment, made at first use."""
    global _environment
    if _environment is None:
        _environment = TemplateEnvironment()
    return _environment


def code_of(source: str, name: str) -> CodeType:
    """Compile a template once per process.

    Raises:
        jinja2.TemplateSyntaxError: the source is no Jinja template; it carries the line.
        BudgetExceededError: the source is longer than `SOURCE_LIMIT`.
    """
    if len(source) > SOURCE_LIMIT:
        raise BudgetExceededError(f"{SOURCE_LIMIT:,} characters of template source")
    key = (sha256(source.encode("utf-8", "surrogatepass")).hexdigest(), name)
    with _code_lock:
        if key in _code_cache:
            _code_cache.move_to_end(key)
            return _code_cache[key]
    code = environment().compile(source, filename=f"<{name}>")
    with _code_lock:
        _code_cache[key] = code
        while len(_code_cache) > 256:
            _code_cache.popitem(last=False)
    return code


def names_read(source: str) -> frozenset[str]:
    """Names a template reads and does not set itself; of the environment's globals only `strftime_now` counts."""
    env = environment()
    generator = NamesGenerator(env, None, None)
    generator.visit(env.parse(source))
    return frozenset(n for n in generator.names if n == "strftime_now" or n not in env.globals)


def template_line(error: BaseException) -> int | None:
    """The template line an exception was raised at, where it passed through compiled template code."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def run(template: jinja2.Template, variables: Mapping[str, Any], meter: Meter, clock: Callable[[], datetime]) -> str:
    """Render compiled code under a meter.

    Raises:
        BudgetExceededError: a limit was passed.
        Exception: whatever the template raises.
    """
    context = template.new_context(dict(variables))
    assert isinstance(context, TemplateContext)
    context.bind(meter, clock)
    try:
        return context.concat(pieces_of(template, context))
    except BaseException as e:
        # For the error text: the message the innermost message loop was at.
        e.__dict__["cachesafe_item"] = context.item
        raise


def pieces_of(template: jinja2.Template, context: TemplateContext) -> Iterator[str]:
    """The output of a template, piece by piece."""
    return template.root_render_func(context)
