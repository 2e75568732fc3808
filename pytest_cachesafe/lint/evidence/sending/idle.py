"""What a function can do with a text: print, count and write it, or hand it to somebody who may send it."""

from __future__ import annotations

import ast

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["builds_only", "handed_to"]

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Calls that send nothing: of printers, logs, tokenizers, writers, of what makes values. Constructors as well.
_HARMLESS = lazy_pattern(
    r"^(?:[A-Z]\w*|p?print|rprint|print_exc|echo|secho|rule|log|debug|info|warn|warning|error|exception|critical|len|str|repr|int|"
    r"float|bool|list|dict|set|tuple|sorted|enumerate|range|zip|min|max|sum|any|all|isinstance|type|open|write|"
    r"writelines|write_text|dump|dumps|model_dump\w*|decode|encode|encode_\w+|tokenize|count|count_tokens|num_tokens\w*|"
    r"render\w*|stop_tokens\w*|load_harmony_encoding|get_encoding|encoding_for_model|get_tokenizer|from_\w+|with_\w+|"
    r"new|now|utcnow|today|strftime|isoformat|date|time|perf_counter|get|items|keys|values|join|format|strip|rstrip|"
    r"lstrip|split|splitlines|replace|lower|upper|title|mkdir|exists|close|flush|getenv|dedent|indent|uuid4|round|"
    r"apply_chat_template)$"
)
_GATHERS = lazy_pattern(r"^_*(?:get|build|load|format|fmt|make|read|render|compose|collect|list|describe|join)_\w+$")
_ASKS = lazy_pattern(r"respon|complet|answer|chat|repl|llm|model|client|agent|stream|generat|result")
# Harmless to what the function has made itself.
_FILLS = frozenset(("append", "extend", "insert", "update", "add", "setdefault"))
_KEEPS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Yield, ast.YieldFrom, ast.Global,
          ast.Nonlocal)  # fmt: skip
_MADE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Constant, ast.JoinedStr)
_ROUTES = frozenset(("get", "post", "put", "patch", "delete", "route", "api_route"))


def handed_to(function: Function) -> frozenset[str] | None:
    """The calls of a function that may send what it holds; None where its values leave it in another way: returned
    (unless to a browser), stored in something that lives on, or kept by a function inside."""
    return _calls(function, returns=any(_is_route(d) for d in function.decorator_list))


def builds_only(function: Function) -> bool:
    """Whether a function asks no model itself, so that what it returns is what it has built."""
    calls = _calls(function, returns=True)
    return calls is not None and all(_GATHERS.match(name) and not _ASKS.search(name) for name in calls)


def _calls(function: Function, *, returns: bool) -> frozenset[str] | None:
    own = _fresh(function)
    out: set[str] = set()
    for stmt in function.body:
        for node in ast.walk(stmt):
            if isinstance(node, _KEEPS):
                return None
            if isinstance(node, ast.Return) and not returns and not isinstance(node.value, ast.Constant | None):
                return None
            if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                if _root(node) not in own:
                    return None
            elif isinstance(node, ast.Call):
                name = _last(node.func)
                filled = name in _FILLS and _root(node.func) in own
                if not filled and not _HARMLESS.match(name):
                    out.add(name)
    return frozenset(out)


def _fresh(function: Function) -> set[str]:
    """The names that hold lists, dicts and texts made here, and nothing that somebody else holds as well."""
    made: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, _MADE):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            made.update(id(target) for target in targets)
    stored = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {n.id for n in stored if id(n) in made} - {n.id for n in stored if id(n) not in made}


def _is_route(decorator: ast.expr) -> bool:
    """`@app.get("/prompt")`."""
    return (
        isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute) and decorator.func.attr in _ROUTES
    )


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "?"


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
