"""Bring the code of real engines onto this machine, to compare with: `python tests/support/fetch_engines.py`.

Never as a dependency: vLLM and SGLang want other versions of torch, with CUDA. Their wheels are downloaded, unpacked
into the cache folder of the user, and imported from there by programs of their own. What those imports need besides the
project's own packages lies beside them, pinned, put there without dependencies so that nothing can bring another torch.
What is there already is left alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from pytest_cachesafe.models.cache_folder import cache_root

__all__ = ["ENGINES", "engine_folder", "on_path", "packages_folder", "why_not"]

ENGINES = {"vllm": "0.33.0", "sglang": "0.5.23"}
# Wheels of other platforms serve as well: only their Python files are run.
_WHEELS = ["--platform", "manylinux_2_34_x86_64", "--platform", "manylinux_2_28_x86_64", "--python-version", "3.11"]
# Imported by the cache managers of the two, and not among the project's requirements.
_PACKAGES = Path(__file__).with_name("engine_packages.txt")


def engine_folder(name: str) -> Path:
    """Where the code of the engine is, or would be."""
    return cache_root(create=False) / "engines" / f"{name}-{ENGINES[name]}"


def packages_folder() -> Path:
    """Where the packages are that the engines need; they are compiled for one version of Python."""
    return cache_root(create=False) / "engines" / f"packages-{sys.version_info[0]}.{sys.version_info[1]}"


def why_not(name: str) -> str | None:
    """Why the real engine cannot be run here, in words for a user; None if it can be tried."""
    if sys.version_info < (3, 11):
        return f"{name} {ENGINES[name]} needs Python 3.11 or later"
    if not (engine_folder(name).is_dir() and packages_folder().is_dir()):
        return f"the code of {name} {ENGINES[name]} is not here; `make test-all` brings it"
    return None


def on_path(name: str) -> None:
    """Make the engine's code importable. The project's own packages come before those brought for it."""
    sys.path.insert(0, str(engine_folder(name)))
    sys.path.append(str(packages_folder()))


def _pip(*arguments: str) -> None:
    common = ["--disable-pip-version-check", "--no-input", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([sys.executable, "-m", "pip", arguments[0], *common, *arguments[1:]], check=True)


def _unpack(name: str, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _pip("download", *_WHEELS, "--dest", folder, f"{name}=={ENGINES[name]}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            # Compiled code is the bulk of a wheel, and is not run. SGLang looks for the folders of its kernels.
            members = archive.namelist()
            if name == "vllm":
                members = [item for item in members if item.endswith((".py", ".json"))]
            members = [item for item in members if not item.endswith((".so", ".a", ".cubin"))]
            archive.extractall(target, members)


def _packages(_: str, target: Path) -> None:
    _pip("install", "--target", str(target), "-r", str(_PACKAGES))


def main(names: Sequence[str]) -> int:
    """Fetch what is missing of the named engines, of all if none is named."""
    if sys.version_info < (3, 11):
        sys.stdout.write(f"{why_not('vllm')}; comparisons with it are skipped\n")
        return 0
    cache_root()
    jobs = [(name, engine_folder(name), _unpack) for name in names or ENGINES]
    for name, target, bring in [*jobs, ("packages", packages_folder(), _packages)]:
        there = target.is_dir()
        if not there:
            target.parent.mkdir(exist_ok=True)
            # Complete or absent: a step that is interrupted leaves nothing that looks whole.
            part = Path(tempfile.mkdtemp(dir=target.parent, prefix="."))
            try:
                bring(name, part)
                part.rename(target)
            except subprocess.CalledProcessError as error:
                raise SystemExit(f"{name}: pip failed with exit status {error.returncode}") from None
            finally:
                shutil.rmtree(part, ignore_errors=True)
        sys.stdout.write(f"{'have' if there else 'got '} {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
