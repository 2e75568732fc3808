"""`python -m pytest_cachesafe`: the command line without the script."""

from __future__ import annotations

from pytest_cachesafe.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
