"""Names of users, sessions, requests and environments: volatile by what they are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import NOTHING, Const
from pytest_cachesafe.lint.tables import sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["environment", "only_parameters", "personal_attribute", "personal_item"]

# Who starts processes on several machines, and tells each in its environment where it runs.
_PLATFORMS = (
    r"(?:MY|CURRENT|THIS|K8S|KUBE|KUBERNETES|FLY|RENDER|RAILWAY|HEROKU|GAE|AWS|EC2|ECS|GCE|WEBSITE|NOMAD|SLURM|"
    r"RAY|CELERY|GUNICORN|UVICORN|GITHUB|CI)"
)
# What the environment says of the machine, the user and the folder; everything else in it is somebody's setting, the
# same in every request of an installation.
_MACHINE = lazy_pattern(
    r"^(?:SHELL|COMSPEC|OS|OSTYPE|TERM|TERM_PROGRAM|USER|USERNAME|LOGNAME|HOME|USERPROFILE|HOSTNAME|COMPUTERNAME|HOST|"
    r"PWD|LANG|LANGUAGE|LC_\w+|PATH|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|\w*WORKING_DIR(?:ECTORY)?|"
    r"(?:\w+_)?(?:WORK_?DIR|CWD|VOLUMES)|HOST_(?:NAME|IP)|NODE_(?:NAME|ID|IP|HOSTNAME)|MACHINE_(?:NAME|ID)|DYNO|"
    r"INSTANCE_ID|(?:POD|CONTAINER|REPLICA|WORKER|RUNNER|ALLOC)_(?:NAME|ID|UID|UUID|IP|NUM|NUMBER|INDEX|HOSTNAME|ORDINAL)|"
    rf"{_PLATFORMS}_(?:POD|NODE|HOST|HOSTNAME|MACHINE|INSTANCE|CONTAINER|REPLICA|WORKER|RUNNER|ALLOC|DYNO)"
    r"(?:_(?:NAME|ID|UID|IP|NUM|INDEX))?)$"
)
# Whose names are the installation's own: `config.username`, `bot.username`. A session's id in a configuration is still
# that session's.
_SETTINGS = lazy_pattern(
    r"^(?:\w+_)?(?:config|configuration|cfg|conf|settings?|env|environ|defaults|options|prefs|bot|me|org|"
    r"organi[sz]ation|credentials?|creds|auth|db|database|proxy|connection|smtp|imap)$"
)
_PLAIN = frozenset(("config", "settings", "env", "environ", "defaults"))


def _is_setting(owner: str, name: str) -> bool:
    return sources.PERSONAL_NAMES[name][0] == "user" and bool(_SETTINGS.match(owner.lower()))


def only_parameters(value: Value) -> bool:
    """Whether a value holds parameters and no source."""
    return bool(value.atoms) and all(a.source is None for a in value.atoms.values())


def personal_attribute(engine: Engine, frame: Frame, node: ast.Attribute) -> Value | None:
    """`user.name`, `page.url`: volatile by its name; None for anything else."""
    owner = dotted_name(node.value).rsplit(".", 1)[-1].lstrip("_")
    name = f"{owner}.{node.attr}"
    if node.attr in sources.PERSONAL_NAMES and not _is_setting(owner, node.attr):
        kind, granularity = sources.PERSONAL_NAMES[node.attr]
        return engine.source(frame, node, kind, granularity, name)
    if node.attr in sources.PERSONAL_FIELDS and sources.PERSONAL_OWNERS.match(owner):
        return engine.source(frame, node, "user", "user", name)
    if node.attr in sources.STATE_NAMES:
        kind, granularity = sources.STATE_NAMES[node.attr]
        return engine.source(frame, node, kind, granularity, name)
    if node.attr in ("url", "title", "position") and sources.STATE_OWNERS.match(owner):
        return engine.source(frame, node, "state", "call", name)
    if node.attr in ("work_dir", "working_dir", "workspace_path", "working_directory", "cwd", "workdir"):
        return engine.source(frame, node, "cwd", "session", name)
    if node.attr in ("os_kind", "os_name", "os_version", "platform_name"):
        return engine.source(frame, node, "host", "host", name)
    return None


def personal_item(engine: Engine, frame: Frame, node: ast.Subscript, key: str) -> Value | None:
    """`request["user_id"]`: volatile by its name; None for anything else."""
    owner = dotted_name(node.value).rsplit(".", 1)[-1].lstrip("_")
    if key in sources.PERSONAL_NAMES and not _is_setting(owner, key) and owner not in _PLAIN:
        return engine.source(frame, node, *sources.PERSONAL_NAMES[key], f"{owner}[{key!r}]")
    if key in sources.PERSONAL_FIELDS and sources.PERSONAL_OWNERS.match(owner):
        return engine.source(frame, node, "user", "user", f"{owner}[{key!r}]")
    if owner in ("headers", "cookies"):
        return engine.source(frame, node, "session", "session", f"{owner}[{key!r}]")
    return None


def environment(engine: Engine, frame: Frame, node: ast.AST, key: Value) -> Value:
    """A variable of the environment, unless its name says that it is a setting."""
    name = key.shape.value if isinstance(key.shape, Const) else None
    if not isinstance(name, str) or not _MACHINE.match(name.upper()):
        return NOTHING
    return engine.source(frame, node, "env", "host", f"environment variable {name}")
