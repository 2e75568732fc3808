"""Labelled pairs of prompts that others wrote, to judge the collision detector with.

`python tests/support/semantic_sets.py` brings them into the cache folder of the user; nothing of them is committed.
Those in git repositories come at pinned commits, whose hashes vouch for the content; fow-cache is a test requirement.
What is there already is left alone.

Rules are made on the development sets alone. The judging sets are scored, never read; no rule is changed because of a
row in them.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pytest_cachesafe.models.cache_folder import cache_root

__all__ = ["DEVELOPMENT", "JUDGING", "SOURCES", "Pair", "read_pairs", "read_set", "sets_folder", "why_not"]


class Pair(NamedTuple):
    """Two prompts and whether one answer serves both, by the label of whoever wrote them."""

    id: str
    a: str
    b: str
    same: bool
    # The set's own category.
    kind: str


class Source(NamedTuple):
    """A file in a public git repository, at one commit."""

    repository: str
    commit: str
    path: str
    licence: str


SOURCES = {
    # 999 sentences with a reworded twin each.
    "mock": Source(
        "zilliztech/GPTCache", "c59fb3a6152a4458b2a070ca183b61c4b614095f", "examples/benchmark/mock_data.json", "MIT"
    ),
    # Questions of Quora's users, a tar archive whatever its name says. Their labels are noisy.
    "qqp": Source(
        "zilliztech/GPTCache",
        "c59fb3a6152a4458b2a070ca183b61c4b614095f",
        "examples/benchmark/similiar_qqp_full.json.gz",
        "MIT for the repository; the questions are Quora's users'",
    ),
    # Zhang, Baldridge, He: "PAWS: Paraphrase Adversaries from Word Scrambling", NAACL 2019.
    "paws": Source(
        "uds-lsv/llmft",
        "3acc3894fa4111d9155190a98a147e3e664ff3da",
        "data/paws_qqp/dev_and_test.tsv",
        "none stated there; PAWS: free for any purpose, acknowledging Google LLC",
    ),
    # Ribeiro, Wu, Guestrin, Singh: "Beyond Accuracy: Behavioral Testing of NLP Models with CheckList", ACL 2020.
    "checklist": Source(
        "marcotcr/checklist", "4e6e5e33a26f30c20ed602b2050f6c73e123cc23", "release_suites/qqp_suite.tar.gz", "MIT"
    ),
    # Marelli et al.: SemEval-2014 Task 1.
    "sick": Source(
        "brmson/dataset-sts",
        "e1d3375f5b3bc24f21aa4e46f96eb379e9fc1081",
        "data/sts/sick2014/SICK_test_annotated.txt",
        "CC BY-NC-SA 3.0: measured, never shipped",
    ),
}
DEVELOPMENT = ("fow-even", "checklist")
JUDGING = ("fow-odd", "sick", "mock", "qqp", "paws")

_BRING = "`make bench-semantic` brings it"
# How many pairs of the large sets are used; which ones follows from a hash of their text.
_QQP_SAME, _QQP_DIFFERENT, _CHECKLIST_PER_TEST = 600, 1000, 30
# Its name and its pairs say that order matters; the label says the opposite.
_MISLABELLED = "Order does matter for asymmetric relations"


def sets_folder() -> Path:
    """Where the sets are, or would be."""
    return cache_root(create=False) / "semantic-sets"


def _file(name: str) -> Path:
    return sets_folder() / f"{name}-{SOURCES[name].commit[:12]}"


def why_not(name: str) -> str | None:
    """Why a set cannot be read here, in words for a user; None if it can."""
    if name.startswith("fow"):
        return None if find_spec("fow_cache") else "fow-cache is not installed: pip install fow-cache==0.1.0"
    return None if _file(name).is_file() else f"{name} is not in {sets_folder()}; {_BRING}"


def read_set(name: str) -> list[Pair]:
    """The labelled pairs of a set of `DEVELOPMENT` or `JUDGING`, in a fixed order."""
    return list(_READERS[name]())


def read_pairs(path: Path) -> list[Pair]:
    """Pairs of the user's own, JSON lines with `a`, `b` and `same_answer`, and maybe `id` and `kind`."""
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            row = json.loads(line)
            kind = str(row.get("kind", "?"))
            pairs.append(Pair(str(row.get("id", number)), row["a"], row["b"], bool(row["same_answer"]), kind))
    return pairs


def _sample(pairs: Iterable[Pair], n: int) -> list[Pair]:
    """The same `n` pairs on every machine, whatever the order they come in; identical prompts say nothing."""
    told_apart = {(pair.a, pair.b): pair for pair in pairs if pair.a != pair.b}
    return sorted(told_apart.values(), key=lambda p: hashlib.sha256(f"{p.a}\0{p.b}".encode()).digest())[:n]


def _fow(remainder: int) -> Iterator[Pair]:
    """Support questions of fow-cache 0.1.0 (CC BY 4.0, Mabon ap Gwyn), without those that it calls ambiguous.

    Ids end in a number: even ones are for development, odd ones for judging.
    """
    spec = find_spec("fow_cache")
    assert spec is not None, "ask why_not first"
    assert spec.submodule_search_locations, "fow_cache is no package"
    lines = (Path(spec.submodule_search_locations[0]) / "data" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, filter(None, lines)):
        digits = re.search(r"\d+$", row["id"])
        assert digits is not None, row["id"]
        if int(digits[0]) % 2 == remainder and not row.get("ambiguous"):
            yield Pair(row["id"], row["a"], row["b"], row["same_answer"], row["category"])


def _mock() -> Iterator[Pair]:
    for number, row in enumerate(json.loads(_file("mock").read_text(encoding="utf-8"))):
        if row["origin"] != row["similar"]:
            yield Pair(f"mock-{number}", row["origin"], row["similar"], True, "paraphrase")


def _member(name: str, suffix: str) -> bytes:
    with tarfile.open(_file(name)) as archive:
        (member,) = [item for item in archive.getmembers() if item.isfile() and item.name.endswith(suffix)]
        inside = archive.extractfile(member)
        assert inside is not None
        return inside.read()


def _qqp() -> Iterator[Pair]:
    rows = json.loads(_member("qqp", ".json"))
    pairs = [
        Pair(f"qqp-{number}", row["text_a"], row["text_b"], bool(row["label"]), "question")
        for number, row in enumerate(rows)
        if row["text_a"].strip() and row["text_b"].strip()
    ]
    yield from _sample((pair for pair in pairs if pair.same), _QQP_SAME)
    yield from _sample((pair for pair in pairs if not pair.same), _QQP_DIFFERENT)


def _paws() -> Iterator[Pair]:
    for line in _file("paws").read_text(encoding="utf-8").splitlines()[1:]:
        number, a, b, label = line.split("\t")
        # Python byte literals, split into tokens ("does n't"): joined again, as a user would write them.
        first, second = (_joined(ast.literal_eval(text).decode("utf-8", "replace")) for text in (a, b))
        yield Pair(f"paws-{number}", first, second, label.strip() == "1", "word order")


def _joined(text: str) -> str:
    return re.sub(r" (n't|'(?:m|s|re|ve|ll|d)\b|[?.,;:!%)])", r"\1", text).replace("( ", "(").replace("$ ", "$")


def _sick() -> Iterator[Pair]:
    """Contradictions, against entailments that annotators found close in meaning (4.7 and more of 5)."""
    for line in _file("sick").read_text(encoding="utf-8").splitlines()[1:]:
        number, a, b, relatedness, judgment = line.split("\t")
        if a != b and (judgment == "CONTRADICTION" or (judgment == "ENTAILMENT" and float(relatedness) >= 4.7)):
            yield Pair(f"sick-{number}", a, b, judgment == "ENTAILMENT", judgment.lower())


class _Stub:
    """Stands for whatever a pickle names: takes anything, does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.state: Any = None

    def __call__(self, *_: Any, **__: Any) -> _Stub:
        return _Stub()

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, _: Any, __: Any) -> None:
        pass


class _Restricted(pickle.Unpickler):
    """Runs no code of a pickle: every class and function in it is a stub, the two containers apart."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "collections" and name in ("OrderedDict", "defaultdict"):
            return {"OrderedDict": OrderedDict, "defaultdict": defaultdict}[name]
        return type(name, (_Stub,), {})


def _checklist() -> Iterator[Pair]:
    """Its minimum-functionality tests: templates of which every pair has the same label."""
    suite = _Restricted(io.BytesIO(_member("checklist", "qqp_suite.pkl"))).load()
    for name, test in suite.state["tests"].items():
        if type(test).__name__ != "MFT":
            continue
        same = (test.state["labels"] == 1) != (name == _MISLABELLED)
        rows = [pair for item in test.state["data"] for pair in ([item] if isinstance(item, tuple) else item)]
        picked = _sample((Pair("", a, b, same, name) for a, b in rows), _CHECKLIST_PER_TEST)
        yield from (pair._replace(id=f"{name}/{number}") for number, pair in enumerate(picked))


_READERS: dict[str, Callable[[], Iterator[Pair]]] = {
    "fow-even": lambda: _fow(0),
    "fow-odd": lambda: _fow(1),
    "mock": _mock,
    "qqp": _qqp,
    "paws": _paws,
    "checklist": _checklist,
    "sick": _sick,
}


def _git(folder: Path, *arguments: str, **how: Any) -> None:
    # A repository that is not there would make git ask for a password.
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, env=environment, **how)


def _bring(name: str) -> None:
    source = SOURCES[name]
    target = _file(name)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as scratch:
        folder = Path(scratch)
        _git(folder, "init", "-q")
        _git(folder, "remote", "add", "origin", f"https://github.com/{source.repository}")
        # Without the other files of the repository, some of which are large.
        _git(folder, "fetch", "-q", "--depth=1", "--filter=blob:none", "origin", source.commit)
        with open(folder / "file", "wb") as out:
            _git(folder, "show", f"{source.commit}:{source.path}", stdout=out)
        # Complete or absent.
        (folder / "file").replace(target)


def main(names: Iterable[str]) -> int:
    """Bring what is missing of the named sets, of all if none is named; 1 if one cannot be brought."""
    if shutil.which("git") is None:
        raise SystemExit("git is needed to bring the sets")
    cache_root()
    sets_folder().mkdir(exist_ok=True)
    status = 0
    for name in list(names) or SOURCES:
        there = _file(name).is_file()
        if not there:
            try:
                _bring(name)
            except subprocess.CalledProcessError as error:
                sys.stdout.write(f"not {name}: git {error.cmd[3]} failed with exit status {error.returncode}\n")
                status = 1
                continue
        sys.stdout.write(f"{'have' if there else 'got '} {_file(name)} ({SOURCES[name].licence})\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
