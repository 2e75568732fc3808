"""`assert_prefix_stable` and its forms: everything below put together for one call.

Sits above `prefix` (which judges) and `perturb` (which changes the world around a builder); nothing below imports it.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from pytest_cachesafe.prefix.accept import Accept, Acceptances, project_acceptances
from pytest_cachesafe.prefix.builder import World, build_all, build_all_async, requests_of
from pytest_cachesafe.prefix.check import Outcome, PassThrough, check_plan
from pytest_cachesafe.prefix.inputs import Item, Plan, is_builder, plan
from pytest_cachesafe.prefix.resets import Resets
from pytest_cachesafe.prefix.result import PrefixFailure, StabilityReport
from pytest_cachesafe.prefix.toggles import Toggle, ToggleResult, permutations, reorder_keys
from pytest_cachesafe.prefix.vary import across, observe
from pytest_cachesafe.prompt import Chat, FrontEnd, Prompt, UsageError
from pytest_cachesafe.report.stability import render

__all__ = ["CachesafeWarning", "assert_prefix_stable", "assert_prefix_stable_async", "check_prefix_stable"]

_FAIL_ON = ("history", "raises", "not_rendered", "tail", "date")


class CachesafeWarning(UserWarning):
    """Something about a check that is probably not meant: a keyword that no template reads, an unused acceptance."""


class _Options:
    """The keyword arguments of the assertion, checked once."""

    NAMES = (
        "template", "requests", "tools", "template_kwargs", "turns", "toggles", "under", "accept", "resets",
        "max_resets", "fail_on", "min_shared", "engine", "block_size", "name",
    )  # fmt: skip

    def __init__(self, given: Mapping[str, Any]) -> None:
        for key in given:
            if key not in self.NAMES:
                near = difflib.get_close_matches(key, self.NAMES, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(self.NAMES)}"
                raise UsageError(f"assert_prefix_stable has no option {key!r}{hint}")
        self.template: Any = given.get("template")
        self.requests: Literal["user+tool", "user"] = given.get("requests", "user+tool")
        self.tools: Sequence[Any] | None = given.get("tools")
        self.template_kwargs: Mapping[str, Any] = given.get("template_kwargs") or {}
        self.turns: int | None = given.get("turns")
        self.toggles: list[Toggle] = list(_listed("toggles", given.get("toggles", ()), Toggle))
        self.under: Sequence[Any] = _listed("under", given.get("under", ()), None)
        self.resets = Resets(given.get("resets", ()), given.get("max_resets"))
        self.min_shared: float | None = given.get("min_shared")
        self.name: str | None = given.get("name")
        self.accept: Sequence[Accept] = _listed("accept", given.get("accept", ()), Accept)
        node = _node()
        settings = node.settings if node is not None else None
        self.fail_on = tuple(_listed("fail_on", _chosen(given, "fail_on", settings, _FAIL_ON[:3]), str))
        self.block_size: int = _chosen(given, "block_size", settings, 16)
        self.redact: str = settings["redact"].value if settings is not None else "none"
        self.verbosity: int = node.config.get_verbosity() if node is not None else 0
        if self.template is None and settings is not None and settings["model"].origin != "default":
            self.template = settings["model"].value
        for verdict in self.fail_on:
            if verdict not in _FAIL_ON:
                near = difflib.get_close_matches(verdict, _FAIL_ON, 1)
                raise UsageError(
                    f"fail_on: unknown verdict {verdict!r}"
                    + (f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(_FAIL_ON)}")
                )
        if isinstance(self.block_size, bool) or not isinstance(self.block_size, int) or self.block_size < 1:
            raise UsageError(f"block_size={self.block_size!r}: a whole number of tokens, at least 1")
        if self.min_shared is not None and not 0 <= self.min_shared <= 1:
            raise UsageError(f"min_shared={self.min_shared!r}: a share between 0 and 1")
        if not isinstance(self.template_kwargs, Mapping):
            raise UsageError("template_kwargs takes a mapping of template keywords")
        if given.get("engine") is not None:
            raise UsageError(f"engine={given['engine']!r}: this version has no engine models; leave engine out")


def _listed(name: str, value: Any, kind: type | None) -> Sequence[Any]:
    if kind is not None and isinstance(value, kind) and not (kind is str and not isinstance(value, str)):
        raise UsageError(f"{name} takes a list: {name}=[{value!r}]")
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, set, frozenset)):
        raise UsageError(f"{name} takes a list, got {type(value).__name__}")
    items = list(value)
    for item in items:
        if kind is not None and not isinstance(item, kind):
            raise UsageError(f"{name}: {item!r} is no {kind.__name__}")
    return items


def _chosen(given: Mapping[str, Any], name: str, settings: Any, default: Any) -> Any:
    if name in given and given[name] is not None:
        return given[name]
    return settings[name].value if settings is not None else default


def _node() -> Any:
    from pytest_cachesafe.perturb.node import current_node

    return current_node()


def check_prefix_stable(chat: Any, **options: Any) -> StabilityReport:
    """Judge whether each request continues the one before it; never raises for a finding.

    Takes the options of `assert_prefix_stable`.

    Raises:
        UsageError: the input cannot be judged, or nothing would be compared.
    """
    check = _Check(chat, options)
    if check.build is not None:
        build_all(check.build, check.worlds, check.options.turns)
    return check.report()


def assert_prefix_stable(
    chat: Any,
    *,
    template: Any = None,
    requests: Literal["user+tool", "user"] = "user+tool",
    tools: Sequence[Any] | None = None,
    template_kwargs: Mapping[str, Any] | None = None,
    turns: int | None = None,
    toggles: Sequence[Toggle] = (),
    under: Sequence[Any] = (),
    accept: Sequence[Accept] = (),
    resets: Sequence[int | str | Callable[[Any, Any], bool]] = (),
    max_resets: int | None = None,
    fail_on: Sequence[str] | None = None,
    min_shared: float | None = None,
    engine: Any = None,
    block_size: int | None = None,
    name: str | None = None,
    **unknown: Any,
) -> StabilityReport:
    """Assert that every request begins with all of the request it continues, token by token.

    Args:
        chat: a message list or wire body (one chat that grows), a list of requests as sent, a `Recording`, a list of
            rendered prompts (`Prompt`, str or token ids), or a builder `build(turn)`.
        template: None for the wire front end (no model needed; estimates), a model name, a folder, `.gguf` or `.jinja`
            path, a `ChatTemplate`, or a callable that returns token ids.
        requests: compare requests that end in a user turn and in tool results, or `"user"` for user turns alone.
        tools: tool definitions for message lists; template_kwargs: keywords for the template.
        turns: how many requests a builder is asked for (default 3).
        toggles: settings and orders to try both ways; under: worlds to build in (`clock`, `clock:day`, `hashseed`,
            `random`, `cwd`, `host`, `user`, `locale`).
        accept: known divergences; resets: where a new prefix is intended, at most `max_resets` times.
        fail_on: verdicts that fail (`history`, `raises`, `not_rendered`; `tail` and `date` can be added).
        min_shared: least share of the earlier request's tokens that each step must keep.
        block_size: tokens in a cache block (vLLM's default is 16), for block numbers.
        name: names the check in reports.

    Returns:
        The report, which is true when the assertion holds.

    Raises:
        PrefixFailure: an AssertionError whose first line is complete in itself; `.report` holds the data.
        UsageError: the input cannot be judged, or nothing would be compared.
    """
    __tracebackhide__ = True
    options = _given(locals())
    return _asserted(check_prefix_stable(chat, **options), options)


async def assert_prefix_stable_async(chat: Callable[..., Awaitable[Any]] | Any, **options: Any) -> StabilityReport:
    """The same for an async builder; takes the options of `assert_prefix_stable`."""
    __tracebackhide__ = True
    check = _Check(chat, options)
    if check.build is not None:
        await build_all_async(check.build, check.worlds, check.options.turns)
    return _asserted(check.report(), options)


def _given(scope: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were really passed: those left at None or empty take their defaults below."""
    out = {k: v for k, v in scope.items() if k in _Options.NAMES and not (v is None or v == ())}
    return {**out, **scope["unknown"]}


def _asserted(report: StabilityReport, options: Mapping[str, Any]) -> StabilityReport:
    __tracebackhide__ = True
    for words in report.warnings:
        warnings.warn(words, CachesafeWarning, stacklevel=4)
    if not report.passed:
        made = _Options(options)
        raise PrefixFailure(report, made.verbosity, made.redact)
    return report


class _Check:
    """One check: worlds to build in, then plans, steps, toggles and perturbations."""

    def __init__(self, chat: Any, given: Mapping[str, Any]) -> None:
        from pytest_cachesafe.perturb.settings import parse_under

        self.options = _Options(given)
        node = _node()
        self.node = node
        self.call = node.next_call() if node is not None else 0
        asked = [*self.options.under, *(node.reruns if node is not None else ())]
        self.settings = parse_under(asked) if asked else []
        self.chat = chat
        self.build = chat if is_builder(chat) else None
        self.reads: list[Any] = []
        self.base = World("base", self._first_settings())
        self.toggle_worlds: list[tuple[Toggle, Any, World]] = []
        self.clock_worlds: list[tuple[Any, World]] = []
        self.other_worlds: list[tuple[Any, World]] = []
        if self.build is not None:
            self._plan_worlds()

    def _first_settings(self) -> dict[str, Any]:
        return {t.name: t.values[0] for t in self.options.toggles if t.kind == "setting"}

    def _plan_worlds(self) -> None:
        first = self._first_settings()
        if self.settings:
            self.base.around = self._watched
        if self._sink() is not None:
            return
        for toggle in self.options.toggles:
            if toggle.kind == "setting":
                for value in toggle.values[1:]:
                    world = World(toggle.label, {**first, toggle.name: value})
                    self.toggle_worlds.append((toggle, value, world))
            else:
                for n in range(2):
                    world = World(toggle.label, first, permute=_permuter(toggle.name, n))
                    self.toggle_worlds.append((toggle, ("reversed", "moved by one")[n], world))
        for setting in self.settings:
            if setting.reruns:
                continue
            world = World(setting.name, first, around=setting.apply)
            (self.clock_worlds if setting.name.startswith("clock") else self.other_worlds).append((setting, world))

    @property
    def worlds(self) -> list[World]:
        """All worlds the builder is called in, the plain one first."""
        return [
            self.base,
            *(w for _, _, w in self.toggle_worlds),
            *(w for _, w in self.clock_worlds),
            *(w for _, w in self.other_worlds),
        ]

    def _watched(self, index: int) -> AbstractContextManager[Any]:
        from pytest_cachesafe.perturb.watch import watch

        stack = ExitStack()
        reads = stack.enter_context(watch())
        stack.callback(lambda: self.reads.extend(r for r in reads if r not in self.reads))
        return stack

    def _sink(self) -> Any:
        from pytest_cachesafe.perturb.node import rerun_target

        if rerun_target() is None:
            return None
        from pytest_cachesafe.perturb.rerun import in_rerun

        return in_rerun()

    # After the builder was called.

    def report(self) -> StabilityReport:
        """Judge everything that was built."""
        o = self.options
        base = self._plan(self.base) if self.build is not None else self._data_plan()
        front_end = self._front_end(base)
        _freeze(base.items, datetime.now())
        sink = self._sink()
        if sink is not None:
            return self._hand_over(sink, base, front_end)
        if base.compared == 0 and not (o.toggles or self.settings):
            what = "one request" if len(base.items) == 1 else f"{len(base.items)} requests of as many conversations"
            raise UsageError(
                f"nothing was compared: {what}; give a chat with at least two requests, turns=2, toggles or under"
            )
        acceptances = Acceptances(o.accept, project_acceptances(self._folder()))
        outcome = check_plan(base, front_end, acceptances, o.resets, o.block_size)
        report = StabilityReport(
            outcome.front_end, outcome.exact, o.block_size, len(base.items), base.conversations, outcome.steps,
            acceptances, name=o.name, fail_on=o.fail_on, min_shared=o.min_shared, missing=outcome.missing,
            resets=outcome.resets, notes=outcome.notes, generated_text_reused=outcome.generated, reads=self.reads,
            layout=render,
        )  # fmt: skip
        report.toggles = self._toggles(base, front_end)
        report.perturbed = self._perturbed(base, front_end, acceptances, outcome)
        self._finish(report, front_end, outcome)
        return report

    def _plan(self, world: World) -> Plan:
        return requests_of(world, tools=self.options.tools, template_kwargs=self.options.template_kwargs)

    def _data_plan(self, settings: Mapping[str, Any] | None = None, chat: Any = None, tools: Any = None) -> Plan:
        o = self.options
        kwargs = {**o.template_kwargs, **(self._first_settings() if settings is None else settings)}
        made = plan(
            self.chat if chat is None else chat, requests=o.requests,
            tools=o.tools if tools is None else tools, template_kwargs=o.template_kwargs,
        )  # fmt: skip
        chosen = {k: v for k, v in kwargs.items() if k not in o.template_kwargs} if settings is None else dict(settings)
        if chosen:
            # A toggle's value wins over what a request says itself: that is what it tries.
            made.items = [_with(item, settings=chosen) for item in made.items]
        return made

    def _front_end(self, base: Plan) -> FrontEnd:
        if all(isinstance(item, Prompt) for item in base.items):
            return PassThrough()  # type: ignore[return-value]
        from pytest_cachesafe.frontends.resolve import resolve_front_end

        return resolve_front_end(self.options.template)

    def _folder(self) -> Any:
        return self.node.path.parent if self.node is not None else None

    def _hand_over(self, sink: Any, base: Plan, front_end: FrontEnd) -> StabilityReport:
        """In the child of a re-run: write the prompts down, judge nothing."""
        from pytest_cachesafe.prefix.check import prompts_of

        prompts = [(i, p) for i, p in prompts_of(base.items, front_end) if isinstance(p, Prompt)]
        sink.write(self.call, [p for _, p in prompts])
        return StabilityReport(
            front_end.name, True, self.options.block_size, len(base.items), 1, [], Acceptances(), fail_on=()
        )

    # Toggles.

    def _toggles(self, base: Plan, front_end: FrontEnd) -> list[ToggleResult]:
        results = {id(t): ToggleResult(t) for t in self.options.toggles}
        keywords = getattr(front_end, "keywords", None)
        for toggle in self.options.toggles:
            result = results[id(toggle)]
            variants = self._variants(toggle, base)
            if not variants:
                result.idle = f"{toggle.label}: nothing to reorder, every sequence has fewer than two items"
            for value, items in variants:
                observe(result, value, base.items, items, front_end, self.options.block_size)
            unread = toggle.kind == "setting" and keywords is not None and toggle.name not in keywords
            if unread and (self.build is None or result.observed == "keeps"):
                result.idle = f"the template never reads {toggle.name!r}"
            if toggle.kind == "order" and self.build is not None:
                asked = sum(w.orders_asked for t, _, w in self.toggle_worlds if t is toggle)
                if not asked:
                    raise UsageError(
                        f"Toggle.order({toggle.name!r}): the builder never calls turn.order(…), nothing was reordered"
                    )
        return list(results.values())

    def _variants(self, toggle: Toggle, base: Plan) -> list[tuple[Any, list[Item]]]:
        if self.build is not None:
            return [
                (value, _frozen_like(self._plan(world).items, base.items))
                for t, value, world in self.toggle_worlds
                if t is toggle
            ]
        if toggle.kind == "setting":
            first = self._first_settings()
            return [
                (v, _frozen_like(self._data_plan({**first, toggle.name: v}).items, base.items))
                for v in toggle.values[1:]
            ]
        return _reordered(toggle, base)

    # Worlds.

    def _perturbed(self, base: Plan, front_end: FrontEnd, acceptances: Acceptances, plain: Outcome) -> list[Any]:
        o = self.options
        steps: list[Any] = []
        stable = {s.request for s in plain.steps if s.verdict == "stable"}
        for setting in self.settings:
            if setting.name.startswith("clock"):
                made = self._clock_plan(setting, base)
                outcome = check_plan(made, front_end, acceptances, o.resets, o.block_size)
                for step in outcome.steps:
                    if step.verdict != "stable" and step.request in stable and step.reset is None:
                        step.under = setting.name
                        steps.append(step)
            elif setting.reruns:
                steps += self._rerun(setting, acceptances)
            else:
                world = next((w for s, w in self.other_worlds if s is setting), None)
                if world is None:
                    raise UsageError(
                        f"under=[{setting.name!r}] needs a builder: the requests are given as data and cannot change; "
                        "pass a function build(turn)"
                    )
                items = _frozen_like(self._plan(world).items, base.items)
                steps += across(base.items, items, front_end, acceptances, o.block_size, setting.name)
        return steps

    def _clock_plan(self, setting: Any, base: Plan) -> Plan:
        """The requests with the clock moved on between them; for given data only the template's clock can move."""
        world = next((w for s, w in self.clock_worlds if s is setting), None)
        made = self._plan(world) if world is not None else Plan(list(base.items), list(base.pairs), base.kind)
        made.items = [
            _with(item, now=datetime.fromtimestamp(setting.timestamp(i))) for i, item in enumerate(made.items)
        ]
        return made

    def _rerun(self, setting: Any, acceptances: Acceptances) -> list[Any]:
        """The test again in one child per hash seed; the children's prompts are compared with each other."""
        from pytest_cachesafe.perturb.rerun import rerun_prompts

        runs = [(name, rerun_prompts(name, self.call)) for name in setting.reruns]
        steps: list[Any] = []
        first_name, first = runs[0]
        for name, other in runs[1:]:
            label = f"{first_name} against {name}"
            found = across(
                [r.prompt() for r in first], [r.prompt() for r in other], PassThrough(),  # type: ignore[arg-type]
                acceptances, self.options.block_size, label,
            )  # fmt: skip
            known = {s.request for s in steps}
            steps += [s for s in found if s.request not in known]
        return steps

    # Words.

    def _finish(self, report: StabilityReport, front_end: FrontEnd, outcome: Outcome) -> None:
        o = self.options
        keywords = getattr(front_end, "keywords", None)
        if keywords is not None:
            for key in o.template_kwargs:
                if key not in keywords:
                    near = difflib.get_close_matches(key, keywords, 1)
                    hint = f" (it reads {near[0]!r})" if near else ""
                    report.warnings.append(f"template keyword {key!r} is never read by {front_end.name}{hint}")
        for result in report.toggles:
            if result.idle:
                report.warnings.append(f"toggle compared nothing: {result.idle}")
        report.unused_resets = o.resets.unused()
        if o.resets.most is not None and len(outcome.resets) > o.resets.most:
            report.over_resets = f"{len(outcome.resets)} resets happened, max_resets is {o.resets.most}"
        for item in report.acceptances.unused():
            report.notes.append(f"acceptance no longer happens, remove it: {item.describe()}")
        for words in report.unused_resets:
            report.notes.append(f"declared reset never happened: {words}")
        if self.node is not None:
            self.node.record(report)


def _permuter(name: str, n: int) -> Callable[[Sequence[Any]], list[Any]]:
    """How `turn.order` permutes while an order toggle is on; short sequences stay as they are."""

    def permute(items: Sequence[Any]) -> list[Any]:
        if name == "schema_keys":
            return [reorder_keys(item) for item in items]
        orders = permutations(items)
        return orders[min(n, len(orders) - 1)] if orders else list(items)

    return permute


def _reordered(toggle: Toggle, base: Plan) -> list[tuple[Any, list[Item]]]:
    """Order toggles over given requests: their tools, permuted."""
    if toggle.name not in ("tools", "schema_keys"):
        raise UsageError(
            f"Toggle.order({toggle.name!r}) over given requests: only 'tools' and 'schema_keys' can be permuted; "
            "use a builder"
        )
    out: list[tuple[Any, list[Item]]] = []
    for n, label in enumerate(("reversed", "moved by one")):
        items: list[Item] = []
        changed = False
        for item in base.items:
            tools = item.tools if isinstance(item, Chat) else None
            orders = (
                [[reorder_keys(t) for t in tools]]
                if tools and toggle.name == "schema_keys"
                else permutations(tools or [])
            )
            if n < len(orders):
                changed = True
                item = _with(item, tools=orders[n])
            items.append(item)
        if changed:
            out.append((label, items))
    return out


def _with(item: Item, **changes: Any) -> Item:
    """A copy of a request with other settings, tools or clock; prompts have none of them."""
    if not isinstance(item, Chat):
        return item
    if "settings" in changes:
        changes["settings"] = {**item.settings, **changes["settings"]}
    if "tools" in changes and item.body is not None and "tools" in item.body:
        order = changes["tools"]
        places = [next(i for i, t in enumerate(item.tools or []) if t is tool) for tool in order] if all(
            any(t is tool for t in item.tools or []) for tool in order
        ) else None  # fmt: skip
        listed = item.body["tools"]
        body_tools = [listed[i] for i in places] if places and len(places) == len(listed) else reorder_keys(listed)
        changes["body"] = {**item.body, "tools": body_tools}
    return replace(item, **changes)


def _freeze(items: Sequence[Item], now: datetime) -> None:
    """One clock for all requests that name none: midnight must not fall into a test by accident."""
    for item in items:
        if isinstance(item, Chat) and item.now is None:
            item.now = now


def _frozen_like(items: Sequence[Item], base: Sequence[Item]) -> list[Item]:
    now = next((item.now for item in base if isinstance(item, Chat) and item.now is not None), datetime.now())
    _freeze(items, now)
    return list(items)
