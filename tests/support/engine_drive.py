"""Runs steps of `engine_traffic` on our engines, or on the real ones in a program of their own.

An outcome holds what can be seen of an engine after a step. vLLM: the hit, the blocks of the request, and the whole
free queue. SGLang: the hit, the tokens that are free, evictable and protected, and the tree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_cachesafe.engines.cache import PrefixCache

__all__ = ["EngineAbsent", "first_difference", "run_ours", "run_real"]

Step = dict[str, Any]
_HERE = Path(__file__).parent


class EngineAbsent(Exception):
    """The real engine cannot be imported; the message is the reason."""


def run_real(engine: str, steps: Iterable[Step]) -> list[Step]:
    """The outcome of every step on the real engine.

    Raises:
        EngineAbsent: its code cannot be imported.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "steps.jsonl"), Path(folder, "out.jsonl")
        given.write_text("".join(json.dumps(step) + "\n" for step in steps), encoding="utf-8")
        paths = [str(_HERE.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, str(_HERE / f"real_{engine}.py"), str(given), str(out)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode == 3:
            raise EngineAbsent(done.stderr.strip().splitlines()[-1])
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def run_ours(steps: Iterable[Step]) -> Iterator[Step]:
    """The outcome of every step on our engines."""
    ours: OurVllm | OurSglang | None = None
    # Through JSON, as for the real one: to a pickle (vLLM's sha256) two equal texts are not one text twice.
    for step in map(json.loads, map(json.dumps, steps)):
        if "engine" in step:
            ours = (OurVllm if step["engine"] == "vllm" else OurSglang)(step)
            yield ours.state()
            continue
        assert ours is not None
        outcome = getattr(ours, f"do_{next(iter(step))}")(step)
        yield outcome if outcome.get("skip") else {**outcome, **ours.state()}


class _Ours:
    """A cache of ours and the requests on it."""

    key_fields: tuple[str, ...] = ()

    def __init__(self, start: Step) -> None:
        options = {name: value for name, value in start.items() if name not in ("engine", "unit")}
        self.cache: Any = PrefixCache(start["engine"], **options)
        self.live: dict[str, Any] = {}

    def key(self, step: Step) -> Step:
        key = {name: step[name] for name in self.key_fields if name in step}
        if "lora" in key:
            key["lora"] = tuple(key["lora"])
        if "embeds" in key:
            key["embeds"] = array("f", key["embeds"]).tobytes()
        return key

    def do_reset(self, step: Step) -> Step:
        return {"ok": self.cache.reset()}


class OurVllm(_Ours):
    key_fields = ("salt", "lora", "mm", "embeds", "read", "prefill")

    def __init__(self, start: Step) -> None:
        # vLLM makes no keys with caching off.
        self.hashes = "hash" in start and start.get("caching", True)
        self.events = bool(start.get("events"))
        super().__init__(start)
        self.running: set[str] = set()

    def state(self) -> Step:
        state: Step = {"free": list(self.cache.free_block_ids)}
        if self.events and (events := self.cache.take_events()):
            state["events"] = [plain_event(event) for event in events]
        return state

    def do_request(self, step: Step) -> Step:
        request = self.cache.request(step["tokens"], **self.key(step))
        if not request.admitted:
            return {"hit": request.cached_tokens, "refused": True}
        self.live[step["request"]] = request
        self.running.add(step["request"])
        outcome = {"hit": request.cached_tokens, "blocks": list(request.block_ids)}
        if self.hashes:
            outcome["hashes"] = list(request.block_hashes)
        return outcome

    def _running(self, name: str) -> Any:
        return self.live[name] if name in self.running else None

    def do_append(self, step: Step) -> Step:
        request = self._running(step["append"])
        if request is None or self._unfinished(request):
            return {"skip": True}
        if not request.append(step["tokens"]):
            return {"ok": False}
        return {"ok": True, "blocks": list(request.block_ids)}

    def _unfinished(self, request: Any) -> bool:
        """Part of the prompt is still to be computed: the last sampled token is not meant."""
        return bool(len(request.token_ids) - request.num_computed_tokens > (1 if request._pending else 0))

    def do_prefill(self, step: Step) -> Step:
        request = self._running(step["prefill"])
        if request is None or not self._unfinished(request):
            return {"skip": True}
        if not request.prefill(step["n"]):
            return {"ok": False}
        return {"ok": True, "blocks": list(request.block_ids)}

    def do_preempt(self, step: Step) -> Step:
        request = self._running(step["preempt"])
        if request is None:
            return {"skip": True}
        request.preempt()
        self.running.discard(step["preempt"])
        return {"ok": True}

    def do_resume(self, step: Step) -> Step:
        name = step["resume"]
        if name not in self.live or name in self.running:
            return {"skip": True}
        request = self.live[name]
        if not request.resume(step.get("n")):
            return {"refused": True}
        self.running.add(name)
        return {"blocks": list(request.block_ids)}

    def do_free(self, step: Step) -> Step:
        request = self.live.pop(step["free"], None)
        if request is None:
            return {"skip": True}
        self.running.discard(step["free"])
        request.free()
        return {"ok": True}

    def do_lookup(self, step: Step) -> Step:
        key = self.key(step)
        key.pop("prefill", None)
        return {"hit": self.cache.lookup(step["lookup"], **key)}


class OurSglang(_Ours):
    key_fields = ("salt", "extra_key", "read", "logprob_start", "priority")

    def state(self) -> Step:
        cache = self.cache
        return {
            "tokens": [cache.free_tokens, cache.evictable_tokens, cache.protected_tokens],
            "tree": [[list(namespace[:2]), [list(node) for node in path]] for namespace, path in cache.paths()],
        }

    def do_request(self, step: Step) -> Step:
        request = self.cache.request(step["tokens"], **self.key(step))
        if not request.admitted:
            return {"hit": request.cached_tokens, "refused": True}
        self.live[step["request"]] = request
        return {"hit": request.cached_tokens}

    def do_append(self, step: Step) -> Step:
        if step["append"] not in self.live:
            return {"skip": True}
        return {"ok": self.live[step["append"]].append(step["tokens"])}

    def do_free(self, step: Step) -> Step:
        if step["free"] not in self.live:
            return {"skip": True}
        self.live.pop(step["free"]).free()
        return {"ok": True}

    def do_evict(self, step: Step) -> Step:
        return {"evicted": self.cache.evict(step["evict"])}


def plain_event(event: Any) -> list[Any]:
    """A KV event of ours as JSON."""
    kind = type(event).__name__
    if kind == "BlockStored":
        hashes, parent = plain(event.block_hashes), plain(event.parent_block_hash)
        return [kind, hashes, parent, plain(event.token_ids), event.lora_name, plain(event.extra_keys)]
    if kind == "BlockRemoved":
        return [kind, plain(event.block_hashes)]
    return [kind]


def plain(value: Any) -> Any:
    """As JSON would bring it back, digests as hexadecimal text."""
    if isinstance(value, bytes):
        return value.hex()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def first_difference(steps: list[Step], real: list[Step], ours: list[Step]) -> str | None:
    """The cache's steps up to the first outcome that differs, both outcomes last; None if all are equal."""
    assert len(steps) == len(real) == len(ours)
    start = 0
    for at, (step, theirs, mine) in enumerate(zip(steps, real, ours, strict=True)):
        if "engine" in step:
            start = at
        if theirs != mine:
            lines = [json.dumps(earlier) for earlier in steps[start : at + 1]]
            return "\n".join([*lines, f"real {json.dumps(theirs)}", f"ours {json.dumps(mine)}"])
    return None
