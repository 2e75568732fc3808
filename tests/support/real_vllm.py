"""Runs steps of `engine_traffic` on vLLM's own cache manager, without a GPU: `real_vllm.py STEPS.jsonl OUT.jsonl`.

A program of its own, so that what vLLM does to a process at import (logging, environment, warnings) stays in it. What
the scheduler decides around the manager is done here as vLLM 0.33.0 does it (v1/core/sched/scheduler.py, 2026-11,
without async scheduling or drafting): admission reserves room for the whole prompt, the watermark counts only while
other requests run, a preempted request gives its blocks back and is looked up again.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from types import SimpleNamespace
from typing import Any

from fetch_engines import on_path

Step = dict[str, Any]


def load() -> SimpleNamespace:
    """vLLM's classes and functions.

    Raises:
        ImportError: the real code, or a package that it needs, is not there.
    """
    os.environ.update(VLLM_TARGET_DEVICE="cpu", VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1")
    # Not its own handlers: a refused reset is a warning to it, an outcome here.
    os.environ["VLLM_CONFIGURE_LOGGING"] = "0"
    logging.disable(logging.WARNING)
    on_path("vllm")
    import torch

    torch.set_num_threads(1)
    from vllm.lora.request import LoRARequest
    from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
    from vllm.sampling_params import SamplingParams
    from vllm.utils.hashing import get_hash_fn_by_name
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.request import Request, RequestStatus

    return SimpleNamespace(
        FullAttentionSpec=FullAttentionSpec,
        KVCacheConfig=KVCacheConfig,
        KVCacheGroupSpec=KVCacheGroupSpec,
        KVCacheManager=KVCacheManager,
        LoRARequest=LoRARequest,
        MultiModalFeatureSpec=MultiModalFeatureSpec,
        PlaceholderRange=PlaceholderRange,
        Request=Request,
        RequestStatus=RequestStatus,
        SamplingParams=SamplingParams,
        get_hash_fn_by_name=get_hash_fn_by_name,
        get_request_block_hasher=get_request_block_hasher,
        init_none_hash=init_none_hash,
        torch=torch,
    )


def block_hasher(real: SimpleNamespace, block_size: int, name: str | None = None, seed: str | None = None) -> Any:
    """What makes a request's keys, with the named hash (vLLM's default: sha256) and a server's PYTHONHASHSEED."""
    os.environ.pop("PYTHONHASHSEED", None)
    if seed is not None:
        os.environ["PYTHONHASHSEED"] = seed
    function = real.get_hash_fn_by_name(name or "sha256")
    real.init_none_hash(function)
    return real.get_request_block_hasher(block_size, function)


class RealVllm:
    """One cache manager and the requests on it."""

    def __init__(
        self,
        real: SimpleNamespace,
        block_size: int,
        num_blocks: int,
        caching: bool = True,
        watermark: float = 0.0,
        eagle: bool = False,
        hash: str | None = None,  # noqa: A002 (the option's name)
        none_hash_seed: str | None = None,
        scheduler_reserve_full_isl: bool = True,
        events: bool = False,
        int_block_hashes: bool = True,
    ) -> None:
        os.environ["VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES"] = str(int(int_block_hashes))
        self.real = real
        spec = real.FullAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype=real.torch.float32)
        group = real.KVCacheGroupSpec(["layer"], spec)
        if eagle:
            group.is_eagle_group = True
        config = real.KVCacheConfig(num_blocks=num_blocks, kv_cache_tensors=[], kv_cache_groups=[group])
        self.manager = real.KVCacheManager(
            config,
            max_model_len=1 << 30,
            scheduler_block_size=block_size,
            hash_block_size=block_size,
            enable_caching=caching,
            use_eagle=eagle,
            enable_kv_cache_events=events,
            watermark=watermark,
        )
        self.block_size = block_size
        self.whole_must_fit = scheduler_reserve_full_isl
        self.hashes = hash is not None and caching
        self.events = events
        # vLLM makes no keys with caching off.
        self.hasher = block_hasher(real, block_size, hash, none_hash_seed) if caching else None
        self.live: dict[str, Any] = {}
        self.running: set[str] = set()
        # Running requests whose last token was sampled, and is computed by the next step.
        self.sampled: set[str] = set()

    def make(self, name: str, step: Step, tokens: list[int]) -> Any:
        real = self.real
        lora = step.get("lora")
        features = [
            real.MultiModalFeatureSpec(
                data=None, modality="image", identifier=item, mm_position=real.PlaceholderRange(offset, length)
            )
            for item, offset, length in step.get("mm", ())
        ]
        embeds = real.torch.tensor(step["embeds"], dtype=real.torch.float32)[:, None] if "embeds" in step else None
        return real.Request(
            name,
            None if "embeds" in step else list(tokens),
            real.SamplingParams(max_tokens=1 << 20, skip_reading_prefix_cache=not step.get("read", True)),
            None,
            prompt_embeds=embeds,
            mm_features=features,
            lora_request=real.LoRARequest(lora[0], 1, lora[1]) if lora else None,
            cache_salt=step.get("salt"),
            block_hasher=self.hasher,
        )

    def free_ids(self) -> list[int]:
        return [block.block_id for block in self.manager.block_pool.free_block_queue.get_all_free_blocks()]

    def run(self, step: Step) -> Step:
        """The outcome of one step, with the whole free queue (front first)."""
        what = next(iter(step))
        outcome: Step = getattr(self, f"do_{what}")(step)
        if not outcome.get("skip"):
            outcome["free"] = self.free_ids()
            if self.events and (events := [plain_event(event) for event in self.manager.take_events()]):
                outcome["events"] = events
        return outcome

    def do_request(self, step: Step) -> Step:
        request = self.make(step["request"], step, step["tokens"])
        outcome = self._admit(request, step.get("prefill"))
        if not outcome.get("refused"):
            self.live[request.request_id] = request
            if self.hashes:
                outcome["hashes"] = [key.hex() for key in request.block_hashes]
        return outcome

    def _admit(self, request: Any, chunk: int | None) -> Step:
        manager = self.manager
        blocks, hit, _ = manager.get_computed_blocks(request)
        new = request.num_tokens - hit
        if chunk is not None:
            new = min(new, chunk)
        taken = manager.allocate_slots(
            request, new, hit, blocks, full_sequence_must_fit=self.whole_must_fit, has_scheduled_reqs=bool(self.running)
        )
        if taken is None:
            return {"hit": hit, "refused": True}
        request.num_computed_tokens = hit + new
        request.status = self.real.RequestStatus.RUNNING
        self.running.add(request.request_id)
        self.sampled.discard(request.request_id)
        return {"hit": hit, "blocks": self.blocks(request)}

    def blocks(self, request: Any) -> list[int]:
        return list(self.manager.get_block_ids(request.request_id)[0])

    def do_append(self, step: Step) -> Step:
        request = self._running(step["append"])
        if request is None or self._unfinished(request):
            return {"skip": True}
        # What decoding would compute before it samples the last of these tokens.
        target = request.num_tokens + len(step["tokens"]) - 1
        held = len(self.blocks(request))
        if -(-max(target, request.num_computed_tokens) // self.block_size) - held > len(self.free_ids()):
            return {"ok": False}
        for token in step["tokens"]:
            if pending := request.num_tokens - request.num_computed_tokens:
                assert self.manager.allocate_slots(request, pending) is not None
                request.num_computed_tokens += pending
            request.append_output_token_ids(token)
            self.sampled.add(request.request_id)
        return {"ok": True, "blocks": self.blocks(request)}

    def do_prefill(self, step: Step) -> Step:
        request = self._running(step["prefill"])
        if request is None or not self._unfinished(request):
            return {"skip": True}
        new = request.num_tokens - request.num_computed_tokens
        if step["n"] is not None:
            new = min(new, step["n"])
        if self.manager.allocate_slots(request, new) is None:
            return {"ok": False}
        request.num_computed_tokens += new
        return {"ok": True, "blocks": self.blocks(request)}

    def do_preempt(self, step: Step) -> Step:
        request = self._running(step["preempt"])
        if request is None:
            return {"skip": True}
        self.manager.free(request)
        request.status = self.real.RequestStatus.PREEMPTED
        request.num_computed_tokens = 0
        request.num_preemptions += 1
        self.running.discard(request.request_id)
        return {"ok": True}

    def do_resume(self, step: Step) -> Step:
        request = self.live.get(step["resume"])
        if request is None or request.request_id in self.running:
            return {"skip": True}
        outcome = self._admit(request, step.get("n"))
        # The hit of a resumption is not what the user is told.
        del outcome["hit"]
        return outcome

    def do_free(self, step: Step) -> Step:
        request = self.live.pop(step["free"], None)
        if request is None:
            return {"skip": True}
        if request.request_id in self.running:
            self.manager.free(request)
            self.running.discard(request.request_id)
        return {"ok": True}

    def do_lookup(self, step: Step) -> Step:
        request = self.make("lookup", step, step["lookup"])
        return {"hit": self.manager.get_computed_blocks(request)[1]}

    def do_reset(self, step: Step) -> Step:
        return {"ok": self.manager.reset_prefix_cache()}

    def _unfinished(self, request: Any) -> bool:
        """Part of what was sent is still to be computed."""
        pending = request.num_tokens - request.num_computed_tokens
        return bool(pending > (request.request_id in self.sampled))

    def _running(self, name: str) -> Any:
        return self.live[name] if name in self.running else None


def plain_event(event: Any) -> list[Any]:
    """A KV event in JSON: hashes as hex."""
    kind = type(event).__name__
    if kind == "BlockStored":
        parent = None if event.parent_block_hash is None else plain(event.parent_block_hash)
        return [
            kind,
            plain(event.block_hashes),
            parent,
            plain(event.token_ids),
            event.lora_name,
            plain(event.extra_keys),
        ]
    if kind == "BlockRemoved":
        return [kind, plain(event.block_hashes)]
    return [kind]


def plain(value: Any) -> Any:
    """As JSON would bring it back, digests as hexadecimal text."""
    if isinstance(value, bytes):
        return value.hex()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def main(steps: str, out: str) -> int:
    """Exit status 3 and the reason on stderr if vLLM's code cannot be imported."""
    with open(steps, encoding="utf-8") as given:
        lines = [json.loads(line) for line in given]
    try:
        real = load()
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    cache: RealVllm | None = None
    with open(out, "w", encoding="utf-8") as target:
        for line in lines:
            if "engine" in line:
                cache = RealVllm(
                    real, **{name: value for name, value in line.items() if name not in ("engine", "unit")}
                )
                outcome: Step = {"free": cache.free_ids()}
            else:
                assert cache is not None
                outcome = cache.run(line)
            target.write(json.dumps(outcome, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
