"""Attributes replaced while captures run, and put back as they were.

Captures may be nested and may end in any order (threads, fixtures of different scopes): the newest one that still runs
answers. Replacements stay inert where somebody else has patched on top of them and they cannot be taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_cachesafe.providers.capture.transports.gate import Gate

__all__ = ["Hub", "hub"]

_MISSING = object()
_MARK = "__cachesafe_original__"


@dataclass(frozen=True, slots=True)
class _Layer:
    owner: Any
    name: str
    # The entry of the owner's own `__dict__`, `_MISSING` if the attribute was inherited.
    before: Any
    replacement: Any
    make: Callable[[Any], Any]


class Hub:
    """The captures that run, newest last, and what is patched for them."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._gates: list[Gate] = []
        # Layers of each capture; handed on to another one if it ends before a younger one does.
        self._layers: dict[int, list[_Layer]] = {}

    def gate(self) -> Gate | None:
        """The capture that answers, None if none runs (a replacement that could not be taken out)."""
        # Reading the last item of a list is atomic; the list is replaced, never emptied in place.
        gates = self._gates
        return gates[-1] if gates else None

    def enter(self, gate: Gate, install: Callable[[], None]) -> None:
        """Start a capture; `install` patches whatever is imported."""
        with self._lock:
            self._gates = [*self._gates, gate]
            self._layers[id(gate)] = []
            try:
                install()
            except BaseException:
                self.leave(gate)
                raise

    def leave(self, gate: Gate) -> None:
        """End a capture and take out its patches, unless a younger capture still needs them."""
        with self._lock:
            at = self._gates.index(gate)
            layers = self._layers.pop(id(gate))
            younger = self._gates[at + 1 :]
            self._gates = [*self._gates[:at], *younger]
            if younger:
                mine = self._layers[id(younger[0])]
                mine[:0] = layers
                return
            for layer in reversed(layers):
                _undo(layer)
            for layer in layers:
                # A library that was imported meanwhile: the older captures have no patch of their own in it.
                if self._gates and not self._known(layer.owner, layer.name):
                    self.replace(layer.owner, layer.name, layer.make)

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace `owner.name` by `make(original)` for the newest capture, once however often it is asked for.

        Args:
            owner: a class or module; make: gets what `getattr` finds now, inherited or not.
        """
        with self._lock:
            if not self._gates:
                return
            current = getattr(owner, name, None)
            if current is None or (getattr(current, _MARK, None) is not None and self._installed(owner, name, current)):
                return
            before = vars(owner).get(name, _MISSING)
            replacement = make(current)
            setattr(replacement, _MARK, current)
            setattr(owner, name, replacement)
            self._layers[id(self._gates[-1])].append(_Layer(owner, name, before, replacement, make))

    def _known(self, owner: Any, name: str) -> list[_Layer]:
        """The layers that running captures have there."""
        every = (layer for layers in self._layers.values() for layer in layers)
        return [layer for layer in every if layer.owner is owner and layer.name == name]

    def _installed(self, owner: Any, name: str, current: Any) -> bool:
        return any(layer.replacement is current for layer in self._known(owner, name))


def _undo(layer: _Layer) -> None:
    own: Mapping[str, Any] = vars(layer.owner)
    if own.get(layer.name) is not layer.replacement:
        # Somebody patched on top and is still there; taking ours out would take theirs as well.
        return
    if layer.before is _MISSING:
        delattr(layer.owner, layer.name)
    else:
        setattr(layer.owner, layer.name, layer.before)


hub = Hub()
