"""`make bench`: every ratio of the product against a named peer, from one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Run the benchmarks one after the other; they print their own lines."""
    sys.path.insert(0, str(HERE.parent / "tests" / "support"))
    from fetch_tokenizers import tokenizer_folder

    models = ["HuggingFaceTB/SmolLM2-135M-Instruct"]
    models += [str(folder) for folder in [tokenizer_folder("qwen3")] if folder.is_dir()]
    status = 0
    status |= subprocess.call([sys.executable, str(HERE / "growing_chat.py"), *models])
    names = ("startup.py", "lint.py", "engines.py", "kv.py", "collisions.py", "gate.py", "providers.py", "capture.py")
    for name in names:
        status |= subprocess.call([sys.executable, str(HERE / name)])
    return status


if __name__ == "__main__":
    raise SystemExit(main())
