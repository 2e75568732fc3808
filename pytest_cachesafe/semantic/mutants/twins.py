"""Twins: the same question written otherwise. One answer must serve both; a cache that misses it costs, harmlessly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_cachesafe.semantic.mutants.mutant import Change
from pytest_cachesafe.semantic.mutants.values import number_words

__all__ = ["case", "contraction", "number_word", "politeness", "punctuation"]


def politeness(prompt: str) -> Iterator[Change]:
    """Please, thanks, a greeting."""
    if re.search(r"\b(?:please|thanks|thank|hi|hello)\b", prompt, re.IGNORECASE):
        return
    body, end = _end(prompt)
    yield Change(f"{body}, please{end}", "", "please")
    yield Change(f"{prompt} Thanks!" if end else f"{prompt}. Thanks!", "", "Thanks!")
    first = prompt if prompt[:2].isupper() or prompt.startswith(("I ", "I'")) else prompt[:1].lower() + prompt[1:]
    yield Change(f"Hi, {first}", "", "Hi")


def case(prompt: str) -> Iterator[Change]:
    """All small letters, or all capitals."""
    for text in (prompt.lower(), prompt.upper()):
        # Some letters change for good (ß, İ): those are no twins.
        if text != prompt and text.lower() == prompt.lower():
            yield Change(text, "", "")


def number_word(prompt: str) -> Iterator[Change]:
    """30 for thirty, and back."""
    yield from number_words(prompt)


def punctuation(prompt: str) -> Iterator[Change]:
    """Without the mark at the end."""
    body, end = _end(prompt)
    if end:
        yield Change(body, end, "")


_LONG = {"do not": "don't", "does not": "doesn't", "is not": "isn't", "are not": "aren't", "cannot": "can't",
         "did not": "didn't", "was not": "wasn't", "what is": "what's", "I am": "I'm", "we are": "we're"}  # fmt: skip


def contraction(prompt: str) -> Iterator[Change]:
    """Don't for do not, and back."""
    for long, short in _LONG.items():
        for old, new in ((long, short), (short, long)):
            for match in re.finditer(rf"\b{re.escape(old)}\b", prompt, re.IGNORECASE):
                words = new[0].upper() + new[1:] if match[0][0].isupper() else new
                yield Change(prompt[: match.start()] + words + prompt[match.end() :], match[0], words)


def _end(prompt: str) -> tuple[str, str]:
    body = prompt.rstrip(" \n.?!")
    return (body, prompt[len(body) :]) if body else (prompt, "")
