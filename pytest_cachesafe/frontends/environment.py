"""One sandboxed Jinja environment for chat templates: the text transformers makes, under a budget.

What templates may see and call follows transformers' chat template environment (5.24): trimmed blocks, loop controls,
the `generation` tag, `raise_exception`, `strftime_now`, `tojson` with json.dumps defaults, and `dict` and `namespace`
without a way to the interpreter. The code generator differs in one respect only: it leaves marks in the compiled code
where loops, macros and growing values are measured (see `budget`), and where provenance learns which message a loop
is at. `lipsum` is missing: random text has no place in a prompt that is to be compared.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from threading import Lock
from types import BuiltinMethodType, CodeType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Namespace, pass_context

from .budget import Budget, BudgetExceededError, Meter

__all__ = [
    "SOURCE_LIMIT",
    "TemplateContext",
    "TemplateEnvironment",
    "code_of",
    "environment",
    "names_read",
    "pieces_of",
    "run",
    "template_line",
]

# A template source above this is no chat template; the largest of 786 public ones has 33,000 characters.
SOURCE_LIMIT = 2_000_000

_STRING_METHODS = frozenset(n for n in dir(str) if not n.startswith("_")) - {"format", "format_map"}
_GROWING_METHODS = frozenset(
    "center ljust rjust zfill expandtabs replace join translate split rsplit splitlines to_bytes".split()
)
_DICT_NAMES = frozenset(dir(dict))
_DICT_METHODS = frozenset({"get", "items", "keys", "values", "copy"})
_LOOP_NAMES = frozenset(
    "index index0 revindex revindex0 first last length depth depth0 previtem nextitem cycle changed".split()
)


class TemplateContext(Context):
    """The variables of one render, with its meter, its clock and the message its innermost message loop is at."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.item: Any = None
        self.bind(Meter(Budget()), datetime.now)

    def bind(self, meter: Meter, clock: Callable[[], datetime]) -> None:
        """Set what is the render's own: compiled templates are shared between renders and threads."""
        self.meter = meter
        self.clock = clock
        # Names the compiled code calls.
        self.made = meter.made
        self.times = meter.times
        self.power = meter.power
        self.percent = meter.percent

    def enter(self, item: Any = None) -> None:
        """A loop pass with its item, or a macro call. Written out, not delegated: it runs once for every pass."""
        meter = self.meter
        left = meter.steps_left = meter.steps_left - 1
        if not left & 1023 or left < 0:
            meter._look(left)
        if type(item) is dict and "role" in item:
            self.item = item

    def sliced(self, value: Any) -> Any:
        """Count a slice; a slice of a list holds nothing the list did not hold."""
        return self.made(value) if isinstance(value, (str, bytes)) else value

    def weighed(self, value: Any) -> Any:
        """Measure a list, tuple or mapping written in the template."""
        self.meter.weigh(value)
        return value

    def joined(self, values: Iterable[Any]) -> str:
        """`a ~ b ~ c`."""
        parts = list(map(str, values))
        self.meter.length(sum(map(len, parts)))
        return str(self.made("".join(parts)))

    def concat(self, pieces: Iterable[str]) -> str:
        """The output of a macro, a call block or a block assignment."""
        pieces = list(pieces)
        self.meter.length(sum(map(len, pieces)))
        return str(self.made("".join(pieces)))

    def derived(self, locals: dict[str, Any] | None = None) -> Context:  # noqa: A002  # name of the overridden method
        context = super().derived(locals)
        assert isinstance(context, TemplateContext)
        context.bind(self.meter, self.clock)
        return context


class _MeasuringGenerator(CodeGenerator):
    """Writes the marks into the compiled template."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bodies: dict[int, nodes.Expr | None] = {}

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("concat = context.concat")

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802  # visitor names follow the nodes
        saved = self.temporary_identifier()
        self.writeline(f"{saved} = context.item")
        self._bodies[id(node.body)] = node.target
        super().visit_For(node, frame)
        self.writeline(f"context.item = {saved}")

    def macro_body(self, node: nodes.Macro | nodes.CallBlock, frame: Frame) -> Any:
        self._bodies[id(node.body)] = None
        return super().macro_body(node, frame)

    def blockvisit(self, nodes_: Iterable[nodes.Node], frame: Frame) -> None:
        if id(nodes_) in self._bodies:
            target = self._bodies.pop(id(nodes_))
            item = frame.symbols.ref(target.name) if isinstance(target, nodes.Name) else ""
            self.writeline(f"context.enter({item})")
        super().blockvisit(nodes_, frame)

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        # Nothing but literals is computed while compiling: there is no meter yet.
        if not isinstance(node, (nodes.TemplateData, nodes.Const)):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def visit_Add(self, node: nodes.Add, frame: Frame) -> None:  # noqa: N802
        operands: list[nodes.Expr] = []
        rest: nodes.Expr = node
        # A chain is measured once, at its end, if few operands are open: constants cannot make it much larger.
        while isinstance(rest, nodes.Add) and sum(not isinstance(o, nodes.Const) for o in operands) < 4:
            operands.append(rest.right)
            rest = rest.left
        operands.append(rest)
        numeric = any(isinstance(o, nodes.Const) and isinstance(o.value, (int, float)) for o in operands)
        self.write("(" if numeric else "context.made(")
        for i, operand in enumerate(reversed(operands)):
            self.write(" + " if i else "")
            self.visit(operand, frame)
        self.write(")")

    def _call(self, function: str, node: nodes.BinExpr, frame: Frame) -> None:
        self.write(f"context.{function}(")
        self.visit(node.left, frame)
        self.write(", ")
        self.visit(node.right, frame)
        self.write(")")

    def visit_Mul(self, node: nodes.Mul, frame: Frame) -> None:  # noqa: N802
        self._call("times", node, frame)

    def visit_Pow(self, node: nodes.Pow, frame: Frame) -> None:  # noqa: N802
        self._call("power", node, frame)

    def visit_Mod(self, node: nodes.Mod, frame: Frame) -> None:  # noqa: N802
        self._call("percent", node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("context.joined((")
        for arg in node.nodes:
            self.visit(arg, frame)
            self.write(", ")
        self.write("))")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        is_slice = isinstance(node.arg, nodes.Slice)
        self.write("context.sliced(" if is_slice else "")
        super().visit_Getitem(node, frame)
        self.write(")" if is_slice else "")

    def _container(self, visit: Callable[[Any, Frame], None], node: Any, parts: Sequence[Any], frame: Frame) -> None:
        literal = all(isinstance(p, nodes.Const) for p in parts) or getattr(node, "ctx", "load") != "load"
        self.write("" if literal else "context.weighed(")
        visit(node, frame)
        self.write("" if literal else ")")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802
        self._container(super().visit_List, node, node.items, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802
        self._container(super().visit_Tuple, node, node.items, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self._container(super().visit_Dict, node, [p for i in node.items for p in (i.key, i.value)], frame)


class _NamesGenerator(_MeasuringGenerator):
    """Writes nothing, notes the names a template reads and does not set. Jinja's own would run constant expressions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names: set[str] = set()

    def write(self, x: str) -> None:
        pass

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        for action, name in frame.symbols.loads.values():
            if action == "resolve" and name is not None:
                self.names.add(name)


class _GenerationTag(Extension):
    """`{% generation %}`: marks what the assistant wrote, for training. It prints its body."""

    tags = {"generation"}  # noqa: RUF012  # declared as an instance attribute by the base class

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Callable[[], str]) -> str:
        return caller()


class _DictMaker:
    """`dict` in a template: makes mappings, gives no class to climb up from."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class TemplateNamespace(Namespace):
    """`namespace` in a template: like Jinja's, without attributes that start with an underscore."""

    _printing = False

    def __init__(*args: Any, **kwargs: Any) -> None:  # type: ignore[misc]  # `self` may be a keyword here, as in Jinja
        self, args = args[0], args[1:]
        values = dict(*args, **kwargs)
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


class _Format:
    """`'…'.format` of a template string; the environment calls it with the meter of the render."""

    def __init__(self, environment: TemplateEnvironment, text: str, is_map: bool) -> None:
        self._environment = environment
        self._text = text
        self._is_map = is_map

    def run(self, meter: Meter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if self._is_map:
            if kwargs or len(args) != 1:
                raise TypeError("format_map() takes exactly one argument and no keywords")
            args, kwargs = (), args[0]
        result: str = meter.made(_MeasuringFormatter(self._environment, meter).vformat(self._text, args, kwargs))
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        return self.run(Meter(Budget()), args, kwargs)


class _MeasuringFormatter(SandboxedFormatter):
    def __init__(self, environment: TemplateEnvironment, meter: Meter) -> None:
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


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: Any) -> None:
    raise jinja2.exceptions.TemplateError(message)


@pass_context
def _strftime_now(context: TemplateContext, format: str) -> str:  # noqa: A002  # keyword name of transformers' function
    if len(format) > 10_000:
        raise BudgetExceededError("10,000 characters in a date format")
    return context.clock().strftime(format)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox. One instance serves all templates; what belongs to a render is in its context."""

    code_generator_class = _MeasuringGenerator
    context_class = TemplateContext

    def __init__(self) -> None:
        # Not optimized: the optimizer would run constant expressions, 'a' * 300000000 among them, while compiling.
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            extensions=[_GenerationTag, "jinja2.ext.loopcontrols"],
        )
        self.filters["tojson"] = _to_json
        self.globals.update(
            raise_exception=_raise_exception, strftime_now=_strftime_now, dict=_DictMaker(), namespace=TemplateNamespace
        )
        del self.globals["lipsum"]
        from .filters import measured_filters

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
        return _Format(self, value.__self__, value.__name__ == "format_map")

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
                if name in _GROWING_METHODS:
                    args = tuple(__context.meter.before_method(owner, name, args, kwargs))
                return __context.made(__obj(*args, **kwargs))
        elif kind is _Format:
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
    """Names a template reads and does not set itself; globals of the environment count only if they are `strftime_now`."""
    env = environment()
    generator = _NamesGenerator(env, None, None)
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
