"""Semantic-cache collisions: prompts that a cache would merge although they need different answers.

Two statements about a pair, made apart: whether the texts ask for different answers (`detect`, no model), and whether
a cache would merge them (cosine of their embeddings). A collision is both.
"""

from __future__ import annotations
