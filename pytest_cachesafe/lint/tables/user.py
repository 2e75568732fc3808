"""The tables with a project's own additions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.tables import sinks, sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.settings import Settings

__all__ = ["Tables"]


class Tables:
    """What names, keywords and calls mean in one project."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.calls = dict(sources.CALLS)
        self.flags = dict(sinks.FLAGS)
        self.system_keywords = set(sinks.SYSTEM_KEYWORDS)
        self.weak_keywords = sinks.WEAK_KEYWORDS
        self.sink_calls: dict[str, str | int] = dict(sinks.POSITIONAL_SYSTEM)
        self.sanitizers: set[str] = set()
        prompt: tuple[str, ...] = ()
        safe: tuple[str, ...] = ()
        if settings is not None:
            prompt, safe = settings.prompt_names, settings.safe_names
            self.system_keywords |= set(settings.sink_keywords)
            self.weak_keywords -= set(settings.sink_keywords)
            self.sink_calls.update(settings.sink_calls)
            self.sanitizers |= set(settings.sanitizers)
            for name, kind in settings.sources.items():
                word, _, granularity = kind.partition(":")
                self.calls[name] = (word, granularity or ("second" if word == "clock" else "call"))
            for name, kind in settings.flags.items():
                self.flags[name] = ("flag", "second" if kind == "clock" else "call", f"a volatile value ({kind})")
        # What the project's own entries look like in a file.
        self.needles: tuple[bytes, ...] = ()
        if settings is not None:
            own = [*settings.sink_keywords, *(c.rsplit(".", 1)[-1] for c in settings.sink_calls), *settings.flags]
            self.needles = tuple(dict.fromkeys(word.encode() for word in own if word))
            if prompt:
                # A pattern has no literal: every file that builds strings may hold such a name.
                literal = [_literal(p) for p in prompt]
                self.needles += tuple(word.encode() for word in literal)
        self.source_words = tuple(name.rsplit(".", 1)[-1].encode() for name in self.calls.keys() - sources.CALLS.keys())
        # By the last two parts, where an import is unknown.
        self.tails = {".".join(name.split(".")[-2:]): what for name, what in self.calls.items() if "." in name}
        self._prompt = re.compile("|".join(f"(?:{p})" for p in prompt)) if prompt else None
        self._safe = re.compile("|".join(f"(?:{p})" for p in safe)) if safe else None
        self.is_system_name = lru_cache(maxsize=8192)(self._is_system_name)
        self.is_system_constant = lru_cache(maxsize=4096)(self._is_system_constant)

    def _is_system_name(self, name: str) -> bool:
        if self._safe is not None and self._safe.fullmatch(name):
            return False
        return sinks.is_system_name(name) or (self._prompt is not None and bool(self._prompt.fullmatch(name)))

    def _is_system_constant(self, name: str) -> bool:
        if self._safe is not None and self._safe.fullmatch(name):
            return False
        return sinks.is_system_constant(name)

    def is_tool_function(self, decorators: list[str]) -> bool:
        """Whether a function is offered to the model: what it returns is a tool result."""
        return any(sinks.TOOL_DECORATORS.search(d) for d in decorators)


def _literal(pattern: str) -> str:
    """The longest run of plain letters of a pattern; empty, which is in every file, where there is none."""
    runs = re.findall(r"[A-Za-z_]+", re.sub(r"\\.|\[[^]]*\]|\([^)]*\)|[A-Za-z_][?*]", " ", pattern))
    return max(runs, key=len, default="")
