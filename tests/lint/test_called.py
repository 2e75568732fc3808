"""Code that nobody can call builds prompts for nobody; whatever may be called is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

HEAD = "from datetime import datetime\n\n\n"
BODY = "return [{'role': 'system', 'content': f'It is {datetime.now()}. You help.'}, *history]\n"
# Something else of the file is used, so that its silence about the rest says something.
OTHER = "\n\ndef shown(text):\n    return text.title()\n"
FUNCTION = f"{HEAD}def chat(history):\n    {BODY}{OTHER}"
METHOD = f"{HEAD}class Clerk:\n    def chat(self, history):\n        {BODY}\n    def shown(self):\n        return 'x'\n"
USER = "from clerk import shown\n\nprint(shown('x'))\n"
MAKER = "from clerk import Clerk\n\nprint(Clerk().shown())\n"


def told(root: Path, **files: str) -> list[str]:
    """The files with findings."""
    write(root, {f"{name.replace('__', '/')}.py": text for name, text in files.items()})
    return [name for name, _, _ in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    ("clerk", "app"),
    [
        (FUNCTION, USER),
        (METHOD, MAKER),
        # In a comment, in the documentation, as a key, as a variable of another function.
        (FUNCTION, USER + "# chat(history)\n"),
        (FUNCTION, USER + '\n\ndef f():\n    """Like chat(history)."""\n    return {"chat": 1}["chat"]\n'),
        (FUNCTION + "\n\ndef run_all(chat):\n    return chat\n", USER),
        (FUNCTION.replace("return [", "chat(history)\n    return ["), USER),
        # Another's method of this name, and another's class.
        (METHOD, MAKER + "\n\nclass Bot:\n    def chat(self):\n        return self.chat()\n"),
        (METHOD, MAKER + "from other import Bot\n\nBot.chat([])\n"),
        # By one that nobody calls.
        (FUNCTION + "\n\ndef _ask(history):\n    return chat(history)\n", USER),
        (METHOD.replace("chat", "_chat") + "\n    def _ask(self):\n        return self._chat([])\n", MAKER),
        # A private one, even if nothing is known of the rest.
        (METHOD.replace("chat", "_chat"), "x = 1\n"),
        (f"import abc\n{METHOD}".replace("Clerk:", "Clerk(abc.ABC):"), MAKER),
    ],
)
def test_what_nobody_calls_is_not_told(tmp_path: Path, clerk: str, app: str) -> None:
    assert told(tmp_path, clerk=clerk, app=app) == []


@pytest.mark.parametrize(
    ("clerk", "app"),
    [
        (FUNCTION, USER + "import clerk\n\nclerk.chat([])\n"),
        (FUNCTION, USER + "from clerk import chat\n\nchat([])\n"),
        (FUNCTION, USER + "import clerk\n\ntable = [clerk.chat]\n"),
        (FUNCTION, USER + "\nentry = 'clerk:chat'\n"),
        (FUNCTION + "\n\ntable = {'a': chat}\n", USER),
        (FUNCTION + "\n\nif __name__ == '__main__':\n    chat([])\n", USER),
        (FUNCTION + "\n\n__all__ = ['chat']\n", USER),
        (FUNCTION.replace("def chat", "@app.command('chat')\ndef chat"), USER),
        (FUNCTION.replace("def chat", "def main"), USER),
        # Nothing of it is used: who knows what it is for.
        (FUNCTION, "x = 1\n"),
        (METHOD, "x = 1\n"),
        (METHOD, MAKER + "\nclerk = Clerk()\nclerk.chat([])\n"),
        (METHOD, MAKER + "\nask = getattr(Clerk(), 'chat')\n"),
        (METHOD, MAKER + "\n\nclass Boss(Clerk):\n    def go(self):\n        return self.chat([])\n"),
        (METHOD + "\n    def go(self):\n        return getattr(self, f'ch{self.end}')([])\n", MAKER),
        # A framework may call it.
        (f"from frame import Base\n{METHOD}".replace("Clerk:", "Clerk(Base):"), MAKER),
        (FUNCTION + "\n\ndef ask(history):\n    return chat(history)\n", USER + "from clerk import ask\n\nask([])\n"),
    ],
)
def test_what_may_be_called_is_told(tmp_path: Path, clerk: str, app: str) -> None:
    assert told(tmp_path, clerk=clerk, app=app) == ["clerk.py"]


@pytest.mark.parametrize(
    ("offers", "page"),
    [
        # Inside of a package a class is listed for the package's own files.
        ({}, ""),
        ({"desk/inner/__init__.py": "from desk.inner.clerk import Clerk\n\n__all__ = ['Clerk']\n"}, ""),
        # An everyday word is no call.
        ({}, "Have a chat with the clerk.\n"),
    ],
)
def test_a_method_that_only_tests_call_is_not_told(tmp_path: Path, offers: dict[str, str], page: str) -> None:
    assert not _inner(tmp_path, offers, page)


@pytest.mark.parametrize(
    ("offers", "page"),
    [
        ({"desk/__init__.py": "from desk.inner.clerk import Clerk\n"}, ""),
        ({"desk/__init__.py": "from desk.inner import (\n    Clerk,\n)\n"}, ""),
        ({"desk/__init__.py": "from desk.inner import *\n"}, ""),
        ({"desk/__init__.py": "import desk.inner.clerk\n\n__all__ = ['Clerk']\n"}, ""),
        # The package lies in none.
        ({"desk/__init__.py": None, "desk/inner/__init__.py": "from .clerk import Clerk\n"}, ""),
        ({}, "Then call `clerk.chat([])`.\n"),
        ({}, "Its method `chat` asks.\n"),
    ],
)
def test_a_method_that_others_may_call_is_told(tmp_path: Path, offers: dict[str, str | None], page: str) -> None:
    assert _inner(tmp_path, offers, page)


def test_a_module_in_no_package_offers_its_class(tmp_path: Path) -> None:
    assert told(tmp_path, clerk=f"{METHOD}\n\n__all__ = ['Clerk']\n", app=MAKER) == ["clerk.py"]


def _inner(root: Path, offers: dict[str, str | None] | dict[str, str], page: str) -> bool:
    """Whether a method of a class in a package in a package is told that a test calls."""
    files = {
        "desk/__init__.py": "",
        "desk/inner/__init__.py": "",
        "desk/inner/clerk.py": f"{METHOD}\n\n__all__ = ['Clerk']\n",
        "desk/app.py": MAKER.replace("from clerk", "from desk.inner.clerk"),
        "tests/test_clerk.py": "from desk.inner.clerk import Clerk\n\n\ndef test_it():\n    Clerk().chat([])\n",
        "README.md": page,
        **offers,
    }
    write(root, {name: text for name, text in files.items() if text is not None})
    return bool(places(lint([root], cache=False).findings))


def test_a_package_offers_what_it_imports(tmp_path: Path) -> None:
    files = {"kit__clerk": FUNCTION, "kit__app": USER.replace("clerk", "kit.clerk")}
    assert told(tmp_path / "a", **files, kit____init__="") == []
    assert told(tmp_path / "b", **files, kit____init__="from .clerk import chat\n") == ["clerk.py"]


def test_tests_alone_are_no_callers(tmp_path: Path) -> None:
    calls = "from clerk import chat\n\n\ndef test_chat():\n    assert chat([])\n"
    assert told(tmp_path, clerk=FUNCTION, app=USER, test_clerk=calls) == []


def test_a_base_of_the_project_is_no_framework(tmp_path: Path) -> None:
    clerk = f"from kind import Base\n{METHOD}".replace("Clerk:", "Clerk(Base):")
    assert told(tmp_path / "a", clerk=clerk, app=MAKER, kind="class Base:\n    x = 1\n") == []
    calls = "class Base:\n    def go(self):\n        return self.chat([])\n"
    assert told(tmp_path / "b", clerk=clerk, app=MAKER, kind=calls) == ["clerk.py"]


def test_the_settings_of_a_project_name_its_programs(tmp_path: Path) -> None:
    part = tmp_path / "part"
    assert told(part, clerk=FUNCTION, app=USER) == []
    (part / "setup.cfg").write_text("[options.entry_points]\nconsole_scripts = clerk = clerk:chat\n", encoding="utf-8")
    assert told(part, clerk=FUNCTION, app=USER) == ["clerk.py"]
