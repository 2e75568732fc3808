"""Files parsed piece by piece: the tree is that of the whole, whatever the pieces, and what is no Python stays none."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_project import write
from python_files import STDLIB, difference, python_files
from test_newer import places
from tries import tries

import pytest_cachesafe
from pytest_cachesafe.lint import newer, parse, pieces
from pytest_cachesafe.lint.newer import translate
from pytest_cachesafe.lint.newer.depth import logical_lines
from pytest_cachesafe.lint.pieces import in_pieces
from pytest_cachesafe.lint.run import lint


def python(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def cut(text: str, enough: int = 1, entered: int = 1, *, newer: bool = True) -> tuple[ast.Module, bool] | None:
    """`in_pieces`, with pieces as small as can be where nothing else is said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "ENOUGH", enough)
        patch.setattr(pieces, "ENTERED", entered)
        return in_pieces(text, python, newer=newer)


def same(text: str, enough: int = 1) -> None:
    """The running Python's syntax: the same tree and the same places, or no tree from either."""
    try:
        whole = python(text)
    except SyntaxError:
        assert cut(text, enough, newer=False) is None
        return
    made = cut(text, enough)
    assert made is not None
    assert not made[1]
    assert difference(made[0], whole, places=True) is None


def same_newer(text: str, enough: int = 1, entered: int = 1) -> None:
    """Syntax from after the running Python's time: the same tree as libcst makes of the whole."""
    whole, problem = translate(text)
    assert problem is None
    if whole is None:
        return
    made = cut(text, enough, entered)
    assert made is not None
    assert made[1]
    assert difference(made[0], whole, places=False) is None
    assert places(made[0]) == places(whole)


# What stands between and around statements, and looks like something else.
PARTS = [
    "x = 1\n",
    "y = (\n1,\n)\n",
    "z = 1; w = 2;\n",
    "'''text\ndef no(): pass\nclass No:\n    a = '''; é = 'ü'\n",
    "s = f'''\n@no\n{\nx\n}\ndef no():\n'''\n",
    "k = 1 + \\\n  2\n",
    "k = '\\\ndef no(): pass'\n",
    "def f(a,\nb=2) -> int:  # c\n    # d\n\n    '''doc'''\n    return é\n",
    "def g(): pass\n",
    "def g(): pass; x = 1;\n",
    "@a\n@b(\n    1,\n)\n# c\n\nasync  def h(x):\n  if x:\n    y = 2\n  else:\n    y = 3\n  await y;\n",
    "class A:\n    x = 1\n\n    @p\n    def m(self):\n        s = '''\n    def no(self):\n'''\n\n    class B(C):\n"
    "        '''d'''\n        y: int = 1\n# e\n        def n(self): return 1\n    z = 2\n",
    "class D(\n  E,\n  k=[1,\n2]):\n\tx = 1\n\tdef m(self):\n\t\treturn 1 ;\n",
    "if x:\n    a = 1\nelif y:\n    def f():\n        pass\nelse:\n    class G:\n        a = 1\n\n        b = 2\n",
    "try:\n    def f():\n        a = 1\n        b = 2\nexcept E:\n    pass\nfinally:\n    z = 1\n",
    "for i in x:\n  pass\nelse:\n  y = 2\n",
    "match x:\n    case 1:\n        a = 1\n    case _:\n        b = 2\n",
    "def outer():\n    def inner():\n        def most():\n            x = 1\n            return x\n"
    "        return most\n    # c\n    return inner\n",
    "\n\n",
    "# comment\n",
    "    # indented comment\n",
    "\f\n",
]
# Here libcst counts columns differently.
FORM_FEEDS = ["\fa = 1\n", " \fdef f():\n    x = 1\n\f    y = 1\n"]
NEWER_PARTS = [
    "type A = list[int]\n",
    "def t[T](x: T) -> T:\n    '''doc'''\n    y = 1\n    return x\n",
    "class U[T](V):\n    a = 1\n\n    def m[S](self): return 1\n",
    "f'{d['k']}'\n",
    "def e():\n    x = 1\n    try:\n        a\n    except A, B:\n        é = 'é' + f'{'ü'}' + é\n    return x;\n",
    "class W:\n    '''é'''\n    def m(self):\n        s = '''\ndef no():\n'''\n        try: pass\n"
    "        except C, D: pass\n    def n(self):\n        return 1\n\n\n    x: int = 1\n",
    "@a\n@b(f'{d['k']}')\ndef d():\n  x = 1\n  return f'''{\nx + f'{'''y'''}'}\ndef no(): pass\n'''\n",
]


@pytest.mark.parametrize("part", [*PARTS, *FORM_FEEDS, *NEWER_PARTS])
def test_a_part_alone(part: str) -> None:
    check = same_newer if part in NEWER_PARTS else same
    check(part)
    check("# c\n" + part + "x = 1\n" + part)


@given(st.lists(st.sampled_from([*PARTS, *FORM_FEEDS]), max_size=8).map("".join), st.sampled_from([1, 20, 100, 1000]))
@settings(deadline=None, max_examples=tries(300))
def test_the_tree_is_that_of_the_whole(text: str, enough: int) -> None:
    same(text, enough)


@given(
    st.lists(st.sampled_from([*PARTS, *NEWER_PARTS]), max_size=8).map("".join),
    st.sampled_from([1, 20, 100, 1000]),
    st.sampled_from([1, 50, 2000]),
)
@settings(deadline=None, max_examples=tries(150))
def test_the_tree_is_that_of_the_whole_in_newer_syntax(text: str, enough: int, entered: int) -> None:
    same_newer(text, enough, entered)


@given(st.randoms(use_true_random=False), st.sampled_from([1, 20, 100]))
@settings(deadline=None, max_examples=tries(300))
def test_damage_is_seen(rand: random.Random, enough: int) -> None:
    text = "".join(rand.choices([*PARTS, *FORM_FEEDS], k=5))
    for _ in range(rand.randint(1, 2)):
        at = rand.randrange(len(text))
        text = text[:at] + rand.choice(["", "\n", "    ", "(", "'''", "'", "\\", "else:\n", ":"]) + text[at + 1 :]
    same(text, enough)


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    x = 1\n    y = 2\nelse:\n    z = 3\n",
        "def f():\n    x = 1\n  y = 2\n",
        "class A:\n        x = 1\n        y = 2\n    z = 3\n",
        "if x:\n    class A:\n        x = 1\n        y = 2\n      z = 3\n",
        "def f():\n    x = 1\n\ty = 2\n",
        "x = 1\n    y = 2\n",
        "    x = 1\n",
        "@a\n",
        "class A:\n",
        "class A:\n    # only a comment\n",
        "def f():\n    x = '''\n    y = 2\n",
        "x = (1,\ny = 2\n",
    ],
)
def test_what_is_no_python(text: str) -> None:
    same(text)
    assert cut(text + "type A = int\n") is None


FILES = random.Random(13).sample(sorted(p for p in STDLIB.glob("*.py") if p.stat().st_size < 60_000), 25)
OWN = sorted(Path(pytest_cachesafe.__file__).parent.rglob("*.py"))[3::9]


@pytest.mark.parametrize("path", [*FILES, *OWN], ids=lambda path: path.name)
def test_files_are_the_same_in_pieces(path: Path) -> None:
    text = parse.parse(path.read_bytes(), "a.py").text.replace("\r\n", "\n")
    for enough in (50, 2000):
        same(text, enough)


@pytest.mark.oracle
def test_every_file_of_the_standard_library_is_the_same_in_pieces() -> None:
    """All of the standard library, of its tests those of rare syntax and a sample, and a sample of what is installed:
    eight files of every size."""
    for path in python_files(8, 4_000_000, library=True):
        parsed = parse.parse(path.read_bytes(), str(path))
        text = parsed.text.replace("\r\n", "\n").replace("\r", "\n")
        if parsed.tree is not None and not parsed.newer:
            made = cut(text, 3000)
            assert made is not None, path
            assert difference(made[0], python(text), places=True) is None, path


INSERTED = [["type Aé = int"], ["try: pass", "except A, B: pass"], ["def f[T](x: T): return f'{x['é']}'"]]


def with_newer_syntax(text: str, rand: random.Random) -> str | None:
    """A text with two statements from after the running Python's time, somewhere; None where there is no room."""
    lines = text.split("\n")
    places: list[tuple[int, str]] = []
    for node in ast.walk(python(text)):
        if isinstance(node, ast.stmt):
            row = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            line = lines[row - 1]
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            joined = row > 1 and lines[row - 2].endswith("\\")
            if not joined and (line[len(indent) :].startswith("@") or len(indent.encode()) == node.col_offset):
                places.append((row, indent))
    places = [p for p in places if not lines[p[0] - 1].lstrip().startswith(("elif", "\f"))]
    if not places:
        return None
    for row, indent in sorted(rand.sample(places, min(2, len(places))), reverse=True):
        lines[row - 1 : row - 1] = [indent + line for line in rand.choice(INSERTED)]
    return "\n".join(lines)


@pytest.mark.oracle
def test_newer_syntax_anywhere_is_the_same_in_pieces() -> None:
    """A sample, for libcst takes five seconds a megabyte: files of up to 40,000 bytes, six of every size and kind and
    those of ten packages of the standard library."""
    rand = random.Random(5)
    compared = 0
    for path in python_files(6, 40_000):
        parsed = parse.parse(path.read_bytes(), str(path))
        text = parsed.text.replace("\r\n", "\n").replace("\r", "\n")
        changed = None if parsed.tree is None or parsed.newer else with_newer_syntax(text, rand)
        if changed is None:
            continue
        whole, _ = translate(changed)
        made = cut(changed, *rand.choice([(50_000, 2000), (500, 1)]))
        if whole is None:
            continue
        compared += 1
        assert made is not None, path
        assert difference(made[0], whole, places=False) is None, path
        assert places(made[0]) == places(whole), path
    assert compared > 100


def test_only_what_python_rejects_goes_through_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    made = newer.translate_piece
    monkeypatch.setattr(newer, "translate_piece", lambda text: asked.append(text) or made(text))
    inside = "    def m(self):\n" + "        x = 1\n" * 500
    rejected = "        try: pass\n        except A, B: pass\n"
    text = f"class A:\n{inside}{rejected}{inside}\ntype B = int\n"
    parsed = parse.parse(text.encode(), "a.py")
    assert parsed.error is None
    if sys.version_info < (3, 14):
        assert parsed.newer
        assert asked[0] == "if 1:\n" + rejected
        assert asked[1:] == ([] if sys.version_info >= (3, 12) else ["type B = int\n"])


def test_a_long_file_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x = 'é'\r\n" * 10 + "def f():\r\n" + "    y = 1\r\n" * 2_000
    lengths: list[int] = []
    whole = parse._tree
    monkeypatch.setattr(parse, "_tree", lambda text, name: lengths.append(len(text.lstrip())) or whole(text, name))
    monkeypatch.setattr(parse, "LONG", 1000)
    monkeypatch.setattr(pieces, "ENOUGH", 3000)
    parsed = parse.parse(text.encode(), "a.py")
    assert parsed.text == text
    assert parsed.tree is not None
    assert ast.dump(parsed.tree, include_attributes=True) == ast.dump(python(text), include_attributes=True)
    assert max(lengths) < 2 * pieces.ENOUGH
    assert parse.long_tree("x = 1\n") is None
    assert parse.long_tree(text) is not None
    assert parse.long_tree(text + "lazy import a\n") is None


def test_a_mistake_in_a_long_file_is_told_as_in_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("x = 1\n" * 40 + "y = = 2\n", "type A = int\n" * 40 + "y = = 2\n", "x = (\n" + "y = 1\n" * 40):
        before = parse.parse(text.encode(), "a.py").error
        assert before is not None
        with monkeypatch.context() as patch:
            patch.setattr(parse, "LONG", 10)
            assert parse.parse(text.encode(), "a.py").error == before


def test_logical_lines() -> None:
    text = "a = (\n1)\n# c\n  b = '''\n'''; c\n\nd = \\\n 2\nf'''\n{\nx}\n'''\ne"
    assert [text[at:].split("\n")[0] for at in logical_lines(text, 0, len(text))] == [
        "a = (", "# c", "  b = '''", "", "d = \\", "f'''", "e",
    ]  # fmt: skip
    at = text.index("d =")
    assert list(logical_lines(text, at, at + 12)) == [at, text.index("f'''")]


PROMPT = (
    "from datetime import datetime\n\n\nclass Desk:\n    '''Orders.'''\n\n    def now(self):\n"
    "        return datetime.now().strftime('%H:%M')\n\n    def build(self, question):\n"
    "        system = f'You help. It is {self.now()}.'  # é\n"
    "        return [{'role': 'system', 'content': system}, {'role': 'user', 'content': question}]\n\n\n"
    "class Other:\n    def build(self, question):\n        history = [{'role': 'user', 'content': question}]\n"
    "        history.insert(0, {'role': 'system', 'content': str(datetime.now())})\n        return history\n"
)


@pytest.mark.parametrize("more", ["", "\n\ntype A = int\n", "\n\ndef f():\n    try: g()\n    except A, B: pass\n"])
def test_findings_are_those_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str) -> None:
    root = write(tmp_path / "p", {"app.py": PROMPT + more})

    def told() -> list[object]:
        return [
            (f.code, f.message, f.location, f.data["end_location"], f.data["fix"], tuple(f.flow))
            for f in lint([root], cache=False).findings
        ]

    def no_pieces(*args: object, **options: object) -> None:
        return None

    monkeypatch.setattr(parse, "LONG", 0)
    monkeypatch.setattr(pieces, "ENOUGH", 40)
    monkeypatch.setattr(pieces, "ENTERED", 1)
    found = told()
    assert found
    monkeypatch.setattr(parse, "_in_pieces", no_pieces)
    assert told() == found


LONG_AND_NEWER = """
import gc, resource
from pytest_cachesafe.lint.parse import parse
loop = "        for row in rows:\\n            self.total += row.price * 2 - len(row.name)\\n"
methods = "".join(f"    def m{n}(self, rows):\\n" + loop * 20 for n in range(300))
text = "class A:\\n" + methods + "    type B = int\\n"
gc.disable()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
parsed = parse(text.encode(), "a.py")
assert parsed.tree is not None and len(parsed.tree.body[0].body) == 301
print(len(text), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is told in other units, or not at all")
def test_one_newer_statement_does_not_cost_the_memory_of_a_whole_file() -> None:
    done = subprocess.run([sys.executable, "-c", LONG_AND_NEWER], capture_output=True, text=True, check=True)
    length, kilobytes = map(int, done.stdout.split())
    # Seen: a hundred times the text, libcst itself among it; all of the file through libcst, 760 times.
    assert kilobytes * 1000 < 250 * length
