"""Which rules run: codes (`CSF101`), prefixes (`CSF1`), names (`daily-date`) and `ALL`; the more specific one wins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pytest_cachesafe.configuration import closest
from pytest_cachesafe.usage import UsageError

__all__ = ["check_selectors", "codes_of", "known_codes", "resolve", "split_selectors"]

# Beside a code's own letters no other prefix may begin with these: they are this project's.
OWN = "CSF"
_CODE = re.compile(r"([A-Z]+)(\d*)")
_NAMED = 99


def known_codes() -> Mapping[str, str]:
    """Code -> name of this project's rules, without importing a rule."""
    from cachesafe_rules.registry import known_codes as registered

    return registered()


def split_selectors(values: Iterable[str]) -> tuple[str, ...]:
    """Values of an option that may be repeated and may hold commas."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def codes_of(selector: str, known: Mapping[str, str]) -> frozenset[str]:
    """The codes a selector stands for; empty where it stands for none."""
    return frozenset(code for code, name in known.items() if _level(selector, code, name))


def check_selectors(selectors: Iterable[str], known: Mapping[str, str], where: str, *, others: bool = False) -> None:
    """Refuse selectors that stand for no rule.

    Args:
        selectors: codes, prefixes, names.
        known: code -> name of all rules there are.
        where: file and key, or option, for the message.
        others: let pass what may belong to a rule of another package that is not loaded yet.

    Raises:
        UsageError: one is unknown; the message has the closest one.
    """
    for selector in selectors:
        if codes_of(selector, known) or (others and not selector.upper().startswith(OWN)):
            continue
        hint = closest(selector, [*known, *known.values(), "ALL"], names=False)
        raise UsageError(f"{where}: no rule {selector!r}; {hint or '`cachesafe rule --all` lists them'}")


def resolve(
    select: Iterable[str], extend: Iterable[str], ignore: Iterable[str], known: Mapping[str, str]
) -> frozenset[str]:
    """The codes that are on. A longer prefix beats a shorter one, a code or name beats any prefix; on a tie, ignore."""
    chosen, left_out = [*select, *extend], list(ignore)
    out = set()
    for code, name in known.items():
        on = max((_level(s, code, name) for s in chosen), default=0)
        off = max((_level(s, code, name) for s in left_out), default=0)
        if on > off:
            out.add(code)
    return frozenset(out)


def _level(selector: str, code: str, name: str) -> int:
    """How specifically a selector means this rule; 0 where it does not."""
    if selector in (code, name):
        return _NAMED
    if selector == "ALL":
        return 1
    asked, own = _CODE.fullmatch(selector), _CODE.fullmatch(code)
    if asked and own and asked[1] == own[1] and own[2].startswith(asked[2]):
        return 2 + len(asked[2])
    return 0
