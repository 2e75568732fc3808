"""Text that is looked up for one person or thing: the account, order or session whose id a function is given."""

from __future__ import annotations

from cachesafe_rules.expressions import is_constant_name, name_words, walk, words_of_name
from cachesafe_rules.model import Call, Expr
from cachesafe_rules.shape import Shape

__all__ = ["looked_up"]

# Of whom there are many: a few tenants, languages or products share their entries.
_MANY = frozenset(
    {"account", "user", "customer", "patient", "member", "employee", "session", "order", "ticket", "visitor", "guest",
     "caller", "conversation", "booking", "policyholder", "subscriber", "passenger", "student", "card", "contract",
     "person", "iban", "reservation", "applicant", "case", "claim", "household", "driver", "client"}
)  # fmt: skip
_KEYS = frozenset({"id", "number", "no", "key", "ref", "uuid", "email", "username", "login"})
# A client that asks the model is no client of the bank.
_TOOLS = frozenset({"client"})
_DEPTH = 5


def looked_up(shape: Shape, function: str, text: Expr) -> str | None:
    """The call of the function that reads what a text tells of such a person or thing."""
    stack = [(text, function, _DEPTH)]
    for _ in range(200):
        if not stack:
            break
        expr, where, depth = stack.pop()
        if depth < 1:
            continue
        for part in walk(expr):
            if part.call is not None and _of_one(shape, where, part.call):
                return f"{part.call.name}()"
            if part.kind not in ("name", "attribute") or is_constant_name(part):
                continue
            value = shape.resolve(where, part, 1)
            if value is part and part.kind == "attribute":
                # `account.balance`
                root = (part.name or "").partition(".")[0]
                value = shape.resolve(where, Expr("name", part.span, name=root), 1) if root != "self" else part
            if value is not part and value.kind not in ("constant", "name"):
                stack.append((value, where, depth - 1))
    return None


def _of_one(shape: Shape, function: str, call: Call) -> bool:
    """Whether a call is given the id of one of many, that is the function's own parameter."""
    for arg in (*call.args, *call.keywords.values()):
        root = Expr("name", arg.span, name=(arg.name or "").partition(".")[0])
        if arg.kind not in ("name", "attribute") or not shape.is_parameter(function, root):
            continue
        named = words_of_name(arg) | name_words(root.name or "")
        key = not _KEYS.isdisjoint(words_of_name(arg))
        if named & _MANY - _TOOLS or (key and named & _MANY):
            return True
    return False
