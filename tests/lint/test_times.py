"""Times in other forms: of other packages, as a number of seconds, of a file, as the stamp of a fresh record."""

from __future__ import annotations

import pytest

from pytest_cachesafe.lint.run import lint_text

HEAD = (
    "import os\nimport time\nfrom dataclasses import asdict, dataclass, field\n"
    "from datetime import date, datetime, timedelta\nfrom pathlib import Path\n\nimport arrow\nimport jinja2\n"
    "import pendulum\nfrom pydantic import BaseModel, Field\n\n\n"
)
ASK = (
    "\n\ndef ask(client, history):\n"
    '    return client.chat([{{"role": "system", "content": "You help. " + str({text}) + " Be brief."}}, *history])\n'
)


def found(before: str, text: str) -> list[tuple[str, str]]:
    program = HEAD + before + ASK.format(text=text)
    return [(finding.code, str(finding.severity)) for finding in lint_text(program)]


MINUTES, HOURLY, DAILY = [("CSF101", "error")], [("CSF101", "warning")], [("CSF103", "note")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pendulum.now().to_time_string()", MINUTES),
        ("pendulum.now('UTC').add(hours=1).to_datetime_string()", MINUTES),
        ("pendulum.now().in_timezone('Asia/Tokyo').to_rfc1123_string()", MINUTES),
        ("pendulum.now().start_of('hour').to_iso8601_string()", HOURLY),
        ("pendulum.now().start_of('day').to_iso8601_string()", DAILY),
        ("pendulum.now().to_formatted_date_string()", DAILY),
        ("arrow.utcnow().to('Europe/Rome').format('HH:mm')", MINUTES),
        ("arrow.now().shift(days=-1).format('YYYY-MM-DD')", DAILY),
        ("arrow.get('2024-01-01').shift(days=-1).format('HH:mm')", []),
        ("pendulum.datetime(2024, 1, 1).to_time_string()", []),
    ],
)
def test_methods_of_times(text: str, expected: list[tuple[str, str]]) -> None:
    assert found("", text) == expected


LEFT = """class Session:
    def __init__(self):
        self.begun = time.monotonic()

    @property
    def left(self){annotation}:
        return {value}


session = Session()
"""


@pytest.mark.parametrize("annotation", [" -> int", " -> float", ""])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("int(480 - (time.monotonic() - self.begun))", MINUTES),
        ("round((time.monotonic() - self.begun) / 60)", MINUTES),
        ("int(time.monotonic() - self.begun) // 3600", HOURLY),
        ("divmod(int(time.monotonic() - self.begun), 3600)[0]", HOURLY),
        ("divmod(int(time.monotonic() - self.begun), 3600)[1]", MINUTES),
        ("int(480 - (300 - 20))", []),
        ("len(str(time.monotonic()))", []),
    ],
)
def test_numbers_of_seconds(annotation: str, value: str, expected: list[tuple[str, str]]) -> None:
    assert found(LEFT.format(annotation=annotation, value=value), "session.left") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("(datetime.now() - START).seconds", MINUTES),
        ("(date.today() - date(2020, 1, 1)).days", DAILY),
        ("(datetime.now() - START).days", DAILY),
        ("timedelta(hours=1).seconds", []),
    ],
)
def test_parts_of_durations(value: str, expected: list[tuple[str, str]]) -> None:
    before = f"START = datetime(2024, 1, 1)\n\n\ndef passed() -> int:\n    return {value}\n"
    assert found(before, "passed()") == expected


def test_a_number_holds_nothing_of_what_it_counts() -> None:
    count = "def count() -> {kind}:\n    return Path('notes.md').read_text()\n"
    assert found(count.format(kind="str"), "count()") == [("CSF109", "note")]
    assert found(count.format(kind="int"), "count()") == []


FILE = [("CSF109", "note")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time.strftime('%H:%M', time.localtime(os.path.getmtime('/srv/a.db')))", FILE),
        ("f\"{datetime.fromtimestamp(os.stat('/srv/a.db').st_mtime):%H:%M:%S}\"", FILE),
        ("datetime.fromtimestamp(Path('/srv/a.db').stat().st_mtime).isoformat()", FILE),
        ("time.ctime(os.path.getmtime('/srv/a.db'))", FILE),
        # The day on which a file was written is not told.
        ("f\"{datetime.fromtimestamp(os.stat('/srv/a.db').st_mtime):%Y-%m-%d}\"", []),
        ("time.strftime('%Y-%m-%d', time.localtime(os.path.getmtime('/srv/a.db')))", []),
        ("os.stat('/srv/a.db').st_size", []),
    ],
)
def test_the_time_of_a_file(text: str, expected: list[tuple[str, str]]) -> None:
    assert found("", text) == expected


def test_the_time_of_a_file_that_is_read_at_import() -> None:
    read = "def synced():\n    return str(os.path.getmtime('/srv/a.db'))\n\n\nSYNCED = synced()\n"
    assert found(read, "synced()") == FILE
    assert found(read, "SYNCED") == []


RECORD = """@dataclass
class Known:
    name: str
    {name}: datetime = field(default_factory={factory})


"""
MODEL = """class Known(BaseModel):
    name: str
    created_at: datetime = Field(default_factory={factory})


"""


@pytest.mark.parametrize("name", ["created", "opened_at", "timestamp", "moment"])
@pytest.mark.parametrize("factory", ["datetime.now", "lambda: datetime.now().isoformat()"])
def test_the_stamp_of_a_fresh_record(name: str, factory: str) -> None:
    record = RECORD.format(name=name, factory=factory)
    printed = f"'{{name}}: {{{name}}}'.format(**asdict(Known('x')))"
    assert found(record, printed) == MINUTES
    assert found(record, f"Known('x').{name}") == MINUTES
    # Given, but not printed; given by the caller; another field.
    assert found(record, "'{name}'.format(**asdict(Known('x')))") == []
    assert found(record, printed.replace("'x'", "'x', 'noon'")) == []
    assert found(record, "Known('x').name") == []


def test_the_stamp_of_a_fresh_model() -> None:
    shown = "jinja2.Template('{{{{ name }}}} {{{{ created_at }}}}').render(**Known(name='x').model_dump())"
    text = shown.replace("{{{{", "{{").replace("}}}}", "}}")
    assert found(MODEL.format(factory="datetime.now"), text) == MINUTES
    assert found(MODEL.format(factory="lambda: 'noon'"), text) == []


def test_the_stamp_of_a_record_that_was_kept() -> None:
    record = RECORD.format(name="created", factory="datetime.now")
    keeps = record + "class Log:\n    def __init__(self):\n        self.rows = []\n\n    def add(self, name):\n"
    keeps += "        self.rows.append(Known(name))\n\n    def text(self):\n"
    keeps += "        return ' '.join(str(row.created) for row in self.rows)\n\n\nlog = Log()\n"
    assert found(keeps, "log.text()") == []
    given = record + "def told(known: Known):\n    return f'{known.name} {known.created}'\n"
    assert found(given + "\n\ndef load(path):\n    return path\n", "told(load('x'))") == []


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("def scan(paths):\n    out = {}\n    for p in paths:\n        out[p] = p.stat().st_mtime\n    return out\n",
         "[p for p, at in scan([]).items()]"),
        ("def scan(paths):\n    return {p: os.path.getmtime(p) for p in paths}\n", "list(scan([]))"),
        ("", "max(['a', 'b'], key=lambda p: os.path.getmtime(p))"),
        ("", "sorted(['a', 'b'], key=lambda p: os.stat(p).st_mtime)"),
    ],
)  # fmt: skip
def test_a_time_by_which_files_are_told_apart(before: str, text: str) -> None:
    assert found(before, text) == []
    assert found(before, f"({text}, os.path.getmtime('/srv/a.db'))") == FILE
