"""The support bot of a shop for web hosting: a model, and a semantic cache in front of it.

A question is served from the cache where an earlier one of the same customer group is close to it in the embedding and
nothing in their words needs another answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pytest_cachesafe import CollisionJudge

Request = dict[str, Any]
THRESHOLD = 0.90

_JUDGE = CollisionJudge()


def may_share(question: str, earlier: str) -> bool:
    """Whether one answer may serve both. Any difference counts: a miss costs one call, a wrong hit a customer."""
    return _JUDGE.compare(question, earlier).different_answer == "none"


def key(request: Request) -> str:
    """What is embedded: what the user said, with what was said before, newest first, as an encoder reads the front."""
    return "\n".join(message["content"] for message in reversed(request["messages"]))


def partition(request: Request) -> tuple[str, str, str]:
    """What has to be equal besides."""
    return request["tenant"], request["model"], request["system"]


class VectorCache:
    """Answers by the embedding of their question, a list per partition.

    Args:
        embed: texts in, unit vectors out.
        threshold: cosine at and above which an answer is served.
        share: asked before an answer is served; `lambda question, earlier: True` trusts the cosine alone.
    """

    def __init__(
        self,
        embed: Callable[[Sequence[str]], Any],
        threshold: float = THRESHOLD,
        share: Callable[[str, str], bool] = may_share,
    ) -> None:
        self._embed, self._threshold, self._share = embed, threshold, share
        self._kept: dict[Any, list[tuple[str, Any, str]]] = {}

    def lookup(self, question: str, part: Any = None) -> str | None:
        """The answer of the closest question that may share it."""
        kept = self._kept.get(part, [])
        if not kept:
            return None
        cosines = np.stack([vector for _, vector, _ in kept]) @ self._embed([question])[0]
        for index in np.argsort(-cosines):
            earlier, _, answer = kept[index]
            if cosines[index] < self._threshold:
                return None
            if question == earlier or self._share(question, earlier):
                return answer
        return None

    def store(self, question: str, answer: str, part: Any = None) -> None:
        """Keep an answer."""
        self._kept.setdefault(part, []).append((question, self._embed([question])[0], answer))

    def reset(self) -> None:
        """Forget everything."""
        self._kept.clear()


class SupportBot:
    """Asks the model only for what the cache does not have; `calls` holds what the model was asked."""

    def __init__(self, cache: VectorCache, model: Callable[[Request], str]) -> None:
        self._cache, self._model = cache, model
        self.calls: list[Request] = []

    def answer(self, request: Request) -> str:
        """The answer to a request."""
        text, part = key(request), partition(request)
        found = self._cache.lookup(text, part)
        if found is None:
            self.calls.append(request)
            found = self._model(request)
            self._cache.store(text, found, part)
        return found


def request(question: str, *before: str, tenant: str = "acme") -> Request:
    """As the web page sends it."""
    roles = ("user", "assistant")
    messages = [{"role": roles[index % 2], "content": text} for index, text in enumerate((*before, question))]
    return {"tenant": tenant, "model": "small-1", "system": "You are the support desk of a host.", "messages": messages}
