"""Figures that are fetched for each request and change by the minute; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

PROGRAM = """
import httpx
import requests

RULES = "You answer the questions of a treasury."
{top}

def {name}():
    return {fetch}


def head():
    return {{"role": "system", "content": f"{{{name}()}} {{RULES}}"}}


def answer(model, conversation, question):
    conversation.append({{"role": "user", "content": question}})
    return model.create(model="m", messages={messages})
"""
RATES = 'httpx.get("https://bank.example/exchange-rates").json()["rates"]'
PLAIN = 'requests.get("https://bank.example/v2").json()'
REST = "\n".join(f"LABEL_{n} = {n}" for n in range(45))


def codes(
    tmp_path: Path, fetch: str = RATES, name: str = "fetch", messages: str = "[head(), *conversation]", top: str = ""
) -> set[str]:
    """What is found in a file of many rows."""
    program = PROGRAM.format(fetch=fetch, name=name, messages=messages, top=top)
    write(tmp_path, {"app.py": f"{program}\n{REST}\n"})
    return {code for _, _, code in places(lint([tmp_path], cache=False).findings)}


@pytest.mark.parametrize(
    ("fetch", "name"),
    [
        (RATES, "fetch"),
        (PLAIN, "current_prices"),
        ('requests.get(f"https://api.example/weather?at={PLACE}").text', "fetch"),
    ],
    ids=["address", "function", "filled-address"],
)
def test_told_where_a_word_says_so(tmp_path: Path, fetch: str, name: str) -> None:
    assert "CSF110" in codes(tmp_path, fetch, name)


@pytest.mark.parametrize(
    ("fetch", "name"),
    [
        (PLAIN, "fetch"),
        (RATES.replace("exchange-rates", "docs/exchange-rates"), "fetch"),
        (RATES.replace("https://bank.example", ""), "fetch"),
        ("TABLE", "current_prices"),
    ],
    ids=["nothing-said", "text", "no-address", "nothing-fetched"],
)
def test_silent_where_nothing_says_so(tmp_path: Path, fetch: str, name: str) -> None:
    assert "CSF110" not in codes(tmp_path, fetch, name)


def test_silent_at_the_end_and_at_import(tmp_path: Path) -> None:
    assert "CSF110" not in codes(tmp_path / "end", messages="[RULES, {'role': 'user', 'content': fetch()}]")
    assert "CSF110" not in codes(tmp_path / "once", "TABLE", top=f"TABLE = {RATES}")


STATES = 'requests.get(f"{API}/states").json()'


@pytest.mark.parametrize(
    "fetch",
    [
        STATES,
        STATES.replace('f"{API}/states"', 'BASE_URL + "/sensors"'),
        'pool.fetchval("SELECT count(*) FROM jobs")',
        'db.execute("select name, quantity from items").fetchall()',
        'Counter(state for (state,) in db.execute("select state from jobs").fetchall())["done"]',
        "jobs.qsize()",
        'store.llen("jobs")',
    ],
)
def test_how_things_stand(tmp_path: Path, fetch: str) -> None:
    assert "CSF110" in codes(tmp_path, fetch)
    asked = 'f"{fetch()} {question}"'
    last = f'[{{"role": "system", "content": RULES}}, *conversation, {{"role": "user", "content": {asked}}}]'
    assert "CSF110" not in codes(tmp_path / "newest", fetch, messages=last)


@pytest.mark.parametrize(
    "fetch",
    [
        STATES.replace("/states", "/prompts/states"),
        STATES.replace("API", "name"),
        """pool.fetchval("SELECT text FROM prompts WHERE state = 1")""",
        "jobs.llen()",
    ],
    ids=["text", "no-address", "text-of-a-table", "other-method"],
)
def test_what_stays_as_it_is(tmp_path: Path, fetch: str) -> None:
    assert "CSF110" not in codes(tmp_path, fetch)
