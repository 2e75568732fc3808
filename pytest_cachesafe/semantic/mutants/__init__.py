"""Mutants: the user's own prompts with one change that needs another answer, and twins that must share one.

They probe a cache: which sorts of change would it serve the old answer to? Some read oddly; none proves harm by itself.
"""

from __future__ import annotations
