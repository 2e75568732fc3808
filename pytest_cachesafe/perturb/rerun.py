"""Run the current test once more in a child process: for what is fixed when an interpreter starts (the hash seed).

A whole test is repeated, not a pickled function: closures, fixtures, parameters and classes work as they are. In the
child each assertion of this package writes its prompts to a file and passes; the parent reads them and compares. The
n-th assertion of the parent belongs to the n-th of the child, so a test must make its assertions in a fixed order.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_cachesafe.perturb.node import FILE_VARIABLE, NODE_VARIABLE, NodeState, current_node, rerun_target
from pytest_cachesafe.prompt import Chat, Prompt, Segment, UsageError

__all__ = ["RerunPrompt", "Sink", "in_rerun", "rerun_prompts"]

# The parent's import path goes to the child as it is: `pytest` and `python -m pytest` differ in it, and so do tests
# that put folders there. The child's own first entry would otherwise be its working directory.
_CHILD = "import json, os, sys; sys.path[:] = json.loads(os.environ.pop('CACHESAFE_RERUN_PATH')); " + (
    "import pytest; sys.exit(pytest.console_main())"
)


class RerunPrompt(NamedTuple):
    """A prompt that the child rendered: the exact text, who wrote which part of it, and the request it was made from.

    `token_ids` only where the ids were given; else equal text means equal ids. `chat` has values that JSON cannot carry
    (functions as tools) replaced by their names: it explains a difference, the text decides.
    """

    request: int
    text: str
    token_ids: tuple[int, ...] | None
    front_end: str
    segments: tuple[Segment, ...]
    chat: Chat | None

    def prompt(self, like: Prompt | None = None) -> Prompt:
        """As a prompt. `like` is one of this process, whose tokenizer or estimate counts the tokens."""
        return Prompt(
            self.text,
            front_end=self.front_end,
            chat=self.chat,
            encode=None if like is None or self.token_ids is not None else like._encode,
            token_ids=self.token_ids,
            segments=self.segments or None,
            estimate=None if like is None else like._estimate,
        )


class Sink:
    """Where the assertions of a child leave their prompts."""

    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, call_index: int, prompts: Iterable[Prompt]) -> None:
        """Append the prompts of the test's `call_index`-th assertion, requests in order from 0."""
        lines: list[dict[str, Any]] = [{"call": call_index}]
        before = ""
        lists: dict[str, list[str]] = {}
        for prompt in prompts:
            # A chat that grows repeats its past in every request; only what is new is written.
            keep = len(before) if before and prompt.text.startswith(before) else 0
            before = prompt.text
            lines.append(
                {
                    "keep": keep,
                    "text": prompt.text[keep:],
                    "front_end": prompt.front_end,
                    "ids": None if prompt._given_ids is None else list(prompt._given_ids),
                    "segments": [list(segment) for segment in prompt.segments],
                    "chat": None if prompt.chat is None else _packed(prompt.chat, lists),
                }
            )
        # ASCII escapes carry lone surrogates through any encoding; one write keeps a call's lines together.
        with open(self._path, "a", encoding="ascii") as file:
            file.write("".join(json.dumps(line, default=_name) + "\n" for line in lines))


def _name(value: object) -> str:
    """What stands for a value that JSON has no form for; no addresses, which differ in every process."""
    return f"<{getattr(value, '__name__', type(value).__qualname__)}>"


def _packed(chat: Chat, lists: dict[str, list[str]]) -> dict[str, Any]:
    """A request as JSON; lists as (items kept from the request before, new items). `lists` holds the last ones."""

    def packed(where: str, value: Any) -> Any:
        if isinstance(value, tuple):
            value = list(value)
        if not isinstance(value, list):
            return value
        # As text: equal dicts may differ in the order of their keys, which is what a check is about.
        now = [json.dumps(item, default=_name) for item in value]
        old = lists.get(where, [])
        keep = 0
        while keep < min(len(now), len(old)) and now[keep] == old[keep]:
            keep += 1
        lists[where] = now
        return {"keep": keep, "new": value[keep:]}

    return {
        "messages": packed("messages", chat.messages),
        "tools": packed("tools", chat.tools),
        "settings": chat.settings,
        "wire": chat.wire,
        "model": chat.model,
        "paths": list(chat.paths),
        "body": None if chat.body is None else [[k, packed(f"body.{k}", v)] for k, v in chat.body.items()],
        "raw": None if chat.raw is None else list(chat.raw) if isinstance(chat.raw, tuple) else chat.raw,
    }


def _unpacked(line: dict[str, Any], lists: dict[str, list[Any]]) -> Chat:
    def unpacked(where: str, value: Any) -> Any:
        # A mapping of exactly these keys inside a body was written by `packed`; bodies have no such key pair.
        if isinstance(value, dict) and value.keys() == {"keep", "new"}:
            value = lists[where] = lists.get(where, [])[: value["keep"]] + value["new"]
        return value

    body, raw = line["body"], line["raw"]
    return Chat(
        unpacked("messages", line["messages"]),
        unpacked("tools", line["tools"]),
        line["settings"],
        wire=line["wire"],
        model=line["model"],
        paths=tuple(line["paths"]),
        body=None if body is None else {key: unpacked(f"body.{key}", value) for key, value in body},
        raw=tuple(raw) if isinstance(raw, list) else raw,
    )


def in_rerun() -> Sink | None:
    """The sink if this process is the child of a re-run and its test is running, else None."""
    target, node = rerun_target(), current_node()
    if target is None or node is None or node.nodeid != target[1]:
        return None
    return Sink(target[0])


def rerun_prompts(setting: str, call_index: int) -> list[RerunPrompt]:
    """The prompts that the current test's `call_index`-th assertion renders under a setting such as `hashseed=1`.

    The child runs once per test and setting, up to the time limit (ini `cachesafe_rerun_timeout`, seconds).

    Raises:
        UsageError: not in a pytest test, or the child did not get as far as this assertion (with its last words).
    """
    node = current_node()
    if node is None:
        raise UsageError(
            f"{setting.partition('=')[0]} needs a pytest test: the hash seed is fixed when Python starts, so the test "
            "is run again; run this under pytest with the cachesafe plugin, or leave it out of under"
        )
    result = node.reruns_done.get(setting)
    if result is None:
        result = node.reruns_done[setting] = _run(node, setting)
    calls, ending = result
    if call_index not in calls:
        raise UsageError(f"{setting}: the test, run again in a child process, {ending}")
    found: list[RerunPrompt] = calls[call_index]
    return found


def _run(node: NodeState, setting: str) -> tuple[dict[int, list[RerunPrompt]], str]:
    """Prompts by assertion, and how the child ended, in words."""
    name, _, seed = setting.partition("=")
    if name != "hashseed":
        raise UsageError(f"{setting}: only the hash seed is changed by running a test again")
    if not sys.executable:
        raise UsageError(f"{setting}: this Python cannot start itself again (sys.executable is empty)")
    limit = node.settings["rerun_timeout"].value
    with tempfile.TemporaryDirectory(prefix="cachesafe-rerun-") as folder:
        file = os.path.join(folder, "prompts.jsonl")
        environment = {
            key: value
            for key, value in os.environ.items()
            # The child is no xdist worker, and its coverage would overwrite the parent's.
            if not key.startswith(("PYTEST_XDIST_", "COV_CORE_")) and key != "PYTEST_CURRENT_TEST"
        }
        environment |= {
            "PYTHONHASHSEED": seed,
            FILE_VARIABLE: file,
            NODE_VARIABLE: node.nodeid,
            "CACHESAFE_RERUN_PATH": json.dumps(sys.path),
        }
        try:
            done = subprocess.run(
                [sys.executable, "-c", _CHILD, *child_arguments(node, folder)],
                cwd=node.config.invocation_params.dir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
            ending = _ending(done.returncode, done.stdout, redacted=node.settings["redact"].value != "none")
        except subprocess.TimeoutExpired:
            ending = f"was stopped after {limit} s (ini cachesafe_rerun_timeout)"
        return (_read(file) if os.path.exists(file) else {}), ending


def child_arguments(node: NodeState, folder: str) -> list[str]:
    """pytest's arguments for the child: the parent's own without its files, for this node alone.

    `folder` is a temporary folder for what the child may write; nothing of the parent's is overwritten.
    """
    config = node.config
    option = config.option
    _, colons, rest = node.nodeid.partition("::")
    # First, so that a user's option with a variable number of values cannot swallow it.
    arguments = [f"{node.path}{colons}{rest}", *_options(config.invocation_params.args, option)]
    arguments += ["-c", str(config.inipath or os.devnull), f"--rootdir={config.rootpath}"]
    # pytest works this out from the place of the ini file, which may just have become /dev/null.
    top = getattr(getattr(config, "known_args_namespace", None), "confcutdir", None)
    if top:
        arguments.append(f"--confcutdir={top}")
    # Later options win over those of the command line, of addopts and of PYTEST_ADDOPTS. Each only where its plugin is
    # loaded: pytest refuses options that it does not know.
    overrides: dict[str, Sequence[str]] = {
        "numprocesses": ("-n0", "--dist=no"),
        "lf": ("-o", f"cache_dir={Path(folder, 'cache')}"),
        "basetemp": (f"--basetemp={Path(folder, 'basetemp')}",),
        "xmlpath": (f"--junitxml={Path(folder, 'junit.xml')}",),
        "no_cov": ("--no-cov",),
        "color": ("--color=no",),
        "tbstyle": ("--tb=short",),
    }
    for name, words in overrides.items():
        if hasattr(option, name):
            arguments += words
    # The same numbers from `random` as in the parent: otherwise they would be blamed on the hash seed.
    randomly = getattr(option, "randomly_seed", None)
    if isinstance(randomly, int):
        arguments.append(f"--randomly-seed={randomly}")
    return arguments


def _options(arguments: Iterable[Any], option: Any) -> list[str]:
    """Command-line words that are not files to run, and that do not stop for input."""
    words = [os.fspath(word) for word in arguments]
    files = [str(name) for name in getattr(option, "file_or_dir", None) or ()]
    kept: list[str] = []
    for i, word in enumerate(words):
        if word in ("--pdb", "--trace"):
            continue
        # `-k tests tests`: the same word as an option's value and as a file. A word behind an option that may take it
        # stays if there are more of its kind than files.
        spare = words[i:].count(word) > files.count(word)
        if word in files and not (spare and i and words[i - 1].startswith("-") and "=" not in words[i - 1]):
            files.remove(word)
            continue
        kept.append(word)
    return kept


def _read(path: str) -> dict[int, list[RerunPrompt]]:
    calls: dict[int, list[RerunPrompt]] = {}
    prompts: list[RerunPrompt] = []
    lists: dict[str, list[Any]] = {}
    with open(path, encoding="ascii") as file:
        for text in file:
            line = json.loads(text)
            if "call" in line:
                # A plugin that repeats tests writes a call again; the last attempt counts.
                prompts = calls[line["call"]] = []
                lists = {}
                continue
            kept = prompts[-1].text[: line["keep"]] if prompts else ""
            prompts.append(
                RerunPrompt(
                    len(prompts),
                    kept + line["text"],
                    None if line["ids"] is None else tuple(line["ids"]),
                    line["front_end"],
                    tuple(Segment(*fields) for fields in line["segments"]),
                    None if line["chat"] is None else _unpacked(line["chat"], lists),
                )
            )
    return calls


def _ending(status: int, output: bytes, *, redacted: bool) -> str:
    """How the child ended, with its last words, on one line."""
    how = {
        0: "passed without getting to this assertion (does it depend on the order of a set, on time or on chance?)",
        1: "failed before this assertion",
        2: "was interrupted",
        4: "could not be started",
        5: "was not found",
    }.get(status, f"ended with status {status}")
    lines = [line.rstrip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E  ", "ERROR", "FAILED"))]
    if status == 0 or redacted or not lines:
        return how
    words = " / ".join(line.strip() for line in (errors or lines)[-4:])
    # The output may hold prompt text: no control characters reach the terminal.
    shown = "".join(c if c.isprintable() else "?" for c in words)
    return f"{how}: {shown if len(shown) <= 600 else '…' + shown[-600:]}"
