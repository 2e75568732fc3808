"""The keyword arguments of the assertion, checked once, with what the running test's options add."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_cachesafe.prefix.accept import Accept
from pytest_cachesafe.prefix.resets import Resets
from pytest_cachesafe.prefix.toggles import Toggle
from pytest_cachesafe.prompt import UsageError

__all__ = ["Options", "running_node"]

_FAIL_ON = ("history", "raises", "not_rendered", "tail", "date")


class Options:
    """The keyword arguments of the assertion, checked once."""

    NAMES = (
        "template", "requests", "tools", "template_kwargs", "turns", "toggles", "under", "accept", "resets",
        "max_resets", "fail_on", "min_shared", "engine", "block_size", "name",
    )  # fmt: skip

    def __init__(self, given: Mapping[str, Any]) -> None:
        for key in given:
            if key not in self.NAMES:
                near = difflib.get_close_matches(key, self.NAMES, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(self.NAMES)}"
                raise UsageError(f"assert_prefix_stable has no option {key!r}{hint}")
        self.template: Any = given.get("template")
        self.requests: Literal["user+tool", "user"] = given.get("requests", "user+tool")
        self.tools: Sequence[Any] | None = given.get("tools")
        self.template_kwargs: Mapping[str, Any] = given.get("template_kwargs") or {}
        self.turns: int | None = given.get("turns")
        self.toggles: list[Toggle] = list(_listed("toggles", given.get("toggles", ()), Toggle))
        names = [t.name for t in self.toggles]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"toggles: {name!r} is given twice; give all its values in one Toggle")
        self.under: Sequence[Any] = _listed("under", given.get("under", ()), None)
        self.resets = Resets(given.get("resets", ()), given.get("max_resets"))
        self.min_shared: float | None = given.get("min_shared")
        self.name: str | None = given.get("name")
        self.accept: Sequence[Accept] = _listed("accept", given.get("accept", ()), Accept)
        node = running_node()
        settings = node.settings if node is not None else None
        self.fail_on = tuple(_listed("fail_on", _chosen(given, "fail_on", settings, _FAIL_ON[:3]), str))
        self.block_size: int = _chosen(given, "block_size", settings, 16)
        self.redact: str = settings["redact"].value if settings is not None else "none"
        self.verbosity: int = node.config.get_verbosity() if node is not None else 0
        if self.template is None and settings is not None and settings["model"].origin != "default":
            self.template = settings["model"].value
        for verdict in self.fail_on:
            if verdict not in _FAIL_ON:
                near = difflib.get_close_matches(verdict, _FAIL_ON, 1)
                raise UsageError(
                    f"fail_on: unknown verdict {verdict!r}"
                    + (f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(_FAIL_ON)}")
                )
        if isinstance(self.block_size, bool) or not isinstance(self.block_size, int) or self.block_size < 1:
            raise UsageError(f"block_size={self.block_size!r}: a whole number of tokens, at least 1")
        number = isinstance(self.min_shared, (int, float)) and not isinstance(self.min_shared, bool)
        if self.min_shared is not None and not (number and 0 <= self.min_shared <= 1):
            raise UsageError(f"min_shared={self.min_shared!r}: a share between 0 and 1")
        if not isinstance(self.template_kwargs, Mapping):
            raise UsageError("template_kwargs takes a mapping of template keywords")
        if isinstance(self.template, str) and ("{%" in self.template or "{{" in self.template):
            raise UsageError("template= is Jinja source: give a path, or ChatTemplate.from_string(source)")
        self.engine: Any = given.get("engine")

    @property
    def can_fail(self) -> bool:
        """Whether anything that may be found makes the assertion fail."""
        return bool(self.fail_on or self.min_shared is not None or self.toggles or self.resets.most is not None)

    @property
    def first_settings(self) -> dict[str, Any]:
        """The settings in use while nothing is toggled."""
        return {t.name: t.values[0] for t in self.toggles if t.kind == "setting"}


def _listed(name: str, value: Any, kind: type | None) -> Sequence[Any]:
    if kind is not None and isinstance(value, kind) and not (kind is str and not isinstance(value, str)):
        raise UsageError(f"{name} takes a list: {name}=[{value!r}]")
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, set, frozenset)):
        raise UsageError(f"{name} takes a list, got {type(value).__name__}")
    items = list(value)
    for item in items:
        if kind is not None and not isinstance(item, kind):
            raise UsageError(f"{name}: {item!r} is no {kind.__name__}")
    return items


def _chosen(given: Mapping[str, Any], name: str, settings: Any, default: Any) -> Any:
    if name in given and given[name] is not None:
        return given[name]
    return settings[name].value if settings is not None else default


def running_node() -> Any:
    """The state of the running test, None outside pytest."""
    from pytest_cachesafe.perturb.node import current_node

    return current_node()
