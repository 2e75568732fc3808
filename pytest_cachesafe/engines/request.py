"""One request in an engine's prefix cache."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Request"]


class Request:
    """A prompt that was sent to a `PrefixCache`; holds its place in the cache until `free()`.

    `cached_tokens` is what the engine reports for the request: the look-up's hit at its first scheduling. It is also
    set for a request that was refused (`admitted` False), which holds nothing and leaves no trace.
    """

    __slots__ = ("admitted", "block_ids", "cached_tokens", "token_ids")

    def __init__(self, token_ids: Sequence[int]) -> None:
        # Prompt, then what was appended.
        self.token_ids: list[int] = list(token_ids)
        self.admitted = False
        # Prompt tokens that were found.
        self.cached_tokens = 0
        # Blocks (pages, where the engine has them) in the order of the tokens, shared ones first; () if refused.
        self.block_ids: tuple[int, ...] = ()

    @property
    def refused(self) -> str | None:
        """Why the latest call that needed room got none, in words; None if it got it."""
        return None

    @property
    def unusable_tokens(self) -> int:
        """Tokens, from the first on, that are kept where the prompt went and that the model cannot use, since it cannot
        go back to them; 0 where any kept prefix can be used."""
        return 0

    def append(self, sampled_ids: Sequence[int]) -> bool:
        """Ids that the model sampled. The last one of a reply has no KV: it is counted, never cached.

        Returns:
            False if the engine has no room left for them (it would preempt); then nothing was appended.

        Raises:
            UsageError: the request was refused or freed, or something is no token id.
        """
        raise NotImplementedError

    def free(self) -> None:
        """The reply is complete: give the room back, keep in the cache what the engine keeps."""
        raise NotImplementedError
