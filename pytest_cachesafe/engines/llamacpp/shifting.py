"""`--cache-reuse`: chunks of a slot's KV that are moved to where a new prompt has the same tokens.

Source: ggml-org/llama.cpp, tools/server/server-context.cpp, read 2026-11.
"""

from __future__ import annotations

from pytest_cachesafe.engines.token_ids import WIDTH, common_prefix

__all__ = ["shifted"]


def shifted(held: bytes, prompt: bytes, found: int, least: int) -> int:
    """Tokens of `prompt` that are reused, of which the first `found` are a common prefix.

    Both are walked once, token by token in what is held; only there is skipped, so that text which the prompt has
    instead of what is held ends the search for matches behind it. Chunks of at least `least` tokens count.
    """
    at = to = found
    held_tokens, tokens = len(held) // WIDTH, len(prompt) // WIDTH
    chunk = prompt[to * WIDTH : (to + least) * WIDTH]
    while at < held_tokens and to < tokens and len(chunk) == least * WIDTH:
        # The next place that matches `least` tokens; the ends of ids decide whether it is one.
        place = held.find(chunk, at * WIDTH)
        while place >= 0 and place % WIDTH:
            place = held.find(chunk, place + 1)
        if place < 0:
            break
        at = place // WIDTH
        run = common_prefix(prompt[to * WIDTH :], held, place) // WIDTH
        at += run
        to += run
        chunk = prompt[to * WIDTH : (to + least) * WIDTH]
    return to
