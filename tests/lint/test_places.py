"""What of a path is the machine's: each way of taking it out is silent, and its twin that leaves it in is told."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

HEAD = "import os\nfrom pathlib import Path\n\n\n"
SENT = """

def build(history, name):
    text = f"You edit files below {place(name)}. Be careful and ask before you delete."
    return [{"role": "system", "content": text}, *history]
"""

# The part that the machine gives is left out: first silent, then told.
TWINS = {
    "basename": ("return os.path.basename(root(name))", "return os.path.dirname(root(name))"),
    "name": ("return root(name).name", "return root(name).parent"),
    "stem": ("return root(name).stem", "return root(name)"),
    "relative": ("return '~/' + str(root(name).relative_to(Path.home()))", "return '~/' + str(root(name))"),
    "replaced": ("return str(root(name)).replace(str(Path.home()), '~')", "return str(root(name)).replace('~', '-')"),
    "asked-first": (
        "home = root(name)\n    try:\n        return '~/' + str(home.relative_to(Path.home()))\n"
        "    except ValueError:\n        return str(home)",
        "home = root(name)\n    try:\n        return '~/' + str(home.relative_to('/srv'))\n"
        "    except ValueError:\n        return str(home)",
    ),
    "only-below-the-working-directory": (
        "here = Path.cwd() / name\n    try:\n        return here.relative_to(Path.cwd())\n"
        "    except ValueError:\n        return here",
        "here = Path.cwd() / name\n    try:\n        return here.relative_to(Path.home())\n"
        "    except ValueError:\n        return here",
    ),
    "last-part-of-a-parameter": (
        "return shortened(root(name))\n\n\ndef shortened(path):\n    return os.path.basename(path)",
        "return shortened(root(name))\n\n\ndef shortened(path):\n    return os.path.abspath(path)",
    ),
    "expanded-without-the-sign": ("return os.path.expanduser(name)", "return os.path.expanduser('~/' + name)"),
    "expanded-constant": (
        "return os.path.expanduser(DATA)\n\n\nDATA = '/srv/data'",
        "return os.path.expanduser(DATA)\n\n\nDATA = '~/data'",
    ),
    "expanded-default": (
        "return opened()\n\n\ndef opened(path='data'):\n    return os.path.expanduser(path)",
        "return opened()\n\n\ndef opened(path='~/data'):\n    return os.path.expanduser(path)",
    ),
    # The last part of the working directory, and of the home folder itself, differs as well.
    "last-part-of-the-working-directory": ("return (Path.cwd() / name).exists()", "return Path.cwd().name"),
    "last-part-of-the-home-folder": ("return (Path.home() / name).name", "return Path.home().name"),
    "user-by-the-sign": ("return os.path.basename(root(name))", "return os.path.basename(os.path.expanduser('~'))"),
}


def codes(body: str) -> list[str]:
    program = (
        f"{HEAD}def root(name):\n    return Path.home() / '.tool' / name\n\n\ndef place(name):\n    {body}\n{SENT}"
    )
    return [finding.code for finding in lint_text(program)]


@pytest.mark.parametrize("name", TWINS)
def test_what_is_the_same_everywhere_is_not_told(name: str) -> None:
    silent, told = TWINS[name]
    assert codes(silent) == []
    assert codes(told) == ["CSF106"]


SINK = """

def send(client, folder, question):
    return client.chat.completions.create(
        model="m",
        messages=[
            {{"role": "system", "content": f"You work in {{{shown}}}. Be careful and ask before you delete."}},
            {{"role": "user", "content": question}},
        ],
    )


def handed(client, folder, question):
    return send(client, folder, question)


def ask(client, question, name):
    return handed(client, {given}, question)
"""


@pytest.mark.parametrize(
    ("shown", "given", "told"),
    [
        ("os.path.basename(folder)", "os.path.expanduser('~/data')", []),
        ("folder", "os.path.expanduser('~/data')", ["CSF106"]),
        ("os.path.basename(folder)", "os.getcwd()", ["CSF106"]),
        # Both of one parameter: the whole path counts.
        ("os.path.basename(folder), folder", "os.path.expanduser('~/data')", ["CSF106"]),
    ],
)
def test_the_last_part_is_known_of_a_parameter_that_is_sent(shown: str, given: str, told: list[str]) -> None:
    program = HEAD + SINK.format(shown=shown, given=given)
    assert [finding.code for finding in lint_text(program)] == told


FIELDS = """

def prepared(entry):
    return {{key: os.path.expanduser("~/" + value) for key, value in entry.items()}}


def build(history, entry):
    made = prepared(entry)
    text = f"You use the server {{{field}}}. Be careful and ask before you delete."
    return [{{"role": "system", "content": text}}, *history]
"""


@pytest.mark.parametrize(
    ("field", "told"),
    [("made['name']", []), ("made.get('name')", []), ("made", ["CSF106"]), ("made[history]", ["CSF106"])],
)
def test_one_field_of_a_dict_that_is_not_known_is_not_the_path(field: str, told: list[str]) -> None:
    assert [finding.code for finding in lint_text(HEAD + FIELDS.format(field=field))] == told


def test_a_field_that_is_seen_to_hold_the_path_is_told() -> None:
    body = "made = {'name': name, 'folder': root(name)}\n    return made['folder']"
    assert codes(body) == ["CSF106"]
    assert codes(body.replace("made['folder']", "made['name']")) == []
