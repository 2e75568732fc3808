"""The gate: what each check found is held against a committed lock file, so that a cache regression fails its test.

`entry` is what one check leaves in the file, `lockfile` reads, merges and writes it, `compare` says what got worse,
`expression` and `budget` what of it fails, `base` looks at another branch, `session` is one pytest run.
"""

from __future__ import annotations

__all__ = ["BASE_VARIABLES", "DEFAULT_NAME"]

# Of the lock file. Here, so that asking whether there is one, or may have been one, loads nothing else.
DEFAULT_NAME = "cachesafe.lock.jsonl"
# In which a CI names the branch that a change goes into.
BASE_VARIABLES = (
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "BITBUCKET_PR_DESTINATION_BRANCH",
    "CHANGE_TARGET",
)
