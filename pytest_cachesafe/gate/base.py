"""The lock file of another branch, so that a change which edits code and lock together is still shown."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pytest_cachesafe.gate import BASE_VARIABLES
from pytest_cachesafe.gate.compare import worse_by
from pytest_cachesafe.gate.entry import Entry
from pytest_cachesafe.gate.lockfile import Lock, parse
from pytest_cachesafe.usage import UsageError

__all__ = ["Moved", "base_ref", "lock_at", "lost", "moved"]


def base_ref(environ: Mapping[str, str] = os.environ) -> str | None:
    """The branch a change goes into, as the CI names it; None outside one."""
    return next((environ[name] for name in BASE_VARIABLES if environ.get(name)), None)


def lock_at(ref: str, path: str, *, folder: str) -> Lock | None:
    """The lock file where a branch left `ref`; None where it has none there, or git cannot tell (`UsageError`).

    Args:
        ref: branch, tag or commit; a branch is also looked for at origin.
        path: the lock file; folder: where to run git.

    Raises:
        UsageError: no git, no repository, an unknown ref.
    """
    top = _git(folder, "rev-parse", "--show-toplevel")
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(top)).replace(os.sep, "/")
    if ref.startswith("-"):
        raise UsageError(f"{ref!r} is no git ref")
    commit = None
    for name in (f"origin/{ref}", ref):
        try:
            commit = _git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            break
        except UsageError:
            continue
    if commit is None:
        raise UsageError(
            f"git knows no {ref!r} here: fetch it (git fetch origin {ref}), or check out with full history"
        )
    # Histories that a shallow clone cut apart have none: then the tip of the base is the next best.
    with suppress(UsageError):
        commit = _git(folder, "merge-base", commit, "HEAD")
    try:
        text = _git(folder, "show", f"{commit}:{inside}", strip=False)
    except UsageError:
        return None
    return parse(text, f"{inside} at {ref}")


def lost(path: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """A lock file that a change takes away, in words; None where there was none, or where git cannot tell.

    It is there if the branch that the change goes into had it where the change left that branch. A shallow clone has no
    such place: then nothing is said, for the base may have got the file since.

    Args:
        path: where the lock file is looked for, and is not.
    """
    ref, (folder, name) = base_ref(environ), os.path.split(path)
    if ref is None or ref.startswith("-"):
        return None
    # A branch of this name that is here only may be old: it counts where the remote one is not known.
    branch = f"origin/{ref}"
    if not _knows(folder, f"{branch}:./{name}"):
        if _knows(folder, f"{branch}^{{commit}}") or not _knows(folder, f"{ref}:./{name}"):
            return None
        branch = ref
    try:
        left = _git(folder, "merge-base", branch, "HEAD")
    except UsageError:
        return None
    if not _knows(folder, f"{left}:./{name}"):
        return None
    return (
        f"{name} is in {ref} and not here, so that nothing is compared: bring it back with git checkout "
        f"{branch} -- {name}, or set cachesafe_gate = false to do without on purpose"
    )


def _knows(folder: str, name: str) -> bool:
    try:
        _git(folder, "rev-parse", "--verify", "--quiet", name)
    except UsageError:
        return False
    return True


def _git(folder: str, *words: str, strip: bool = True) -> str:
    try:
        # git's messages are not read, but its output must not depend on a user's colours or pager.
        done = subprocess.run(
            ["git", "-C", folder, "--no-pager", *words], capture_output=True, timeout=60, check=False, text=True,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
    except FileNotFoundError:
        raise UsageError("git is not installed: the lock file of another branch cannot be read") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git did not answer: {error}") from None
    if done.returncode:
        first = done.stderr.strip().split("\n")[0]
        raise UsageError(f"git {words[0]}: {first or 'failed'}")
    return done.stdout.strip() if strip else done.stdout


@dataclass(slots=True)
class Moved:
    """What a change did to the lock file."""

    ref: str
    # (before, now, tokens more that are lost), the worst first.
    worse: list[tuple[Entry, Entry, int]] = field(default_factory=list)
    better: list[tuple[Entry, Entry, int]] = field(default_factory=list)
    # Entries whose front end is another one, or whose tools or system text changed.
    other_front_end: list[tuple[Entry, Entry]] = field(default_factory=list)
    other_prefix: list[tuple[Entry, Entry]] = field(default_factory=list)
    # Entries that are held against fewer caches.
    fewer: list[tuple[Entry, Entry]] = field(default_factory=list)
    added: list[Entry] = field(default_factory=list)
    removed: list[Entry] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Tokens more that are lost, over all entries that got worse."""
        return sum(tokens for _, _, tokens in self.worse)

    def __bool__(self) -> bool:
        changed = (self.worse, self.better, self.other_front_end, self.other_prefix, self.fewer)
        return any((*changed, self.added, self.removed))


def moved(ref: str, before: Lock, now: Lock) -> Moved:
    """Compare two lock files, entry by entry."""
    found = Moved(ref)
    for key in before.entries.differing(now.entries):
        old, new = before.get(key), now.get(key)
        if old is None or new is None:
            if new is not None:
                found.added.append(new)
            elif old is not None:
                found.removed.append(old)
            continue
        if (old.template, old.tokenizer, old.kind) != (new.template, new.tokenizer, new.kind):
            found.other_front_end.append((old, new))
            continue
        if old.prefix != new.prefix:
            found.other_prefix.append((old, new))
        if old.kept.keys() - new.kept.keys():
            found.fewer.append((old, new))
        tokens = worse_by(old, new)
        if tokens > 0:
            found.worse.append((old, new, tokens))
        elif tokens < 0:
            found.better.append((old, new, -tokens))
    found.worse.sort(key=lambda item: -item[2])
    found.better.sort(key=lambda item: -item[2])
    return found
