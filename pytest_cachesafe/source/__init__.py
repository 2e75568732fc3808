"""From a divergence that was seen in a run to the source line that wrote the changing value into the prompt.

Text leads there: the words in front of the value stand in some literal of the project, in front of a placeholder. One
line is named, or none: two that could be it are no answer.
"""

from __future__ import annotations

from pytest_cachesafe.source.built import Built, built_at
from pytest_cachesafe.source.told import told

__all__ = ["Built", "built_at", "told"]
