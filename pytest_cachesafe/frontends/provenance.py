"""Who wrote which characters of a rendered prompt, found by rendering it once more with tagged strings.

The same compiled template runs over the same request, but every string of the request carries its JSON path, and
messages and tools are mappings that know their place. The second text must equal the first; if a template does
something tags cannot follow, the data is looked up in the text instead, in order. The first text is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from jinja2.utils import pass_context

from pytest_cachesafe.frontends.budget import Budget, Meter
from pytest_cachesafe.frontends.context import TemplateContext
from pytest_cachesafe.frontends.data import REASONING_KEYS
from pytest_cachesafe.frontends.environment import TemplateEnvironment, code_of, pieces_of
from pytest_cachesafe.frontends.globals import Format, to_json
from pytest_cachesafe.frontends.request import TemplateRequest
from pytest_cachesafe.frontends.segments import CLOCK, Frame, Piece, Source, anchored, merged, segments_of
from pytest_cachesafe.frontends.tagged import Tagged, carry, concat, locate, runs_of, tagged_join
from pytest_cachesafe.prompt import Chat, Segment

__all__ = ["trace"]


def _written(text: str, source: Source) -> str:
    return Tagged(text, ((len(text), source),))


class _Mapping(dict[Any, Any]):
    _source: Source
    # Whether this is a message or a tool itself, not something inside one.
    _whole = False

    def __str__(self) -> str:
        """Python's own notation, which templates print that were made for strings."""
        return _written(dict.__repr__(self), self._source)


class _List(list[Any]):
    _source: Source
    _touched: int | None = None

    def __str__(self) -> str:
        """As for mappings."""
        return _written(list.__repr__(self), self._source)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            self._touched = key
        return super().__getitem__(key)


def wrap(value: Any, source: Source, rename: Callable[[str], str] = lambda path: path) -> Any:
    """`value` with tagged strings; `rename` maps the path as rendered to the path as sent."""
    if isinstance(value, str):
        return Tagged(value, ((len(value), source._replace(path=rename(source.path))),) if value else ())
    if isinstance(value, dict):
        mapping = _Mapping()
        mapping._source = source._replace(path=rename(source.path))
        for key, child in value.items():
            child_source = source._replace(path=f"{source.path}.{key}")
            new_key = wrap(key, child_source, rename) if isinstance(key, str) else key
            mapping[new_key] = wrap(child, child_source, rename)
        return mapping
    if isinstance(value, (list, tuple)):
        items = [wrap(v, source._replace(path=f"{source.path}[{i}]"), rename) for i, v in enumerate(value)]
        if isinstance(value, tuple):
            return tuple(items)
        listed = _List(items)
        listed._source = source._replace(path=rename(source.path))
        return listed
    return value


def source_of(value: Any) -> Source | None:
    """The datum a value was, or was made from."""
    if isinstance(value, (_Mapping, _List)):
        return value._source
    if isinstance(value, Tagged):
        return next((tag for _, tag in value._runs if isinstance(tag, Source)), None)
    children: Iterable[Any] = ()
    if isinstance(value, Mapping):
        children = value.values()
    elif isinstance(value, (list, tuple)):
        children = value
    return next((s for s in map(source_of, children) if s is not None), None)


class _TracingContext(TemplateContext):
    """Keeps the frame, and gives it to template text that is put together before it is printed."""

    messages: _List | None = None

    def bind(self, meter: Meter, clock: Callable[[], datetime]) -> None:
        super().bind(meter, clock)
        self.made = self._framed
        self.times = lambda left, right: self._framed(left * right)
        self.percent = self._percent

    def enter(self, item: Any = None) -> None:
        super().enter()
        if isinstance(item, _Mapping):
            if item._whole:
                self.item = item
        elif isinstance(item, dict) and "role" in item:
            # A message the template put together from parts of another.
            source = source_of(item)
            if source is not None and source.message is not None:
                self.item = Frame(source.message)
        elif type(item) is int and not isinstance(self.item, (_Mapping, Frame)):
            self.item = item
            if self.messages is not None:
                self.messages._touched = None

    @property
    def frame(self) -> Frame | None:
        item = self.item
        if isinstance(item, _Mapping):
            return Frame(item._source.message, item._source.tool)
        if isinstance(item, Frame):
            return item
        if type(item) is int and self.messages is not None and self.messages._touched == item:
            # A loop over indices that has looked at the message of that index.
            return Frame(item) if 0 <= item < len(self.messages) else None
        return None

    def _framed(self, value: Any) -> Any:
        if isinstance(value, Tagged):
            frame = self.frame
            if frame is not None and any(tag is None for _, tag in value._runs):
                return Tagged(value, [(n, frame if tag is None else tag) for n, tag in value._runs])
        return value

    def _percent(self, left: Any, right: Any) -> Any:
        result = left % right
        if isinstance(result, str):
            values = right if isinstance(right, tuple) else right.values() if isinstance(right, Mapping) else (right,)
            return self._framed(locate(result, values))
        return result

    def joined(self, values: Iterable[Any]) -> str:
        text: str = self._framed(concat(list(map(str, values))))
        return text

    def concat(self, pieces: Iterable[str]) -> str:
        text: str = self._framed(concat(list(pieces)))
        frame = self.frame
        # What a macro or a block writes while a message is being rendered stays with that message, printed or kept.
        if frame is not None and text and not isinstance(text, Tagged):
            return Tagged(text, ((len(text), frame),))
        return text

    def derived(self, locals: dict[str, Any] | None = None) -> TemplateContext:  # noqa: A002
        context = super().derived(locals)
        assert isinstance(context, _TracingContext)
        context.messages, context.item = self.messages, self.item
        return context


@pass_context
def _to_json_filter(context: Any, value: Any, *args: Any, **kwargs: Any) -> str:
    # Takes the context although it needs none: compiled code passes it to whatever is measured in the plain render.
    text: str = context.made(_to_json(value, *args, **kwargs))
    return text


def _to_json(value: Any, *args: Any, **kwargs: Any) -> str:
    text = to_json(value, *args, **kwargs)
    if isinstance(value, _List) and not args and not kwargs and value:
        # One list, several authors' places: each element keeps its own.
        parts = [_to_json(v) for v in value]
        whole = concat(["[", tagged_join(", ", parts), "]"])
        if whole == text:
            return whole
    source = source_of(value)
    return text if source is None else Tagged(text, ((len(text), source),))


def _following(filter_: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def run(context: Any, value: Any = "", *args: Any, **kwargs: Any) -> Any:
        result = filter_(context, value, *args, **kwargs)
        return context.made(carry(value, result)) if isinstance(result, str) else result

    return run


@pass_context
def _join(context: Any, value: Any, d: Any = "", attribute: Any = None) -> str:
    from jinja2.filters import make_attrgetter

    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    text: str = context.made(tagged_join(str(d), list(map(str, value))))
    return text


@pass_context
def _strftime_now(context: Any, format: str) -> str:  # noqa: A002
    text = context.clock().strftime(format)
    return Tagged(text, ((len(text), CLOCK),))


class _TracingEnvironment(TemplateEnvironment):
    context_class = _TracingContext

    def __init__(self) -> None:
        super().__init__()
        for name, filter_ in self.filters.items():
            # Those with a context are the measured ones; the others return what they were given, or no text.
            if getattr(getattr(filter_, "jinja_pass_arg", None), "name", None) == "context" and name not in _LAZY:
                self.filters[name] = _following(filter_)
        self.filters.update(tojson=_to_json_filter, join=_join, safe=lambda value: value)
        self.globals["strftime_now"] = _strftime_now

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        if type(__obj) is Format:
            result = super().call(__context, __obj, *args, **kwargs)
            return __context.made(locate(carry(__obj._text, result), [*args, *kwargs.values()]))
        owner = getattr(__obj, "__self__", None)
        if type(owner) is str and __obj.__name__ == "join" and args:
            return __context.made(tagged_join(owner, list(args[0])))
        result = super().call(__context, __obj, *args, **kwargs)
        if type(owner) is str and isinstance(result, str):
            return __context.made(locate(result, args))
        return __context.made(result)


_LAZY = frozenset({"batch", "slice", "map", "select", "selectattr", "reject", "rejectattr", "groupby"})
_tracing_environment: _TracingEnvironment | None = None


def trace(
    request: TemplateRequest, text: str, chat: Chat, budget: Budget, without_generation: str | None
) -> list[Segment]:
    """Segments of `text`, which `request` rendered to.

    `without_generation` is the text rendered without a generation prompt; where it is a proper prefix, the rest is the
    generation prompt.
    """
    runs = _runs(request, text, chat, budget)
    segments = anchored(text, chat) if runs is None else segments_of(runs, chat)
    if without_generation is not None and without_generation != text and text.startswith(without_generation):
        cut = len(without_generation)
        segments = [s._replace(end=min(s.end, cut)) for s in segments if s.start < cut]
        segments.append(Segment(cut, len(text), "generation_prompt", "template"))
    return merged(segments)


def _runs(request: TemplateRequest, text: str, chat: Chat, budget: Budget) -> list[Piece] | None:
    """The runs of the second render; None where it fails or gives another text."""
    global _tracing_environment
    if _tracing_environment is None:
        _tracing_environment = _TracingEnvironment()
    env = _tracing_environment
    template = env.template_class.from_code(env, code_of(request.source, request.label), env.make_globals(None))
    variables = dict(request.variables)
    messages = _List(_wrap_message(m, i, chat) for i, m in enumerate(variables["messages"]))
    messages._source = Source("messages")
    variables["messages"] = messages
    if variables["tools"] is not None:
        variables["tools"] = tools = wrap(variables["tools"], Source("tools", tool=True))
        for tool in tools:
            if isinstance(tool, _Mapping):
                tool._whole = True
    variables["documents"] = wrap(variables["documents"], Source("documents"))
    for name in chat.settings:
        if name in variables and name != "documents":
            variables[name] = wrap(variables[name], Source(f"template_kwargs.{name}"))
    context = template.new_context(variables)
    assert isinstance(context, _TracingContext)
    now = request.now
    context.bind(Meter(budget), datetime.now if now is None else lambda: now)
    context.messages = messages
    out: list[Piece] = []
    parts: list[str] = []
    try:
        for number, piece in enumerate(pieces_of(template, context)):
            parts.append(piece)
            frame = context.frame
            out += [Piece(n, frame if tag is None else tag, number) for n, tag in runs_of(piece) if n]
    except Exception:
        # Tags got in the template's way: the plain render succeeded, so its text stands and the data is looked up.
        return None
    whole = "".join(parts)
    if whole != text and not (request.continued is not None and whole.startswith(text)):
        return None
    return out


def _wrap_message(message: dict[str, Any], index: int, chat: Chat) -> Any:
    original = chat.messages[index] if index < len(chat.messages) else {}
    prefix = chat.path_of(index)
    keys = original if isinstance(original, Mapping) else {}
    reasoning = next((k for k in REASONING_KEYS if keys.get(k) is not None), None)
    reshaped = isinstance(keys.get("content"), str) and not isinstance(message.get("content"), str)

    def rename(path: str) -> str:
        rest = path[len(prefix) + 1 :]
        if reasoning is not None and rest in REASONING_KEYS and rest not in keys:
            return f"{prefix}.{reasoning}"
        if reshaped and rest.startswith("content["):
            return f"{prefix}.content"
        return path

    wrapped = wrap(message, Source(prefix, message=index), rename)
    wrapped._whole = True
    return wrapped
