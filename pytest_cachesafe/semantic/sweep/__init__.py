"""Labelled pairs swept over all thresholds: how many hits a cache keeps, how many of them are wrong, what is safe."""

from __future__ import annotations
