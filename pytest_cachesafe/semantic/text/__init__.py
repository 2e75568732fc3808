"""A prompt as words with their places: reading, folding of harmless variation, base forms, language."""

from __future__ import annotations
