"""Bring axe-core, which looks for barriers in pages, onto this machine: `python tests/support/fetch_axe.py`.

One file of the npm package, pinned, put into the cache folder of the user. It is run in the browser by tests of the
HTML report and is no part of the product.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path

from pytest_cachesafe.models.cache_folder import cache_root

__all__ = ["axe_file"]

_VERSION = "4.14.1"
_MEMBER = "package/axe.min.js"
_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"


def axe_file() -> Path:
    """Where the script is, or would be."""
    return cache_root(create=False) / "axe-core" / _VERSION / "axe.min.js"


def main() -> int:
    """Fetch it if it is not there."""
    target = axe_file()
    if target.is_file():
        sys.stdout.write(f"have {target}\n")
        return 0
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("axe-core comes through npm, which is not on PATH: install Node.js")
    with tempfile.TemporaryDirectory() as work:
        command = [npm, "pack", f"axe-core@{_VERSION}", "--loglevel=error", "--ignore-scripts"]
        command += ["--pack-destination", work, "--cache", f"{work}/cache"]
        subprocess.run(command, cwd=work, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        (archive,) = Path(work).glob("*.tgz")
        with tarfile.open(archive) as opened:
            member = opened.extractfile(_MEMBER)
            content = b"" if member is None else member.read()
    if sha256(content).hexdigest() != _SHA256:
        raise SystemExit(f"{_MEMBER} of axe-core {_VERSION} is not the pinned one: its SHA-256 differs")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_bytes(content)
    temporary.replace(target)
    sys.stdout.write(f"got  {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
