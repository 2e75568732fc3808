"""A message that becomes a row of a database was said once; the order of a set from elsewhere is nobody's prefix."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

NOW = "from datetime import datetime\n\n\n"
ADDS = NOW + (
    "class Notes:\n"
    "    def {name}(self, role, content):\n"
    "        {body}\n\n\n"
    "def begin(chat: Notes):\n"
    "    chat.{name}(role='system', content=f'begun at {{datetime.now()}}')\n"
)


def codes(root: Path, **files: str) -> list[str]:
    """The codes of the findings in a project of these files."""
    write(root, {f"{name}.py": text for name, text in files.items()})
    return [code for _, _, code in places(lint([root], cache=False).findings)]


@pytest.mark.parametrize(
    ("owner", "expected"), [("self.repo", []), ("store.message_crud", []), ("self.chat", ["CSF101"])]
)
def test_whom_the_message_is_given_to(tmp_path: Path, owner: str, expected: list[str]) -> None:
    call = f"    {owner}.add_message(role='system', content=f'begun at {{datetime.now()}}')\n"
    assert codes(tmp_path, a=f"{NOW}def begin(self, store):\n{call}") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.rows.execute('INSERT INTO notes VALUES (?, ?)', (role, content))", []),
        ("self.rows.insert_one({'r': role, 'c': content})", []),
        ("self.rows.add(role, content); self.rows.commit()", []),
        ("self.rows.append({'role': role, 'content': content})", ["CSF101"]),
        ("self.rows.add(role, content)", ["CSF101"]),
    ],
)
def test_what_the_method_does_with_it(tmp_path: Path, body: str, expected: list[str]) -> None:
    assert codes(tmp_path, a=ADDS.format(name="add_message", body=body)) == expected


@pytest.mark.parametrize(("call", "expected"), [("create_diary_entry", []), ("create_agent", ["CSF105"])])
def test_a_notice_that_is_entered(tmp_path: Path, call: str, expected: list[str]) -> None:
    text = f"def seen(user_id, made):\n    sys_msg = f'{{user_id}} came in'\n    made.{call}(text=sys_msg)\n"
    assert codes(tmp_path, a=text) == expected


WORDS = "WORDS = {'red', 'blue', 'green'}\n\n\ndef listed(more):\n    return ', '.join(WORDS)\n"
GIVEN = "def listed(more):\n    return ', '.join(set(more))\n"
SAYS = "def build(history, more):\n    return [{'role': 'system', 'content': f'Of {listed(more)}.'}, *history]\n"


def test_a_set_of_another_file(tmp_path: Path) -> None:
    there = f"from words import listed\n\n\n{SAYS}"
    assert codes(tmp_path / "here", a=f"{WORDS}\n\n{SAYS}") == ["CSF201"]
    # What a call brings, no other request need have, unless its name says that it was set up once.
    assert codes(tmp_path / "given here", a=f"{GIVEN}\n\n{SAYS}") == []
    named = GIVEN.replace("more", "languages")
    assert codes(tmp_path / "named here", a=f"{named}\n\n{SAYS}") == ["CSF201"]
    # Made at import it holds the same words in every request; made by each call it may be another set each time.
    assert codes(tmp_path / "there", words=WORDS, a=there) == ["CSF201"]
    assert codes(tmp_path / "given there", words=named, a=there) == []


def test_a_set_that_is_an_argument(tmp_path: Path) -> None:
    given = (
        "def build(topics, history):\n"
        "    return [{'role': 'system', 'content': f'Of {topics}.'}, *history]\n\n\n"
        "def ask(found, history):\n"
        "    return build(', '.join(set(found)), history)\n"
    )
    own = given.replace("build(', '.join(set(found)), history)", "build(found, history)")
    own = own.replace("{topics}", '{", ".join(set(topics))}')
    assert codes(tmp_path / "given", a=given) == []
    assert codes(tmp_path / "own", a=own) == ["CSF201"]


@pytest.mark.parametrize(("more", "expected"), [("output=text, exit_code=0", []), ("model=text", ["CSF101"])])
def test_the_record_of_a_run(tmp_path: Path, more: str, expected: list[str]) -> None:
    call = f"    return create_agent(instructions=f'It is {{datetime.now()}}', name='a', {more})\n"
    assert codes(tmp_path, a=f"{NOW}def note(text):\n{call}") == expected
