"""Lint rules of pytest-cachesafe, one rule per module."""
