"""Requests as they go out on the wire, judged against the dated rules of their provider."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Finding, Severity
from pytest_cachesafe.providers.blocks.layout import Layouter
from pytest_cachesafe.providers.cache.counters import unreadable
from pytest_cachesafe.providers.chats import ChatMaker
from pytest_cachesafe.providers.checks.across import key_changed, wide
from pytest_cachesafe.providers.checks.breaks import Break, breaks_between, stripped
from pytest_cachesafe.providers.checks.codes import CODES, severity_of
from pytest_cachesafe.providers.checks.content import Contents
from pytest_cachesafe.providers.checks.findings import of_break, of_fault, of_unread, of_wide
from pytest_cachesafe.providers.checks.hard import hard_errors
from pytest_cachesafe.providers.checks.links import link
from pytest_cachesafe.providers.checks.markers import markers_of
from pytest_cachesafe.providers.checks.predict import predict
from pytest_cachesafe.providers.checks.reach import Reach, Unread, marked
from pytest_cachesafe.providers.checks.replay import rewritten_calls
from pytest_cachesafe.providers.checks.requests import Asked, exchanges_of
from pytest_cachesafe.providers.checks.result import CacheReport, RequestVerdict
from pytest_cachesafe.providers.checks.settings import ALL
from pytest_cachesafe.providers.checks.single import faults
from pytest_cachesafe.providers.checks.weigh import Weigher
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.prompt import Chat
    from pytest_cachesafe.providers.exchange import Exchange
    from pytest_cachesafe.providers.rules.load import Rules

__all__ = ["check_observed", "check_requests"]

# A block inside a block.
_INSIDE = re.compile(r"\.content\[\d+\]\.content\[\d+\]$")


def check_requests(
    requests: Any,
    provider: str = "anthropic",
    model: str | None = None,
    *,
    rules: Rules | Mapping[str, Any] | None = None,
    count_tokens: Callable[[str], int] | None = None,
    prices: bool = True,
    name: str | None = None,
) -> CacheReport:
    """Judge requests as they were sent: markers that are refused or do nothing, and prefixes that are not kept.

    Args:
        requests: wire bodies, exchanges, chats or a recording, in the order in which they were sent. Conversations
            that interleave are told apart. A lone request is judged by the rules for one request.
        provider: "anthropic", "openai", "bedrock" or "gemini", for bodies; exchanges know theirs.
        model: for bodies that name none (Bedrock, Gemini and Azure have it in the path).
        rules: what `load_rules` gives, or entries in the form of `[tool.cachesafe.providers]`; None: those in force.
        count_tokens: tokens of a text; without it numbers are estimates with a band, and say so.
        prices: work out USD where prices are known.
        name: what the report calls itself.

    Raises:
        UsageError: no requests, something among them that is none, with its number, or a name that is no text.
    """
    for argument, value in (("model", model), ("name", name)):
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{argument}={value!r} is {type(value).__name__}; text is meant")
    given = exchanges_of(requests, provider, model)
    return _judged(given, rules, count_tokens, prices=prices, name=name, always=True)


def check_observed(exchanges: Sequence[Exchange], rules: Rules) -> CacheReport:
    """`check_requests` for requests that are only watched: usage is predicted where something is wrong, not elsewhere.

    Raises:
        UsageError: something among them is no request.
    """
    return _judged([(exchange, None) for exchange in exchanges], rules, None, prices=True, name=None, always=False)


def _judged(
    given: Sequence[tuple[Exchange, Chat | None]],
    rules: Rules | Mapping[str, Any] | None,
    count_tokens: Callable[[str], int] | None,
    *,
    prices: bool,
    name: str | None,
    always: bool,
) -> CacheReport:
    from pytest_cachesafe.providers.rules.load import Rules, load_rules

    # A capture takes overrides as a table, and hands them on to its checks.
    rules = rules if isinstance(rules, Rules) else load_rules(rules)
    asked = _asked(given, rules)
    weigher = Weigher(rules, count_tokens, prices=prices)
    report = CacheReport(asked[0].exchange.provider, name=name, layout=_render)
    if not always:
        report.findings = _Check(asked, rules, weigher).findings()
        if report.passed:
            report.requests = [
                RequestVerdict(i.index, i.conversation, i.parent, i.exchange.provider, i.exchange.model) for i in asked
            ]
            return report
    # First what is read, then what is wrong: a loss is what is not read.
    report.requests, causes = predict(asked, rules, count_tokens, weigher)
    weigher.usages = {verdict.request: verdict.usage for verdict in report.requests if verdict.usage is not None}
    check = _Check(asked, rules, weigher)
    report.findings = check.findings()
    for verdict, item in zip(report.requests, asked, strict=True):
        # The way back after a handoff continues an older request than the one before.
        verdict.against, verdict.conversation = item.parent, item.conversation
    report.findings += check.expired(causes)
    _reasons(report, check.reasons, check.broken, causes)
    report.notes = list(_notes(asked, check.weigher))
    report.opening = asked[0].chat
    report.break_even = _break_even(asked, check.weigher) if prices else {}
    report.lines = {i.index: i.exchange.line for i in asked if i.exchange.line is not None}
    report.sort()
    return report


def _render(report: CacheReport, verbosity: int, redact: str) -> str:
    # What is only watched is hardly ever told as a report.
    from pytest_cachesafe.report.check import render

    return render(report, verbosity, redact)


def _asked(given: Sequence[tuple[Exchange, Chat | None]], rules: Rules) -> list[Asked]:
    """Every request laid out, as a chat, with the one it is compared with.

    Raises:
        UsageError: a body that is no request, with its number.
    """
    layouter, maker = Layouter(), ChatMaker()
    asked = []
    for index, (exchange, chat) in enumerate(given):
        try:
            layout = layouter.lay_out(exchange)
            placed = markers_of(exchange)
            item = Asked(index, exchange, layout, placed, hard_errors(layout, exchange, rules, placed))
        except UsageError as error:
            raise UsageError(f"request {index}: {error}") from None
        try:
            item.chat = maker.chat(exchange) if chat is None or chat.exchange is not exchange else chat
            item.chat.key = item.chat.key if chat is None else chat.key
            if item.chat.body is not None and exchange.api == "responses" and "input" in item.chat.body:
                # With the history that the provider holds.
                item.layout = layouter.lay_out(replace(exchange, body=item.chat.body))
        except UsageError as error:
            # What the provider refuses may also be no chat; then that is what is told.
            if not item.refused:
                raise UsageError(f"request {index}: {error}") from None
        asked.append(item)
    link(asked)
    return asked


class _Check:
    """Collects findings in the order of requests, then weighs those that hang on how often they happen."""

    def __init__(self, asked: Sequence[Asked], rules: Rules, weigher: Weigher) -> None:
        self.asked = asked
        self.rules = rules
        self.weigher = weigher
        # request -> code that keeps it from reading
        self.reasons: dict[int, str] = {}
        # Requests that do not begin with the one they continue.
        self.broken: set[int] = set()
        self._faults: list[Finding] = []
        self._breaks: list[Break] = []
        self._unread: list[Unread] = []

    def findings(self) -> list[Finding]:
        """Everything that is wrong."""
        contents = Contents()
        lookback = self.weigher.fact("anthropic", "lookback", 20)
        reach = Reach(lookback)
        for item in self.asked:
            self._faults += [of_fault(fault, item) for fault in faults(item)]
            found = breaks_between(self.asked, item, contents)
            self._breaks += found
            self.broken.update(b.request for b in found if not b.note)
            parent = None if item.parent is None else self.asked[item.parent]
            if parent is not None and not found and parent.exchange.scope != item.exchange.scope:
                found = [Break("account-changed", item.index, parent.index, "", ALL, note=True)]
                self._breaks += found
            if parent is not None and not found:
                found = self._stripped(parent, item)
            broken = bool(found)
            unread = reach.judge(parent, item, broken=broken)
            if unread is not None:
                self._unread.append(unread)
            elif parent is not None and not broken and key_changed(parent, item) is not None:
                self._breaks.append(self._key_break(parent, item))
        self._settle()
        out = [*self._faults, *self._of_breaks(), *self._of_unread()]
        spoiled = frozenset(
            self.asked[f.location.request or 0].conversation for f in self._faults if f.severity is Severity.ERROR
        )
        told = {f.location.request for f in out if f.code in ("marker-on-changing-block", "prompt-cache-key-shared")}
        for group in wide(self.asked, self.weigher, spoiled):
            if group.request not in told or group.code in ("below-minimum", "maybe-below-minimum", "no-marker"):
                out.append(of_wide(group, self.asked, self.weigher))
        for finding in out:
            if finding.severity is not Severity.NOTE and finding.location.request is not None:
                self.reasons.setdefault(finding.location.request, finding.code)
        return out

    def _stripped(self, parent: Asked, item: Asked) -> list[Break]:
        model = self.weigher.model(item)
        keeps = model is None or model.keeps_thinking is None or model.keeps_thinking.value
        found = None if keeps else stripped(parent, item)
        # Without a marker behind it nothing is lost.
        if found is None or not any(at >= (found.index or 0) for at in marked(parent)):
            return []
        self._breaks.append(found)
        return [found]

    def expired(self, causes: dict[int, str]) -> Iterator[Finding]:
        """Requests that came too late for the entry they continue, where nothing else is wrong with them."""
        for request, cause in causes.items():
            item = self.asked[request]
            if cause == "expired" and item.parent is not None and request not in self.reasons:
                parent = self.asked[item.parent]
                last = marked(parent)[-1] if marked(parent) else len(parent.layout.blocks) - 1
                found = Unread("entry-expired", request, item.parent, parent.layout.blocks[last].path, last)
                yield of_unread(found, parent, item, Severity.NOTE, self.weigher)

    def _key_break(self, parent: Asked, item: Asked) -> Break:
        keys = key_changed(parent, item)
        assert keys is not None
        path = "prompt_cache_key"
        return Break("prompt-cache-key-changed", item.index, parent.index, path, 0, before=keys[0], after=keys[1])

    def _settle(self) -> None:
        """What a break is in the end depends on what the others of its conversation are."""
        pairs = Counter(item.conversation for item in self.asked if item.parent is not None)
        marked = Counter(self.asked[b.request].conversation for b in self._breaks if b.marked)
        summarised: set[int] = set()
        for found in self._breaks:
            item = self.asked[found.request]
            if found.code == "history-summarised":
                summarised.add(item.conversation)
            elif item.conversation in summarised and self._summarised_again(found, item):
                found.code = "history-summarised"
            if found.marked and marked[item.conversation] == pairs[item.conversation]:
                found.code = "marker-on-changing-block"
            elif self._shares_key(found, item):
                found.code, found.path = "prompt-cache-key-shared", "prompt_cache_key"

    def _summarised_again(self, found: Break, item: Asked) -> bool:
        """Whether the next summary, in the same words, took what followed the last one: nothing of that is left."""
        if found.code == "history-pruned":
            return found.path.startswith("messages[1]")
        parent = self.asked[found.against]
        if found.code != "history-edited" or item.chat is None or parent.chat is None:
            return False
        return len(item.chat.messages) < len(parent.chat.messages)

    def _shares_key(self, found: Break, item: Asked) -> bool:
        """Whether two first requests of different agents use one key, rather than one agent changing its words."""
        from pytest_cachesafe.prefix.causes import SELF_CHANGING

        parent = self.asked[found.against]
        one, other = (i.exchange.body.get("prompt_cache_key") for i in (parent, item))
        if item.exchange.provider != "openai" or not one or one != other or found.cause in SELF_CHANGING:
            return False
        begins = item.chat is not None and not any(m.get("role") == "assistant" for m in item.chat.messages)
        return begins and found.code in ("system-changed", "tools-changed", "handoff")

    def _of_breaks(self) -> Iterator[Finding]:
        times = Counter((self.asked[b.request].conversation, b.code) for b in self._breaks)
        for found in self._breaks:
            item, parent = self.asked[found.request], self.asked[found.against]
            count = times[item.conversation, found.code]
            weight = severity_of(found.code, times=count, provider=item.exchange.provider)
            model = self.weigher.model(item)
            if found.code == "prompt-cache-key-changed" and model is not None and model.generation == "5.6":
                # Before, the key only routes; from here on it keeps caches apart.
                weight = Severity.ERROR
            keeps = model is None or model.keeps_thinking is None or model.keeps_thinking.value
            if found.code == "thinking-dropped" and not keeps:
                # Once the user speaks again, the interface would have taken it out by itself.
                weight = Severity.WARNING
            if found.note or (found.code == "images-toggled" and _never_marked(parent)):
                # Whoever marks nothing has no cached messages to lose by a first image.
                weight = Severity.NOTE
            yield of_break(found, parent, item, weight, self.weigher)

    def _of_unread(self) -> Iterator[Finding]:
        times = Counter((self.asked[u.request].conversation, u.code) for u in self._unread)
        for found in self._unread:
            item, parent = self.asked[found.request], self.asked[found.against]
            # An entry that was never written cannot be missed.
            minimum = self.weigher.minimum(item)
            written = self.weigher.prefix(parent, min(found.index, len(parent.layout.blocks) - 1) + 1)
            if minimum is not None and written.at_least(minimum) is False:
                continue
            count = times[item.conversation, found.code]
            weight = severity_of(found.code, times=count, provider=item.exchange.provider)
            yield of_unread(found, parent, item, weight, self.weigher)


def _never_marked(item: Asked) -> bool:
    return item.shows("markers") and not marked(item)


def _break_even(asked: Sequence[Asked], weigher: Weigher) -> dict[str, list[dict[str, Any]]]:
    from pytest_cachesafe.providers.money.price import break_even

    found = {}
    for item in asked:
        model = item.exchange.model
        if model is None or model in found:
            continue
        found[model] = [
            {
                "ttl": point.ttl,
                "reuses": point.reuses,
                "cached": None if point.cached is None else float(point.cached),
                "plain": None if point.plain is None else float(point.plain),
            }
            for point in break_even(weigher.model(item)) or ()
        ]
    return {model: points for model, points in found.items() if points}


def _reasons(report: CacheReport, reasons: dict[int, str], broken: set[int], causes: dict[int, str]) -> None:
    """The published name where there is one; ours, or the simulated cache's, where nothing was read without one."""
    from pytest_cachesafe.providers.checks.codes import published

    for verdict in report.requests:
        code = reasons.get(verdict.request)
        if code is None and verdict.usage is not None and not verdict.usage.read:
            verdict.miss_reason = causes.get(verdict.request)
        if code is None or CODES[code].refused:
            continue
        name = published(code, verdict.provider)  # type: ignore[arg-type]
        if verdict.against is not None and (name is not None or verdict.request in broken):
            verdict.miss_reason = name or code
        elif verdict.usage is None or not verdict.usage.read:
            verdict.miss_reason = code


def _notes(asked: Sequence[Asked], weigher: Weigher) -> Iterator[str]:
    unnamed = [i.index for i in asked if i.exchange.model is None]
    if unnamed:
        named = "no model is named, so that its minimum length and prices are not known (model=…, --model)"
        yield f"{_requests(unnamed)}: {named}"
    hidden = sorted({what for i in asked for what in i.exchange.omits})
    if hidden:
        yield f"{', '.join(hidden)} of some requests are not in what was recorded: nothing is concluded from that"
    for item in asked:
        wrong = None if item.exchange.usage is None else unreadable(item.exchange.usage)
        if wrong is not None:
            yield f"request {item.index}: its recorded usage is left out: {wrong}"
    models = {i.exchange.model: i for i in asked if i.exchange.model is not None}
    for model, item in models.items():
        if weigher.model(item) is None:
            where = "give them under [tool.cachesafe.providers]"
            yield f"model {model} is unknown: no minimum length and no prices ({where})"
    unknown = {kind: (i.index, path) for i in asked for path, kind in i.layout.unknown}
    for kind, (index, path) in unknown.items():
        yield f"block type {kind} is unknown (request {index}, {path}): kept and compared as it is"
    yield from rewritten_calls(asked)
    for item in asked:
        inner = next((m for m in item.placed if m.place == "block" and _INSIDE.search(m.path)), None)
        if inner is not None and item.exchange.api != "converse":
            yield (
                f"request {item.index}, {inner.path}: a marker inside a tool result is taken as one on the result "
                "(unverified)"
            )
            break
    if len(asked) == 1:
        yield "one request: only the rules for one request were applied"


def _requests(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"request {numbers[0]}"
    shown = ", ".join(map(str, numbers[:4]))
    return f"requests {shown}{f' and {len(numbers) - 4} more' if len(numbers) > 4 else ''}"
