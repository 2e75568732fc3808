"""SGLang's prefix cache: a radix tree over token ids, its eviction, and requests that live in it."""

from __future__ import annotations
