"""Text that is looked up for each question, in short files: results of a retriever in a system text, also where a chain
fills them into a template."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cachesafe_rules.expressions import name_words
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.moment import is_excerpt
from pytest_cachesafe.lint.flow.values import Func, TemplateShape

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["chained", "retrieved"]

_SEARCHES = lazy_pattern(r"^a?(?:similarity_search\w*|max_marginal_relevance_search\w*|get_relevant_documents)$")
# The same by whom it is asked of.
_ASKS = frozenset(("invoke", "ainvoke", "retrieve", "aretrieve", "query", "aquery", "search", "asearch"))
_STORES = frozenset(("retriever", "retrieval", "vectorstore", "vectordb", "vector", "embeddings", "rag", "kb"))
_FINDS = frozenset(("retriever", "retrieve", "retrieval", "similarity", "vectorstore"))
_CHAINS = frozenset(("create_stuff_documents_chain",))
_GIVEN = frozenset(("assign", "RunnableParallel", "RunnableMap"))
# A chat that stands behind, and a question that is all that does.
_CHAT = lazy_pattern(
    r"\*\s*\w*(?:history|messages|turns|chat|conversation)\b|\+\s*\w*(?:history|messages|turns)\b|MessagesPlaceholder|"
    r"[\"']placeholder[\"']|[\"']?messages[\"']?\s*[:=]\s*(?!\[)\w"
)
_QUESTION = lazy_pattern(r"[\"'](?:user|human)[\"']|\bHumanMessage|\bUserMessage|from_user\(|\.user\(")
_RETRIEVER = lazy_pattern(r"\b(\w+)\s*=\s*[^\n]*\.as_retriever\(")


def retrieved(
    engine: Engine, frame: Frame, node: ast.Call, function: Value, last: str, arguments: Arguments
) -> Value | None:
    """`retriever.invoke(question)`, `store.similarity_search(question)`; None for anything else, and where one question
    is all that is sent behind it."""
    own = frame.function
    if last in _CHAINS:
        _documents(engine, frame, node, arguments)
        return None
    if own is None or own.is_tool or frame.frozen or isinstance(function.shape, Func):
        return None
    owner = dotted_name(node.func).rpartition(".")[0]
    asked = last in _ASKS and not _STORES.isdisjoint(name_words(owner.rpartition(".")[2]))
    if not (asked or _SEARCHES.match(last)) or not is_excerpt(engine, frame.module):
        return None
    text = "\n".join(engine.lines(frame.module))
    if not _CHAT.search(text) and _QUESTION.search(text):
        return None
    return engine.source(frame, node, "memory", "call", f"{dotted_name(node.func)}()")


def chained(engine: Engine, frame: Frame, given: ast.expr, template: TemplateShape) -> None:
    """`{"context": retriever | join, …} | prompt`: what a chain fills into a template in front of the chat."""
    if not template.system or not is_excerpt(engine, frame.module):
        return
    text = "\n".join(engine.lines(frame.module))
    if not _CHAT.search(text):
        return
    retrievers = frozenset(_RETRIEVER.findall(text))
    for key, value in _filled(given):
        if key in template.system and _retrieves(value, retrievers):
            _fill(engine, frame, value, key)


def _documents(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> None:
    """`create_stuff_documents_chain(model, prompt)`: it fills the documents into `{context}`."""
    if not is_excerpt(engine, frame.module) or not _CHAT.search("\n".join(engine.lines(frame.module))):
        return
    for value in arguments.every():
        if isinstance(value.shape, TemplateShape) and "context" in value.shape.system:
            _fill(engine, frame, node, "context")


def _fill(engine: Engine, frame: Frame, node: ast.expr, key: str) -> None:
    # Built once, asked for each question.
    frozen, frame.frozen = frame.frozen, False
    found = engine.source(frame, node, "memory", "call", "what is retrieved for the question")
    arrive(engine, frame, node, found, f"placeholder {{{key}}} of a system message template")
    frame.frozen = frozen


def _filled(given: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What the front of a chain gives under which name."""
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.BitOr):
        yield from _filled(given.left)
        yield from _filled(given.right)
    elif isinstance(given, ast.Dict):
        for key, value in zip(given.keys, given.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(given, ast.Call) and dotted_name(given.func).rpartition(".")[2] in _GIVEN:
        yield from ((keyword.arg, keyword.value) for keyword in given.keywords if keyword.arg)
        for arg in given.args:
            yield from _filled(arg)


def _retrieves(value: ast.expr, retrievers: frozenset[str]) -> bool:
    for node in ast.walk(value):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name and (name in retrievers or not _FINDS.isdisjoint(name_words(name))):
            return True
    return False
