"""Inference engines' prefix caches, in pure Python: what will be reused, block by block, and what a log of requests
would have got.

`cache` chooses the engine, one folder or file holds each engine's rules; `replay` runs logs through them.
"""

from __future__ import annotations
