"""One check: worlds to build in, then plans, steps, toggles and perturbations, put into one report."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pytest_cachesafe.findings import Severity
from pytest_cachesafe.prefix.accept import Accept, Acceptances, project_acceptances
from pytest_cachesafe.prefix.builder import World, requests_of
from pytest_cachesafe.prefix.check import Outcome, PassThrough, check_plan, prompts_of
from pytest_cachesafe.prefix.datadiff import equal
from pytest_cachesafe.prefix.inputs import Item, Plan, is_builder, plan, why_alone
from pytest_cachesafe.prefix.references import refuse_shared
from pytest_cachesafe.prefix.result import StabilityReport
from pytest_cachesafe.prefix.toggles import Toggle, ToggleResult
from pytest_cachesafe.prefix.vary import across, observe
from pytest_cachesafe.prefix.wording import step_sentence
from pytest_cachesafe.prompt import Chat, FrontEnd, Prompt, Recording, UsageError
from pytest_cachesafe.report.stability import render
from pytest_cachesafe.report.visible import visible
from pytest_cachesafe.stability.frozen import frozen_at_import
from pytest_cachesafe.stability.options import Options, running_node
from pytest_cachesafe.stability.reproduce import reproduce_line
from pytest_cachesafe.stability.switches import model_switches
from pytest_cachesafe.stability.unmoved import unmoved_clock
from pytest_cachesafe.stability.variants import changed, freeze, frozen_like, reordered
from pytest_cachesafe.stability.worlds import Worlds

__all__ = ["Check"]


class Check:
    """One check: worlds to build in, then plans, steps, toggles and perturbations."""

    def __init__(self, chat: Any, given: Mapping[str, Any]) -> None:
        from pytest_cachesafe.perturb.settings import parse_under

        self.options = Options(given)
        node = running_node()
        self.node = node
        self.call = node.next_call() if node is not None else 0
        asked = [*self.options.under, *(node.reruns if node is not None else ())]
        self.settings = parse_under(asked) if asked else []
        self.chat = chat
        if isinstance(chat, Recording):
            chat.used = True
        self.build = chat if is_builder(chat) else None
        if self.build is None and self.options.turns is not None:
            raise UsageError(f"turns={self.options.turns} is for builders; given requests are as many as they are")
        # Requests by world, for the line that reproduces a failure.
        self.plain: list[Item] = []
        self.seen: dict[str, list[Item]] = {}
        # The other side of runs that are compared with each other, not with this one.
        self.seen_against: dict[str, list[Item]] = {}
        # Worlds in which nothing could change.
        self.still: list[str] = []
        self.made = Worlds(self.options, self.settings, alone=self.build is None or self._sink() is not None)

    @property
    def worlds(self) -> list[World]:
        """All worlds the builder is called in, the plain one first."""
        return self.made.all

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
        base = self._plan(self.made.base) if self.build is not None else self._data_plan()
        front_end = self._front_end(base)
        freeze(base.items, datetime.now())
        self.plain = base.items
        sink = self._sink()
        if sink is not None:
            return self._hand_over(sink, base, front_end)
        if base.compared == 0 and not (o.toggles or self.settings):
            raise UsageError(f"nothing was compared: {why_alone(base)}")
        acceptances = Acceptances(o.accept, project_acceptances(self._folder()))
        meter = self._meter()
        opening: list[Prompt] = []

        def each(request: int, prompt: Prompt, against: int | None, earlier: Prompt | None) -> None:
            if not opening:
                opening.append(prompt)
            if meter is not None:
                meter(request, prompt, against, earlier)

        outcome = check_plan(base, front_end, acceptances, o.resets, o.block_size, each=each)
        report = StabilityReport(
            outcome.front_end, outcome.exact, o.block_size, len(base.items), base.conversations, outcome.steps,
            acceptances, name=o.name, fail_on=o.fail_on, min_shared=o.min_shared, missing=outcome.missing,
            resets=outcome.resets, notes=outcome.notes, generated_text_reused=outcome.generated, reads=self.made.reads,
            layout=render, identity=getattr(front_end, "identity", None), opening=opening[0] if opening else None,
            alone_tokens=outcome.alone_tokens,
        )  # fmt: skip
        if meter is not None:
            report.reuse = meter.report(outcome)
        report.toggles = self._toggles(base, front_end)
        report.perturbed = self._perturbed(base, front_end, acceptances, outcome)
        if self.made.clock:
            report.warnings += frozen_at_import(self.made, base, self.seen[self.made.clock[0][0].name], front_end)
        elif self.build is not None and outcome.steps and report.prefix_verdict == "stable":
            warnings, notes = unmoved_clock(self.made, base, front_end)
            report.warnings += warnings
            report.notes += notes
        report.notes += model_switches(base, outcome.resets, rendered=o.template not in (None, "wire"))
        report.notes += [words for words in (getattr(s, "limits", None) for s in self.settings) if words]
        self._finish(report, front_end, outcome)
        return report

    def _meter(self) -> Any:
        """What sends each prompt to the engine that was asked for as well; None without one."""
        if self.options.engine is None:
            return None
        from pytest_cachesafe.reuse.check import Metered

        # The option also counts blocks of the comparison, so it is no mistake beside an engine that has none.
        return Metered(self.options.engine, None, self.options.block_size)

    def reproduce(self, report: StabilityReport) -> str | None:
        """The command that shows the worst step again."""
        o = self.options
        worst = report.worst
        items, against = self.plain, None
        if worst is not None and worst.under is not None:
            found = self.seen.get(worst.under)
            if found is None:
                return None
            items = found
            if worst.request == worst.against:
                base = self.seen_against.get(worst.under, self.plain)
                against, items = base[worst.request : worst.request + 1], found[worst.request : worst.request + 1]
        elif worst is None and not report.missing:
            return None
        return reproduce_line(
            items, node=self.node, template=o.template, accept=[*o.accept], fail_on=o.fail_on,
            block_size=o.block_size, against=against,
        )  # fmt: skip

    def locate(self, report: StabilityReport) -> None:
        """Name the lines that built what changed, at the steps that are shown."""
        import os

        from pytest_cachesafe.source import told

        root = str(self.node.config.rootpath) if self.node is not None else os.getcwd()
        for step in (report.worst, report.first):
            found = step.divergence if step is not None else None
            if found is not None and found.origin in ("application", "framework"):
                words = told(found.lead, found.before, found.cause, root)
                if words is not None:
                    report.built[found.lead, found.before] = words

    def _plan(self, world: World) -> Plan:
        o = self.options
        return requests_of(
            world, tools=o.tools, template_kwargs=o.template_kwargs, keywords=o.template not in (None, "wire")
        )

    def _data_plan(self, settings: Mapping[str, Any] | None = None, chat: Any = None, tools: Any = None) -> Plan:
        o = self.options
        kwargs = {**o.template_kwargs, **(self.options.first_settings if settings is None else settings)}
        given = self.chat if chat is None else chat
        if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
            refuse_shared(given)
        made = plan(
            given, requests=o.requests,
            tools=o.tools if tools is None else tools, template_kwargs=o.template_kwargs,
        )  # fmt: skip
        chosen = {k: v for k, v in kwargs.items() if k not in o.template_kwargs} if settings is None else dict(settings)
        if chosen:
            # A toggle's value wins over what a request says itself: that is what it tries.
            made.items = [changed(item, settings=chosen) for item in made.items]
        return made

    def _front_end(self, base: Plan) -> FrontEnd:
        if all(isinstance(item, Prompt) for item in base.items):
            return PassThrough()
        from pytest_cachesafe.frontends.resolve import resolve_front_end

        return resolve_front_end(self.options.template)

    def _folder(self) -> Any:
        return self.node.path.parent if self.node is not None else None

    def _hand_over(self, sink: Any, base: Plan, front_end: FrontEnd) -> StabilityReport:
        """In the child of a re-run: write the prompts down, judge nothing."""
        prompts = [(i, p) for i, p in prompts_of(base.items, front_end) if isinstance(p, Prompt)]
        sink.write(self.call, [p for _, p in prompts])
        return StabilityReport(
            front_end.name, True, self.options.block_size, len(base.items), 1, [], Acceptances(), fail_on=()
        )

    # Toggles.

    def _toggles(self, base: Plan, front_end: FrontEnd) -> list[ToggleResult]:
        results = {id(t): ToggleResult(t) for t in self.options.toggles}
        # Looked up only where needed: finding a template's keywords means parsing it once more.
        keywords = getattr(front_end, "keywords", None) if self.options.first_settings else None
        for toggle in self.options.toggles:
            result = results[id(toggle)]
            variants = self._variants(toggle, base)
            if not variants:
                result.idle = f"{toggle.label}: nothing to reorder, every sequence has fewer than two items"
            for value, items in variants:
                observe(result, value, base.items, items, front_end, self.options.block_size)
            result.idle = result.idle or self._unread(toggle, result, keywords, front_end)
            if toggle.kind == "order" and self.build is not None:
                asked = sum(w.orders_asked for t, _, w in self.made.toggles if t is toggle)
                if not asked:
                    raise UsageError(
                        f"Toggle.order({toggle.name!r}): the builder never calls turn.order(…), nothing was reordered"
                    )
        return list(results.values())

    def _unread(self, toggle: Toggle, result: ToggleResult, keywords: Any, front_end: FrontEnd) -> str | None:
        """Why a setting changed nothing: neither the template nor the builder looked at it."""
        if toggle.kind != "setting":
            return None
        if self.build is None:
            unread = keywords is not None and toggle.name not in keywords
            return f"the template never reads {toggle.name!r}" if unread else None
        worlds = [self.made.base, *(w for t, _, w in self.made.toggles if t is toggle)]
        # Another front end (a callable, a rendered prompt's own) may use keywords that nobody can list.
        silent = toggle.name not in keywords if keywords is not None else self.options.template in (None, "wire")
        silent = silent or isinstance(front_end, PassThrough)
        if result.observed != "keeps" or not silent or any(toggle.name in w.settings_read for w in worlds):
            return None
        return f"{toggle.name!r} is read by neither the template nor, through turn.settings, the builder"

    def _variants(self, toggle: Toggle, base: Plan) -> list[tuple[Any, list[Item]]]:
        if self.build is not None:
            return [
                (value, frozen_like(self._plan(world).items, base.items))
                for t, value, world in self.made.toggles
                if t is toggle
            ]
        if toggle.kind == "setting":
            first = self.options.first_settings
            return [
                (v, frozen_like(self._data_plan({**first, toggle.name: v}).items, base.items))
                for v in toggle.values[1:]
            ]
        return reordered(toggle, base)

    # Worlds.

    def _perturbed(self, base: Plan, front_end: FrontEnd, acceptances: Acceptances, plain: Outcome) -> list[Any]:
        o = self.options
        steps: list[Any] = []
        stable = {s.request for s in plain.steps if s.verdict == "stable"}
        for setting in self.settings:
            if setting.name.startswith("clock"):
                made = self._clock_plan(setting, base, front_end)
                self.seen[setting.name] = made.items
                outcome = check_plan(made, front_end, acceptances, o.resets, o.block_size)
                for step in outcome.steps:
                    if step.verdict != "stable" and step.request in stable and step.reset is None:
                        step.under = setting.name
                        steps.append(step)
            elif setting.reruns:
                steps += self._rerun(setting, self._with_known(acceptances, plain, held=False), base, front_end)
            else:
                world = next((w for s, w in self.made.others if s is setting), None)
                if world is None:
                    raise UsageError(
                        f"under=[{setting.name!r}] needs a builder: the requests are given as data and cannot change; "
                        "pass a function build(turn)"
                    )
                items = frozen_like(self._plan(world).items, base.items)
                self.seen[setting.name] = items
                before = None if setting.name == "random" else plain
                known = self._with_known(acceptances, before, held=self.made.moments is not None)
                steps += across(base.items, items, front_end, known, o.block_size, setting.name)
        return steps

    @staticmethod
    def _with_known(acceptances: Acceptances, plain: Outcome | None, *, held: bool) -> Acceptances:
        """What the plain run loses already is told once, there, and must not be blamed on another world as well.

        Nor must the clock where it was not held and goes on between two worlds; `under=["clock"]` asks for it.
        """
        known = [
            Accept(cause=s.divergence.cause, part=s.divergence.location.part, role=s.divergence.location.role)
            for s in (plain.steps if plain is not None else ())
            if s.divergence is not None
        ]
        if not held:
            known.append(Accept(cause="timestamp"))
        return replace(acceptances, project=[*acceptances.project, *dict.fromkeys(known)])

    def _clock_plan(self, setting: Any, base: Plan, front_end: FrontEnd) -> Plan:
        """The requests with the clock moved on between them; for given data only the template's clock can move."""
        world = next((w for s, w in self.made.clock if s is setting), None)
        reads_clock: bool | None = getattr(front_end, "reads_clock", None)
        if world is None and reads_clock is None:
            raise UsageError(
                f"under=[{setting.name!r}] needs a builder: the requests are given as data and nothing else prints a "
                "clock, so that nothing can move; pass a function build(turn)"
            )
        if world is None and not reads_clock:
            still = "nothing moved, for the requests are given and the template reads no clock"
            self.still.append(f"under {setting.name}: {still}")
        made = self._plan(world) if world is not None else Plan(list(base.items), list(base.pairs), base.kind)
        made.items = [
            changed(item, now=datetime.fromtimestamp(setting.timestamp(i))) for i, item in enumerate(made.items)
        ]
        return made

    def _rerun(self, setting: Any, acceptances: Acceptances, base: Plan, front_end: FrontEnd) -> list[Any]:
        """The test again in one child per hash seed; the children's prompts are compared with each other."""
        from pytest_cachesafe.perturb.rerun import rerun_prompts

        runs = [(name, rerun_prompts(name, self.call)) for name in setting.reruns]
        # The children write text; this process has the tokenizer.
        ours = {i: p for i, p in prompts_of(base.items, front_end) if isinstance(p, Prompt)}
        steps: list[Any] = []
        first_name, first = runs[0]
        for name, other in runs[1:]:
            one, two = ([r.prompt(like=ours.get(r.request)) for r in run] for run in (first, other))
            label = f"{first_name} against {name}"
            self.seen[label] = [r.chat for r in other if r.chat is not None]
            self.seen_against[label] = [r.chat for r in first if r.chat is not None]
            found = across(one, two, PassThrough(), acceptances, self.options.block_size, label)
            known = {s.request for s in steps}
            steps += [s for s in found if s.request not in known]
        return steps

    # Words.

    def _all_the_same(self, report: StabilityReport) -> list[str]:
        """A builder that gives the same request every time was compared with itself only."""
        messages = [item.messages for item in self.plain if isinstance(item, Chat) and item.raw is None]
        if len(messages) < 2 or len(messages) != len(self.plain) or report.verdict != "stable":
            return []
        if not all(equal(messages[0], other) for other in messages[1:]):
            return []
        return [f"all {len(messages)} requests are the same: the builder does not use turn.index"]

    def _finish(self, report: StabilityReport, front_end: FrontEnd, outcome: Outcome) -> None:
        o = self.options
        keywords = getattr(front_end, "keywords", None) if o.template_kwargs else None
        if keywords is not None:
            for key in o.template_kwargs:
                if key not in keywords:
                    near = difflib.get_close_matches(key, keywords, 1)
                    hint = f" (it reads {near[0]!r})" if near else ""
                    report.warnings.append(f"template keyword {key!r} is never read by {front_end.name}{hint}")
        for result in report.toggles:
            if result.idle:
                report.warnings.append(f"toggle compared nothing: {result.idle}")
        report.notes += self.still
        if self.build is not None and not (report.toggles or self.settings):
            report.notes += self._all_the_same(report)
        report.unused_resets = o.resets.unused()
        worst = report.worst
        if o.resets.most is not None and len(outcome.resets) > o.resets.most:
            report.over_resets = f"{len(outcome.resets)} resets happened, max_resets is {o.resets.most}"
        if report.passed and worst is not None and worst.severity is Severity.NOTE and worst.verdict == "history":
            price = f"; one rewrite of {worst.lost_tokens} tokens a day" if worst.divergence is not None else ""
            report.notes.append(step_sentence(worst, report.exact) + price)
        # Behind a divergence that ended the comparison nothing is known.
        for item in [] if report.ended_early else report.acceptances.unused():
            report.notes.append(f"acceptance no longer happens, remove it: {item.describe()}")
        if outcome.steps and all(s.reset is not None for s in outcome.steps):
            report.notes.append("every step is a declared reset: no request was found to continue another")
        for words in report.unused_resets:
            report.notes.append(f"declared reset never happened: {words}")
        # They go on to summaries and files of others: prompt text in them must do no harm there.
        report.notes = [visible(words) for words in report.notes]
        report.warnings = [visible(words) for words in report.warnings]
        if self.node is not None:
            self.node.record(report)
