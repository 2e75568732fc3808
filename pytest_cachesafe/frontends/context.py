"""What belongs to one render of a chat template: its variables, its meter, its clock, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from jinja2.runtime import Context

from pytest_cachesafe.frontends.budget import Budget, Meter

__all__ = ["TemplateContext"]


class TemplateContext(Context):
    """The variables of one render, with its meter, its clock and the message its innermost message loop is at."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.item: Any = None
        self.bind(Meter(Budget()), datetime.now)

    def bind(self, meter: Meter, clock: Callable[[], datetime]) -> None:
        """Set what is the render's own: compiled templates are shared between renders and threads."""
        self.meter = meter
        self.clock = clock
        # Names the compiled code calls.
        self.made = meter.made
        self.times = meter.times
        self.power = meter.power
        self.percent = meter.percent

    def enter(self, item: Any = None) -> None:
        """A loop pass with its item, or a macro call. Written out, not delegated: it runs once for every pass."""
        meter = self.meter
        left = meter.steps_left = meter.steps_left - 1
        if not left & 15 or left < 0:
            meter.look(left)
        if type(item) is dict and "role" in item:
            self.item = item

    def timed(self, value: Any) -> Any:
        """The result of a comparison or search; what it was given may have been large."""
        self.meter.clock()
        return value

    def sliced(self, value: Any) -> Any:
        """Count a slice; a slice of a list holds nothing the list did not hold."""
        return self.made(value) if isinstance(value, (str, bytes)) else value

    def weighed(self, value: Any) -> Any:
        """Measure a list, tuple or mapping written in the template."""
        self.meter.weigh(value)
        return value

    def joined(self, values: Iterable[Any]) -> str:
        """`a ~ b ~ c`."""
        parts = list(map(str, values))
        self.meter.length(sum(map(len, parts)))
        return str(self.made("".join(parts)))

    def concat(self, pieces: Iterable[str]) -> str:
        """The output of a macro, a call block or a block assignment."""
        pieces = list(pieces)
        self.meter.length(sum(map(len, pieces)))
        return str(self.made("".join(pieces)))

    def derived(self, locals: dict[str, Any] | None = None) -> Context:  # noqa: A002  # name of the overridden method
        context = super().derived(locals)
        assert isinstance(context, TemplateContext)
        context.bind(self.meter, self.clock)
        return context
