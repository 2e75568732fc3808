"""LMCache: chunks of KV kept outside the engine, and CacheBlend's chunks that fit anywhere."""

from __future__ import annotations
