"""pytest hooks, options and fixtures. pytest, the standard library and two small modules of ours: nothing else loads
until a test uses the package. Which value of an option wins is said in `options`.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

from pytest_cachesafe import options
from pytest_cachesafe.fixtures import (  # noqa: F401  (pytest finds fixtures by their names here)
    _cachesafe_probes,
    _cachesafe_templates,
    cachesafe,
    chat_template,
    llm_traffic,
    prefix_cache,
    semantic_cache,
    smollm2,
)
from pytest_cachesafe.perturb import node

# How many tests there were before any was deselected.
COLLECTED = pytest.StashKey[int]()
_DOWNLOAD_VARIABLE = "CACHESAFE_ALLOW_DOWNLOAD"
_MARKER = (
    "cachesafe({}): options of pytest-cachesafe for one test, class or module, the closest level first; "
    'rerun=["hashseed=0", "hashseed=1"] runs the test again in child processes and compares the prompts'
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Every flag with its ini twin."""
    group = parser.getgroup("cachesafe", "prompt cache safety")
    for option in options.OPTIONS:
        if not option.flag:
            continue
        action: dict[str, Any] = {"action": "store_true"} if option.switch else {"metavar": option.metavar}
        group.addoption(option.spelling, dest=option.dest, default=None, help=option.help, **action)
        # No default here: None tells "not set" from a value that equals the default.
        parser.addini(option.dest, f"{option.help} (flag: {option.spelling})", type=option.ini, default=None)


def pytest_load_initial_conftests(args: list[str]) -> None:
    """pytest refuses an unknown flag without saying which one may be meant."""
    known = [option.spelling for option in options.OPTIONS if option.flag]
    for word in args:
        name = word.partition("=")[0]
        if name.startswith("--cachesafe-") and name not in known:
            raise pytest.UsageError(f"unknown option {name}{options.closest(name, known)}")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that mean nothing, before any test runs."""
    config.addinivalue_line("markers", _MARKER.format(", ".join(o.name for o in options.OPTIONS if o.marker)))
    config.addinivalue_line("markers", "cachesafe_lint: findings of --cachesafe-lint; not for tests")
    # pytest 9 deprecates the public name and gives no other way to see the keys that no plugin registered.
    keys: Any = config._inicfg if hasattr(config, "_inicfg") else config.inicfg
    wrong = options.unknown_ini_keys(keys)
    if wrong:
        raise pytest.UsageError(wrong[0])
    if options.given(config) or _lock_may_count(config):
        from pytest_cachesafe.gate.register import register
        from pytest_cachesafe.prompt import UsageError

        try:
            settings = options.effective(config)
            register(config, settings)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        if settings["dummy_keys"].value:
            from pytest_cachesafe.providers.capture.environment import dummy_keys

            keys = dummy_keys()
            keys.__enter__()
            config.add_cleanup(lambda: keys.__exit__(None, None, None))
        if settings["allow_download"].value:
            patch = pytest.MonkeyPatch()
            patch.setenv(_DOWNLOAD_VARIABLE, "1")
            config.add_cleanup(patch.undo)
    # Taken out of the environment so that a pytest started by the test itself is not mistaken for the child.
    file, target = os.environ.pop(node.FILE_VARIABLE, None), os.environ.pop(node.NODE_VARIABLE, None)
    if file and target:
        node.set_rerun_target((file, target))
        config.pluginmanager.register(_Child(target), "cachesafe-rerun")


def _lock_may_count(config: pytest.Config) -> bool:
    if os.path.lexists(os.path.join(config.rootpath, "cachesafe.lock.jsonl")):
        return True
    if os.environ.keys().isdisjoint(("CI", "TF_BUILD", "BUILD_NUMBER")):
        return False
    from pytest_cachesafe.gate import BASE_VARIABLES

    # The change that a CI looks at may have taken it away.
    return any(map(os.environ.get, BASE_VARIABLES))


class _Child:
    """Hooks of a child process that runs one test once more."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Files named in an argument file, or by an option we do not know, would bring other tests along."""
        items[:] = [item for item in items if item.nodeid == self.nodeid]


def _lints(config: pytest.Config) -> bool:
    on = "lint" in options.given(config) and bool(options.effective(config)["lint"].value)
    return on and node.rerun_target() is None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`@pytest.mark.cachesafe(cases="pairs.jsonl")`: one test a labelled pair."""
    if any("cases" in mark.kwargs for mark in metafunc.definition.iter_markers("cachesafe")):
        from pytest_cachesafe.semantic.cases import parametrize

        parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Ids of findings are no tests that pytest could look for."""
    if _lints(session.config):
        from pytest_cachesafe.lint.asked import take_ids

        take_ids(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """The linter's findings beside the tests."""
    if _lints(config):
        from pytest_cachesafe.lint.items import lint_items

        items.extend(lint_items(session))
    config.stash[COLLECTED] = len(items)


def pytest_report_header(config: pytest.Config) -> str | None:
    """One line, only if something was set."""
    names = options.given(config)
    if not names:
        return None
    settings = options.effective(config)
    return "cachesafe: " + ", ".join(f"{n}={settings[n].value} ({settings[n].origin})" for n in names)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """The test is known to the assertions from set-up to tear-down."""
    state = node.NodeState(item)
    state.gate = item.config.pluginmanager.get_plugin("cachesafe-gate")
    state.collector = item.config.pluginmanager.get_plugin("cachesafe-report")
    node.push(state)
    try:
        return (yield)
    finally:
        node.pop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A mistake in the marker fails its own test, before any fixture runs."""
    state = node.current_node()
    if state is not None:
        state.begin_attempt()
        if item.get_closest_marker("cachesafe") is not None:
            state.settings  # noqa: B018  (reading it checks it)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """A marker that asks for re-runs of a test which compares nothing would pass for no reason."""
    yield
    state = node.current_node()
    if state is not None and item.get_closest_marker("cachesafe") is not None and node.rerun_target() is None:
        node.refuse_idle(state)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """So would one that sets a price; a fixture may judge what it recorded when it ends."""
    yield
    state = node.current_node()
    priced = any("max_cost" in mark.kwargs for mark in item.iter_markers("cachesafe"))
    if priced and state is not None and not state.failed and node.rerun_target() is None:
        from pytest_cachesafe.gate.judging import refuse_unpriced

        refuse_unpriced(item, state)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Our failures: no frames of ours, the text at the verbosity asked for, a first line that stands alone."""
    excinfo = call.excinfo
    state = node.current_node()
    if excinfo is not None and state is not None:
        state.failed = True
    if excinfo is None:
        return (yield)
    from pytest_cachesafe import display

    kind = display.kind(excinfo.value)
    if kind == "failure":
        display.forget_our_frames(excinfo.tb)
        found = getattr(excinfo.value, "report", None)
        if found is not None and state is not None:
            redact = state.settings["redact"].value
            excinfo.value.args = (found.text(item.config.get_verbosity(), redact), *excinfo.value.args[1:])
    report = yield
    if kind is not None and report.outcome == "failed":
        if kind == "usage":
            report.longrepr = excinfo.getrepr(style="value")
        display.plain_message(report.longrepr, excinfo)
    return report


def _said(reporter: Any) -> bool:
    """Whether a test had something to say: nothing is loaded for the others."""
    ended = (r for rs in reporter.stats.values() for r in rs if getattr(r, "when", None) == "teardown")
    return any(name in ("cachesafe_note", "cachesafe_unpriced") for r in ended for name, _ in r.user_properties)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A marker over a class that sets a price fails the run where none of its tests has one."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and exitstatus == pytest.ExitCode.OK and _said(reporter):
        from pytest_cachesafe.report.notes import fail_unpriced

        fail_unpriced(session, reporter)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What passed tests had to say; nothing if they had nothing to say."""
    if _said(terminalreporter):
        from pytest_cachesafe.report.notes import tell

        tell(terminalreporter)
