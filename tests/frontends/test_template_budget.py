"""A template cannot cost more than its budget, whatever it is written with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from attacks import ATTACKS

from pytest_cachesafe.frontends.budget import Budget, BudgetExceededError, Meter
from pytest_cachesafe.frontends.template import ChatTemplate
from pytest_cachesafe.prompt import TemplateRaised, UsageError

USER = [{"role": "user", "content": "x"}]

# Each attack in a child of its own, so that its peak memory is its own. Default limits for characters and memory.
_HARNESS = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from attacks import ATTACKS
from pytest_cachesafe.frontends.budget import Budget
from pytest_cachesafe.frontends.template import ChatTemplate
from pytest_cachesafe.prompt import TemplateRaised, UsageError

def peak():
    # Not ru_maxrss: that one is inherited from whoever started this process.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

USER = [{"role": "user", "content": "x"}]
ChatTemplate.from_string("a").render(USER)
budget = Budget(seconds=0.5, items=100_000)
for name, source in ATTACKS.items():
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        before = peak()
        try:
            text = ChatTemplate.from_string(source, name="evil", budget=budget).render(USER).text
            said = "rendered " + str(len(text))
        except TemplateRaised as e:
            said = "raised " + str(e)
        except UsageError as e:
            said = "usage " + str(e)
        except BaseException as e:
            said = "escaped " + repr(e)
        os.write(writer, json.dumps([name, said[:500], peak() - before]).encode())
        os._exit(0)
    os.close(writer)
    print(os.read(reader, 10_000).decode(), flush=True)
    os.close(reader)
    os.wait4(pid, 0)
"""

# What the sandbox itself refuses, in its own words, or what turns out to be harmless once measured.
RAISED = {"big range"}
HARMLESS = {"doubling namespaces"}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, int]]:
    if not Path("/proc/self/status").is_file():
        pytest.skip("the peak memory of one template is read from /proc")
    support = str(Path(__file__).parents[1] / "support")
    ran = subprocess.run([sys.executable, "-c", _HARNESS, support], capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    return {name: (said, size) for name, said, size in map(json.loads, ran.stdout.splitlines())}


@pytest.mark.parametrize("attack", list(ATTACKS))
def test_attack_is_stopped_with_its_limit_named(attack: str, outcomes: dict[str, tuple[str, int]]) -> None:
    said, size = outcomes[attack]
    kind, _, words = said.partition(" ")
    assert kind == ("raised" if attack in RAISED else "rendered" if attack in HARMLESS else "usage"), said
    if kind == "usage":
        assert words.startswith("evil")
        assert "more than" in words or "recurses without end" in words or "does not compile" in words
    assert size < 300_000_000


@pytest.mark.parametrize(
    ("source", "budget", "words"),
    [
        ("{% for i in range(200) %}x{% endfor %}", Budget(steps=100), "line 1: the template needs more than 100 loop"),
        ("a\n\n{{ 'x' * 101 }}", Budget(characters=100), "line 3: the template needs more than 100 characters"),
        ("{% for i in range(99) %}{{ 'x' * 9 }}{% endfor %}", Budget(characters=800), "more than 800 characters"),
        ("{{ [1] * 11 }}", Budget(items=10), "more than 10 items"),
        ("{{ ''.join([messages[0].content] * 101) }}", Budget(characters=100), "more than 100 characters"),
    ],
)
def test_limit_template_and_line_are_named(source: str, budget: Budget, words: str) -> None:
    with pytest.raises(UsageError, match=r"^evil") as caught:
        ChatTemplate.from_string(source, name="evil", budget=budget).render(USER)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_just_within_the_budget_renders() -> None:
    budget = Budget(steps=100, characters=100, items=100)
    source = "{% for i in range(100) %}x{% endfor %}"
    assert ChatTemplate.from_string(source, budget=budget).render(USER).text == "x" * 100
    assert ChatTemplate.from_string("{{ 'x' * 100 }}", budget=budget).render(USER).text == "x" * 100


def test_ten_megabytes_of_prompt_render() -> None:
    content = "Grüße, \U0001f600 " * 1_000_000
    source = "{% for m in messages %}{{ '<' + m.role + '>' + m.content | trim + '</>' }}{% endfor %}"
    text = ChatTemplate.from_string(source).render([{"role": "user", "content": content}]).text
    assert text == f"<user>{content.strip()}</>"


def test_a_stopped_render_leaves_nothing_behind() -> None:
    import tracemalloc

    source = "".join(f"{{% set a{i} = 'x' * 1000000 %}}" for i in range(20)) + "{{ 'x' * 10 ** 9 }}"
    template = ChatTemplate.from_string(source)
    tracemalloc.start()
    try:
        with pytest.raises(UsageError) as caught:
            template.render(USER)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "characters" in str(caught.value)
    assert held < 5_000_000


def test_a_refusal_is_no_budget_matter() -> None:
    with pytest.raises(TemplateRaised, match=r"^no$"):
        ChatTemplate.from_string("{{ raise_exception('no') }}").render(USER)


def test_weigh_counts_a_container_as_it_prints() -> None:
    shared = ["ab", "cd"]
    items, characters, depth = Meter(Budget()).weigh([shared, shared, {"k": shared}])
    assert (items, characters, depth) == (3 + 2 + 2 + 1 + 2, 4 * 3 + 1, 4)
    with pytest.raises(BudgetExceededError):
        Meter(Budget(items=9)).weigh([shared, shared, {"k": shared}])


def test_time_is_the_processor_time_of_the_render(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, used = [0.0], [0.0]
    clocks = SimpleNamespace(perf_counter=lambda: wall[0], thread_time=lambda: used[0])
    monkeypatch.setattr("pytest_cachesafe.frontends.budget.time", clocks)
    meter = Meter(Budget(seconds=30))
    # A machine busy with other things: an hour passes, the render gets two seconds of it.
    wall[0], used[0] = 3600.0, 2.0
    meter.clock()
    used[0] = 30.5
    with pytest.raises(BudgetExceededError, match=r"^30 seconds of processor time$"):
        meter.clock()
