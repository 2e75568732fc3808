"""The word tables of the detector as one object, shipped or extended by the user."""

from __future__ import annotations

from pytest_cachesafe.semantic.tables.tables import Tables

__all__ = ["Tables"]
