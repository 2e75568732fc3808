"""Rows per request as CSV or Parquet, written in batches."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Protocol

from pytest_cachesafe.engines.replay.run import Row
from pytest_cachesafe.report.streamed import replacing
from pytest_cachesafe.report.visible import escape
from pytest_cachesafe.usage import UsageError

__all__ = ["Exporter", "exporter"]

_COLUMNS = (
    *("request", "line", "tokens", "cached_tokens", "hit_blocks", "waited"),
    *("miss_reason", "tag", "tenant", "conversation", "replica"),
)
_BATCH = 10_000
# What a terminal would obey, or not show, if somebody printed the file; line ends and tabs are for readers of CSV.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# A spreadsheet takes a cell that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Exporter(Protocol):
    """Takes rows."""

    def add(self, row: Row) -> None:
        """Write a row, now or with its batch."""


@contextmanager
def exporter(path: str | None) -> Iterator[Exporter | None]:
    """A writer of rows to a `.csv` or `.parquet` file, which appears when the block ends well; None without a path.

    Raises:
        UsageError: another kind of file, pyarrow is missing, or the file cannot be written.
    """
    if path is None:
        yield None
        return
    if path.endswith(".csv"):
        with replacing(path) as file:
            rows = _Csv(file)
            yield rows
            rows.close()
    elif path.endswith(".parquet"):
        from pytest_cachesafe.models.errors import need

        need("pyarrow.parquet", "export", f"writing {path}")
        with replacing(path) as file:
            table = _Parquet(file)
            try:
                yield table
            except BaseException:
                # Else the garbage collector closes its writer, when the file is not there any more, and complains.
                with suppress(Exception):
                    table.close()
                raise
            table.close()
    else:
        raise UsageError(f"--export {path!r}: a file that ends in .parquet or .csv is meant")


class _Csv:
    def __init__(self, file: IO[bytes]) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(_COLUMNS)

    def add(self, row: Row) -> None:
        self._writer.writerow([*row[:6], *("" if text is None else _cell(text) for text in row[6:])])

    def close(self) -> None:
        self._text.flush()
        # The file is closed by whoever opened it.
        self._text.detach()


def _cell(text: str) -> str:
    text = _CONTROL.sub(lambda match: escape(match[0]), text)
    return f"'{text}" if text.startswith(_FORMULA) else text


class _Parquet:
    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow
        from pyarrow import parquet

        self._arrow = pyarrow
        kinds = [pyarrow.int64()] * 6 + [pyarrow.string()] * 5
        self._schema = pyarrow.schema(list(zip(_COLUMNS, kinds, strict=True)))
        self._writer: Any = parquet.ParquetWriter(file, self._schema)
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            # Lone surrogates have no UTF-8.
            columns[6:] = [
                [None if t is None else t.encode("utf-8", "backslashreplace").decode() for t in column]
                for column in columns[6:]
            ]
            self._writer.write_table(self._arrow.table(columns, schema=self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()
