"""A bound on what a chat template may cost: loop steps, characters, processor time and memory.

The Jinja sandbox keeps templates away from the interpreter, it does not bound them: `'a' * 300000000` or a macro that
calls itself twice is within its rules. Three mechanisms close that gap, each for everything of its kind:

* every loop pass and every macro call is a step (`Meter.step`); the clock is looked at every 16 steps, memory every
  1,024; comparisons and searches, whose time depends on what they are given, look at the clock themselves;
* every operation of our environment that makes a new string is measured before it is made, where its size can exceed
  its operands' by more than a constant factor, and after it is made otherwise (`Meter.made`);
* every container a template builds is measured as the tree it prints to (`Meter.weigh`). `{% set a = [a, a] %}` forty
  times over is small in memory and has 2**40 leaves; comparing, printing or dumping it would never return.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Budget", "BudgetExceededError", "Meter", "resident_bytes"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one render. The defaults pass 10 MB prompts and chats of thousands of messages with room to spare."""

    # Loop passes and macro calls. Some templates (DeepSeek V4's) loop over all messages for each of them: 1,500
    # messages take 1.2 million steps.
    steps: int = 20_000_000
    # Characters in the prompt, and in any one string on the way.
    characters: int = 32_000_000
    # Processor time of the rendering thread, so that a busy machine changes no verdict; looked at every 16 steps and
    # every 16 MB of strings read or made.
    seconds: float = 30.0
    # Items in containers the template builds, counted as they would print.
    items: int = 500_000
    # Growth of the process while rendering: strings kept alive side by side, each within its own limit.
    memory_bytes: int = 160_000_000


class BudgetExceededError(Exception):
    """A render went over one of its limits; `limit` names it in words."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


# Bits of an integer a template may compute: 30,000 digits, far above any use and cheap to multiply.
_MAX_BITS = 100_000
# New strings between two looks at clock and memory.
_AUDIT_BYTES = 16_000_000
_STEPS_BETWEEN_LOOKS = 1024
# Steps before memory is looked at: small renders never pay for it.
_STEPS_BEFORE_MEMORY = 16 * _STEPS_BETWEEN_LOOKS


def resident_bytes() -> int | None:
    """Memory the process holds now, in bytes; its peak so far where only that is known; None where neither is."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Meter:
    """What one render has used so far."""

    __slots__ = ("_bytes", "_bytes_at_look", "_clock_start", "_cpu_start", "_memory_start", "budget", "steps_left")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.steps_left = budget.steps
        self._bytes = 0
        self._bytes_at_look = _AUDIT_BYTES
        self._clock_start = time.perf_counter()
        self._cpu_start = time.thread_time()
        self._memory_start: int | None = None

    def step(self) -> None:
        """One loop pass or macro call."""
        left = self.steps_left = self.steps_left - 1
        if not left & 15 or left < 0:
            self.look(left)

    def steps(self, count: int) -> None:
        """Work of `count` steps done in one go."""
        before = self.steps_left
        self.steps_left = before - count
        if self.steps_left // _STEPS_BETWEEN_LOOKS != before // _STEPS_BETWEEN_LOOKS:
            self.look(self.steps_left & -_STEPS_BETWEEN_LOOKS if self.steps_left >= 0 else self.steps_left)

    def look(self, left: int) -> None:
        """Compare steps and time with their limits, and now and then memory."""
        if left < 0:
            raise BudgetExceededError(f"{self.budget.steps:,} loop passes and macro calls")
        self.clock()
        # The first look comes early, so that growth is counted from (nearly) the start of the render.
        if not left % _STEPS_BETWEEN_LOOKS and (
            self._memory_start is None or self.budget.steps - left > _STEPS_BEFORE_MEMORY
        ):
            self._look_at_memory()

    def clock(self) -> None:
        """Compare the time used with its limit."""
        # A thread cannot use more processor time than has passed, and asking for that is five times as dear.
        limit = self.budget.seconds
        if time.perf_counter() - self._clock_start > limit and time.thread_time() - self._cpu_start > limit:
            raise BudgetExceededError(f"{limit:g} seconds of processor time")

    def read(self, value: Any) -> None:
        """Count a string an operation is about to walk through: its time, unlike its memory, comes again."""
        if isinstance(value, (str, bytes)) and len(value) > 4096:
            self._count_bytes(len(value))

    def _count_bytes(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._bytes_at_look:
            self._bytes_at_look = self._bytes + _AUDIT_BYTES
            self.clock()
            self._look_at_memory()

    def _look_at_memory(self) -> None:
        now = resident_bytes()
        if now is None:
            # Without a reading of the process, what was made in all is the only safe bound on what is alive.
            if self._bytes > 8 * self.budget.memory_bytes:
                raise BudgetExceededError(f"{8 * self.budget.memory_bytes // 1_000_000:,} MB of strings made")
        elif self._memory_start is None:
            self._memory_start = now
        elif now - self._memory_start > self.budget.memory_bytes:
            raise BudgetExceededError(f"{self.budget.memory_bytes // 1_000_000:,} MB of memory")

    def length(self, characters: int) -> None:
        """Refuse a string of this length before it is made."""
        if characters > self.budget.characters:
            raise BudgetExceededError(f"{self.budget.characters:,} characters")
        if characters > 1_000_000 and self._memory_start is None:
            self._look_at_memory()

    def made(self, value: Any) -> Any:
        """Count a value an operation has just made, and return it; strings and bytes count by their size."""
        kind = type(value)
        if kind is not str and not isinstance(value, (str, bytes)):
            if kind is list or kind is tuple:
                self.weigh(value)
            return value
        size = len(value)
        if size > 256:
            self.length(size)
            self._count_bytes(sys.getsizeof(value))
        return value

    def count(self, items: int) -> None:
        """Refuse a container of this many items before it is made."""
        if items > self.budget.items:
            raise BudgetExceededError(f"{self.budget.items:,} items in one list or mapping")

    def weigh(self, value: Any) -> tuple[int, int, int]:
        """Measure a container as the tree it prints to: (items, characters, depth).

        Raises:
            BudgetExceededError: more items or characters than allowed, counted with repetition.
        """
        items = characters = deepest = 0
        max_items, max_characters = self.budget.items, self.budget.characters
        stack: list[tuple[Any, int]] = [(value, 1)]
        while stack:
            node, depth = stack.pop()
            deepest = max(deepest, depth)
            if isinstance(node, (str, bytes)):
                characters += len(node)
            elif isinstance(node, int):
                characters += node.bit_length() // 3 + 1
            elif isinstance(node, (list, tuple, set, frozenset)):
                items += len(node)
                if items <= max_items:
                    stack.extend([(child, depth + 1) for child in node])
            elif isinstance(node, Mapping):
                items += len(node)
                if items <= max_items:
                    for key, child in node.items():
                        stack.append((key, depth + 1))
                        stack.append((child, depth + 1))
            if items > max_items:
                self.count(items)
            if characters > max_characters:
                self.length(characters)
            if depth > 500:
                raise BudgetExceededError("500 levels of nesting")
        if items > 64:
            self.steps(items // 8)
        return items, characters, deepest

    # -- operators ----------------------------------------------------------------------------------------------------

    def times(self, left: Any, right: Any) -> Any:
        """`left * right`, measured first: repeated strings and lists, and products of large integers."""
        for one, other in ((left, right), (right, left)):
            if isinstance(other, int):
                if isinstance(one, (str, bytes)):
                    self.length(len(one) * other)
                elif isinstance(one, (list, tuple)) and other > 1:
                    self.count(len(one) * other)
                    items, characters, _ = self.weigh(one)
                    self.count(items * other)
                    self.length(characters * other)
        if isinstance(left, int) and isinstance(right, int):
            self._bits(left.bit_length() + right.bit_length())
        return self.made(left * right)

    def power(self, left: Any, right: Any) -> Any:
        """`left ** right`, measured first where both are integers."""
        if isinstance(left, int) and isinstance(right, int) and right > 0:
            self._bits(left.bit_length() * right)
        return left**right

    @staticmethod
    def _bits(bits: int) -> None:
        if bits > _MAX_BITS:
            raise BudgetExceededError(f"{_MAX_BITS:,} bits in an integer")

    def percent(self, left: Any, right: Any) -> Any:
        """`left % right`, measured first where it formats: widths, precisions and repeated fields."""
        if isinstance(left, (str, bytes)):
            self._measure_percent(left if isinstance(left, str) else left.decode("latin-1"), right)
        return self.made(left % right)

    def _measure_percent(self, form: str, values: Any) -> None:
        import re

        fields = re.findall(r"%(?:\((.*?)\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?", form)
        given: Sequence[Any] = values if isinstance(values, tuple) else (values,)
        size = len(form)
        for name, width, precision in fields:
            for number in (width, precision):
                if number == "*":
                    size += max((abs(v) for v in given if isinstance(v, int)), default=0)
                elif number:
                    size += _number(number)
            if name and isinstance(values, Mapping):
                size += self._printed(values.get(name))
        if not isinstance(values, Mapping):
            size += sum(map(self._printed, given))
        self.length(size)

    def _printed(self, value: Any) -> int:
        if isinstance(value, (str, bytes)):
            return len(value)
        if isinstance(value, (list, tuple, Mapping)):
            items, characters, _ = self.weigh(value)
            return characters + 4 * items
        return 32

    # -- methods of strings -------------------------------------------------------------------------------------------

    def before_method(self, owner: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """Measure a method of str, bytes, int, list or dict whose result can be larger than its operands.

        Returns the arguments to call it with: an iterator given to `join` is read here, once.
        """
        if name in ("center", "ljust", "rjust", "zfill"):
            self.length(_int(args[0] if args else kwargs.get("width", 0)))
        elif name == "expandtabs":
            tab = owner.count("\t" if isinstance(owner, str) else b"\t")
            self.length(len(owner) + tab * _int(args[0] if args else kwargs.get("tabsize", 8)))
        elif name == "replace" and len(args) >= 2:
            self.replaced(owner, args[0], args[1], args[2] if len(args) > 2 else kwargs.get("count", -1))
        elif name == "join" and args:
            parts = self.bounded_list(args[0])
            self.joined(owner, parts)
            return (parts, *args[1:])
        elif name == "translate" and args and isinstance(args[0], Mapping):
            longest = max((len(v) for v in args[0].values() if isinstance(v, str)), default=1)
            self.length(len(owner) * max(longest, 1))
        elif name in ("split", "rsplit", "splitlines") and len(owner) > self.budget.items:
            separator = args[0] if args else kwargs.get("sep")
            self.count(owner.count(separator) + 1 if name != "splitlines" and separator else len(owner) // 2)
        elif name == "to_bytes":
            self.length(_int(args[0] if args else kwargs.get("length", 1)))
        return args

    def replaced(self, text: Any, old: Any, new: Any, count: Any = -1) -> None:
        """Measure `text.replace(old, new, count)`."""
        if not (isinstance(text, (str, bytes)) and isinstance(old, type(text)) and isinstance(new, type(text))):
            return
        grown = len(new) - len(old)
        if grown > 0 and len(text) * (grown + 1) > 65536:
            found = text.count(old)  # type: ignore[arg-type]  # same kind as `text`, checked above
            if isinstance(count, int) and count >= 0:
                found = min(found, count)
            self.length(len(text) + found * grown)

    def joined(self, separator: Any, parts: Sequence[Any]) -> None:
        """Measure `separator.join(parts)`."""
        size = sum([len(p) for p in parts if isinstance(p, (str, bytes))])
        self.length(size + len(separator) * max(len(parts) - 1, 0))

    def bounded_list(self, values: Any) -> Any:
        """`list(values)`, stopped where it would hold more items than allowed; what is no iterable stays as it is."""
        if isinstance(values, (list, tuple, dict)):
            return values
        if isinstance(values, (str, bytes, range)):
            self.count(len(values))
            return list(values)
        if not isinstance(values, Iterable):
            return values
        out = []
        for value in values:
            out.append(value)
            if not len(out) % _STEPS_BETWEEN_LOOKS:
                self.steps(_STEPS_BETWEEN_LOOKS)
                self.count(len(out))
        return out


def _number(digits: str) -> int:
    # A run of digits longer than any limit need not be parsed.
    return int(digits) if len(digits) < 12 else 10**12


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0
