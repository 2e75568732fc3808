"""`cachesafe models`: tokenizers and models that can be used without network, and how to get one."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_cachesafe.commands.common import Result

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument(
        "--fetch", metavar="NAME", help="download and prepare one; the only place that uses the network"
    )


def run(args: argparse.Namespace) -> Result:
    """Exit status 0.

    Raises:
        UsageError: an unknown name, or a download that failed.
    """
    from pytest_cachesafe.models import fetch, list_models
    from pytest_cachesafe.report.visible import visible

    if args.fetch:
        path = fetch(args.fetch)
        return Result(
            f"{visible(args.fetch)} is ready in {visible(str(path))}\n", {"fetched": args.fetch, "path": str(path)}, 0
        )
    found: list[dict[str, Any]] = [
        {
            "name": m.name,
            "kind": m.kind,
            "source": m.source,
            "path": None if m.path is None else str(m.path),
            "ready": m.ready,
        }
        for m in list_models()
    ]
    lines = [
        f"{visible(m['name'])}  {m['kind']}, {'ready' if m['ready'] else 'not ready'}, {visible(m['source'])}"
        + (f"\n    {visible(m['path'])}" if m["path"] else "")
        + ("" if m["ready"] else f"\n    cachesafe models --fetch {visible(m['name'])}")
        for m in found
    ]
    return Result(
        "\n".join(lines or ["no tokenizer or model found; cachesafe models --fetch NAME gets one"]) + "\n",
        {"models": found},
        0,
    )
