"""Runs steps of `engine_traffic` on SGLang's own radix cache, without a GPU: `real_sglang.py STEPS.jsonl OUT.jsonl`.

A program of its own, since what SGLang imports is partly stood in for: torchvision and triton, which nothing here runs
(a real torchvision brings a CUDA build of torch). Request, tree, pools and allocation are SGLang 0.5.23's own; what the
scheduler does around them is done here as in srt/managers/scheduler.py and schedule_batch.py (2026-11), one request per
batch. Only the decision to refuse a request is ours: when what no live request needs is too little for its prompt. The
scheduler decides by an estimate of all the tokens that are still to come.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from array import array
from types import SimpleNamespace
from typing import Any

from fetch_engines import on_path

Step = dict[str, Any]


class _Anything:
    """Stands for every function, decorator and type of a module that is not there."""

    def __init__(self, *args: Any, **named: Any) -> None: ...

    def __call__(self, *args: Any, **named: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not named else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __getitem__(self, key: Any) -> Any:
        return self

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__


class _StandIn(types.ModuleType):
    __version__ = "3.9.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        # What is named like a class is asked for in isinstance() and as a base.
        return type(name, (), {}) if name[0].isupper() else _Anything()


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".")[0] in ("torchvision", "triton"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        made = _StandIn(spec.name)
        made.__path__ = []
        return made

    def exec_module(self, module: types.ModuleType) -> None: ...


def load() -> SimpleNamespace:
    """SGLang's classes.

    Raises:
        ImportError: the real code, or a package that it needs, is not there.
    """
    os.environ["SGLANG_DEBUG_MEMORY_POOL"] = "1"
    on_path("sglang")
    import torch

    torch.set_num_threads(1)
    # Before the stand-ins: it asks whether torchvision is there.
    from transformers import AutoProcessor  # noqa: F401

    sys.meta_path.insert(0, _StandIns())
    from sglang.srt.managers.schedule_batch import Req
    from sglang.srt.mem_cache import allocation, common
    from sglang.srt.mem_cache.allocator.paged import PagedTokenToKVPoolAllocator
    from sglang.srt.mem_cache.allocator.token import TokenToKVPoolAllocator
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.memory_pool import ReqToTokenPool
    from sglang.srt.mem_cache.radix_cache import RadixCache
    from sglang.srt.sampling.sampling_params import SamplingParams

    return SimpleNamespace(
        CacheInitParams=CacheInitParams,
        EvictParams=EvictParams,
        PagedTokenToKVPoolAllocator=PagedTokenToKVPoolAllocator,
        RadixCache=RadixCache,
        Req=Req,
        ReqToTokenPool=ReqToTokenPool,
        SamplingParams=SamplingParams,
        TokenToKVPoolAllocator=TokenToKVPoolAllocator,
        allocation=allocation,
        common=common,
        torch=torch,
    )


class RealSglang:
    """One radix cache, its pools, and the requests on them."""

    def __init__(
        self,
        real: SimpleNamespace,
        page_size: int,
        capacity: int,
        policy: str = "lru",
        bigram: bool = False,
        strip_thinking: bool = False,
    ) -> None:
        self.real = real
        self.page = page_size
        torch = real.torch
        if page_size == 1:
            self.pool = real.TokenToKVPoolAllocator(capacity, torch.int64, "cpu", None, False)
        else:
            self.pool = real.PagedTokenToKVPoolAllocator(capacity, page_size, torch.int64, "cpu", None, False)
        self.rows = real.ReqToTokenPool(16, 8192, "cpu", False)
        self.strip_thinking = strip_thinking
        serving = SimpleNamespace(strip_thinking_cache=strip_thinking)
        spec = SimpleNamespace(speculative_algorithm=None)
        # The server's settings, which no server has published here.
        for module in (real.common, sys.modules[real.Req.__module__]):
            module.get_serving = lambda: serving
            module.get_spec = lambda: spec
        self.tree = real.RadixCache(
            real.CacheInitParams(
                disable=False,
                req_to_token_pool=self.rows,
                token_to_kv_pool_allocator=self.pool,
                page_size=page_size,
                is_eagle=bigram,
                eviction_policy=policy,
            )
        )
        self.live: dict[str, Any] = {}

    def state(self) -> Step:
        tree = self.tree
        return {
            "tokens": [self.pool.available_size(), tree.evictable_size(), tree.protected_size()],
            "tree": sorted(self.paths(), key=lambda item: ([str(part) for part in item[0]], item[1])),
        }

    def paths(self) -> list[Any]:
        """For every leaf its namespace and the ids of each node on the way to it."""
        found = []
        stack: list[tuple[Any, list[list[int]]]] = [(node, []) for node in self.tree.root_node.children.values()]
        while stack:
            node, before = stack.pop()
            path = [*before, list(node.key.token_ids)]
            if not node.children:
                found.append([[node.key.extra_key, node.key.cache_salt], path])
            stack += [(child, path) for child in node.children.values()]
        return found

    def run(self, step: Step) -> Step:
        outcome: Step = getattr(self, f"do_{next(iter(step))}")(step)
        return outcome if outcome.get("skip") else {**outcome, **self.state()}

    def do_request(self, step: Step) -> Step:
        real, tree = self.real, self.tree
        ids = array("q", step["tokens"])
        request = real.Req(
            step["request"],
            "",
            ids,
            real.SamplingParams(max_new_tokens=1 << 20),
            return_logprob="logprob_start" in step,
            extra_key=step.get("extra_key"),
            cache_salt=step.get("salt"),
            priority=step.get("priority"),
        )
        if "logprob_start" in step:
            request.logprob_start_len = step["logprob_start"]
        if not step.get("read", True):
            request.positional_embed_overrides = object()
        request.reasoning_tokens = int(self.strip_thinking)
        request.init_next_round_input(tree)
        hit = request.prefix_len
        request.lock = tree.lock(request.last_node)
        total = len(ids)
        pages = -(-total // self.page) * self.page - hit
        if pages > self.pool.available_size() + tree.evictable_size():
            tree.unlock(request.lock)
            return {"hit": hit, "refused": True}
        request.extend_end = total
        self._extend(request, hit, total)
        real.common.checkpoint_kv_cache(request, tree)
        self.live[request.rid] = request
        return {"hit": hit}

    def _extend(self, request: Any, hit: int, total: int) -> None:
        """As `alloc_for_extend` for a batch of one."""
        real, torch = self.real, self.real.torch
        prefix = self.tree.prefix_device_indices(request)
        (row,) = self.rows.alloc([request])
        if self.page == 1:
            places = real.allocation.alloc_token_slots(self.tree, total - hit)
        else:
            places = real.allocation.alloc_paged_token_slots_extend(
                tree_cache=self.tree,
                prefix_lens=torch.tensor([hit]),
                prefix_lens_cpu=torch.tensor([hit]),
                seq_lens=torch.tensor([total]),
                seq_lens_cpu=torch.tensor([total]),
                last_loc=prefix[-1:] if hit else torch.tensor([-1]),
                extend_num_tokens=total - hit,
            )
        self.rows.write((row, slice(0, hit)), prefix.to(torch.int32))
        self.rows.write((row, slice(hit, total)), places.to(torch.int32))
        request.kv.kv_allocated_len = request.kv.kv_committed_len = total

    def do_append(self, step: Step) -> Step:
        request = self.live.get(step["append"])
        if request is None:
            return {"skip": True}
        tokens = step["tokens"]
        computed = request.kv.kv_committed_len
        target = len(request.origin_input_ids) + len(request.output_ids) + len(tokens) - 1
        pages = (-(-target // self.page) + -computed // self.page) * self.page if target > computed else 0
        if pages > self.pool.available_size() + self.tree.evictable_size():
            return {"ok": False}
        for token in tokens:
            # The token sampled before is computed first.
            if request.kv.kv_committed_len < len(request.origin_input_ids) + len(request.output_ids):
                self._decode(request)
            request.output_ids.append(token)
        return {"ok": True}

    def _decode(self, request: Any) -> None:
        """One step of a batch of one: the check for room, then the allocation."""
        real, torch, kv = self.real, self.real.torch, request.kv
        length = kv.kv_committed_len
        wanted = self.page if length % self.page == 0 else 0
        assert self.pool.check_decode_capacity(num_tokens=wanted, tree_cache=self.tree)
        if self.page == 1:
            places = real.allocation.alloc_token_slots(self.tree, 1)
        else:
            places = real.allocation.alloc_paged_token_slots_decode(
                self.tree,
                torch.tensor([length + 1]),
                torch.tensor([length + 1]),
                self.rows.req_to_token[kv.req_pool_idx, length - 1 : length].to(torch.int64),
            )
        self.rows.write((kv.req_pool_idx, slice(length, length + 1)), places.to(torch.int32))
        kv.kv_allocated_len = kv.kv_committed_len = length + 1

    def do_free(self, step: Step) -> Step:
        request = self.live.pop(step["free"], None)
        if request is None:
            return {"skip": True}
        request.finished_reason = object()
        self.real.common.release_kv_cache(request, self.tree, checkpoint=True)
        return {"ok": True}

    def do_evict(self, step: Step) -> Step:
        return {"evicted": self.tree.evict(self.real.EvictParams(num_tokens=step["evict"])).num_tokens_evicted}

    def do_reset(self, step: Step) -> Step:
        # The server flushes its cache only when it is idle.
        if self.live:
            return {"ok": False}
        self.tree.reset()
        self.pool.clear()
        return {"ok": True}


def main(steps: str, out: str) -> int:
    """Exit status 3 and the reason on stderr if SGLang's code cannot be imported."""
    try:
        real = load()
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    cache: RealSglang | None = None
    with open(steps, encoding="utf-8") as given, open(out, "w", encoding="utf-8") as target:
        for line in map(json.loads, given):
            if "engine" in line:
                cache = RealSglang(real, **{name: value for name, value in line.items() if name != "engine"})
                outcome = cache.state()
            else:
                assert cache is not None
                outcome = cache.run(line)
            target.write(json.dumps(outcome, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
