"""The baseline: what it holds survives edits elsewhere, and it hides nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import any_text, finding, sources_of
from lint_project import CLOCK, UNSORTED, places, write

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.baseline import apply_baseline, fingerprint_of, with_fingerprints, write_baseline
from pytest_cachesafe.lint.folded import with_folded
from pytest_cachesafe.lint.options import LintOptions
from pytest_cachesafe.lint.run import run_lint
from pytest_cachesafe.usage import UsageError

LINE = 'prompt = f"{now()}"'


def found_in(text: str, name: str = "app__agent", code: str = "CSF101") -> list[Finding]:
    """A finding in every row that holds `now()`, over the whole row."""
    findings = [
        finding(code, row=row, column=len(line) - len(line.lstrip()) + 1, end=(row, len(line.rstrip()) + 1))
        for row, line in enumerate(text.splitlines(), 1)
        if "now()" in line
    ]
    return with_fingerprints(findings, sources_of(**{name: text}))


def marks(findings: list[Finding]) -> list[str]:
    return [found.data["fingerprint"] for found in findings]


def test_a_fingerprint_is_sixteen_hex_digits_and_replaces_nothing_else() -> None:
    [found] = found_in(LINE)
    assert len(marks([found])[0]) == 16
    assert int(marks([found])[0], 16) >= 0
    assert found.data["name"] == "clock-in-prefix"


def test_it_survives_moved_indented_and_commented_lines() -> None:
    moved = f"import x\n\n\nif x:\n    {LINE}\n"
    assert marks(found_in(moved)) == marks(found_in(LINE))


def test_it_survives_a_wrapped_statement() -> None:
    text = "prompt = f(\n    now(),\n    2\n)  # why\n"
    wrapped = with_fingerprints([finding(row=1, column=1, end=(4, 2))], sources_of(app__agent=text))
    flat = with_fingerprints([finding(row=1, column=1, end=(1, 22))], sources_of(app__agent="prompt = f(now(), 2)"))
    assert marks(wrapped) == marks(flat)


def test_what_stands_beside_the_statement_does_not_count() -> None:
    text = f"a = 1; {LINE}; b = 2"
    beside = with_fingerprints([finding(row=1, column=8, end=(1, 8 + len(LINE)))], sources_of(app__agent=text))
    assert marks(beside) == marks(found_in(LINE))


def test_equal_lines_differ_by_their_number() -> None:
    first, second = found_in(f"{LINE}\nx = 1\n{LINE}\n")
    assert marks([first]) == marks(found_in(LINE))
    assert marks([first]) != marks([second])
    assert marks([second]) == [fingerprint_of(second, LINE, 1)]


@pytest.mark.parametrize(
    "other",
    [
        finding("CSF102", row=1, end=(1, 20)),
        finding(filename="b.py", row=1, end=(1, 20)),
    ],
)
def test_it_differs_by_rule_and_file(other: Finding) -> None:
    texts = sources_of(app__agent=LINE, b=LINE)
    one, two = with_fingerprints([finding(row=1, end=(1, 20)), other], texts)
    assert marks([one]) != marks([two])


def test_it_differs_by_statement() -> None:
    assert marks(found_in(LINE)) != marks(found_in(LINE.replace("prompt", "text")))


def test_a_file_that_cannot_be_read_is_known_by_the_message() -> None:
    one, two = with_fingerprints([finding(message="a"), finding(message="b")], lambda name: None)
    assert marks([one]) != marks([two])


_lines = st.lists(st.sampled_from([LINE, f"    {LINE}", "x = 1", "", "log(now())"]), max_size=8)


@settings(deadline=None)
@given(_lines)
def test_fingerprints_of_a_file_are_unique(lines: list[str]) -> None:
    found = marks(found_in("\n".join(lines)))
    assert len(set(found)) == len(found)


@settings(deadline=None)
@given(_lines, st.lists(st.sampled_from(["y = 2", "", "# note"]), max_size=4))
def test_lines_put_in_front_change_no_fingerprint(lines: list[str], before: list[str]) -> None:
    assert marks(found_in("\n".join([*before, *lines]))) == marks(found_in("\n".join(lines)))


def test_what_is_in_the_baseline_is_not_reported(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    old = found_in(f"{LINE}\nlog(now())\n")
    assert write_baseline(path, old) == 2
    now = found_in(f"x = 1\n{LINE}\nnew(now())\n{LINE}\n")
    kept, matched, stale = apply_baseline(path, now)
    assert [found.location.row for found in kept] == [3, 4]
    assert [found.location.row for found in matched] == [2]
    assert [(entry.fingerprint, entry.count) for entry in stale] == [(marks(old)[1], 1)]


def test_the_file_names_tool_schema_and_findings(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    [found] = found_in(LINE)
    write_baseline(path, [found, found])
    item = {"filename": "app/agent.py", "code": "CSF101", "fingerprint": marks([found])[0], "count": 2, "also": []}
    assert json.loads(path.read_text()) == {"schema": 1, "tool": "pytest-cachesafe", "findings": [item]}


def test_a_count_bounds_how_many_are_hidden(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    found = finding()
    write_baseline(path, [found, found])
    kept, matched, stale = apply_baseline(path, [found] * 3)
    assert (len(kept), len(matched), stale) == (1, 2, [])
    assert apply_baseline(path, [found])[2][0].count == 1


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["CSF101", "CSF203"]), any_text, st.integers(1, 9)), max_size=6))
def test_a_baseline_matches_what_it_was_written_from(
    tmp_path_factory: pytest.TempPathFactory, places: list[tuple[str, str, int]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    found = with_fingerprints(
        [finding(code, filename=name, row=row) for code, name, row in places], lambda name: ["same"] * 9
    )
    write_baseline(path, found)
    before = path.read_bytes()
    assert apply_baseline(path, found) == ([], found, [])
    write_baseline(path, found[::-1])
    assert path.read_bytes() == before


def test_a_missing_baseline_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.json' does not exist: write it with --write-baseline") as caught:
        apply_baseline(tmp_path / "none.json", [])
    assert "\n" not in str(caught.value)


_ENTRY = {"filename": "a.py", "code": "CSF101", "fingerprint": "00", "count": 1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        ("[" * 200_000, "is not JSON"),
        ("[]", "is no baseline"),
        ("{}", "is no baseline"),
        ('{"schema": true, "findings": []}', "is no baseline"),
        ('{"schema": 1, "findings": {}}', "is no baseline"),
        ('{"schema": 2, "findings": []}', "has schema 2, this version reads 1"),
        (json.dumps({"schema": 1, "findings": [_ENTRY, {**_ENTRY, "count": 0}]}), "finding 1 is damaged"),
        (json.dumps({"schema": 1, "findings": [{**_ENTRY, "code": None}]}), "finding 0 is damaged"),
        (json.dumps({"schema": 1, "findings": ["x"]}), "finding 0 is damaged"),
        (json.dumps({"schema": 1, "findings": [{**_ENTRY, "also": {}}]}), "finding 0 is damaged"),
        (json.dumps({"schema": 1, "findings": [{**_ENTRY, "also": [{"code": "CSF201"}]}]}), "finding 0 is damaged"),
        (json.dumps({"schema": 1, "findings": [{**_ENTRY, "together": [["00"]]}]}), "finding 0 is damaged"),
    ],
)
def test_a_damaged_baseline_is_a_user_mistake(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=words) as caught:
        apply_baseline(path, [])
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        apply_baseline(tmp_path, [])
    with pytest.raises(UsageError, match="cannot be written"):
        write_baseline(tmp_path, [])


def test_only_a_baseline_is_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "agent.py"
    source.write_text("x = 1\n")
    with pytest.raises(UsageError, match="is no baseline: name another file"):
        write_baseline(source, [])
    assert source.read_text() == "x = 1\n"
    old = tmp_path / "old.json"
    old.write_text('{"schema": 99, "findings": []}')
    assert write_baseline(old, []) == 0


@pytest.mark.parametrize("text", [LINE, f"{LINE}\nx = 1\n{LINE}\n", f"{LINE}\ntext = now()\n"])
def test_a_file_that_was_renamed_keeps_its_entries(text: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    write_baseline(path, found_in(text))
    moved = [replace(f, location=replace(f.location, filename="new.py")) for f in found_in(text)]
    moved = with_fingerprints(moved, {"new.py": text.splitlines()}.get)
    sources = {"new.py": text.splitlines()}.get
    assert apply_baseline(path, moved)[0] == moved
    assert apply_baseline(path, moved, lambda name: True, sources) == ([], moved, [])
    # A copy is new: the old file is still there.
    assert apply_baseline(path, moved, lambda name: False, sources)[0] == moved


def test_a_renamed_file_hides_nothing_that_was_added(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    write_baseline(path, found_in(LINE))
    text = f"{LINE}\ntext = now()\n{LINE}\n"
    found = [replace(f, location=replace(f.location, filename="new.py")) for f in found_in(text)]
    found = with_fingerprints(found, {"new.py": text.splitlines()}.get)
    kept, matched, left = apply_baseline(path, found, lambda name: True, {"new.py": text.splitlines()}.get)
    assert (kept, matched, left) == (found[1:], found[:1], [])


def test_renames_in_a_project(tmp_path: Path) -> None:
    """Two files, each the heir of the one it is most like; a file with entries of its own is none."""
    project = write(tmp_path / "p", {"a.py": CLOCK, "b.py": CLOCK + UNSORTED, "c.py": "x = 1\n"})
    run_lint(LintOptions((str(project),), cache=False, write_baseline=str(tmp_path / "b.json")))
    (project / "a.py").rename(project / "one.py")
    (project / "b.py").rename(project / "two.py")

    def judged() -> tuple[list[tuple[str, int, str]], int]:
        result = run_lint(LintOptions((str(project),), cache=False, baseline=str(tmp_path / "b.json"))).result
        return places(result.findings), result.baselined

    assert judged() == ([], 3)
    write(project, {"c.py": CLOCK})
    assert judged() == ([("one.py", 5, "CSF101")], 3)


# Two findings in one function: the clock is the worse one and carries the set.
CARRYING = (
    "from datetime import datetime\n\n\ndef ask(client):\n    langs = ', '.join({'de', 'en'})\n"
    "    return client.messages.create(\n        model='m', max_tokens=9,\n"
    "        system=f'It is {datetime.now()}. You help.',\n"
    "        tools=[{'name': 'speak', 'description': langs, 'input_schema': {}}], messages=[])\n"
)
CLOCK_MENDED = CARRYING.replace("{datetime.now()}", "noon")
SET_MENDED = CARRYING.replace("{'de', 'en'}", "['de', 'en']")
# In one statement, whose text is another one whichever is mended.
ONE_TEXT = (
    "import platform\nfrom datetime import datetime\n\n\ndef ask(client):\n    return client.messages.create(\n"
    "        model='m', max_tokens=9,\n"
    "        system=f'It is {datetime.now()} on {platform.node()}. You help.', messages=[])\n"
)


def carried(
    root: Path, before: str, after: str, config: str = "[tool.cachesafe]\n"
) -> tuple[int | None, list[str], int, int]:
    """What is reported of a changed program, with a baseline of the one before."""
    written = baseline_of(root, before, config)
    return written, *judged(root, after)


def baseline_of(root: Path, text: str, config: str = "[tool.cachesafe]\n") -> int | None:
    project = write(root / "p", {"a.py": text}, config)
    return run_lint(LintOptions((str(project),), write_baseline=str(root / "b.json"))).written


def judged(root: Path, text: str) -> tuple[list[str], int, int]:
    project = write(root / "p", {"a.py": text}, None)
    # The second run has everything from the cache.
    for _ in range(2):
        result = run_lint(LintOptions((str(project),), baseline=str(root / "b.json"))).result
    return [finding.code for finding in result.findings], result.baselined, result.stale


@pytest.mark.parametrize(
    ("before", "after", "known", "stale"),
    [
        (CARRYING, CARRYING, 1, 0),
        (CARRYING, CLOCK_MENDED, 1, 1),
        (CARRYING, SET_MENDED, 1, 0),
        (CARRYING, "x = 1\n", 0, 1),
        (ONE_TEXT, ONE_TEXT.replace("{datetime.now()}", "noon"), 1, 1),
        (ONE_TEXT, ONE_TEXT.replace("{platform.node()}", "a host"), 1, 0),
        # A worse one has come that carries what was told before.
        (CLOCK_MENDED, CARRYING, 0, 0),
    ],
    ids=["nothing", "host", "folded", "all", "host-in-one-text", "folded-in-one-text", "carried-now"],
)
def test_mending_one_of_a_function_tells_nothing_new(
    tmp_path: Path, before: str, after: str, known: int, stale: int
) -> None:
    new = ["CSF101"] if before == CLOCK_MENDED else []
    assert carried(tmp_path, before, after) == (1, new, known, stale)


def test_what_is_added_to_a_known_function_is_told_under_its_own_code(tmp_path: Path) -> None:
    assert carried(tmp_path, SET_MENDED, CARRYING) == (1, ["CSF201"], 1, 0)


def test_what_is_added_to_what_is_left_of_a_statement_is_told(tmp_path: Path) -> None:
    other = ONE_TEXT.replace("{datetime.now()}", "{id(client)}")
    assert carried(tmp_path, ONE_TEXT, other)[1] == ["CSF108"]


def test_several_that_are_added_are_told_once(tmp_path: Path) -> None:
    more = CARRYING.replace("import datetime\n", "import datetime\nimport platform\n").replace(
        "'speak'", "platform.node()"
    )
    baseline_of(tmp_path, SET_MENDED)
    write(tmp_path / "p", {"a.py": more}, None)
    options = LintOptions((str(tmp_path / "p"),), baseline=str(tmp_path / "b.json"))
    [found] = run_lint(options).result.findings
    assert found.code == "CSF201"
    assert "CSF106" in {also["code"] for also in found.data["also"]}
    assert {source["kind"] for source in found.data["sources"]} == {"set", "host"}


def without_carried(path: Path) -> None:
    """Make of a baseline what versions wrote that did not say what a finding carries."""
    stored = json.loads(path.read_text())
    for item in stored["findings"]:
        item.pop("also")
        item.pop("together", None)
    path.write_text(json.dumps(stored))


def test_an_old_baseline_covers_what_a_finding_carries(tmp_path: Path) -> None:
    baseline_of(tmp_path, CARRYING)
    without_carried(tmp_path / "b.json")
    assert judged(tmp_path, CARRYING) == ([], 1, 0)
    # It did not know of the set, so it is news.
    assert judged(tmp_path, CLOCK_MENDED) == (["CSF201"], 0, 1)


def test_entries_of_files_that_were_not_looked_at_stay_as_they_are(tmp_path: Path) -> None:
    """What an old baseline says of them is not taken for "carries nothing"."""
    project = write(tmp_path / "p", {"a.py": CARRYING, "b.py": CARRYING})
    path = tmp_path / "b.json"
    run_lint(LintOptions((str(project),), write_baseline=str(path)))
    before = json.loads(path.read_text())
    run_lint(LintOptions((str(project / "a.py"),), write_baseline=str(path)))
    assert json.loads(path.read_text()) == before
    without_carried(path)
    run_lint(LintOptions((str(project / "a.py"),), write_baseline=str(path)))
    assert ["also" in item for item in json.loads(path.read_text())["findings"]] == [True, False]
    assert run_lint(LintOptions((str(project),), baseline=str(path))).result.findings == []


def test_a_renamed_file_keeps_what_its_findings_carry(tmp_path: Path) -> None:
    baseline_of(tmp_path, CARRYING)
    (tmp_path / "p" / "a.py").unlink()
    project = write(tmp_path / "p", {"new.py": CARRYING}, None)
    options = LintOptions((str(project),), baseline=str(tmp_path / "b.json"))
    assert run_lint(options).result.findings == []
    write(project, {"new.py": CLOCK_MENDED}, None)
    assert run_lint(options).result.findings == []


@pytest.mark.parametrize("how", ["comment", "setting"])
def test_what_is_silenced_or_switched_off_does_not_come_out(tmp_path: Path, how: str) -> None:
    before, after, config = SET_MENDED, CARRYING, "[tool.cachesafe]\n"
    if how == "comment":
        after = after.replace("'en'})\n", "'en'})  # cachesafe: ignore[CSF201] any order will do\n")
    else:
        config = '[tool.cachesafe.per-file-ignores]\n"a.py" = ["CSF201"]\n'
    assert carried(tmp_path, before, after, config) == (1, [], 1, 0)


@pytest.mark.parametrize("unchanged", [True, False])
def test_one_defect_that_two_rules_tell_is_not_told_again(tmp_path: Path, unchanged: bool) -> None:
    """The text in front of the history is a double of the clock, and is known with it wherever its statement goes."""
    text = (
        "from datetime import datetime\n\n\ndef ask(client, history):\n    now = datetime.now()\n"
        "    text = f'It is {now}. You help.'\n"
        "    return client.messages.create(model='m', max_tokens=9, system=text, messages=history)\n"
    )
    baseline_of(tmp_path, text)
    stored = json.loads((tmp_path / "b.json").read_text())
    assert [one["code"] for one in stored["findings"][0]["also"]] == ["CSF301"]
    if not unchanged:
        stored["findings"][0]["also"] = []
        (tmp_path / "b.json").write_text(json.dumps(stored))
    assert judged(tmp_path, text) == ([], 1, 0)


_CAUSES = ("clock", "host", "address")
_TEXTS = ("system = f'{now()}'", "system = f'{now()} {node()}'", "tools = list({1, 2})")
_groups = st.lists(
    st.lists(st.tuples(st.sampled_from(_CAUSES), st.sampled_from(_TEXTS), st.booleans()), min_size=1, max_size=4),
    max_size=5,
)


def folded_groups(groups: list[list[tuple[str, str, bool]]], *, all_of_them: bool) -> list[Finding]:
    """A finding per group, whose first cause carries the others; without those that are mended."""
    codes = {cause: f"CSF10{number}" for number, cause in enumerate(_CAUSES, 1)}
    made, lines = [], []
    for group in groups:
        ones = []
        for cause, text, is_mended in sorted(group):
            if all_of_them or not is_mended:
                lines.append(text)
                ones.append(finding(codes[cause], row=len(lines), end=(len(lines), len(text) + 1)))
        if ones:
            made.append(with_folded(ones[0], ones[1:]))
    return with_fingerprints(made, {"app/agent.py": lines}.get)


@settings(deadline=None)
@given(_groups)
def test_whatever_is_mended_of_folded_groups_the_rest_is_known(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[tuple[str, str, bool]]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "groups.json"
    before, after = (folded_groups(groups, all_of_them=every) for every in (True, False))
    assert write_baseline(path, before) == len(groups)
    kept, matched, _ = apply_baseline(path, after)
    assert (kept, matched) == ([], after)
    assert apply_baseline(path, before) == ([], before, [])


_PARTS = {
    "clock": ("{datetime.now()}", "noon"),
    "host": ("{platform.node()}", "a host"),
    "address": ("{id(client)}", "one"),
    "set": ("{', '.join({'de', 'en'})}", "de, en"),
}
_functions = st.lists(
    # Of one cause twice in one text there is one report, which an edit of that text makes another one.
    st.lists(
        st.tuples(st.sampled_from(sorted(_PARTS)), st.booleans(), st.booleans()),
        min_size=1,
        max_size=5,
        unique_by=lambda one: one[:2],
    ),
    min_size=1,
    max_size=3,
)


def program(functions: list[list[tuple[str, bool, bool]]], *, all_of_them: bool) -> str:
    """Functions that build requests; each cause stands in the system text or in that of the tools."""
    out = "import platform\nfrom datetime import datetime\n"
    for number, causes in enumerate(functions):
        texts = {False: "You help. ", True: "Speaks. "}
        for cause, in_tools, is_mended in causes:
            texts[in_tools] += _PARTS[cause][is_mended and not all_of_them] + ". "
        out += (
            f"\n\ndef ask_{number}(client):\n    return client.messages.create(\n        model='m', max_tokens=9,\n"
            f'        system=f"{texts[False]}",\n        messages=[],\n'
            f"        tools=[{{'name': 'speak', 'input_schema': {{}}, 'description': f\"{texts[True]}\"}}])\n"
        )
    return out


@settings(deadline=None, max_examples=15)
@given(_functions)
def test_whatever_is_mended_of_a_program_the_rest_is_known(
    tmp_path_factory: pytest.TempPathFactory, functions: list[list[tuple[str, bool, bool]]]
) -> None:
    root = tmp_path_factory.mktemp("mended")
    baseline_of(root, program(functions, all_of_them=True))
    assert judged(root, program(functions, all_of_them=False))[0] == []
