"""Recognisers for values that change on their own: times, dates, ids, paths, hosts, numbers.

Blame, the value scan, the linter and the semantic checks share them, so that one text is read in one way everywhere.
All of them are linear in the text and use bounded repetition only.
"""

from __future__ import annotations

from pytest_cachesafe.values.change import Cause, classify_change
from pytest_cachesafe.values.find import Granularity, Kind, Value, find_values, value_at

__all__ = ["Cause", "Granularity", "Kind", "Value", "classify_change", "find_values", "value_at"]
