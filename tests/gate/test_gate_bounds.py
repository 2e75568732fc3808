"""What fails: expressions, budgets, changed prefixes; by marker, ini and flag; with a lock file and without."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_cachesafe import Recording, check_prefix_stable
from pytest_cachesafe.frontends.wire import WireFrontEnd
from pytest_cachesafe.messages.convert import to_chat

STABLE = "def test_a():\n    assert_prefix_stable(chat(4))\n"
CLOCK = "def test_a():\n    assert_prefix_stable(chat(4, clocked), fail_on=['raises'])\n"


def ini(gated: Any, *lines: str) -> None:
    gated.pytester.makeini("\n".join(["[pytest]", "pythonpath = .", *lines]) + "\n")


@pytest.fixture
def worse(gated: Any) -> Any:
    """A test in the lock file that then lost its prefix."""
    gated.file("test_a.py", STABLE)
    gated.run("--cachesafe-update")
    gated.file("test_a.py", CLOCK)
    return gated


def test_tolerances_decide_what_fails(worse: Any) -> None:
    worse.run("--cachesafe-compare-fail", "lost:0", ok=1).stdout.fnmatch_lines(["*tokens more of the prefix lost*"])
    worse.run("--cachesafe-compare-fail", "lost:100000")
    worse.run("--cachesafe-compare-fail", "lost:5%", ok=1)
    worse.run("--cachesafe-compare-fail", "lost:100%")
    worse.run("--cachesafe-compare-fail", "reason", ok=1).stdout.fnmatch_lines(["*a new cause of loss: *"])


def test_marker_before_flag_before_ini(worse: Any) -> None:
    ini(worse, "cachesafe_compare_fail = lost:100000")
    worse.run()
    worse.run("--cachesafe-compare-fail", "lost:0", ok=1)
    worse.file("test_a.py", '@pytest.mark.cachesafe(compare_fail="lost:100000")\n' + CLOCK)
    worse.run("--cachesafe-compare-fail", "lost:0")


def test_an_unknown_expression_stops_the_run(worse: Any) -> None:
    result = worse.run("--cachesafe-compare-fail", "losst:0", ok=4)
    result.stderr.fnmatch_lines(["*unknown metric 'losst'; did you mean 'lost'?*"])


def test_informational_tells_and_fails_nothing(worse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    worse.file("test_b.py", STABLE.replace("test_a", "test_new"))
    said = worse.says("--cachesafe-informational")
    assert "cache regression in stable: " in said
    assert "has no entry for it" in said
    (worse.path / "test_a.py").unlink()
    assert "note: 1 entry" in worse.says("--cachesafe-informational")


def test_new_only_adds_and_leaves_what_is_there(worse: Any) -> None:
    old = worse.lock
    worse.file("test_b.py", STABLE.replace("test_a", "test_new"))
    worse.run("--cachesafe-update-new-only", ok=1).stdout.fnmatch_lines(["*1 added, 0 changed, 0 removed*"])
    assert worse.lock.startswith(old)
    worse.run("--cachesafe-update").stdout.fnmatch_lines(["*0 added, 1 changed, 0 removed*"])
    worse.run()


def test_the_two_ways_to_write_exclude_each_other(worse: Any) -> None:
    worse.run("--cachesafe-update", "--cachesafe-update-new-only", ok=4)
    worse.run("--cachesafe-update", "--cachesafe-informational", ok=4)


def test_a_check_that_measures_something_else_is_no_pass(gated: Any) -> None:
    body = 'def test_a():\n    assert_reuse([list(range(100)), list(range(120))], engine="{0}", name="x")\n'
    gated.file("test_a.py", body.format("vllm"))
    gated.run("--cachesafe-update")
    gated.run()
    row = json.loads(gated.lock)
    row["kept"] = {"sglang": 1}
    gated.lock_path.write_text(json.dumps(row) + "\n")
    gated.run(ok=1).stdout.fnmatch_lines(["*it is held against * now, sglang in the lock file: re-baseline needed*"])


@pytest.mark.parametrize(("action", "status", "told"), [("warn", 0, True), ("fail", 1, True), ("ignore", 0, False)])
def test_a_changed_prefix(gated: Any, action: str, status: int, told: bool) -> None:
    gated.file("test_a.py", STABLE)
    gated.run("--cachesafe-update")
    # As after an upgrade of a framework whose own words go into the system text.
    agent = gated.path / "agent.py"
    agent.write_text(agent.read_text().replace("You are a support bot.", "You're a support bot!"))
    ini(gated, f"cachesafe_prefix_change = {action}")
    said = gated.says(ok=status)
    assert ("tools or system text changed: a deploy makes every cache cold, about" in said) is told


def test_estimates_are_marked_in_the_file_and_in_words(worse: Any) -> None:
    assert json.loads(worse.lock)["estimated"] is True
    worse.run(ok=1).stdout.fnmatch_lines(["*cache regression in stable: about *"])
    worse.file("test_b.py", "def test_b():\n    assert_prefix_stable([[1, 2, 3], [1, 2, 3, 4]])\n")
    worse.run("--cachesafe-update", "test_b.py")
    rows = {row["test"]: row for row in map(json.loads, worse.lock.splitlines())}
    assert "estimated" not in rows["test_b.py::test_b"]


BUDGETS = [
    ("min_cached_share", "0.9", "0.01", "*min_cached_share is 90%*"),
    ("max_uncached_tokens", "1", "100000", "*tokens are not cached, max_uncached_tokens is 1*"),
]


@pytest.mark.parametrize(("name", "strict", "loose", "words"), BUDGETS, ids=[row[0] for row in BUDGETS])
@pytest.mark.parametrize("locked", [False, True], ids=["without a lock file", "with one"])
def test_a_budget_by_flag_ini_and_marker(
    gated: Any, name: str, strict: str, loose: str, words: str, locked: bool
) -> None:
    gated.file("test_a.py", CLOCK)
    if locked:
        gated.run("--cachesafe-update")
    flag = "--cachesafe-" + name.replace("_", "-")
    gated.run(flag, strict, ok=1).stdout.fnmatch_lines([f"*budget missed: {words}"])
    gated.run(flag, loose)
    ini(gated, f"cachesafe_{name} = {strict}")
    gated.run(ok=1).stdout.fnmatch_lines([words])
    gated.run("--cachesafe-informational").stdout.fnmatch_lines([f"*budget missed: {words}"])
    gated.run(flag, loose)
    gated.file("test_a.py", f"@pytest.mark.cachesafe({name}={loose})\n{CLOCK}")
    gated.run(flag, strict)
    ini(gated, f"cachesafe_{name} = much")
    gated.run(ok=4)


def test_every_request_counts_in_a_budget_of_tokens(gated: Any) -> None:
    """3 + 5 + 9 tokens are sent, 3 + 5 of them are found: the last request is asked for as the first is."""
    gated.file("test_a.py", "def test_a():\n    assert_prefix_stable([[*range(n)] for n in (3, 5, 9)])\n")
    gated.run("--cachesafe-max-uncached-tokens", "9")
    said = gated.says("--cachesafe-max-uncached-tokens", "8", ok=1)
    assert "budget missed: 9 tokens are not cached, max_uncached_tokens is 8" in said
    gated.run("--cachesafe-update")
    [row] = map(json.loads, gated.lock.splitlines())
    assert (row["tokens"], row["reusable"], row["kept"]) == (17, 8, {"stable": 8})


def test_all_conversations_of_a_recording_count() -> None:
    """Two that interleave, and one of a single request."""
    recording = Recording()
    talk = [[{"role": "user", "content": f"{start}: what now?"}] for start in ("one", "two", "three")]
    for number in (0, 1, 0, 2, 1, 0):
        recording.add(to_chat(list(talk[number])))
        if number < 2:
            talk[number] += [{"role": "assistant", "content": "This."}, {"role": "user", "content": "And then?"}]
    report = check_prefix_stable(recording)
    counts = [WireFrontEnd().prompt(chat).count()[1] for chat in recording]

    assert (report.requests, report.conversations) == (6, 3)
    assert report.gate_values()["tokens"] == sum(counts)


def test_a_budget_of_money_is_held_against_checks_that_have_a_price(gated: Any) -> None:
    gated.file("test_a.py", STABLE)
    # The shape of prompts has no price.
    gated.run("--cachesafe-max-cost", "0.000001")


def test_what_a_conversation_costs() -> None:
    from pytest_cachesafe.gate.budget import over_budget
    from pytest_cachesafe.options import Effective

    class Paid:
        def __init__(self, usd: float | None) -> None:
            self.usd = usd

        def gate_values(self) -> dict[str, Any]:
            return {"kept": {"anthropic": 5}, "reusable": 5, "tokens": 9, "cost_usd": self.usd, "conversations": 2}

    def missed(usd: float | None, budget: float) -> list[str]:
        names = ("min_cached_share", "max_uncached_tokens")
        settings = {name: Effective(None, "default") for name in names} | {"max_cost": Effective(budget, "ini")}
        return over_budget(Paid(usd), settings)

    # 0.02 USD for two conversations are 0.01 for each.
    assert missed(0.02, 0.01) == []
    assert missed(0.02, 0.009) == ["a conversation costs $0.010000, max_cost is $0.009"]
    assert missed(None, 1.0) == ["max_cost is not checked: of no request is known what the provider does with it"]


def test_blanks_in_an_expression_part_metrics_and_nothing_else(worse: Any) -> None:
    worse.run("--cachesafe-compare-fail", "lost: 100%")
    worse.run("--cachesafe-compare-fail", "lost: 5% reason", ok=1)
    result = worse.run("--cachesafe-compare-fail", "lost: five", ok=4)
    result.stderr.fnmatch_lines(["*'lost:five': lost takes a bound, lost:100 (tokens) or lost:5%*"])


def test_a_price_for_a_test_in_which_nothing_has_one_is_a_mistake(gated: Any) -> None:
    marker = "@pytest.mark.cachesafe(max_cost=0.5)\n"
    gated.file("test_a.py", marker + STABLE)
    gated.run(ok=1).stdout.fnmatch_lines(["*max_cost=…) compared nothing: no check of this test has a price; call *"])
    gated.file("test_a.py", marker + "def test_a():\n    pass\n")
    gated.run(ok=1)
    # A fixture judges when it ends.
    late = "@pytest.fixture\ndef late():\n    yield\n    assert_cache_safe(chat(2))\n\n"
    gated.file(
        "test_a.py",
        "import pytest\nfrom pytest_cachesafe.providers.assertions import *\n"
        + late
        + marker
        + "def test_a(late):\n    pass\n",
    )
    gated.run()
    # A budget of the whole run is none of a single test's business.
    gated.file("test_a.py", STABLE)
    gated.run("--cachesafe-max-cost=0.5")


CLASS = """
from pytest_cachesafe.providers.assertions import *

@pytest.mark.cachesafe(max_cost=9)
class TestIt:
    def test_nothing(self):
        pass
    def test_shape(self):
        assert_prefix_stable(chat(2))
"""
PAID = "    def test_paid(self):\n        assert_cache_safe(chat(2))\n"
MODULE = "pytestmark = pytest.mark.cachesafe(max_cost=9)\ndef test_a():\n    pass\n"


@pytest.mark.parametrize("flags", [(), ("-p", "xdist", "-n", "2")])
def test_a_price_for_a_class_in_which_nothing_has_one_fails_the_run(gated: Any, flags: tuple[str, ...]) -> None:
    gated.file("test_a.py", CLASS)
    result = gated.run(*flags, ok=1)
    assert result.parseoutcomes() == {"passed": 2}
    said = "error: test_a.py::TestIt: *max_cost=…) compared nothing: none of its 2 tests has a check with a price; *"
    result.stdout.fnmatch_lines([said])
    gated.run("--cachesafe-informational", *flags).stdout.fnmatch_lines(["warning: test_a.py::TestIt: *"])
    gated.file("test_a.py", CLASS + PAID)
    assert "compared nothing" not in gated.run(*flags).stdout.str()
    gated.file("test_a.py", MODULE)
    gated.run(*flags, ok=1).stdout.fnmatch_lines(["error: test_a.py: *compared nothing: its one test does not *"])


def test_a_part_of_a_class_does_not_show_that_nothing_has_a_price(gated: Any) -> None:
    gated.file("test_a.py", CLASS + PAID)
    for part in (
        ("-k", "nothing"),
        ("test_a.py::TestIt::test_nothing",),
        ("--deselect", "test_a.py::TestIt::test_paid"),
    ):
        assert "compared nothing" not in gated.says(*part)
    gated.file("test_a.py", CLASS + "    @pytest.mark.skip(reason='no key')\n" + PAID)
    assert "compared nothing" not in gated.says()


def test_a_run_that_did_not_get_to_all_tests_says_nothing_of_a_class(gated: Any) -> None:
    """Failures alone that are tried again, set-ups alone, and runs that stop."""
    gated.file("test_a.py", CLASS.replace("pass", "assert 0") + PAID)
    gated.run(ok=1)
    gated.file("test_a.py", CLASS + PAID)
    gated.run("--lf")
    gated.run("--setup-plan")
    stop = "    def test_nothing(self):\n        pytest.exit('enough', returncode=0)\n"
    gated.file("test_b.py", "import pytest\n" + CLASS + stop.replace("nothing", "stop") + PAID)
    assert "compared nothing" not in gated.run("test_b.py").stdout.str()


def test_a_price_holds_for_the_check_that_has_one(gated: Any) -> None:
    marker = "@pytest.mark.cachesafe(max_cost={})\n"
    both = "def test_a():\n    assert_prefix_stable(chat(2))\n    assert_cache_safe(chat(2))\n"
    gated.file("test_a.py", "from pytest_cachesafe.providers.assertions import *\n" + marker.format(9) + both)
    gated.run()
    gated.file("test_a.py", "from pytest_cachesafe.providers.assertions import *\n" + marker.format(1e-9) + both)
    gated.run(ok=1).stdout.fnmatch_lines(["*a conversation costs about *, max_cost is $1e-09*"])
    unknown = both.replace("chat(2))", "[{**b, 'model': 'claude-zeta'} for b in chat(2)])")
    gated.file("test_a.py", "from pytest_cachesafe.providers.assertions import *\n" + marker.format(9) + unknown)
    said = "*budget missed: max_cost is not checked: no price is known for model claude-zeta: give it under *"
    gated.run(ok=1).stdout.fnmatch_lines([said])


def test_a_cache_that_a_check_is_not_held_against_any_more_is_told() -> None:
    from pytest_cachesafe.gate.base import moved
    from pytest_cachesafe.gate.compare import compare_entries
    from pytest_cachesafe.gate.entry import Entry
    from pytest_cachesafe.gate.lockfile import Lock
    from pytest_cachesafe.report.gate import moved_lines
    from pytest_cachesafe.report.lock import lock_json

    before = Entry("t", "n", "reuse", "f", reusable=9, tokens=10, kept={"vllm": 9, "sglang": 9})
    now = Entry("t", "n", "reuse", "f", reusable=9, tokens=10, kept={"vllm": 9})
    (change,) = compare_entries(before, now, {}).changes
    assert change.text == "it is not held against sglang any more, as in the lock file (now: vllm)"
    assert not change.fails
    found = moved("main", Lock([before]), Lock([now]))
    assert moved_lines(found) == ["lock changed against main: 1 held against fewer caches"]
    assert lock_json(Lock(), "x", found)["against"]["fewer"] == [{"test": "t", "name": "n", "gone": ["sglang"]}]
