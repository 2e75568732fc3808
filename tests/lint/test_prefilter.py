"""The literal pre-filter saves work and nothing else: without it the same is found."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from flow_programs import CLOCK, programs
from hypothesis import given, settings
from hypothesis import strategies as st

import pytest_cachesafe
from pytest_cachesafe.lint import prefilter
from pytest_cachesafe.lint.cache import Store
from pytest_cachesafe.lint.examine import Project
from pytest_cachesafe.lint.pipeline import Passed, Pipeline
from pytest_cachesafe.lint.rule_set import RuleSet
from pytest_cachesafe.lint.run import lint_text, rules_of
from pytest_cachesafe.lint.settings import Settings
from pytest_cachesafe.lint.tables.user import Tables
from pytest_cachesafe.lint.walk import FileEntry

SINKS = programs("sinks.txt") | programs("sink_constants.txt")
BODIES = programs("transfer_bodies.txt")
SOURCES = {
    "clock": "datetime.now()",
    "clock-import": "__import__('time').time()",
    "time": "time.time()",
    "uuid": "uuid.uuid4()",
    "host": "platform.node()",
    "cwd": "os.getcwd()",
    "set": "', '.join({'a', 'b'})",
    "listing": "' '.join(os.listdir('.'))",
    "random": "random.random()",
    "git": "subprocess.check_output(['git', 'status'])",
}
HEAD = "".join(f"import {name}\n" for name in ("os", "platform", "random", "subprocess", "time", "uuid"))
HEAD += "from datetime import datetime\n"


@contextmanager
def everything_matters() -> Iterator[None]:
    """Every file may hold a sink, every function may matter."""
    # Imports all of the analysis: a module that is first imported below would keep what is patched.
    lint_text("SYSTEM_PROMPT = str(1)\n")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("is_entry", "may_matter"):
            # Also where it was imported by name.
            own = getattr(prefilter, name)
            for module in [m for key, m in sys.modules.items() if key.startswith("pytest_cachesafe.lint")]:
                if getattr(module, name, None) is own:
                    patch.setattr(module, name, lambda *args, **kwargs: True)
        yield


def passed(root: Path, files: Mapping[str, FileEntry], texts: Mapping[str, bytes]) -> Passed:
    own = Settings(root)
    codes, others, _ = rules_of(own, strict=False)
    project = Project(str(root), files, own, RuleSet(codes, others), texts)
    return Pipeline(project, Store(root, None, 0)).run(None)


def in_memory(texts: Mapping[str, str]) -> Passed:
    root = Path("nowhere").absolute()
    data = {name: text.encode() for name, text in texts.items()}
    return passed(root, {name: FileEntry(name, str(root / name), len(raw), 0) for name, raw in data.items()}, data)


def on_disk(root: Path) -> Passed:
    files = {}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        files[name] = FileEntry(name, str(path), path.stat().st_size, 0)
    return passed(root, files, {})


def told(result: Passed) -> list[tuple[object, ...]]:
    assert result.crashed == []
    return sorted(
        (f.location.filename, f.location.row, f.location.column, f.code, f.message, tuple(f.flow))
        for f in result.findings
    )


def as_written(code: str) -> str:
    return code


def by_ast(code: str) -> str:
    """With the quotes and blanks of `ast.unparse`, and without comments."""
    return ast.unparse(ast.parse(code)) + "\n"


def spaced(code: str) -> str:
    """With blanks around the `=` of keywords."""
    return re.sub(r"(?<=[(, ])(\w+)=(?=[\w\"'\[{(])", r"\1 = ", code)


@pytest.mark.parametrize("style", [as_written, by_ast, spaced])
@pytest.mark.parametrize("name", SINKS)
def test_every_sink_is_let_through(name: str, style: Callable[[str], str]) -> None:
    """Also where nothing else in the file looks like a prompt, and whatever quotes and blanks it is written with."""
    code = style("from datetime import datetime\n" + SINKS[name].replace("NOW", CLOCK))
    filtered = lint_text(code)
    with everything_matters():
        found = lint_text(code)
    assert found
    assert found == filtered
    assert prefilter.is_entry(code.encode(), Tables())


@st.composite
def projects(draw: st.DrawFn) -> dict[str, str]:
    """Helpers that read something volatile or fixed and hand it on, and files that send it: every file holds a sink
    or is reached by one."""
    files: dict[str, str] = {}
    helpers: list[str] = []
    for number in range(draw(st.integers(1, 3))):
        name = f"helper{number}"
        value = SOURCES[draw(st.sampled_from(sorted(SOURCES)))] if draw(st.booleans()) else "'fixed'"
        below = draw(st.sampled_from([*helpers, ""]))
        lines = [HEAD, f"from {below} import value as below" if below else "", ""]
        if draw(st.booleans()):
            body = BODIES[draw(st.sampled_from(sorted(set(BODIES) - {"await"})))].replace("NOW", value)
            lines += [
                "import io, string, textwrap, jinja2",
                "",
                "def value(question=None, lock=None, environment=None):",
            ]
            lines += [f"    {line}" for line in body.splitlines()]
            lines += ["    return text"]
        else:
            lines += ["def value():", f"    return {value}"]
        if below:
            lines = [
                line.replace("return ", "return str(below()) + str(") + ")" if line.startswith("    return ") else line
                for line in lines
            ]
        files[f"{name}.py"] = "\n".join(lines) + "\n"
        helpers.append(name)
    for number in range(draw(st.integers(1, 2))):
        sink = SINKS[draw(st.sampled_from(sorted(SINKS)))]
        form = draw(st.integers(0, 2))
        helper = draw(st.sampled_from(helpers))
        if form == 0:
            text = f"from {helper} import value\n\n{sink.replace('NOW', 'value()')}"
        elif form == 1:
            text = f"import {helper}\n\n{sink.replace('NOW', f'{helper}.value()')}"
        else:
            text = HEAD + sink.replace("NOW", SOURCES[draw(st.sampled_from(sorted(SOURCES)))])
        files[f"sender{number}.py"] = text
    return files


@settings(deadline=None, max_examples=80)
@given(projects())
def test_small_projects(files: dict[str, str]) -> None:
    filtered = told(in_memory(files))
    with everything_matters():
        assert told(in_memory(files)) == filtered


def test_the_switch_of_these_tests_works() -> None:
    """A sink by flow only: the caller holds no word of a sink and lies outside of the closure."""
    files = {
        "send.py": 'def send(text):\n    return [{"role": "system", "content": text}]\n',
        "go.py": HEAD + "from send import send\n\n\ndef go():\n    return send(str(datetime.now()))\n",
    }
    assert told(in_memory(files)) == []
    with everything_matters():
        assert [(row[0], row[1], row[3]) for row in told(in_memory(files))] == [("go.py", 12, "CSF101")]


@pytest.mark.parametrize(
    "package", ["gate", "frontends", "stability", pytest.param(".", marks=pytest.mark.oracle, id="all")]
)
def test_our_own_sources(package: str) -> None:
    root = Path(pytest_cachesafe.__file__).parent / package
    filtered = told(on_disk(root))
    with everything_matters():
        assert told(on_disk(root)) == filtered


@pytest.mark.oracle
@pytest.mark.parametrize(
    "package", ["langchain_core", "pydantic_ai", "anthropic", "openai", "huggingface_hub", "mypy", "jinja2"]
)
def test_installed_packages(package: str) -> None:
    root = Path(sysconfig.get_paths()["purelib"], package)
    if not root.is_dir():
        pytest.skip(f"{package} is not installed")
    filtered = told(on_disk(root))
    with everything_matters():
        assert told(on_disk(root)) == filtered
