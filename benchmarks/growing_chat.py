"""A chat of 100 turns and about 50,000 tokens: what `check_prefix_stable` costs against the work it cannot avoid.

Ratios from one run, CPU seconds, best of five. The peers are the plain way of doing it with the same libraries:
rendering every turn through transformers, tokenising the last prompt once, and tokenising every prompt from scratch.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from pytest_cachesafe import ChatTemplate, check_prefix_stable

TURNS = 100
SENTENCE = "The quarterly report of the northern branch lists {n} open invoices, {m} of them overdue since spring. "


def chat() -> list[dict[str, Any]]:
    """201 messages, about 185,000 characters."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a careful clerk."}]
    for n in range(TURNS):
        messages.append({"role": "user", "content": "".join(SENTENCE.format(n=n, m=m) for m in range(10))})
        messages.append({"role": "assistant", "content": "".join(SENTENCE.format(n=n + 7, m=m) for m in range(10))})
    return messages


def best(work: Callable[[], object], runs: int = 5) -> float:
    """CPU seconds of the fastest of a few runs."""
    found = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def measure(model: str) -> None:
    """Print the ratios for one model."""
    from transformers.utils.chat_template_utils import render_jinja_template

    messages = chat()
    ends = range(2, len(messages), 2)
    template = ChatTemplate.from_pretrained(model)
    tokenizer = template.tokenizer
    assert tokenizer is not None
    source = tokenizer.chat_template

    def render_all() -> list[str]:
        variables = {**tokenizer.special_tokens, "add_generation_prompt": True}
        return [
            render_jinja_template(conversations=[messages[:end]], chat_template=source, **variables)[0][0]
            for end in ends
        ]

    texts = render_all()
    last = texts[-1]

    def check() -> None:
        # A new template object each time: nothing is carried over from the run before.
        fresh = ChatTemplate(source, label="bench", tokenizer=tokenizer)
        report = check_prefix_stable(messages, template=fresh)
        assert report.verdict == "stable", report.text()
        assert len(report.steps) == TURNS - 1

    encode = tokenizer.backend.encode
    rendering = best(render_all)
    once = best(lambda: encode(last, add_special_tokens=False).ids)
    every = best(lambda: [encode(t, add_special_tokens=False).ids for t in texts], runs=2)
    checking = best(check)
    tokens = len(encode(last, add_special_tokens=False).ids)
    print(f"{model}: {len(messages)} messages, {len(last):,} characters, {tokens:,} tokens")
    print(f"  check_prefix_stable                {checking:7.3f} s")
    print(f"  render all turns (transformers)    {rendering:7.3f} s")
    print(f"  tokenise the last prompt once      {once:7.3f} s")
    print(f"  tokenise every turn                {every:7.3f} s")
    print(f"  check / (render all + last once)   {checking / (rendering + once):7.2f}   (at most 2)")
    print(f"  check / tokenise every turn        {checking / every:7.3f}   (at most 0.05)")
    memory(source, tokenizer, messages)


def memory(source: Any, tokenizer: Any, messages: list[dict[str, Any]]) -> None:
    """Peak of Python's own allocations for a chat and for the same chat twice as long in turns and text."""
    peaks = []
    for part in (messages[: TURNS + 1], messages):
        fresh = ChatTemplate(source, label="bench", tokenizer=tokenizer)
        tracemalloc.start()
        check_prefix_stable(part, template=fresh)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    half, whole = (peak / 1e6 for peak in peaks)
    print(f"  peak memory, half and whole chat   {half:.1f} MB, {whole:.1f} MB  (x{whole / half:.2f})")


def main(models: list[str]) -> None:
    """SmolLM2 by default; other models by name or folder."""
    for name in models or ["HuggingFaceTB/SmolLM2-135M-Instruct"]:
        measure(name)


if __name__ == "__main__":
    main(sys.argv[1:])
