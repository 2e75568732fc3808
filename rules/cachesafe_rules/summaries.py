"""What is a summary of a chat: a call that is named like one, or a request whose answer is, of messages that were
sent."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.expressions import last_part, name_words, walk, words_of_name
from cachesafe_rules.model import Call, Condition, Expr
from cachesafe_rules.shape import SEND, Shape
from cachesafe_rules.turns import overflow_guarded

__all__ = ["SUMMARY", "asked", "behind", "is_trivial", "made_of", "summarises"]

SUMMARY = frozenset(
    {"summarize", "summarise", "summary", "summarizer", "summariser", "condense", "compress", "recap", "digest",
     "compact", "summarized", "summarised"}
)  # fmt: skip
_DEPTH = 3

# A call, whether its result is named like a summary, and the tests around it.
_Made = tuple[Call, bool, tuple[Condition, ...]]


def behind(shape: Shape, function: str, content: Expr) -> Iterator[_Made]:
    for part in walk(content):
        if part.call is not None:
            yield part.call, False, ()
        elif part.kind in ("name", "attribute"):
            for binding in shape.bindings(function, part):
                if binding.value is None or binding.function != function:
                    continue
                if binding.value.call is not None:
                    yield binding.value.call, False, binding.conditions
                if binding.target is not None and not SUMMARY.isdisjoint(words_of_name(binding.target)):
                    for call in asked(shape, function, binding.value):
                        yield call, True, binding.conditions


def asked(shape: Shape, function: str, value: Expr) -> Iterator[Call]:
    """The requests whose answer a value is: `client.create(…).choices[0].message.content`, or of a name for it."""
    for part in walk(value):
        whole = shape.resolve(function, part) if part.kind == "name" else part
        if whole.call is not None and last_part(whole.call.name) in SEND:
            yield whole.call


def summarises(shape: Shape, function: str, call: Call, named: bool, tails: list[str]) -> bool:
    """Whether a call is named like a summary, or its result is, and it is given the messages whose end is kept."""
    if call.name[:1].isupper() or not (named or not SUMMARY.isdisjoint(name_words(call.name))):
        return False
    local = shape.local_function(call, function)
    if local and all(overflow_guarded(shape, local, item.conditions) for item in shape.returns(local)):
        # It looks at the size itself.
        return False
    given = [*call.args, *call.keywords.values()]
    return any(part.name in tails for arg in given for part in made_of(shape, function, arg, _DEPTH))


def made_of(shape: Shape, function: str, expr: Expr, depth: int) -> Iterator[Expr]:
    """What an argument is made of, names followed."""
    for part in walk(expr):
        yield part
        if depth and part.kind == "name":
            value = shape.resolve(function, part)
            if value is not part:
                yield from made_of(shape, function, value, depth - 1)


def is_trivial(condition: Condition) -> bool:
    """Whether a test only asks if there is anything: `if not old: return`."""
    if condition.kind in ("for", "while"):
        return True
    test = condition.test
    if condition.kind not in ("if", "left") or test is None:
        return False
    while test.kind == "operation" and test.name == "not":
        test = test.items[0]
    return test.kind == "name" and condition.negated is (condition.kind == "left")
