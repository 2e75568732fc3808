"""Who wrote which characters of a rendered prompt, found by rendering it once more with tagged strings.

The same compiled template runs over the same request, but every string of the request carries its JSON path, and
messages and tools are mappings that know their place. The second text must equal the first; if a template does
something tags cannot follow, the data is looked up in the text instead, in order. The first text is never touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2.utils import pass_context

from ..prompt import Chat, Part, Segment
from .budget import Budget, Meter
from .data import REASONING_KEYS
from .environment import TemplateContext, TemplateEnvironment, _Format, code_of, pieces_of
from .tagged import Tagged, carry, concat, locate, runs_of, tagged_join

if TYPE_CHECKING:
    from .template import _Request

__all__ = ["trace"]


class Source(NamedTuple):
    """Where a datum comes from: its JSON path, and the message or tool it belongs to."""

    path: str
    message: int | None = None
    tool: bool = False


class Frame(NamedTuple):
    """The message or tool the template's innermost loop was at when it wrote something."""

    message: int | None = None
    tool: bool = False


class _Clock:
    """Tag of characters that come from the clock."""


_CLOCK = _Clock()


class _Mapping(dict[Any, Any]):
    _source: Source
    # Whether this is a message or a tool itself, not something inside one.
    _whole = False


class _List(list[Any]):
    _source: Source
    _touched: int | None = None

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
    from .environment import _to_json as dump

    text = dump(value, *args, **kwargs)
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
    return Tagged(text, ((len(text), _CLOCK),))


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
        if type(__obj) is _Format:
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


def trace(request: _Request, text: str, chat: Chat, budget: Budget, without_generation: str | None) -> list[Segment]:
    """Segments of `text`, which `request` rendered to.

    `without_generation` is the text rendered without a generation prompt; where it is a proper prefix, the rest is the
    generation prompt.
    """
    runs = _runs(request, text, chat, budget)
    segments = _anchored(text, chat) if runs is None else _segments(runs, chat)
    if without_generation is not None and without_generation != text and text.startswith(without_generation):
        cut = len(without_generation)
        segments = [s._replace(end=min(s.end, cut)) for s in segments if s.start < cut]
        segments.append(Segment(cut, len(text), "generation_prompt", "template"))
    return _merged(segments)


class _Piece(NamedTuple):
    """A run of characters as printed: which print it belongs to, and its tag."""

    length: int
    tag: Any
    number: int


def _runs(request: _Request, text: str, chat: Chat, budget: Budget) -> list[_Piece] | None:
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
    out: list[_Piece] = []
    parts: list[str] = []
    try:
        for number, piece in enumerate(pieces_of(template, context)):
            parts.append(piece)
            frame = context.frame
            out += [_Piece(n, frame if tag is None else tag, number) for n, tag in runs_of(piece) if n]
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


def _roles(chat: Chat) -> list[tuple[str | None, Part]]:
    """Role and part of each message: system and developer messages before any other are the system part."""
    out: list[tuple[str | None, Part]] = []
    leading = True
    for message in chat.messages:
        role = message.get("role") if isinstance(message, Mapping) else getattr(message, "role", None)
        role = None if role is None else str(role)
        leading = leading and role in ("system", "developer")
        out.append((role, "system" if leading else "message"))
    return out


def _segments(pieces: Sequence[_Piece], chat: Chat) -> list[Segment]:
    """Turn tagged runs into segments: data is plain, template text is given to what it frames."""
    roles = _roles(chat)
    owners = _owners(pieces)
    out: list[Segment] = []
    at = 0
    for piece, owner in zip(pieces, owners, strict=True):
        end = at + piece.length
        data = isinstance(piece.tag, Source)
        path = piece.tag.path if data else None
        writer: Any = "data" if data else "template"
        if owner is None:
            out.append(Segment(at, end, "template", writer, path))
        elif owner.message is None:
            out.append(Segment(at, end, "tools" if owner.tool else "template", writer, path))
        else:
            role, part = roles[owner.message]
            out.append(Segment(at, end, part, writer, path, owner.message, role))
        at = end
    return out


def _owners(pieces: Sequence[_Piece]) -> list[Frame | None]:
    """Which message or tool each run belongs to; None: text the template inserts on its own.

    In this order: data belongs to itself; clock output to nobody; what a print holds beside data frames that data; a
    print next to tools belongs to the tools; a print inside a message loop to the message it is at; a print right
    behind a message closes it. Before the first datum of any message only the last print, its header, frames it:
    default system texts and preambles are often printed inside the loop's first pass.
    """
    owners: list[Frame | None] = [Frame(p.tag.message, p.tag.tool) if isinstance(p.tag, Source) else None for p in pieces]
    datum = [isinstance(p.tag, Source) for p in pieces]
    in_print: dict[int, Frame] = {}
    for piece, owner in zip(pieces, owners, strict=True):
        if owner is not None and (owner.message is not None or owner.tool):
            in_print.setdefault(piece.number, owner)
    first_datum = next(
        (i for i, o in enumerate(owners) if datum[i] and o is not None and o.message is not None), len(pieces)
    )
    header = pieces[first_datum - 1].number if 0 < first_datum < len(pieces) else -1
    free = [not d and not isinstance(p.tag, _Clock) for p, d in zip(pieces, datum, strict=True)]
    for i, piece in enumerate(pieces):
        if not free[i]:
            continue
        if piece.number in in_print:
            owners[i] = in_print[piece.number]
            # Of one print, what stands behind data of another message closes that one.
            if i and pieces[i - 1].number == piece.number and datum[i - 1]:
                owners[i] = owners[i - 1]
        elif isinstance(piece.tag, Frame) and (piece.tag.tool or i > first_datum or piece.number == header):
            owners[i] = piece.tag
    _give_to_tools(pieces, owners, datum, free, in_print)
    for i in range(first_datum + 1, len(pieces)):
        before = owners[i - 1]
        if free[i] and owners[i] is None and before is not None and datum[i - 1]:
            owners[i] = before
    return owners


def _give_to_tools(
    pieces: Sequence[_Piece],
    owners: list[Frame | None],
    datum: Sequence[bool],
    free: Sequence[bool],
    in_print: Mapping[int, Frame],
) -> None:
    """The prints next to the tools introduce and close them, also inside a message."""
    tools = [i for i, o in enumerate(owners) if o is not None and o.tool]
    if not tools:
        return
    mine = Frame(tool=True)
    starts = [i for i in tools if i == 0 or owners[i - 1] is None or not owners[i - 1].tool]  # type: ignore[union-attr]
    for start in starts:
        at = start - 1
        number = pieces[at].number if at >= 0 else -1
        while at >= 0 and free[at] and pieces[at].number == number and number not in in_print:
            owners[at] = mine
            at -= 1
        end = start
        while end < len(pieces) and (owner := owners[end]) is not None and owner.tool:
            end += 1
        number = pieces[end].number if end < len(pieces) else -1
        while end < len(pieces) and free[end] and pieces[end].number == number and number not in in_print:
            owners[end] = mine
            end += 1


def _anchored(text: str, chat: Chat) -> list[Segment]:
    """Segments by looking the messages up in the text, in order, where tags could not follow the template."""
    roles = _roles(chat)
    out: list[Segment] = []
    at = 0
    behind: int | None = None

    def frame(end: int, index: int | None) -> None:
        if end > at:
            role, part = (None, "template") if index is None else roles[index]
            out.append(Segment(at, end, part, "template", None, index, role))  # type: ignore[arg-type]

    for index, message in enumerate(chat.messages):
        for path, value in _texts(message, chat.path_of(index)):
            found = text.find(value, at) if value else -1
            if found >= 0:
                frame(found, behind)
                role, part = roles[index]
                out.append(Segment(found, found + len(value), part, "data", path, index, role))
                at, behind = found + len(value), index
    frame(len(text), behind)
    return out


def _texts(message: Any, prefix: str) -> list[tuple[str, str]]:
    if not isinstance(message, Mapping):
        return []
    out = [(f"{prefix}.{k}", message[k].strip()) for k in REASONING_KEYS if isinstance(message.get(k), str)]
    content = message.get("content")
    if isinstance(content, str):
        out.append((f"{prefix}.content", content.strip()))
    elif isinstance(content, (list, tuple)):
        for i, block in enumerate(content):
            if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                out.append((f"{prefix}.content[{i}].text", block["text"].strip()))
    for i, call in enumerate(message.get("tool_calls") or ()):
        arguments = call.get("function", {}).get("arguments") if isinstance(call, Mapping) else None
        if arguments:
            shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            out.append((f"{prefix}.tool_calls[{i}].function.arguments", shown))
    return out


def _merged(segments: Sequence[Segment]) -> list[Segment]:
    out: list[Segment] = []
    for segment in segments:
        if segment.end <= segment.start:
            continue
        if out and out[-1][2:] == segment[2:]:
            out[-1] = out[-1]._replace(end=segment.end)
        else:
            out.append(segment)
    return out
