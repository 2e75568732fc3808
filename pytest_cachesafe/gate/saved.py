"""A run that `--cachesafe-report=json` saved, read again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pytest_cachesafe.gate.located import plain
from pytest_cachesafe.gate.scenario import Kind, Regression, Run, Scenario
from pytest_cachesafe.usage import UsageError

__all__ = ["SCHEMA", "is_run", "parse_run", "with_redaction"]

SCHEMA = 1
_BEGINNING = re.compile(r'\s*\{\s*("schema"\s*:\s*\d+\s*,\s*)?"(redact|scenarios)"')
_CHECKSUM = re.compile(r", sha256 [0-9a-f]{12}(?=\])")
_MODES = ("none", "hash", "text")
_MEND = "write it anew with pytest --cachesafe-report=json"


def is_run(text: str) -> bool:
    """Whether a text is, or was meant to be, a saved run: a lock file has its entries on a line each."""
    first = text.lstrip().split("\n", 1)[0].rstrip()
    return first == "{" or _BEGINNING.match(text) is not None


def parse_run(text: str, name: str) -> Run:
    """The run in a text; `name` begins every message.

    Raises:
        UsageError: no JSON, no run, of a newer schema, or a value that was never written there.
    """
    try:
        values = plain(json.loads(text))
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply; {_MEND}") from None
    except ValueError as error:
        cut = " (the file seems cut off)" if not text.rstrip().endswith("}") else ""
        raise UsageError(f"{name}: not JSON: {error}{cut}; {_MEND}") from None
    if not isinstance(values, Mapping) or "scenarios" not in values:
        raise UsageError(f"{name}: neither a lock file nor a saved run; {_MEND}")
    schema = values.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise UsageError(f"{name}: no schema number, so no saved run; {_MEND}")
    if schema > SCHEMA:
        raise UsageError(f"{name}: written by a newer version (schema {schema}, this one reads {SCHEMA}): upgrade")
    read = _Reader(name)
    redact = values.get("redact", "none")
    if redact not in _MODES:
        raise UsageError(f"{name}: redact is {_shown(redact)}, no such value was ever written; {_MEND}")
    run = Run(redact=str(redact))
    for where, entry in read.mappings(values, "scenarios"):
        kind = read.text(entry, "kind", where)
        if kind not in get_args(Kind):
            raise UsageError(f"{name}: {where}.kind is {_shown(kind)}, no such value was ever written; {_MEND}")
        line = None if entry.get("line") is None else read.text(entry, "line", where)
        data = entry.get("data")
        if not isinstance(data, Mapping):
            raise UsageError(f"{name}: {where}.data is {_shown(data)}, an object is meant; {_MEND}")
        run.scenarios.append(
            Scenario(
                read.text(entry, "test", where), read.text(entry, "name", where), kind,  # type: ignore[arg-type]
                read.flag(entry, "passed", where), data, line, read.text({"headline": "", **entry}, "headline", where),
            )
        )  # fmt: skip
    for where, entry in read.mappings(values, "regressions"):
        test, check, message = (read.text(entry, key, where) for key in ("test", "name", "message"))
        run.regressions.append(Regression(test, check, message, read.flag(entry, "failed", where)))
    run.lint = [entry for _, entry in read.mappings(values, "lint")]
    gate = values.get("gate", [])
    if not isinstance(gate, list) or not all(isinstance(line, str) for line in gate):
        raise UsageError(f"{name}: gate is {_shown(gate)}, a list of lines is meant; {_MEND}")
    run.gate = gate
    return run


def with_redaction(run: Run, mode: str) -> Run:
    """The run with no more prompt text in it than `mode` allows; what was left out when it was saved stays out."""
    if _MODES.index(mode) <= _MODES.index(run.redact):
        return run
    from pytest_cachesafe.report.redacted import redacted

    def less(value: Any) -> Any:
        return redacted(value, mode) if run.redact == "none" else _without_checksums(value)

    made = Run(regressions=run.regressions, lint=run.lint, gate=run.gate, redact=mode)
    for one in run.scenarios:
        # Together, since the headline quotes what the report says.
        values = less({"headline": one.headline, "data": one.data})
        made.scenarios.append(
            Scenario(one.test, one.name, one.kind, one.passed, values["data"], one.line, values["headline"])
        )
    return made


def _without_checksums(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_checksums(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_checksums(item) for item in value]
    return _CHECKSUM.sub("", value) if isinstance(value, str) else value


class _Reader:
    """Values of the types that were written; `name` is the file's."""

    def __init__(self, name: str) -> None:
        self.name = name

    def mappings(self, values: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The objects of a list, each with what it is called in messages."""
        found = values.get(key, [])
        if not isinstance(found, list):
            raise UsageError(f"{self.name}: {key} is {_shown(found)}, a list is meant; {_MEND}")
        for number, entry in enumerate(found):
            if not isinstance(entry, Mapping):
                raise UsageError(f"{self.name}: {key}[{number}] is {_shown(entry)}, an object is meant; {_MEND}")
            yield f"{key}[{number}]", entry

    def text(self, entry: Mapping[str, Any], key: str, where: str) -> str:
        """A string."""
        value = entry.get(key)
        if not isinstance(value, str):
            raise UsageError(f"{self.name}: {where}.{key} is {_shown(value)}, a text is meant; {_MEND}")
        return value

    def flag(self, entry: Mapping[str, Any], key: str, where: str) -> bool:
        """True or false."""
        value = entry.get(key)
        if not isinstance(value, bool):
            raise UsageError(f"{self.name}: {where}.{key} is {_shown(value)}, true or false is meant; {_MEND}")
        return value


def _shown(value: Any) -> str:
    return json.dumps(value)[:40] if value is not None else "missing"
