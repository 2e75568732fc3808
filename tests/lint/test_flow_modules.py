"""Flows over several files: imports of every form, re-exports, cycles, classes of other modules, changed helpers."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path_factory.mktemp("cache")))


HELPER = "from datetime import datetime\n\n\ndef stamp():\n    return datetime.now().isoformat()\n"
CLOCK = "datetime.now()"
FIXED = "def stamp():\n    return 'noon'\n"


def sink(imports: str, call: str = "stamp()") -> str:
    """A file that sends `call` as its system message, in its last line."""
    return (
        f"{imports}\n\n\ndef build(question):\n"
        f'    return [{{"role": "system", "content": f"It is {{{call}}}"}}, {{"role": "user", "content": question}}]\n'
    )


# Files by name; the one that sends is the last. Every one gets the clock from HELPER.
LAYOUTS: dict[str, dict[str, str]] = {
    "from-import": {"helper.py": HELPER, "app.py": sink("from helper import stamp")},
    "from-import-as": {"helper.py": HELPER, "app.py": sink("from helper import stamp as now", "now()")},
    "import": {"helper.py": HELPER, "app.py": sink("import helper", "helper.stamp()")},
    "import-as": {"helper.py": HELPER, "app.py": sink("import helper as h", "h.stamp()")},
    "import-dotted": {"pkg/helper.py": HELPER, "app.py": sink("import pkg.helper", "pkg.helper.stamp()")},
    "import-dotted-as": {"pkg/helper.py": HELPER, "app.py": sink("import pkg.helper as h", "h.stamp()")},
    "module-from-package": {"pkg/helper.py": HELPER, "app.py": sink("from pkg import helper", "helper.stamp()")},
    "relative": {"pkg/helper.py": HELPER, "pkg/app.py": sink("from .helper import stamp")},
    "relative-module": {"pkg/helper.py": HELPER, "pkg/app.py": sink("from . import helper", "helper.stamp()")},
    "parent": {"pkg/helper.py": HELPER, "pkg/sub/app.py": sink("from ..helper import stamp")},
    "cousin": {"pkg/a/helper.py": HELPER, "pkg/b/app.py": sink("from ..a.helper import stamp")},
    "absolute": {"pkg/helper.py": HELPER, "pkg/app.py": sink("from pkg.helper import stamp")},
    "src": {"src/pkg/helper.py": HELPER, "src/pkg/app.py": sink("from pkg.helper import stamp")},
    "src-from-outside": {"src/pkg/helper.py": HELPER, "scripts/app.py": sink("from pkg.helper import stamp")},
    "monorepo": {"services/a/pkg/helper.py": HELPER, "services/a/pkg/app.py": sink("from pkg.helper import stamp")},
    "in-a-function": {
        "helper.py": HELPER,
        "app.py": "def build(q):\n    from helper import stamp\n\n"
        '    return [{"role": "system", "content": stamp()}, {"role": "user", "content": q}]\n',
    },
    "in-a-try": {
        "helper.py": HELPER,
        "app.py": sink("try:\n    from helper import stamp\nexcept ImportError:\n    stamp = str"),
    },
    "re-export": {
        "pkg/__init__.py": "from .helper import stamp\n",
        "pkg/helper.py": HELPER,
        "app.py": sink("from pkg import stamp"),
    },
    "re-export-renamed": {
        "pkg/__init__.py": "from .helper import stamp as now\n",
        "pkg/helper.py": HELPER,
        "app.py": sink("import pkg", "pkg.now()"),
    },
    "re-export-twice": {
        "pkg/__init__.py": "from .sub import stamp\n",
        "pkg/sub/__init__.py": "from .helper import stamp\n",
        "pkg/sub/helper.py": HELPER,
        "app.py": sink("from pkg import stamp"),
    },
    "star": {"helper.py": HELPER, "app.py": sink("from helper import *")},
    "star-of-a-package": {
        "pkg/__init__.py": "from .helper import *\n",
        "pkg/helper.py": HELPER,
        "app.py": sink("from pkg import *"),
    },
    "two-stars": {
        "other.py": "def unrelated():\n    return 1\n",
        "helper.py": HELPER,
        "app.py": sink("from other import *\nfrom helper import *"),
    },
    "over-three-files": {
        "helper.py": HELPER,
        "texts.py": "from helper import stamp\n\n\ndef dated():\n    return 'It is ' + stamp()\n",
        "prompts.py": "from texts import dated\n\n\ndef words():\n    return f'You help. {dated()}'\n",
        "app.py": sink("from prompts import words", "words()"),
    },
    "table-of-functions": {
        "helper.py": HELPER,
        "table.py": "from helper import stamp\n\nTABLE = {'now': stamp}\n",
        "app.py": sink("from table import TABLE", "TABLE['now']()"),
    },
    "class": {
        "helper.py": HELPER,
        "clock.py": "from helper import stamp\n\n\nclass Clock:\n    def now(self):\n        return stamp()\n",
        "app.py": sink("from clock import Clock", "Clock().now()"),
    },
    "object-of-a-module": {
        "helper.py": HELPER,
        "clock.py": "import helper\n\n\nclass Clock:\n    def now(self):\n        return helper.stamp()\n\n\n"
        "clock = Clock()\n",
        "app.py": sink("from clock import clock", "clock.now()"),
    },
    "base-class": {
        "helper.py": HELPER,
        "base.py": "from helper import stamp\n\n\nclass Base:\n    def extra(self):\n        return stamp()\n",
        "app.py": "from base import Base\n\n\nclass Agent(Base):\n    def build(self, q):\n"
        '        return [{"role": "system", "content": self.extra()}, {"role": "user", "content": q}]\n',
    },
    "cycle": {
        "helper.py": "import app\n" + HELPER,
        "app.py": sink("import helper", "helper.stamp()"),
    },
    "cycle-of-names": {
        "helper.py": HELPER + "\n\nfrom app import build\n",
        "app.py": sink("from helper import stamp"),
    },
    "nearest-of-two": {
        "helper.py": FIXED,
        "pkg/helper.py": HELPER,
        "pkg/app.py": sink("from .helper import stamp"),
    },
}  # fmt: skip


def whole(root: Path, files: Mapping[str, str]) -> list[tuple[str, int, str]]:
    return places(lint([write(root, files)], cache=False).findings)


def last_row(files: Mapping[str, str]) -> tuple[str, int]:
    name, text = list(files.items())[-1]
    return Path(name).name, text.count("\n")


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_clock_of_another_file(name: str, tmp_path: Path) -> None:
    files = LAYOUTS[name]
    result = lint([write(tmp_path / "p", files)], cache=False)
    assert places(result.findings) == [(*last_row(files), "CSF101")]
    assert result.crashed == []
    source, *_, end = result.findings[0].flow
    assert Path(source.filename).name == "helper.py"
    assert (Path(end.filename).name, end.row) == last_row(files)


@pytest.mark.parametrize("name", LAYOUTS)
def test_fixed_text_of_another_file(name: str, tmp_path: Path) -> None:
    files = {path: text.replace("datetime.now().isoformat()", "'noon'") for path, text in LAYOUTS[name].items()}
    assert whole(tmp_path / "p", files) == []


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("cache", [False, True])
def test_only_the_helper_is_passed(name: str, cache: bool, tmp_path: Path) -> None:
    """A commit hook that is given the helper alone tells at the helper what it spoils, and where."""
    files = LAYOUTS[name]
    root = write(tmp_path / "p", files)
    helper = next(path for path, text in files.items() if "datetime.now" in text)
    for _ in range(1 + cache):
        findings = lint([root / helper], cache=cache).findings
        row = files[helper].splitlines().index("    return datetime.now().isoformat()") + 1
        assert places(findings) == [("helper.py", row, "CSF101")]
        sender, _ = last_row(files)
        assert sender in findings[0].message


@pytest.mark.parametrize("name", LAYOUTS)
def test_only_the_sender_is_passed(name: str, tmp_path: Path) -> None:
    files = LAYOUTS[name]
    root = write(tmp_path / "p", files)
    sender = list(files)[-1]
    assert places(lint([root / sender], cache=False).findings) == [(*last_row(files), "CSF101")]


def test_a_change_of_the_helper_is_seen_through_the_cache(tmp_path: Path) -> None:
    files = LAYOUTS["over-three-files"]
    root = write(tmp_path / "p", files)
    assert len(lint([root]).findings) == 1
    write(root, {"helper.py": FIXED})
    assert lint([root]).findings == []
    write(root, {"helper.py": HELPER})
    assert len(lint([root]).findings) == 1


def test_a_new_file_that_an_import_means_now(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"app.py": sink("from helper import stamp")})
    assert lint([root]).findings == []
    write(root, {"helper.py": HELPER})
    assert len(lint([root]).findings) == 1
    (root / "helper.py").unlink()
    assert lint([root]).findings == []


def test_a_file_with_the_name_of_a_library(tmp_path: Path) -> None:
    """The project's own module is meant, whatever it is called."""
    own = "class datetime:\n    @staticmethod\n    def now():\n        return 'noon'\n"
    files = {"datetime.py": own, "app.py": sink("from datetime import datetime", "datetime.now()")}
    assert whole(tmp_path / "p", files) == []
    shutil.rmtree(tmp_path / "p")
    assert whole(tmp_path / "p", {"app.py": files["app.py"]}) == [("app.py", 5, "CSF101")]


BASE = (
    "class Base:\n    def extra(self):\n        return ''\n\n    def build(self, q):\n"
    '        return [{"role": "system", "content": "You help. " + self.extra()}, {"role": "user", "content": q}]\n'
)
CHILD = (
    "from datetime import datetime\n\nfrom base import Base\n\n\nclass Child(Base):\n    def extra(self):\n"
    "        return f'It is {datetime.now()}'\n\n    def system_note(self):\n        return 'x'\n"
)


def test_a_subclass_in_another_module(tmp_path: Path) -> None:
    """The base sends what the subclass makes; the subclass says something of prompts, so that it is looked at."""
    root = write(tmp_path / "p", {"base.py": BASE, "child.py": CHILD})
    findings = lint([root], cache=False).findings
    assert [f.code for f in findings] == ["CSF101"]
    rows = {(Path(s.filename).name, s.row) for s in findings[0].flow}
    assert {("child.py", 8), ("base.py", 6)} <= rows
    (root / "child.py").write_text(CHILD.replace("datetime.now()", "'noon'"), encoding="utf-8")
    assert lint([root], cache=False).findings == []


def test_a_sender_in_another_module(tmp_path: Path) -> None:
    """A function that sends its argument, called from a file with a prompt of its own."""
    send = 'def send(text, q):\n    return [{"role": "system", "content": text}, {"role": "user", "content": q}]\n'
    app = (
        "from datetime import datetime\n\nfrom send import send\n\nSYSTEM_PROMPT = 'You help.'\n\n\ndef go(q):\n"
        "    return send(f'{SYSTEM_PROMPT} It is {datetime.now()}', q)\n"
    )
    assert whole(tmp_path / "p", {"send.py": send, "app.py": app}) == [("app.py", 9, "CSF101")]
    assert whole(tmp_path / "p", {"send.py": send, "app.py": app.replace("datetime.now()", "'noon'")}) == []


def test_the_order_of_files_does_not_decide(tmp_path: Path) -> None:
    """The same project under other names, so that files are looked at in another order."""
    found = set()
    for number, names in enumerate([("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a"), ("c", "b", "a")]):
        first, second, third = names
        files = {
            f"{first}.py": HELPER,
            f"{second}.py": f"from {first} import stamp\n\n\ndef words():\n    return f'It is {{stamp()}}'\n",
            f"{third}.py": sink(f"from {second} import words", "words()"),
        }
        result = lint([write(tmp_path / str(number), files)], cache=False)
        renamed = dict(zip(names, ("helper", "words", "app"), strict=True))
        found.add(tuple((renamed[name[:-3]], row, code) for name, row, code in places(result.findings)))
    assert found == {(("app", 5, "CSF101"),)}


OVERRIDE_BASE = (
    "class Base:\n    def get_text(self):\n        return 'You are an agent.'\n\n    def build(self, question):\n"
    "        return [{'role': 'system', 'content': self.get_text()}, {'role': 'user', 'content': question}]\n"
)
OVERRIDE = (
    "from datetime import datetime\n\nfrom base import {0}\n\n\nclass {1}({0}):\n    def {2}(self):\n"
    "        return f'It is {{datetime.now():%H:%M}}'\n"
)


@pytest.mark.parametrize("given", ["", "base.py", "impl.py"])
@pytest.mark.parametrize("cache", [False, True])
def test_an_override_in_a_file_without_a_sink(tmp_path: Path, given: str, cache: bool) -> None:
    """The base has the sink, the file that overrides has no word of one; whichever of them is given."""
    project = write(tmp_path / "p", {"base.py": OVERRIDE_BASE, "impl.py": OVERRIDE.format("Base", "Impl", "get_text")})
    for _ in range(2):
        (found,) = lint([project / given], cache=cache).findings
        assert found.code == "CSF101"
        assert {Path(step.filename).name for step in found.flow} == {"base.py", "impl.py"}


def test_an_override_below_another(tmp_path: Path) -> None:
    files = {
        "base.py": OVERRIDE_BASE,
        "middle.py": OVERRIDE.format("Base", "Middle", "name_of_log"),
        "impl.py": OVERRIDE.format("Middle", "Impl", "get_text").replace("from base", "from middle"),
    }
    (found,) = lint([write(tmp_path / "p", files)], cache=False).findings
    assert found.code == "CSF101"


@pytest.mark.parametrize("name", ["name_of_log", "build", "__init__"])
def test_an_override_of_what_the_base_does_not_ask_for(tmp_path: Path, name: str) -> None:
    files = {"base.py": OVERRIDE_BASE, "impl.py": OVERRIDE.format("Base", "Impl", name)}
    assert lint([write(tmp_path / "p", files)], cache=False).findings == []


def test_a_base_that_gets_its_sink_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept of the file that overrides was made while nothing could arrive."""
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    files = {
        "base.py": OVERRIDE_BASE.replace("'system'", "'user'"),
        "impl.py": OVERRIDE.format("Base", "Impl", "get_text"),
        "other.py": "x = 1\n",
    }
    project = write(tmp_path / "p", files)
    assert lint([project]).findings == []
    write(project, {"base.py": OVERRIDE_BASE})
    for path in ("base.py", "impl.py", ""):
        assert [f.code for f in lint([project / path]).findings] == ["CSF101"], path


def test_the_order_of_a_set_stays_with_those_who_made_it(tmp_path: Path) -> None:
    """An object that another file has made with a set in it is not every object of its class."""
    model = "class Parameter:\n    name: str\n    description: str\n"
    schema = (
        "from model import Parameter\n\n\n"
        "def schema(parameter: Parameter):\n"
        '    return {"name": "f", "parameters": {"x": parameter.description}, "description": "d"}\n'
    )
    made = 'Parameter(name="city", description=", ".join(set(cities)))'
    caller = f"from model import Parameter\nfrom schema import schema\n\n\ndef city(cities):\n    return {made}\n"
    write(tmp_path, {"model.py": model, "schema.py": schema, "app.py": caller})
    assert places(lint([tmp_path]).findings) == []
    write(tmp_path, {"schema.py": f"{schema}\n\ndef city(cities):\n    return {made}\n"})
    assert places(lint([tmp_path]).findings)


def test_a_personal_value_is_told_where_it_is_read(tmp_path: Path) -> None:
    """A caller that hands on what it got under the same name has nothing of its own to mend."""
    program = (
        "def wake(req, session_id):\n"
        '    req.system_prompt = f"You work in {session_id}."\n\n\n'
        "def run(req, session_id):\n"
        "    wake(req, session_id=session_id)\n"
    )
    write(tmp_path, {"app.py": program})
    assert places(lint([tmp_path]).findings) == [("app.py", 2, "CSF105")]


def test_a_file_is_looked_at_though_a_long_chain_of_imports_ended_before_it(tmp_path: Path) -> None:
    """A chain deeper than evaluation goes asks for each later file in vain; their own turn comes later."""
    deep = 40
    files = {
        f"m{i:02}.py": sink(f"from datetime import datetime\nfrom m{i + 1:02} import NAME\n\nNAME = NAME + 'y'", CLOCK)
        for i in range(deep)
    }
    files[f"m{deep:02}.py"] = sink("from datetime import datetime\n\nNAME = 'z'", CLOCK)
    findings = lint([write(tmp_path / "p", files)], cache=False).findings
    assert {name for name, *_ in places(findings)} == set(files)
