"""Findings in words: which request, where, why, whose doing, what is lost, what to change."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from pytest_cachesafe.findings import Finding, Location, Severity
from pytest_cachesafe.prefix.causes import CAUSES, SELF_CHANGING, advice
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.checks.across import Wide
from pytest_cachesafe.providers.checks.breaks import Break, first_lost
from pytest_cachesafe.providers.checks.codes import CODES, published, severity_of
from pytest_cachesafe.providers.checks.reach import Unread, marked
from pytest_cachesafe.providers.checks.requests import Asked
from pytest_cachesafe.providers.checks.single import Fault
from pytest_cachesafe.providers.checks.weigh import Weigher

__all__ = ["of_break", "of_fault", "of_unread", "of_wide"]

# Causes that say more than the code does.
_TELLING = SELF_CHANGING | {"whitespace", "unicode_form"}
# Changes that have no values to show.
_PRESENCE = frozenset(("images-toggled", "citations-toggled", "account-changed"))
_THOUSAND = 1000


def of_fault(fault: Fault, item: Asked) -> Finding:
    """A rule for one request."""
    code = CODES[fault.code]
    refused = "is refused" if code.refused else "has a fault"
    where = f" at {fault.path}" if fault.path else ""
    return Finding(
        fault.code,
        f"request {item.index} {refused}{where}: {fault.message}",
        severity_of(fault.code, provider=item.exchange.provider),
        Location(request=item.index, path=fault.path),
        origin="application",
        help=code.fix,
        data={"reason": None},
    )


def of_break(found: Break, parent: Asked, item: Asked, severity: Severity, weigher: Weigher) -> Finding:
    """What voids the prefix of the request before; a note where nothing was cached behind it."""
    code = CODES[found.code]
    lost = _lost(found, parent, item, weigher)
    shared = found.code == "prompt-cache-key-shared"
    telling = (found.cause in _TELLING and not shared) or (found.cause == "order" and found.code == "system-changed")
    says = CAUSES[found.cause] if found.cause is not None and telling else code.says
    # "another model at model" says nothing more.
    where = f" at {found.path}" if found.path not in ("", "model") else ""
    begin = f"request {item.index} does not continue request {parent.index}"
    if shared:
        begin = f"requests {parent.index} and {item.index} begin differently"
    elif found.code == "marker-on-changing-block" and telling:
        where += ", in the marked block, which is so written each time and never read"
    # "what; why it matters": the place stands behind what.
    what, _, why = says.partition("; ")
    message = "; ".join(filter(None, (f"{begin}: {what}{where}{_values(found)}", why, _not_read(lost, parent))))
    own = telling and found.code in ("system-changed", "tool-definition-changed")
    divergence = found.divergence
    if marked(parent) and not lost.high:
        severity = Severity.NOTE
    data: dict[str, Any] = {
        "reason": published(found.code, item.exchange.provider),
        "against": parent.index,
        **_loss(lost, item, weigher),
    }
    if divergence is not None:
        if found.detail:
            data["detail"] = found.detail
        data |= {"lead": divergence.lead, "before": divergence.before, "after": divergence.after}
        where_ = divergence.location
        location = Location(
            request=item.index, part=where_.part, message_index=where_.message_index, role=where_.role, path=found.path
        )
    else:
        told = _has_values(found)
        data |= {"lead": "", "before": _json(found.before) if told else "", "after": _json(found.after) if told else ""}
        location = Location(request=item.index, path=found.path)
    return Finding(
        found.code, message, severity, location, found.cause, found.origin,
        advice(found.cause, found.origin) if own and found.cause else code.fix, data=data,
    )  # fmt: skip


def of_unread(found: Unread, parent: Asked, item: Asked, severity: Severity, weigher: Weigher) -> Finding:
    """Markers that do not reach what is there."""
    code = CODES[found.code]
    if found.code == "marker-trails":
        behind = weigher.total(item.layout.blocks[found.index + 1 :])
        message = (
            f"request {item.index}: the last marker moves with the end of the messages and stays {found.distance} "
            f"blocks behind it, at {found.path}; {_tokens(behind)} behind it are paid in full each time, and where it "
            f"stood in request {parent.index} there is none now"
        )
        lost = behind
    else:
        lost = weigher.prefix(parent, found.index + 1)
        how = f", {found.distance} positions behind this marker (20 are looked at)" if found.distance else ""
        message = (
            f"request {item.index} does not read what request {parent.index} wrote: {code.says}, at {found.path}{how}; "
            f"{_tokens(lost)} not read again"
        )
    return Finding(
        found.code, message, severity, Location(request=item.index, path=found.path), origin="application",
        help=code.fix, data={"reason": None, "against": parent.index, **_loss(lost, item, weigher)},
    )  # fmt: skip


def of_wide(found: Wide, asked: list[Asked] | Any, weigher: Weigher) -> Finding:
    """A finding about a group of requests."""
    code, item = CODES[found.code], asked[found.request]
    severity = found.severity or severity_of(found.code, provider=item.exchange.provider)
    where = f" at {found.path}" if found.path else ""
    data: dict[str, Any] = {"reason": None, "against": found.against}
    if found.code == "no-marker" and found.tokens is not None and found.times > 1:
        data |= _unmarked(found, item, weigher)
    if found.code == "marker-on-changing-block" and found.tokens is not None:
        data |= _loss(found.tokens, item, weigher)
    if found.code in ("below-minimum", "maybe-below-minimum"):
        data["minimum"] = weigher.minimum(item)
    what, _, why = code.says.partition("; ")
    message = "; ".join(filter(None, (f"request {item.index}: {what}{where}", why, found.message)))
    return Finding(
        found.code, message, severity,
        Location(request=item.index, path=found.path), origin="application", help=code.fix, data=data,
    )  # fmt: skip


def _lost(found: Break, parent: Asked, item: Asked, weigher: Weigher) -> Tokens:
    """Tokens of the parent that would have been read: up to its last marker where markers decide, else all."""
    blocks = parent.layout.blocks
    ends = marked(parent)
    end = ends[-1] + 1 if ends else len(blocks)
    if found.code in ("prompt-cache-key-changed", "prompt-cache-key-shared"):
        return weigher.prefix(parent, end)
    start = first_lost(found, parent, item)
    lost = weigher.total(blocks[start:end]) if start else weigher.prefix(parent, end)
    return weigher.not_read(lost, parent, item)


def _loss(lost: Tokens, item: Asked, weigher: Weigher) -> dict[str, Any]:
    if not item.shows("texts"):
        return {"lost_tokens": None, "lost_usd": None}
    whole = weigher.prefix(item, len(item.layout.blocks)).best
    return {
        "lost_tokens": lost.best,
        "lost_tokens_band": [lost.low, lost.high],
        "lost_usd": weigher.loss(item, lost, whole),
        "lost_usd_per_1000": weigher.loss(item, lost, whole, _THOUSAND),
    }


def _unmarked(found: Wide, item: Asked, weigher: Weigher) -> dict[str, Any]:
    """What a marker would have saved: the first request writes, which costs more than input, all others read."""
    assert found.tokens is not None
    one, reads = found.tokens, found.times - 1
    data = _loss(Tokens(one.low * reads, one.best * reads, one.high * reads), item, weigher)
    whole = weigher.prefix(item, len(item.layout.blocks)).best
    if data["lost_usd"] is not None:
        data["lost_usd"] = weigher.unmarked(item, one, whole, reads)
        data["lost_usd_per_1000"] = weigher.unmarked(item, one, whole, reads, Fraction(_THOUSAND, found.conversations))
    return {**data, "lost_requests": reads}


def _not_read(lost: Tokens, parent: Asked) -> str:
    if not parent.shows("texts"):
        return "how many tokens that is, redacted texts do not tell"
    if parent.exchange.api in ("messages", "invoke", "converse"):
        if not marked(parent) and parent.shows("markers"):
            return f"{_tokens(lost)} could not be read again (nothing was marked)"
        if not lost.high:
            return "no marker stands behind it, or it is read all the same: nothing cached is lost"
    return f"{_tokens(lost)} not read again"


def _tokens(count: Tokens) -> str:
    return f"{count} token{'' if count.high == 1 else 's'}"


def _has_values(found: Break) -> bool:
    return found.code not in _PRESENCE and (found.before is not None or found.after is not None)


def _values(found: Break) -> str:
    """Old and new value of a setting; keys may name a person, schemas are long."""
    if found.divergence is not None or found.code in ("output-format-changed", "prompt-cache-key-changed"):
        return ""
    before, after = _json(found.before), _json(found.after)
    if not _has_values(found):
        return ""
    return f" ({before} before, {after} now)" if len(before) + len(after) < 120 else ""


def _json(value: Any) -> str:
    if value is None:
        return "the default"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
