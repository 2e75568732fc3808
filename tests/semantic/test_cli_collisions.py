"""`cachesafe collisions`: inputs, options, JSON and exit status, with an encoder of the user's own."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.cli import main

pytest.importorskip("numpy")

NOT = ("Is the API rate limited?", "Is the API not rate limited?")
PLAN = ("How do I cancel my annual plan?", "How do I cancel my monthly plan?")
MODULE = '''
def embed(texts):
    """cosine about .99 within a topic, near 0 between topics"""
    return [["API" in t, "plan" in t, "invoice" in t, len(t) / 200] for t in texts]

def bad(texts):
    return [[float("nan")] * 3 for t in texts]

def second(texts):
    return [[float("nan") if "not" in t else 1.0, len(t)] for t in texts]

def breaks(texts):
    raise KeyError("no key for the embedding service")

def quiet(texts):
    raise RuntimeError

def service(text):
    raise ValueError("quota\\nexceeded")

class Cache:
    def lookup(self, prompt):
        service(prompt)

    def store(self, prompt, answer):
        pass

cache = Cache()
'''


@pytest.fixture
def collisions(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "my_encoder.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_encoder", raising=False)

    def run(*words: str, encoder: str = "my_encoder:embed", form: str = "json") -> tuple[int, Any]:
        status = main(["collisions", *words, "--encoder", encoder, "--output-format", form])
        out, err = capsys.readouterr()
        return status, (json.loads(out) if form == "json" and status != 2 else out or err)

    return run


def write(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return name


def by_line(data: Any) -> list[Any]:
    return sorted(data["pairs"], key=lambda pair: pair["at"])


def test_a_prompt_a_line(collisions: Any) -> None:
    name = write("prompts.txt", "\n".join([*NOT, *PLAN]) + "\n\n")
    status, data = collisions(name, "--threshold", "0.9")
    assert status == 1
    assert data["schema"] == 1
    assert [(p["a"], p["kind"], p["merged"], p["different_answer"], p["at"]) for p in by_line(data)] == [
        (NOT[0], "negation", True, "certain", [1, 2]),
        (PLAN[0], "period", True, "certain", [3, 4]),
    ]
    assert data["closest"]["similarity"] == data["pairs"][0]["similarity"] > data["pairs"][1]["similarity"]


def test_json_lines_of_several_kinds(collisions: Any) -> None:
    lines: list[Any] = [
        NOT[0],
        {"prompt": PLAN[0]},
        {"messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"text": NOT[1]}]}]},
        {"question": "Where is my invoice?"},
    ]
    name = write("prompts.jsonl", "\n".join(json.dumps(line) for line in lines))
    status, data = collisions(name, "--threshold", "0.9")
    assert status == 1
    assert (data["pairs"][0]["b"], data["pairs"][0]["at"], data["prompts"]) == (NOT[1], [1, 3], 4)


def test_pairs_are_judged_exactly_and_in_order(collisions: Any) -> None:
    lines = [{"a": PLAN[0], "b": NOT[0]}, {"a": PLAN[1], "b": PLAN[0], "note": "x"}, {"a": NOT[0], "b": NOT[0]}]
    name = write("pairs.jsonl", "\n".join(json.dumps(line) for line in lines))
    status, data = collisions("--pairs", name, "--threshold", "0.9")
    assert status == 1
    assert [(p["a"], p["b"], p["merged"]) for p in data["pairs"]] == [
        (PLAN[0], NOT[0], False),
        (PLAN[1], PLAN[0], True),
        (NOT[0], NOT[0], True),
    ]
    assert data["pairs"][2]["different_answer"] == "none"
    assert data["closest"]["a"] == NOT[0]


def test_a_log_is_counted_and_its_repeats_left_out(collisions: Any) -> None:
    lines = [{"prompt": text} for text in (NOT[0], NOT[0], PLAN[0], NOT[0])]
    name = write("log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    status, data = collisions("--log", name, "--threshold", "0.9")
    assert (status, data["prompts"], data["distinct"], data["pairs"]) == (0, 4, 2, [])
    assert data["closest"]["merged"] is False


def test_a_log_of_requests_tells_what_an_exact_cache_would_serve_first(collisions: Any) -> None:
    def request(text: str, **more: Any) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": text}], **more}

    lines = [request(NOT[0]), request(NOT[0], id="2"), request(NOT[0], temperature=1), request(PLAN[0])]
    name = write("log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    status, data = collisions("--log", name, "--threshold", "0.9")
    assert (status, data["prompts"], data["distinct"]) == (0, 4, 2)
    # The same prompt with another temperature is another request.
    assert (data["repeats"]["requests"], data["repeats"]["repeats"]) == (4, 1)
    _, text = collisions("--log", name, "--threshold", "0.9", form="text")
    assert text.startswith("an exact-match cache would serve 25.0% of 4 requests")
    assert "no collisions among 2 prompts (2 repeats left out)" in text
    # Where one line is all that is shown, it is the verdict.
    _, text = collisions("--log", name, "--threshold", "0.9", "-q", form="text")
    assert text.startswith("no collisions among 2 prompts")
    assert text.count("\n") == 1


def test_keys_of_a_log(collisions: Any) -> None:
    def request(system: str, text: str) -> dict[str, Any]:
        return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]}

    lines = [request("Answer in one word.", NOT[0]), request("Answer at length.", PLAN[0])]
    name = write("log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    status, data = collisions("--log", name, "--threshold", "0.9", "--keys")
    assert status == 1
    assert data["collisions"] == 0
    assert [finding["code"] for finding in data["keys"]["findings"]] == ["key-not-partitioned"]
    module = Path("my_encoder.py").read_text(encoding="utf-8")
    Path("my_encoder.py").write_text(module + "\ndef system(r):\n    return r['messages'][0]['content']\n", "utf-8")
    sys.modules.pop("my_encoder", None)
    status, data = collisions("--log", name, "--threshold", "0.9", "--keys", "--partition", "my_encoder:system")
    assert (status, data["keys"]["findings"], data["keys"]["told_apart"]) == (0, [], {"system": "filter"})


def test_requests_keep_what_the_key_may_have_left_out(collisions: Any) -> None:
    """Whether they come as a log, as JSON lines or as a list: what is filtered by is checked of the whole request."""
    bodies = [
        {"messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]}
        for system, text in (("Answer in one word.", NOT[0]), ("Answer at length.", PLAN[0]))
    ]
    lines, whole = "\n".join(map(json.dumps, bodies)), json.dumps(bodies)
    for words in (("--log", write("log.jsonl", lines)), (write("p.jsonl", lines),), (write("p.json", whole),)):
        status, data = collisions(*words, "--threshold", "0.9", "--keys")
        assert status == 1
        assert data["keys"]["requests"] == 2
        assert [finding["code"] for finding in data["keys"]["findings"]] == ["key-not-partitioned"]
    # Of texts there is nothing else to check, and that is told.
    texts = "\n".join(json.dumps({"prompt": text}) for text in (NOT[0], PLAN[0]))
    for name in (write("p.txt", f"{NOT[0]}\n{PLAN[0]}\n"), write("t.jsonl", texts)):
        status, data = collisions(name, "--threshold", "0.9", "--keys")
        assert (status, data["keys"]["requests"], data["keys"]["findings"]) == (0, 2, [])
        assert any("the requests hold nothing besides the text" in note for note in data["keys"]["notes"])


def test_a_json_list(collisions: Any) -> None:
    name = write("prompts.json", json.dumps([NOT[0], {"prompt": PLAN[0]}, NOT[1]], indent=2))
    status, data = collisions(name, "--threshold", "0.9")
    assert (status, data["pairs"][0]["at"]) == (1, [0, 2])
    for text, words in (
        ("{}", "a list of prompts is meant"),
        ('["a", 3]', "prompt 1: a prompt is text, not 3"),
        ('["a"\n"b"]', "line 2 column 1: not JSON"),
    ):
        status, said = collisions(write("prompts.json", text))
        assert status == 2
        assert words in said


def test_standard_input(collisions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\r\n".join(NOT).encode())))
    status, data = collisions("-", "--threshold", "0.9")
    assert (status, data["pairs"][0]["b"]) == (1, NOT[1])


def test_threshold_zero_merges_all_that_are_not_opposed(collisions: Any) -> None:
    name = write("prompts.txt", "\n".join([*NOT, PLAN[0]]))
    status, data = collisions(name, "--threshold", "0")
    assert (status, data["threshold"], data["merged"], data["compared"]) == (1, 0.0, 3, 3)
    status, data = collisions(name, "--threshold", "distance:0.1")
    assert data["threshold"] == 0.9


def test_strict_counts_suspects_and_unused_entries(collisions: Any) -> None:
    name = write("prompts.txt", "Can the owner read my invoice?\nCan the auditor read my invoice?\n")
    assert collisions(name, "--threshold", "0.9")[0] == 0
    assert collisions(name, "--threshold", "0.9", "--strict")[0] == 1
    assert collisions(name, "--threshold", "0.9", "--level", "suspect")[0] == 1
    _, text = collisions(name, "--threshold", "0.9", "--strict", form="text")
    assert "notes count (--strict)" in text.split("\n")[0]


def test_compressed_files_are_read_as_such(collisions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(json.dumps(prompt) + "\n" for prompt in (*NOT, *PLAN)).encode()
    plain = collisions(write("prompts.jsonl", text), "--threshold", "0.9")
    packed = gzip.compress(text)
    assert collisions(write("prompts.jsonl.gz", packed), "--threshold", "0.9") == plain
    status, data = collisions("--log", write("log", packed), "--threshold", "0.9")
    assert (status, data["pairs"]) == (1, plain[1]["pairs"])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed))))
    assert collisions("--log", "-", "--threshold", "0.9")[1]["pairs"] == plain[1]["pairs"]
    for broken in (packed[:-12], packed[:30] + b"\0" * 20):
        status, said = collisions(write("broken.jsonl.gz", broken), "--threshold", "0.9")
        assert status == 2
        assert "broken.jsonl.gz: the compressed data break off after line" in said


def test_faults_of_an_allow_list_name_their_line(collisions: Any) -> None:
    name = write("prompts.txt", "\n".join(NOT))
    good = {"a": NOT[0], "b": NOT[1], "reason": "one page"}
    for bad, words in (
        ({"a": NOT[0], "b": NOT[1]}, "has no 'reason'"),
        (good | {"reason": " "}, "needs a reason"),
        (good, "this pair is allowed before already"),
    ):
        allow = write("allow.jsonl", f"{json.dumps(good)}\n\n{json.dumps(bad)}\n")
        status, said = collisions(name, "--allow", allow)
        assert (status, f"allow.jsonl: line 3: {words}" in said) == (2, True)


def test_allowed_pairs(collisions: Any) -> None:
    name = write("prompts.txt", "\n".join([*NOT, *PLAN]))
    entries = [{"a": NOT[1], "b": NOT[0], "reason": "one page"}, {"a": "x", "b": "y", "reason": "old"}]
    allow = write("allow.jsonl", "\n".join(map(json.dumps, entries)))
    status, data = collisions(name, "--threshold", "0.9", "--allow", allow)
    assert (status, data["collisions"]) == (1, 1)
    assert data["pairs"][-1]["allowed"] == "one page"
    assert [(entry["a"], entry["why"]) for entry in data["unused_allow"]] == [("x", "both prompts are not in the set")]


def test_no_prompt_text_where_none_may_be_shown(collisions: Any) -> None:
    name = write("prompts.txt", "\n".join([*NOT, *PLAN]))
    for form in ("json", "text"):
        _, out = collisions(name, "--threshold", "0.9", "--redact", "hash", form=form)
        assert "limited" not in json.dumps(out)
        assert "annual" not in json.dumps(out)
        assert "sha256" in json.dumps(out)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no prompts of prompts.txt"),
        ("\n\n", "no prompts of prompts.txt"),
        ("one\n", "one prompt of prompts.txt"),
        ("one\none\n", "(2 times the same)"),
        ("one\n \ntwo\n", "prompts.txt: line 2 is blank"),
        (b"one\ncaf\xe9\n", "prompts.txt: line 2: not UTF-8 (byte 0xe9 at column 4)"),
        ("one\ntwo".encode("utf-16"), "looks like UTF-16"),
        ("one\n" + "x" * 1_000_000, "prompts.txt: line 2 has 1,000,000 bytes"),
        ("one\nt\0wo", "line 2: holds a null character"),
    ],
)
def test_text_files_that_cannot_be_judged(collisions: Any, text: str | bytes, words: str) -> None:
    status, said = collisions(write("prompts.txt", text), "--threshold", "0.9")
    assert status == 2
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"one"\n7\n', "prompts.jsonl: line 2: a prompt is text, not 7"),
        ('"one"\n\n{"prompt": null}\n', "line 3: prompt is not a text"),
        ('"one"\n{"id": 1}\n', "line 2: no prompt in it"),
        ('"one"\n" "\n', "line 2 is blank"),
        ('"one"\n{"prompt": "x"\n', "line 2 column"),
        ('"one"\nNaN\n', "line 2: NaN is not JSON"),
        ('"one"\n"\\ud800"\n', "line 2: character 0 is half of a surrogate pair"),
        ('"one"\n{"messages": []}\n', "line 2: no message of the user's"),
        (
            '"one"\n{"messages": [{"role": "user", "content": [{"type": "image", "url": "x"}]}]}\n',
            "line 2: the last message of the user's holds no text, only images",
        ),
    ],
)
def test_json_lines_that_cannot_be_judged(collisions: Any, text: str, words: str) -> None:
    status, said = collisions(write("prompts.jsonl", text), "--threshold", "0.9")
    assert status == 2
    assert words in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threshold", "1.5"], "from 0 to 1"),
        (["--threshold", "-0.5"], "from 0 to 1"),
        (["--threshold", "0.05"], "--threshold 0.05 looks like a distance"),
        (["--threshold", "nan"], "from 0 to 1 is meant"),
        (["--threshold", "high"], "from 0 to 1 is meant"),
        (["--level", "all"], "known: certain, suspect"),
        (["--pairs", "x.jsonl"], "exclude each other"),
        (["--allow", "missing.jsonl"], "missing.jsonl: no such file"),
        (["--encoder", "my_encoder:bad"], "the vector of prompts.txt: line 1 holds NaN or infinity"),
        (["--encoder", "my_encoder:second"], "the vector of prompts.txt: line 2 holds NaN or infinity"),
        (
            ["--encoder", "my_encoder:breaks"],
            "--encoder my_encoder:breaks raised KeyError: 'no key for the embedding service' (my_encoder.py line 13)",
        ),
        (["--encoder", "my_encoder:quiet"], "--encoder my_encoder:quiet raised RuntimeError (my_encoder.py line 16)"),
        (["--encoder", "my_encoder:cache"], "--encoder my_encoder:cache raised ValueError: quota exceeded (my_enc"),
        (["--encoder", "breaks_too:embed"], "importing breaks_too raised ZeroDivisionError: division by zero"),
        (["--encoder", "my_encoder:missing"], "missing"),
        (["--encoder", "no_such_module:embed"], "no module 'no_such_module'"),
        (["--encoder", "nobody/nothing"], "nobody/nothing"),
    ],
)
def test_options_that_cannot_be_used(collisions: Any, options: list[str], words: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", "no-hub")
    write("breaks_too.py", "1 / 0\n")
    name = write("prompts.txt", "\n".join(NOT))
    encoder = options[1] if options[0] == "--encoder" else "my_encoder:embed"
    status, said = collisions(name, *(options if options[0] != "--encoder" else []), encoder=encoder)
    assert status == 2
    assert words in said
    assert said.count("\n") == 1


def test_functions_for_keys_that_raise(collisions: Any) -> None:
    lines = [{"messages": [{"role": "user", "content": text}]} for text in (NOT[0], PLAN[0])]
    name = write("log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    for option in ("--key", "--partition"):
        status, said = collisions("--log", name, "--keys", option, "my_encoder:service")
        assert status == 2
        assert f"{option} my_encoder:service raised ValueError: quota exceeded (my_encoder.py line" in said
        assert said.count("\n") == 1
    # A key that is no text is told with the line, blank ones counted.
    name = write("log.jsonl", "\n".join(["", *map(json.dumps, lines)]))
    status, said = collisions("--log", name, "--keys", "--key", "my_encoder:embed")
    assert (status, "cachesafe: line 2: key: a prompt is text, not a list" in said) == (2, True)
    assert "is str, a function is meant" in collisions("--log", name, "--keys", "--key", "my_encoder:__name__")[1]


def test_unknown_labels_of_pairs(collisions: Any) -> None:
    lines = [{"a": PLAN[0], "b": NOT[0], "same_answer": None}, {"a": NOT[0], "b": NOT[1], "same_answer": "maybe"}]
    name = write("pairs.jsonl", "\n".join(json.dumps(line) for line in lines))
    status, said = collisions("--pairs", name)
    assert status == 2
    assert "pairs.jsonl: line 2: same_answer 'maybe' is unknown" in said
    for words in (("--pairs", name), ("--sweep", name)):
        for mode in ("text", "hash"):
            status, said = collisions(*words, "--redact", mode)
            assert (status, "line 2: same_answer" in said, "maybe" in said) == (2, True, False)
    # A label of another sort is nobody's business here.
    assert collisions("--pairs", write("pairs.jsonl", json.dumps(lines[0] | {"label": "billing"})))[0] == 0


def test_mutants_beside_the_collisions(collisions: Any) -> None:
    name = write("prompts.txt", f"{NOT[0]}\nDo you ship orders of 20 boxes?\n")
    status, data = collisions(name, "--threshold", "0.9", "--mutants", "--seed", "3")
    assert status == 0
    assert data["pairs"] == []
    assert data["mutants"]["seed"] == 3
    assert data["mutants"]["served_wrongly"]["count"] > 0
    assert collisions(name, "--threshold", "0.9", "--mutants", "--strict")[0] == 1
    assert collisions(name, "--threshold", "0.9", "--strict")[0] == 0
    _, text = collisions(name, "--threshold", "0.9", "--mutants", form="text")
    assert text.startswith("no collisions among 2 prompts")


def test_a_sweep_of_labelled_pairs(collisions: Any) -> None:
    lines = [
        {"a": f"Invoice {i}?", "b": f"Where is invoice {i}, then?" + "?" * (i % 9), "same_answer": i % 2 == 0}
        for i in range(20)
    ]
    name = write("labelled.jsonl", "\n".join(map(json.dumps, lines)))
    for words in (("--sweep", name), ("--pairs", name, "--sweep")):
        status, data = collisions(*words, "--curve", "curve.svg", "--budget", "0.1")
        assert status == (0 if words[0] == "--sweep" else status)
        assert data["sweep"]["pairs"] == {"same": 10, "different": 10, "ambiguous": 0}
        assert data["sweep"]["budget"] == 0.1
        assert ("pairs" in data) is (words[0] == "--pairs")
    assert Path("curve.svg").read_text(encoding="utf-8").lstrip().startswith("<svg")
    assert collisions("--sweep", name, "--strict")[0] == 1
    status, said = collisions("--sweep", name, "--curve", "curve.png")
    assert (status, "the name ends in .csv, .svg, .html" in said) == (2, True)
    bad = write("bad.jsonl", json.dumps({"a": "x", "b": "y", "same_answer": "perhaps"}))
    status, said = collisions("--sweep", bad)
    assert status == 2
    assert "bad.jsonl: line 1: same_answer 'perhaps' is unknown" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["prompts.txt", "--sweep"], "--sweep needs labelled pairs"),
        (["--pairs", "p.jsonl", "--mutants"], "--mutants changes prompts"),
        (["--pairs", "p.jsonl", "--keys"], "--keys checks what is embedded"),
        (["prompts.txt", "--partition", "a:b"], "--key and --partition are for --keys"),
        (["prompts.txt", "--curve", "c.svg"], "--curve is the picture of a sweep"),
        (["prompts.txt", "--budget", "0.1"], "--budget is for a sweep"),
        (["prompts.txt", "--log", "l.jsonl"], "PROMPTS and --log exclude each other"),
    ],
)
def test_options_that_do_not_go_together(collisions: Any, words: list[str], said: str) -> None:
    status, text = collisions(*words)
    assert status == 2
    assert said in text


def test_nothing_to_judge(collisions: Any) -> None:
    assert "name PROMPTS, --pairs FILE or --log FILE" in collisions()[1]
    status, said = collisions("missing.txt")
    assert (status, "missing.txt: no such file" in said) == (2, True)
