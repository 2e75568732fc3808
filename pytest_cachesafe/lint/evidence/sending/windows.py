"""Whether what is done to the messages of a chat costs something.

It stands in code that somebody runs, and what a window leaves of them is seen to be sent: then each new message moves
the front of the request.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cachesafe_rules.api import Report
    from pytest_cachesafe.lint.evidence.running.modules import Modules

__all__ = ["Windows"]

_WINDOW = "CSF303"
# Rules on the order of messages and what is done to them.
_CODES = frozenset({"CSF301", "CSF302", "CSF303", "CSF304", "CSF305", "CSF306", "CSF307"})


class Windows:
    """Asks of reports. `files` are those of the project, `read` gives the bytes of one; `is_alone` says of a short one
    whether it is complete as it stands."""

    def __init__(
        self, files: Sequence[str], read: Callable[[str], bytes | None], is_alone: Callable[[str], bool]
    ) -> None:
        self._files = files
        self._read = read
        self._is_alone = is_alone

    @cached_property
    def _modules(self) -> Modules:
        # Most projects have no such report: nothing of it need be imported.
        from pytest_cachesafe.lint.evidence.running.modules import Modules

        return Modules(self._files, self._read)

    def holds(self, code: str, report: Report) -> bool:
        """Whether a report costs nothing: nobody runs its file, or a window is not seen to be sent."""
        span = report.span
        if code not in _CODES or not span.filename.endswith(".py"):
            return False
        self._modules.release()
        module = self._modules[span.filename]
        alone = self._is_alone(module.name)
        if not alone and not self._modules.is_used(module):
            return True
        if code != _WINDOW:
            return False
        from pytest_cachesafe.lint.evidence.sending.traced import Place, Trace

        at = (span.row, span.column - 1, span.end_row, span.end_column - 1)
        function = module.around(span.row)
        node = next((n for n in module.nodes(function) if _at(n) == at), None)
        if node is None:
            return False
        return not Trace(self._modules, alone).reaches(node, Place(module, function))


def _at(node: ast.AST) -> tuple[int, int, int, int] | None:
    if not isinstance(node, ast.expr | ast.Delete):
        return None
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
