"""Requests from files: JSON lines of ours or of bare bodies, VCR cassettes, OpenTelemetry spans."""

from __future__ import annotations

from pytest_cachesafe.providers.capture.readers.read import parse_exchanges, read_exchanges

__all__ = ["parse_exchanges", "read_exchanges"]
