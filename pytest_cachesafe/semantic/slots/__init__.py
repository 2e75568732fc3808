"""What is compared between two prompts: typed values, and rules for the words left over."""

from __future__ import annotations
