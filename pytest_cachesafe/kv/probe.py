"""`KVProbe`: what KV reuse is worth on a real model, and whether it changes what the model says."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.kv.boundary import Boundary
from pytest_cachesafe.kv.caches import CacheMaker, length
from pytest_cachesafe.kv.forward import Forward
from pytest_cachesafe.kv.load import LoadedModel, load_model
from pytest_cachesafe.kv.lock import default_threads, working
from pytest_cachesafe.kv.memory import bytes_per_token, other_kinds
from pytest_cachesafe.kv.result import ChatReport, KVFailure, ReuseReport, Setting
from pytest_cachesafe.kv.reuse import Way, check_reuse
from pytest_cachesafe.kv.sampled import Reencoded, reencode, sample
from pytest_cachesafe.kv.tolerances import tolerance
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.engines.cache import PrefixCache
    from pytest_cachesafe.frontends.template import ChatTemplate
    from pytest_cachesafe.kv.side_by_side import SideBySide
    from pytest_cachesafe.kv.stitch import Choose, StitchReport

__all__ = ["KVProbe"]

_TRIAL = 16


class KVProbe:
    """A causal language model whose KV cache is looked at; make one with `KVProbe.load`.

    Threads may share one: checks of a process wait for each other, so that tokens and seconds are those of one check.
    """

    def __init__(self, loaded: LoadedModel, device: str = "cpu", threads: int | None = None) -> None:
        self._loaded = loaded
        self._device = device
        self._threads = threads
        self._forward = Forward(loaded.model)

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str] = "HuggingFaceTB/SmolLM2-135M-Instruct",
        *,
        dtype: str = "float32",
        device: str = "cpu",
        threads: int | None = None,
    ) -> KVProbe:
        """Load a model; under pytest-xdist one worker at a time.

        Args:
            model: name or folder of any decoder-only model with safetensors, or a GGUF file.
            dtype: `float32`, `bfloat16` or `float16`.
            device: as torch names it.
            threads: of torch while this probe computes; by default torch's own choice, and a worker's share of the
                cores under pytest-xdist. The number is put back after each call.

        Raises:
            UsageError: not found, without weights or incomplete, an extra missing, an unknown dtype or device, too
                little memory (says what it needed), or a model that keeps no keys and values (recurrent).
        """
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise UsageError(f"threads={threads!r}: a whole number, at least 1")
        probe = cls(load_model(model, dtype, device), device, threads)
        with probe._working():
            probe._try()
        return probe

    def _try(self) -> None:
        """One pass before anything is measured: what the first pass of a process sets up is nobody's prefill."""
        cache = CacheMaker("dynamic", self._loaded.model.config).make(0)
        self._forward([0] * _TRIAL, cache)
        try:
            held = length(cache)
        # transformers' words for a cache without any layer of attention.
        except ValueError:
            held = 0
        if held != _TRIAL:
            raise UsageError(
                f"{self.name} ({type(self._loaded.model).__name__}) keeps no keys and values of its tokens: there is no"
                " prefix to reuse; give a model with attention"
            )
        self._forward.tokens = 0

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The model, as it was named."""
        return self._loaded.name

    @property
    def template(self) -> ChatTemplate | None:
        """The model's chat template; None without one."""
        return self._loaded.template

    @property
    def tokens_computed(self) -> int:
        """Tokens that went through the model so far, of every check; counted at its embedding."""
        return self._forward.tokens

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without special tokens of the tokenizer's own."""
        with working():
            return list(self._loaded.words.encode(text))

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of ids, special tokens included."""
        return self._loaded.words.decode(token_ids)

    def _setting(self, cache: str) -> Setting:
        import torch

        bound = tolerance(self._loaded.dtype, cache)
        return Setting(self.name, self._loaded.dtype, self._device, cache, torch.get_num_threads(), bound)

    def _working(self) -> AbstractContextManager[None]:
        return working(default_threads() if self._threads is None else self._threads)

    # -- checks -------------------------------------------------------------------------------------------------------

    def reuse(
        self,
        prefix: Any,
        continuations: Iterable[Any],
        cache: str = "dynamic",
        *,
        way: Way = "copy",
        new_tokens: int = 8,
        verify: int | None = None,
        boundary: Boundary = "refuse",
        quantized: Mapping[str, Any] | None = None,
    ) -> ReuseReport:
        """Prefill a prefix once and continue it, against computing every prompt from nothing.

        Args:
            prefix, continuations: text, token ids or `Prompt`s. Texts are encoded together, as an engine gets them.
            cache: `dynamic`, `static` or `quantized`.
            way: a private `copy` of the prefilled cache for each continuation; one cache that is cut back (`crop`);
                or, to see what goes wrong, the same cache for all (`shared`).
            new_tokens: tokens generated greedily behind each prompt for the comparison.
            verify: how many of the continuations are computed from nothing as well; None: all.
            boundary: where a text merges into the prefix's last token, `refuse` it or `report` the loss.
            quantized: options of the quantized cache (`nbits`, `q_group_size`, …).

        Raises:
            UsageError: nothing to compare, ids that the model does not know, a prompt too long for it, a merge at the
                boundary, a missing extra, a size that the quantizer refuses, out of memory.
        """
        from pytest_cachesafe.report.kv import render_reuse

        with self._working():
            report = check_reuse(
                self._loaded, self._forward, self._setting(cache), prefix, continuations, way=way,
                new_tokens=new_tokens, verify=verify, boundary=boundary, quantized=quantized or {},
            )  # fmt: skip
        report.layout = render_reuse
        return report

    def assert_reuse(
        self,
        prefix: Any,
        continuations: Iterable[Any],
        min_reused: float = 0.8,
        max_logit_difference: float | None = None,
        cache: str = "dynamic",
        **options: Any,
    ) -> ReuseReport:
        """Assert that a prefix is reused and that reuse changes nothing.

        Args:
            min_reused: least share of all prompt tokens whose KV is reused, 0 to 1.
            max_logit_difference: by default the bound of the dtype (`kv.tolerances`). A quantized cache is lossy: its
                logits and text are judged only if a bound is given here; that they are numbers is judged always.
            options: see `reuse`; with `verify=0` tokens alone are judged.

        Raises:
            KVFailure: too little is reused, logits lie too far apart, the greedy text is another one, or the prefilled
                cache was written into.
            UsageError: see `reuse`.
        """
        from pytest_cachesafe.kv.judge import judge_reuse

        if not _is_number(min_reused) or not 0 <= min_reused <= 1:
            raise UsageError(f"min_reused={min_reused!r}: a share of the prompt tokens, 0 to 1")
        if max_logit_difference is not None and not (_is_number(max_logit_difference) and max_logit_difference >= 0):
            raise UsageError(f"max_logit_difference={max_logit_difference!r}: a number, at least 0")
        report = self.reuse(prefix, continuations, cache, **options)
        report.bound = max_logit_difference
        report.failures = judge_reuse(report, min_reused, max_logit_difference)
        if report.failures:
            raise KVFailure(report)
        return report

    def chat(
        self,
        messages: Any,
        cache: str = "dynamic",
        *,
        new_tokens: int = 16,
        verify: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        quantized: Mapping[str, Any] | None = None,
    ) -> ChatReport:
        """A chat with one cache kept over its turns, against computing every prompt from nothing.

        Where a user turn (or the last of a run of tool results) is followed by an assistant message, that is taken as
        the reply; elsewhere the model answers. The cache is cut back to what a prompt shares with it, or begun anew
        where it cannot be.

        Args:
            messages: a message list or wire body.
            cache: `dynamic`, `static` or `quantized`.
            new_tokens: longest reply of the model's own.
            verify: compute each prompt from nothing as well, and compare.
            template_kwargs: keywords for the chat template.
            quantized: options of the quantized cache.

        Raises:
            UsageError: no chat template, no request in the messages, or see `reuse`.
            TemplateRaised: the template refuses the chat, in its own words.
        """
        from pytest_cachesafe.kv.chat import check_chat
        from pytest_cachesafe.report.kv import render_chat

        with self._working():
            report = check_chat(
                self._loaded, self._forward, self._setting(cache), messages, new_tokens=new_tokens, verify=verify,
                step_by_step=False, template_kwargs=template_kwargs, quantized=quantized or {},
            )  # fmt: skip
        report.layout = render_chat
        return report

    def compare(
        self,
        messages: Any,
        engine: str | PrefixCache = "vllm",
        *,
        new_tokens: int = 16,
        template_kwargs: Mapping[str, Any] | None = None,
        **engine_options: Any,
    ) -> SideBySide:
        """One chat, side by side: stable tokens, tokens an engine reuses, prefill time saved, and the smaller saving
        end to end. The model computes of each prompt what the engine would compute, replies token by token. What the
        engine holds and the model does not is prefilled first, and counted as reused.

        Prefill is measured twice on both sides, and the lower of the two counts; a request of which nothing is reused
        is computed once, and counts the same on both sides.

        Args:
            messages, new_tokens, template_kwargs: see `chat`.
            engine: name of an engine, or a `PrefixCache` (which goes on with what it holds). The rules are those of
                engines for full attention in every layer.
            engine_options: of the `PrefixCache` to make.

        Raises:
            UsageError: a prompt that the engine refuses, a model with other layers than full attention, or see `chat`
                and `PrefixCache`.
        """
        from pytest_cachesafe.engines.cache import PrefixCache
        from pytest_cachesafe.kv.chat import check_chat
        from pytest_cachesafe.kv.side_by_side import SideBySide
        from pytest_cachesafe.report.kv import render_chat, render_side_by_side

        if isinstance(engine, PrefixCache):
            if engine_options:
                raise UsageError(f"{next(iter(engine_options))}= beside a PrefixCache: give it when it is made")
            simulated = engine
        else:
            simulated = PrefixCache(engine, **engine_options)
        if other := other_kinds(self._loaded.model.config):
            raise UsageError(
                f"compare(): the engines' rules are those for full attention, {self.name} has layers of kind"
                f" {other[0]}; chat() measures such a model by itself"
            )
        with self._working():
            chat = check_chat(
                self._loaded, self._forward, self._setting("dynamic"), messages, new_tokens=new_tokens, verify=True,
                step_by_step=True, template_kwargs=template_kwargs, quantized={}, engine=simulated,
            )  # fmt: skip
        chat.layout = render_chat
        return SideBySide(chat, simulated.label or simulated.engine, render_side_by_side)

    def ways(
        self, prefix: Any, continuations: Iterable[Any], *, new_tokens: int = 4, verify: int | None = 2
    ) -> dict[str, ReuseReport]:
        """Private copies, one cache cropped back, and (wrong) one cache shared by all: a `ReuseReport` each.

        The second continuation is the first that a shared cache spoils, so `verify` is at least 2 to see it.

        Raises:
            UsageError: see `reuse`.
        """
        # Gone through three times; what is no list of them is refused in `reuse`.
        if isinstance(continuations, Iterator):
            continuations = list(continuations)
        names: tuple[Way, ...] = ("copy", "crop", "shared")
        return {
            name: self.reuse(prefix, continuations, way=name, new_tokens=new_tokens, verify=verify) for name in names
        }

    def stitch(
        self,
        chunks: Iterable[Any],
        question: Any,
        shares: Sequence[float] = (0.0, 0.1, 0.2, 0.5, 1.0),
        choose: Sequence[Choose] = ("deviation", "first"),
    ) -> StitchReport:
        """Chunks prefilled apart, moved to their places and put together, against full prefill.

        Args:
            chunks: two or more: text or token ids, put one behind the other as ids.
            question: text or ids behind them; always computed.
            shares: of the context tokens that are computed again.
            choose: which: those whose keys and values in the second layer are furthest off (`deviation`, CacheBlend's
                idea; CacheBlend computes two layers of everything to know them, here full prefill tells), or the
                `first` ones of every chunk.

        Raises:
            UsageError: fewer than two chunks, no share, too long, or keys that cannot be moved.
        """
        from pytest_cachesafe.kv.stitch import check_stitch
        from pytest_cachesafe.report.kv import render_stitch

        with self._working():
            report = check_stitch(
                self._loaded, self._forward, self._setting("dynamic"), chunks, question, shares, choose
            )
        report.layout = render_stitch
        return report

    # -- small things -------------------------------------------------------------------------------------------------

    def bytes_per_token(self) -> int:
        """Bytes of one token's keys and values, from the configuration.

        Raises:
            UsageError: the configuration does not say, or it is no constant (sliding window, recurrent layers).
        """
        return bytes_per_token(self._loaded.model.config, self._loaded.dtype)

    def prefilled(
        self, prompt: Any, cache: str = "dynamic", *, capacity: int = 0, quantized: Mapping[str, Any] | None = None
    ) -> Any:
        """A transformers cache that holds a prompt; a static one with room for `capacity` tokens, at least its own.

        Raises:
            UsageError: see `reuse`.
        """
        maker = CacheMaker(cache, self._loaded.model.config, quantized or {})
        with self._working(), maker.ready():
            ids = self._loaded.words.ids(prompt, "prompt")
            made = maker.make(max(capacity, len(ids)))
            self._forward(ids, made)
        return made

    def sample(
        self, prompt: Any, number: int, *, temperature: float = 0.0, seed: int = 0, use_cache: bool = True
    ) -> list[int]:
        """Up to `number` ids behind a prompt, to the end of the answer; greedy at temperature 0.

        Without a cache everything is computed again for each token.

        Raises:
            UsageError: a number below 1, a temperature below 0, or see `reuse`.
        """
        import transformers

        cache = transformers.DynamicCache(config=self._loaded.model.config) if use_cache else None
        with self._working():
            return sample(
                self._forward, self._loaded.words, cache, prompt, number, temperature, seed, self._loaded.ends
            )

    def reencoded(self, prompt: Any, sampled: Sequence[int]) -> Reencoded:
        """Prompt and sampled ids in a cache, against their text encoded anew: how many tokens the next request reuses.

        Raises:
            UsageError: empty, or an id that the model does not know.
        """
        with working():
            return reencode(self._loaded.words, prompt, sampled)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
