"""Whether a prompt is English, by script and function words: cheap, and only ever says no on evidence."""

from __future__ import annotations

from pytest_cachesafe.semantic.tables.grammar import FOREIGN, FUNCTION
from pytest_cachesafe.semantic.tables.word_set import word_set
from pytest_cachesafe.semantic.text.scan import Tokens

__all__ = ["not_english"]

# Words of both lists, and what English prompts quote of other languages.
_BOTH = FOREIGN & FUNCTION
_ONLY_FOREIGN = (
    FOREIGN - FUNCTION - word_set("die des de la le du al el los las en con per un on van den lo gli o e a os das")
)
_ONLY_ENGLISH = FUNCTION - FOREIGN


def not_english(tokens: Tokens) -> bool:
    """True for another script than Latin in most letters, or for foreign function words without English ones."""
    words = tokens.words
    if _ONLY_FOREIGN.isdisjoint(words) and "".join(words).isascii():
        return False
    letters = other = english = foreign = weak = 0
    for word, kind in zip(words, tokens.kinds, strict=True):
        if kind != "w":
            continue
        letters += len(word)
        if word > "\u024f" or (not word.isascii() and any(c > "\u024f" for c in word)):
            other += len(word)
        elif word in _ONLY_ENGLISH:
            english += 1
        elif word in _ONLY_FOREIGN:
            foreign += 1
        elif word in FOREIGN:
            weak += 1
    if other * 2 > letters:
        return True
    # One word may be quoted ("what does bitte mean"); a sentence has several.
    return (foreign >= 2 and foreign > english) or (foreign + weak >= 2 and foreign >= 1 and english == 0)
