"""The worlds a builder is called in: plain, with something toggled, with the clock moved, somewhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.prefix.builder import World
from pytest_cachesafe.prefix.toggles import Toggle
from pytest_cachesafe.stability.options import Options
from pytest_cachesafe.stability.variants import permuter

if TYPE_CHECKING:
    from pytest_cachesafe.perturb.clock import Moments
    from pytest_cachesafe.perturb.settings import Setting
    from pytest_cachesafe.perturb.watch import Read

__all__ = ["Worlds"]


class Worlds:
    """All worlds of one check. `alone`: no world but the plain one (given requests, the child of a re-run)."""

    def __init__(self, options: Options, settings: Sequence[Setting], *, alone: bool) -> None:
        self.base = World("base", options.first_settings)
        self.toggles: list[tuple[Toggle, Any, World]] = []
        self.clock: list[tuple[Setting, World]] = []
        self.others: list[tuple[Setting, World]] = []
        # Lines that read the world: in the plain world, and in those with the clock moved; whether some went unseen.
        self.reads: list[Read] = []
        self.reads_later: list[Read] = []
        self.blind = False
        # Seconds since the epoch. What is computed at import is older.
        self.made_at = time.time()
        # The clock of all worlds but those that move it; None where it cannot be held.
        self.moments: Moments | None = None
        # Also where nothing was asked for: a clock that nobody moves is worth a word.
        if settings or not alone:
            self.base.around = partial(self._watched, self._held, self.reads)
        if not alone and (settings or options.toggles):
            self._plan(options, settings)

    @property
    def all(self) -> list[World]:
        """The plain one first: the others take its moments over."""
        return [
            self.base,
            *(w for _, _, w in self.toggles),
            *(w for _, w in self.clock),
            *(w for _, w in self.others),
        ]

    def _plan(self, options: Options, settings: Sequence[Setting]) -> None:
        from pytest_cachesafe.perturb.clock import Moments

        several = options.toggles or any(not setting.reruns for setting in settings)
        self.moments = Moments() if several and Moments.possible() else None
        first = options.first_settings
        for toggle in options.toggles:
            if toggle.kind == "setting":
                for value in toggle.values[1:]:
                    world = World(toggle.label, {**first, toggle.name: value}, around=self._held)
                    self.toggles.append((toggle, value, world))
            else:
                for n in range(2):
                    world = World(toggle.label, first, permute=permuter(toggle.name, n), around=self._held)
                    self.toggles.append((toggle, ("reversed", "moved by one")[n], world))
        for setting in settings:
            if setting.reruns:
                continue
            world = World(setting.name, first)
            if setting.name.startswith("clock"):
                world.around = partial(self._watched, setting.apply, self.reads_later)
                self.clock.append((setting, world))
            else:
                world.around = partial(self._held, apply=setting.apply)
                self.others.append((setting, world))

    def _held(
        self, index: int, apply: Callable[[int], AbstractContextManager[None]] | None = None
    ) -> AbstractContextManager[Any]:
        """The clock stands where it was when this request was first built, so that no difference comes from it."""
        with ExitStack() as stack:
            if self.moments is not None:
                stack.enter_context(self.moments.at(index))
            if apply is not None:
                stack.enter_context(apply(index))
            return stack.pop_all()

    def _watched(
        self, apply: Callable[[int], AbstractContextManager[Any]], reads: list[Read], index: int
    ) -> AbstractContextManager[Any]:
        from pytest_cachesafe.perturb.watch import watch

        with ExitStack() as stack:
            stack.enter_context(apply(index))
            seen = stack.enter_context(watch())
            self.blind = self.blind or seen.blocked is not None
            stack.callback(lambda: reads.extend(r for r in seen if r not in reads))
            return stack.pop_all()
