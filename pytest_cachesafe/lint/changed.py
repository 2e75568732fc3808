"""Which files differ from a commit, as git knows it."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_cachesafe.usage import UsageError

__all__ = ["changed_files"]

# Set while git runs a hook; they would point git at the repository of the hook instead of the one of the folder.
_LOCAL = frozenset((
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
))  # fmt: skip


def changed_files(root: Path, ref: str) -> set[str]:
    """Names (relative to `root`, forward slashes) of files that changed since the branch left `ref`, or are untracked.

    Changes count from the merge base of `ref` and HEAD to the files as they lie in the folder, committed or not; what
    was deleted is left out, what was renamed has its new name. Ignored files are not untracked.

    Raises:
        UsageError: no git, no repository, no such commit, no common ancestor, or a ref that reads as an option.
    """
    if not ref or ref.startswith(("-", "^")) or "\0" in ref:
        raise UsageError(f"--changed-since {ref!r}: not the name of a commit or branch")
    commit = _git(root, "rev-parse", "--quiet", "--verify", f"{ref}^{{commit}}")
    if commit is None:
        if _git(root, "rev-parse", "--git-dir") is None:
            raise UsageError(f"--changed-since: {root} is not in a git repository")
        raise UsageError(f"--changed-since {ref!r}: no such commit or branch here; fetch it first, or check the name")
    base = _git(root, "merge-base", commit.decode("ascii").strip(), "HEAD")
    if base is None:
        raise UsageError(
            f"--changed-since {ref!r}: no common ancestor with HEAD here; fetch more history (a shallow clone has none)"
        )
    since = base.decode("ascii").split("\n")[0]
    lists = (
        _git(root, "diff", "--name-only", "-z", "--diff-filter=d", "--relative", since, "--"),
        _git(root, "ls-files", "--others", "--exclude-standard", "-z"),
    )
    if None in lists:
        raise UsageError(f"--changed-since {ref!r}: git could not compare the files; try `git diff {since}` in {root}")
    return {os.fsdecode(name) for names in lists if names for name in names.split(b"\0") if name}


def _git(root: Path, *arguments: str) -> bytes | None:
    """What a git command prints; None where it fails."""
    import subprocess

    environment = {k: v for k, v in os.environ.items() if k not in _LOCAL}
    # Do not write the index: another git may be at work, a hook for one.
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except FileNotFoundError:
        if not root.is_dir():
            raise UsageError(f"{root}: no such folder") from None
        raise UsageError("--changed-since needs git, which is not on the PATH") from None
    except OSError as error:
        raise UsageError(f"--changed-since: cannot run git: {error.strerror or error}") from None
    return done.stdout if done.returncode == 0 else None
