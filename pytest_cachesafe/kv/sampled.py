"""What a model sampled against the ids of its text: tokens are not always those that a tokenizer would choose."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pytest_cachesafe.kv.boundary import Words, common_length
from pytest_cachesafe.kv.forward import Forward
from pytest_cachesafe.usage import UsageError

__all__ = ["Reencoded", "reencode", "sample"]


@dataclass(frozen=True, slots=True)
class Reencoded:
    """Prompt and reply in a cache, against the same text encoded anew, as the next request sends it."""

    prompt_tokens: int
    sampled_tokens: int
    # Tokens of prompt and reply when their text is encoded.
    encoded_tokens: int
    # Leading ids that both share; the cache holds one token less than prompt and reply.
    reused_tokens: int

    @property
    def lost_tokens(self) -> int:
        """Cached tokens that the text's ids do not reach."""
        return self.prompt_tokens + self.sampled_tokens - 1 - self.reused_tokens

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**asdict(self), "lost_tokens": self.lost_tokens}


def reencode(words: Words, prompt: Any, sampled: Any) -> Reencoded:
    """See `KVProbe.reencoded`."""
    before, reply = words.ids(prompt, "prompt"), words.ids(sampled, "sampled")
    text = prompt if isinstance(prompt, str) else words.decode(before)
    again = list(words.encode(text + words.decode(reply)))
    cached = [*before, *reply][:-1]
    return Reencoded(len(before), len(reply), len(again), common_length(cached, again))


def sample(
    forward: Forward, words: Words, cache: Any, prompt: Any, number: int, temperature: float, seed: int, ends: Any
) -> list[int]:
    """See `KVProbe.sample`."""
    import torch

    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise UsageError(f"number={number!r}: a whole number, at least 1")
    if not temperature >= 0:
        raise UsageError(f"temperature={temperature!r}: a number, at least 0")
    ids = words.ids(prompt, "prompt")
    # The last token is never computed.
    words.check_length(len(ids) + number - 1, "prompt and all sampled tokens but the last together")
    # A generator of its own: the test's random state stays as it is.
    generator = torch.Generator().manual_seed(seed)
    row = forward(ids, cache).logits[-1]
    found: list[int] = []
    while True:
        if temperature == 0:
            token = int(row.argmax())
        else:
            token = int(torch.multinomial((row / temperature).softmax(-1), 1, generator=generator))
        found.append(token)
        if len(found) == number or token in ends:
            return found
        row = forward([token] if cache is not None else ids + found, cache).logits[-1]
