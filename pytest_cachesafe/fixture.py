"""What stands behind the `cachesafe` fixture; imported when a test first asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.perturb.node import NodeState, current_node
from pytest_cachesafe.prompt import Prompt, Segment, UsageError

if TYPE_CHECKING:
    import os

    import pytest

    from pytest_cachesafe.engines.cache import PrefixCache
    from pytest_cachesafe.frontends.template import ChatTemplate
    from pytest_cachesafe.kv.probe import KVProbe
    from pytest_cachesafe.options import Settings
    from pytest_cachesafe.providers.capture.captured import Captured
    from pytest_cachesafe.semantic.judge import CollisionJudge

__all__ = ["Cachesafe", "SnapshotChanged"]

DEFAULT_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"


class SnapshotChanged(AssertionError):
    """A stored prompt is not what it was; `str()` says where and why."""


class Cachesafe:
    """The `cachesafe` fixture: templates, engines, models, recordings and snapshots of one test."""

    def __init__(self, request: pytest.FixtureRequest, templates: dict[str, Any], probes: dict[str, Any]) -> None:
        self._config = request.config
        self._nodeid: str = request.node.nodeid
        self._templates = templates
        self._probes = probes
        self._names: set[str] = set()
        self._recordings: list[Captured] = []

    @property
    def _node(self) -> NodeState:
        state = current_node()
        if state is None:
            raise UsageError("the cachesafe fixture was used outside of its test")
        return state

    @property
    def settings(self) -> Settings:
        """Options in force for this test, each with where it was set: `settings["model"].value`, `.origin`."""
        return self._node.settings

    def template(self, name: str | os.PathLike[str] | None = None) -> ChatTemplate:
        """A chat template, loaded once per session.

        Args:
            name: model name, folder, `.gguf` or `.jinja`. Default: option `model`, else SmolLM2-135M-Instruct.

        Raises:
            UsageError: not found, or an extra is missing; names what to install.
        """
        from pytest_cachesafe.frontends.template import ChatTemplate

        key = str(name or self.settings["model"].value or DEFAULT_MODEL)
        if key not in self._templates:
            build = ChatTemplate.from_file if key.endswith(".jinja") else ChatTemplate.from_pretrained
            self._templates[key] = build(key)
        found: ChatTemplate = self._templates[key]
        return found

    def engine(self, name: str = "vllm", **options: Any) -> PrefixCache:
        """An engine's prefix cache, empty. Blocks of vLLM are those of option `block_size` unless given here.

        Args:
            name: `vllm`, `sglang`, `lmcache` or `llamacpp`; options: see `PrefixCache`.

        Raises:
            UsageError: an engine or option that does not exist.
        """
        from pytest_cachesafe.engines.cache import PrefixCache

        if name == "vllm":
            options.setdefault("block_size", self.settings["block_size"].value)
        return PrefixCache(name, **options)

    def kv(self, model: str | os.PathLike[str] | None = None) -> KVProbe:
        """A real model for reuse checks, loaded once per session.

        Args:
            model: name or folder with weights. Default: SmolLM2-135M-Instruct.

        Raises:
            UsageError: it is nowhere, has no weights, or an extra is missing; names what to install.
        """
        from pytest_cachesafe.kv.probe import KVProbe

        key = str(model or DEFAULT_MODEL)
        if key not in self._probes:
            self._probes[key] = KVProbe.load(key)
        found: KVProbe = self._probes[key]
        return found

    def semantic(self, encoder: Any = None, threshold: Any = None, **options: Any) -> CollisionJudge:
        """A judge of semantic-cache collisions; the encoder is loaded once per session, when a cosine is asked for.

        Args:
            encoder: what the cache embeds with, or the cache itself (see `CollisionJudge`). Default: option `encoder`,
                else all-MiniLM-L6-v2.
            threshold: cosine similarity at and above which the cache merges. Default: option `threshold`, else 0.95.
            options: tables and verifier, see `CollisionJudge`.

        Raises:
            UsageError: a threshold that is none, or a `MODULE:NAME` that is not there.
        """
        from pytest_cachesafe.semantic.encoder import DEFAULT_ENCODER
        from pytest_cachesafe.semantic.judge import DEFAULT_THRESHOLD, CollisionJudge

        if encoder is None:
            encoder = _named(self.settings["encoder"].value or DEFAULT_ENCODER)
        if threshold is None:
            given = self.settings["threshold"].value
            threshold = DEFAULT_THRESHOLD if given is None else given
        return CollisionJudge(encoder, threshold, **options)

    @contextmanager
    def record(
        self,
        template: Any = None,
        key: str | None = None,
        *,
        replies: Any = None,
        hosts: Sequence[str] = (),
        passthrough: Sequence[str] = (),
        clock: Callable[[], float] | None = None,
        count_tokens: Callable[[str], int] | None = None,
        rules: Any = None,
        answer_errors: bool = True,
        capture: bool = True,
    ) -> Iterator[Captured]:
        """Collect requests as they are sent: those of the LLM SDKs are caught and answered, others noted by hand.

        In the block, what the SDKs of Anthropic, OpenAI, Google and Bedrock send gets a scripted reply with the
        counters that the provider's cache would give; nothing leaves the machine (see `capture_traffic`). By hand:
        `rec.request(messages, tools=…)`, `rec.response(…)`.

        Args:
            template: what `rec.assert_stable()` renders with; None: as in `assert_prefix_stable`.
            key: conversation key of the requests; requests with different keys are never compared.
            replies: what the model answers: a text, `Reply`, `Failure`, calls of tools, a list of these, a function of
                the request, or a mapping from texts; None: "ok" to everything.
            hosts: further hosts that serve models; passthrough: hosts that are let through.
            clock: seconds; decides lifetimes in the simulated cache.
            count_tokens: exact token counts of a text; None: estimates, marked as such.
            rules: dated provider rules to use instead of the packaged ones.
            answer_errors: answer 400 where the provider would.
            capture: False leaves all traffic alone: then only `rec.request(…)` fills the recording.

        Raises:
            UsageError: an argument that means nothing.
        """
        from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall

        if isinstance(template, (list, tuple, Mapping, Reply, Failure, ToolCall)):
            # capture_traffic() takes replies first; taken for a template, they would never be asked for.
            raise UsageError(f"record({type(template).__name__}): the first argument is a template; name replies=…")
        if not capture:
            from pytest_cachesafe.providers.capture.captured import Captured

            made = Captured(template=template, key=key)
            self._recordings.append(made)
            yield made
            return
        from pytest_cachesafe.providers.capture.session import capture_traffic

        live = bool(self.settings["live"].value)
        with capture_traffic(
            replies, template=template, hosts=hosts, passthrough=passthrough, clock=clock, count_tokens=count_tokens,
            rules=rules, answer_errors=answer_errors, live=live, key=key,
        ) as caught:  # fmt: skip
            self._recordings.append(caught)
            yield caught
        self._say(caught, live=live)

    def _say(self, caught: Captured, *, live: bool) -> None:
        """What there is to tell about a capture that ended well."""
        for words in caught.notes:
            # Requests noted by hand are no traffic, and nobody meant to catch any.
            if not (len(caught) and words.startswith("no request was caught")):
                self._node.note(words)
        left = caught.session.script.left if caught.session is not None else 0
        if left:
            self._node.note(f"{left} scripted repl{'y was' if left == 1 else 'ies were'} never asked for")
        if live:
            from pytest_cachesafe.report.live import live_lines

            for words in live_lines(caught):
                self._node.note(words)

    def close(self) -> None:
        """The test is over: what it recorded and never looked at is said in the summary, unless it failed before."""
        left = [len(made) for made in self._recordings if len(made) and not made.used]
        if left and not self._node.failed:
            requests = f"{sum(left)} request{'s' if sum(left) > 1 else ''}"
            calls = "rec.assert_stable(), assert_cache_safe() or assert_reused()"
            self._node.note(f"{requests} recorded and never judged: call {calls}")

    def snapshot(self, prompt: Prompt | str, name: str = "prefix") -> None:
        """Assert that a prompt is what it was: "our system and tools prefix is the same".

        Its hash is held against the lock file, where there is one; else against pytest's cache folder, where the first
        run stores it and says so in the summary. The text is only ever kept in that folder, to show the place of a
        change; with `--cachesafe-redact` other than none it is not. `--cachesafe-update` rewrites what changed.

        Raises:
            SnapshotChanged: the prompt differs.
            UsageError: neither lock file nor pytest's cache, or the name was used before in this test.
        """
        from pytest_cachesafe.perturb.rerun import in_rerun

        if not isinstance(prompt, (Prompt, str)):
            raise UsageError(f"snapshot() takes a Prompt or a text, not {type(prompt).__name__}: render the chat first")
        new = _given(prompt) if isinstance(prompt, str) else prompt
        if not new.text and not new.token_ids:
            raise UsageError(f"snapshot {name!r}: the prompt is empty")
        if name in self._names:
            raise UsageError(f"snapshot {name!r} was taken before in this test: give each its own name=")
        self._names.add(name)
        if in_rerun() is not None:
            return
        cache = getattr(self._config, "cache", None)
        gate = self._node.gate
        if cache is None and gate is None:
            raise UsageError("snapshot() keeps prompts in pytest's cache: run without -p no:cacheprovider")
        from pytest_cachesafe.findings import fingerprint

        # A node id may hold characters that file names must not.
        key = f"cachesafe/snapshots/{fingerprint(self._nodeid, name)}"
        entry = self._entry(new, name)
        old = cache.get(key, None) if cache is not None else None
        if gate is not None:
            self._hold(gate, new, name, old, entry)
            if cache is not None:
                cache.set(key, entry | self._content(new))
            return
        assert cache is not None
        if not isinstance(old, Mapping) or "prefix_hash" not in old:
            cache.set(key, entry | self._content(new))
            self._node.note(f"snapshot {name!r} stored ({_size(entry)}); nothing to compare with yet")
        elif old["prefix_hash"] != entry["prefix_hash"]:
            if not self.settings["update"].value:
                raise SnapshotChanged(self._difference(old, new, entry, name))
            cache.set(key, entry | self._content(new))
            self._node.note(f"snapshot {name!r} rewritten ({_size(old)} before, {_size(entry)} now)")

    def _hold(self, gate: Any, new: Prompt, name: str, old: Any, entry: Mapping[str, Any]) -> None:
        """Against the lock file; the text kept by an earlier run here shows where the change is."""
        from pytest_cachesafe.gate.session import GateFailure

        __tracebackhide__ = True
        try:
            gate.judge(_Taken(new, name), self._node)
        except GateFailure as failure:
            if failure.absent:
                # Nothing to have changed from.
                raise
            known = isinstance(old, Mapping) and old.get("prefix_hash") not in (None, entry["prefix_hash"])
            where = self._difference(old, new, entry, name) if known else f"snapshot {name!r} changed"
            raise SnapshotChanged(f"{where.rstrip()}\n  {failure}") from None

    def _entry(self, prompt: Prompt, name: str) -> dict[str, Any]:
        return {
            "schema": 1,
            "test": self._nodeid,
            "name": name,
            "front_end": prompt.front_end,
            "prefix_hash": prompt.prefix_hash,
            "tokens": list(prompt.count()),
            "exact": prompt.exact,
        }

    def _content(self, prompt: Prompt) -> dict[str, Any]:
        """What names the place of a later change. Segments cost a second rendering: only when something is stored."""
        if self.settings["redact"].value != "none":
            return {}
        return {"text": prompt.text, "segments": [list(segment) for segment in prompt.segments]}

    def _difference(self, old: Mapping[str, Any], new: Prompt, entry: Mapping[str, Any], name: str) -> str:
        hint = "  if this is meant: pytest --cachesafe-update"
        head = f"snapshot {name!r} changed"
        if old["front_end"] != new.front_end:
            return f"{head}: made with {old['front_end']!r} before, with {new.front_end!r} now\n{hint}"
        text = old.get("text")
        if text is None or text == new.text:
            kept = "the token ids differ, the text does not" if text is not None else "its text was not kept"
            return f"{head}: {_size(old)} before, {_size(entry)} now ({kept})\n{hint}"
        from pytest_cachesafe.prefix.compare import compare
        from pytest_cachesafe.report.compare import comparison_text

        before = Prompt(
            text,
            front_end=new.front_end,
            # The stored text goes through the tokenizer of today: what differs is the text, not the ids of old.
            encode=new._encode,
            segments=[Segment(*fields) for fields in old.get("segments", ())] or None,
            estimate=new._estimate,
        )
        found = compare(before, new, block_size=self.settings["block_size"].value)
        body = comparison_text(found, (text, new.text), redact=self.settings["redact"].value)
        return f"{head}: {body.rstrip()}\n{hint}"


def _named(encoder: str) -> Any:
    """A model's name or folder as it is; what `MODULE:NAME` names, as on the command line."""
    from pytest_cachesafe.semantic.user_code import imported, is_import

    return imported(encoder, "encoder") if is_import(encoder) else encoder


class _Taken:
    """A snapshot as a lock file keeps it."""

    gate_kind = "snapshot"

    def __init__(self, prompt: Prompt, name: str) -> None:
        self.prompt = prompt
        self.name = f"snapshot {name}"

    def gate_values(self) -> dict[str, Any]:
        """The hash of the whole prompt, and its size."""
        tokens = self.prompt.count()[1]
        return {
            "kind": "snapshot", "front_end": self.prompt.front_end, "exact": self.prompt.exact, "requests": 1,
            "tokens": tokens, "reusable": 0, "kept": {}, "prefix": (self.prompt.prefix_hash[:16], tokens),
        }  # fmt: skip


def _given(text: str) -> Prompt:
    return Prompt(text, front_end="text as given", segments=[Segment(0, len(text), "message", "data")])


def _size(entry: Mapping[str, Any]) -> str:
    low, best, high = entry["tokens"]
    return f"{best:,} tokens" if entry["exact"] else f"about {best:,} tokens ({low:,} to {high:,})"
