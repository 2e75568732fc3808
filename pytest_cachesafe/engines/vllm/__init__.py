"""vLLM's prefix cache (V1, one group of full-attention layers): which blocks a request finds, takes, keeps and loses.

`manager` and `request` hold the scheduling rules, `block_pool` the blocks, `keys` what makes two blocks the same,
`events` what a server publishes about it.
"""

from __future__ import annotations
