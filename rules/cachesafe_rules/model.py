"""What a rule sees of a program: places, volatile sources, the ways they took, and where they arrive.

Nothing here is a syntax tree, so a rule reads the same whether a file was parsed by Python's own parser or by libcst.
Rows and columns count from 1, columns in characters; `end_column` is the first column behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Arrival",
    "Binding",
    "Call",
    "Condition",
    "Display",
    "Expr",
    "Function",
    "Generator",
    "MessageItem",
    "MessageList",
    "ModuleView",
    "Source",
    "Span",
    "Step",
    "Taint",
]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one file; `filename` is relative to the project root, with forward slashes."""

    filename: str
    row: int
    column: int
    end_row: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Source:
    """Where a volatile value arises.

    `kind`: clock, random, temp, user, session, memory, file, host, cwd, env, locale, build, repr, state, set, listing,
    flag (a framework switch that adds one of these), mutable. `granularity`: how often it changes (second, minute,
    hour, day, month, year, call, session, user, process, host). `api`: how it is spelt (`datetime.now`). `frozen`:
    evaluated once, when its module is imported.
    """

    kind: str
    granularity: str
    api: str
    span: Span
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One station of a flow, source first."""

    filename: str
    row: int
    message: str


@dataclass(frozen=True, slots=True)
class Taint:
    """A source together with the way its value took to the place that holds the taint."""

    source: Source
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrival:
    """Volatile values reach a cached part of a request.

    `sink` in words ("system message", "argument system_prompt of Agent", "description of a tool"); `part` is system,
    tools, few_shot or template; `span` the statement in which the text is built; `function` the qualified name of the
    function it lies in ("" for a module body); `head` the first row of a statement that spans several.
    """

    sink: str
    part: str
    span: Span
    function: str
    taints: tuple[Taint, ...]


@dataclass(slots=True)
class Expr:
    """An expression, as far as rules care.

    `kind`: constant, name, attribute, call, list, tuple, set, dict, comprehension, fstring, conditional, subscript,
    slice, star, lambda, operation, other. `value` is the constant; `name` the dotted spelling of a name or attribute
    (`self.history`); `items` the parts (elements, branches, f-string values, operands, star's inside); `entries` a
    dict's constant keys; `call` the call it is. `taints` holds what the flow analysis knows of its value.

    Order of `items`: conditional test, then, else; subscript value, index; slice lower, upper, step (a constant None
    where it is not written); comprehension its element (or key and value); f-string its parts with the constant text;
    dict the values without a constant key (of `**other` the star). `name` of an operation is its operator (`+`, `or`,
    `not in`, `:=`), of a comprehension its display (list, set, dict, generator), of an attribute of something else than
    a name (`f(x).y`) its last part with a leading dot. `await x` and `(x)` are x.
    """

    kind: str
    span: Span
    value: Any = None
    name: str | None = None
    items: list[Expr] = field(default_factory=list)
    entries: dict[str, Expr] = field(default_factory=dict)
    call: Call | None = None
    # Of two expressions at one place it is the same, and to ask for it may cost an analysis.
    taints: tuple[Taint, ...] = field(default=(), compare=False)
    generators: list[Generator] = field(default_factory=list)


@dataclass(slots=True)
class Generator:
    """One `for target in iterable if …` of a comprehension."""

    target: Expr
    iterable: Expr
    tests: list[Expr]


@dataclass(slots=True)
class Condition:
    """A test under which a place stands. `kind`: if, while, for (test is the iterable, `target` the loop variable),
    except, case, left (behind an `if` whose branch leaves the block). `negated` in an else branch and for left."""

    kind: str
    test: Expr | None
    negated: bool = False
    target: Expr | None = None


@dataclass(slots=True)
class Call:
    """A call. `name` as spelt (`client.messages.create`), `target` with imports resolved (`anthropic.Anthropic`).
    `spread` is what stands behind `**`."""

    name: str
    target: str
    span: Span
    args: list[Expr]
    keywords: dict[str, Expr]
    function: str = ""
    in_loop: bool = False
    receiver: Expr | None = None
    conditions: tuple[Condition, ...] = ()
    spread: list[Expr] = field(default_factory=list)


@dataclass(slots=True)
class Binding:
    """A statement that gives a name a value. `operator`: `=`, `+=` and its like, `:=`, for, with, del (no value),
    return (no target), yield."""

    operator: str
    target: Expr | None
    value: Expr | None
    span: Span
    function: str = ""
    conditions: tuple[Condition, ...] = ()


@dataclass(slots=True)
class Display:
    """A dict display with constant keys, and where it stands."""

    expr: Expr
    function: str = ""
    conditions: tuple[Condition, ...] = ()


@dataclass(slots=True)
class Function:
    """A function. `name` is qualified (`Agent.run`, `outer.inner`); `owner` the qualified class, "" outside of one;
    `optional` the parameters that are None or empty unless somebody gives them."""

    name: str
    parameters: tuple[str, ...]
    span: Span
    owner: str = ""
    decorators: list[Expr] = field(default_factory=list)
    optional: frozenset[str] = frozenset()


@dataclass(slots=True)
class MessageItem:
    """One element of a message list; `role` is "" where it is not written down, "*" for a starred or unknown part."""

    role: str
    content: Expr | None
    expr: Expr


@dataclass(slots=True)
class MessageList:
    """A list display, or a sum of lists (`[system] + history`), that holds at least one message. A sum counts as one
    list: a summand that is not a list display is an item of role "*"."""

    span: Span
    items: list[MessageItem]
    function: str = ""
    conditions: tuple[Condition, ...] = ()
    expr: Expr | None = None


@dataclass(slots=True)
class ModuleView:
    """One file as rules see it, everything in the order of the source. `rows` is its length, 0 where it is not known;
    `memo` is for what rules work out together."""

    filename: str
    arrivals: list[Arrival] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    lists: list[MessageList] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    dicts: list[Display] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    rows: int = 0
    memo: dict[str, Any] = field(default_factory=dict)
