"""Programs that a careless analysis never finishes with, or fails on, and how much work each may cost."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["HARD", "NESTED", "UNFOUND"]

_HEAD = "from datetime import datetime\n\n\n"
_SEND = '[{"role": "system", "content": x}, *q.history]'
_BUILD = f"def build(q):\n    x = VALUE\n    return {_SEND}\n"
NOW = "datetime.now()"


def body(*lines: str) -> str:
    """A function of these lines that sends `x`."""
    return _HEAD + "def build(q, y):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {_SEND}\n"


def program(*parts: str, sent: str) -> str:
    """Definitions, and a function that sends an expression."""
    return _HEAD + "".join(f"{part}\n\n\n" for part in parts) + _BUILD.replace("VALUE", sent)


def blocks(head: str, depth: int) -> str:
    """Blocks in blocks; the clock is read in the innermost."""
    lines = [f"{'    ' * level}{head}" for level in range(depth)]
    return body('x = ""', *lines, f"{'    ' * depth}x += str({NOW})")


def nested_functions(depth: int) -> str:
    """Functions in functions; the innermost reads the clock."""
    lines = [f"{'    ' * n}def f{n}():" for n in range(depth)]
    lines += [f"{'    ' * depth}return str({NOW})"]
    lines += [f"{'    ' * n}return f{n}()" for n in range(depth - 1, 0, -1)]
    return program("\n".join(lines), sent="f0()")


def call_tree(depth: int) -> str:
    """Every function calls the one below twice."""
    functions = [f"def f{n}(x):\n    return f{n - 1}(x) + f{n - 1}(x)" for n in range(1, depth)]
    return program("def f0(x):\n    return x", *functions, sent=f"f{depth - 1}(str({NOW}))")


_OWN_BASE = f"""
class A(A):
    def text(self):
        return super().text() + self.text() + str({NOW})
""".strip()
_EACH_OTHER = f"""
class A:
    def __init__(self, b=None):
        self.b = B(self)

    def text(self):
        return self.b.text()


class B:
    def __init__(self, a=None):
        self.a = A(self)

    def text(self):
        return self.a.text() + str({NOW})
""".strip()
_RECURSION = f"def f(n):\n    return f(n - 1) + str({NOW}) + f(n - 2)"
_MUTUAL = ("def f(n):\n    return g(n) + g(n)", f"def g(n):\n    return f(n) + f(n) + str({NOW})")
_TABLE = "D = {" + ", ".join(f'"k{n}": "v{n}"' for n in range(5000)) + "}"
_KEYS = [f'd["k{n}"] = y' for n in range(1500)]

# Name -> program and the most calls of functions of the analysis it may take, about four times what it took.
HARD: dict[str, tuple[str, int]] = {
    "doubled-text": (body(f"x = str({NOW})", *["x = x + x"] * 60), 9_000),
    "doubled-list": (body(f"x = [str({NOW})]", *["x = x + x"] * 60, 'x = "".join(x)'), 20_000),
    "doubled-tuple": (body(f"x = (str({NOW}),)", *["x = (x, x)"] * 60, "x = str(x)"), 6_000),
    "doubled-dict": (body(f'x = {{"k": {NOW}}}', *['x = {"a": x, "b": x}'] * 60, "x = str(x)"), 8_000),
    "doubled-format": (body(f"x = str({NOW})", *['x = f"{x}{x}"'] * 60), 9_000),
    "doubled-lambda": (body(f"x = lambda: {NOW}", *["x = lambda x=x: (x, x)"] * 30, "x = str(x())"), 4_000),
    "merged-dicts": (body("x = {}", *[f'x = {{**x, "k{n}": {NOW}}}' for n in range(60)], "x = str(x)"), 20_000),
    "branches": (body('x = ""', *[f"if q: x += str({NOW})", "else: x += q"] * 60), 40_000),
    "branches-of-lists": (body("x = [y]", *["if q: x = x + [y]", "else: x = [y] + x"] * 99, "x = str(x)"), 60_000),
    "conditionals": (body("x = " + "q if y else " * 150 + f"str({NOW})"), 20_000),
    "summands": (body(f"x = str({NOW})" + ' + "a"' * 200), 20_000),
    "call-chain": (body(f"x = str({NOW})" + ".strip()" * 60), 9_000),
    "parentheses": (body("x = " + "(" * 80 + f"str({NOW})" + ")" * 80), 1_000),
    "lists-in-lists": (body("x = str(" + "[" * 80 + NOW + "]" * 80 + ")"), 4_000),
    "calls-in-calls": (body("x = " + "str(" * 80 + NOW + ")" * 80), 10_000),
    "for-in-for": (blocks("for i in y:", 10), 500_000),
    "while-in-while": (blocks("while q:", 10), 500_000),
    "if-in-if": (blocks("if q:", 18), 2_000),
    "functions-in-functions": (nested_functions(60), 7_000),
    "large-table": (program(_TABLE, sent=f"D[q] + str({NOW})"), 300_000),
    "large-dict-key-by-key": (body("d = {}", *_KEYS, f"x = str(d) + str({NOW})"), 200_000),
    "large-list": (body("x = [" + f"{NOW}, " * 300 + "]", 'x = "".join(x)'), 70_000),
    "appended": (body("x = []", *[f"x.append(str({NOW}))"] * 150, 'x = "".join(x)'), 80_000),
    "recursion": (program(_RECURSION, sent="f(9)"), 2_000),
    "mutual-recursion": (program(*_MUTUAL, sent="f(9)"), 3_000),
    "recursion-by-argument": (program("def f(n, *a):\n    return f(f, n, *a)", sent=f"str(f(f, {NOW}))"), 2_000),
    "call-tree": (call_tree(40), 30_000),
    "class-of-itself": (program(_OWN_BASE, sent="A().text()"), 2_000),
    "classes-of-each-other": (program(_EACH_OTHER, sent="A().text()"), 4_000),
    "decorated-by-itself": (_HEAD + "@build\n" + _BUILD.replace("VALUE", f"str({NOW})"), 1_000),
    "assigned-to-itself": (body("x = x", "x.x = x", 'x["x"] = x', 'x = x.x["x"](x)'), 1_000),
    "list-in-itself": (body("x = []", "x.append(x)", *["x.append(x + x)"] * 20, "x = str(x)"), 60_000),
    "dict-in-itself": (body("x = {}", *['x["x"] = x'] * 30, "x = str(x)"), 3_000),
    "object-in-itself": (program("class A:\n    pass", sent="A()") + body("x = A()", *["x.x = x"] * 30), 3_000),
}

# The clock is read in these, and need not be found: too deep, or never returned.
UNFOUND = frozenset({"functions-in-functions", "doubled-lambda", "recursion-by-argument", "decorated-by-itself"})


def _stairs(head: str, depth: int) -> str:
    return "".join(" " * n + head + "\n" for n in range(depth)) + " " * depth + "pass\n"


# Name -> the program nested so deep.
NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "x = " + "(" * n + ")" * n + "\n",
    "brackets": lambda n: "x = " + "[" * n + "]" * n + "\n",
    "signs": lambda n: "x = " + "-" * n + "1\n",
    "calls": lambda n: "x = " + "f(" * n + ")" * n + "\n",
    "sums": lambda n: "x = 'a'" + " + 'a'" * n + "\n",
    "attributes": lambda n: "x = y" + ".y" * n + "\n",
    "subscripts": lambda n: "x = y" + "[0]" * n + "\n",
    "lambdas": lambda n: "x = " + "lambda: " * n + "1\n",
    "conditionals": lambda n: "x = " + "y if y else " * n + "1\n",
    "elifs": lambda n: "if x:\n    pass\n" + "elif x:\n    pass\n" * n,
    "blocks": lambda n: _stairs("if x:", n),
    "functions": lambda n: _stairs("def f():", n),
    "classes": lambda n: _stairs("class A:", n),
    "f-strings": lambda n: "x = " + "f'{" * n + "1" + "}'" * n + "\n",
    "decorators": lambda n: "@f\n" * n + "def f():\n    pass\n",
}
