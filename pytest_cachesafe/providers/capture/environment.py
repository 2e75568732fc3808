"""Keys that mean nothing, where the environment has none: SDKs refuse to start without one, or ask the network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["DUMMY", "dummy_keys"]

DUMMY = "cachesafe-dummy-key"

# (variables of which any one suffices, the one to set, its value)
_KEYS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "ANTHROPIC_API_KEY", DUMMY),
    (("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"), "OPENAI_API_KEY", DUMMY),
    (("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"), "AZURE_OPENAI_API_KEY", DUMMY),
    # google-genai warns if both are set.
    (("GOOGLE_API_KEY", "GEMINI_API_KEY"), "GEMINI_API_KEY", DUMMY),
    (("AWS_ACCESS_KEY_ID",), "AWS_ACCESS_KEY_ID", "AKIACACHESAFEDUMMY00"),
    (("AWS_SECRET_ACCESS_KEY",), "AWS_SECRET_ACCESS_KEY", DUMMY),
    (("AWS_DEFAULT_REGION", "AWS_REGION"), "AWS_DEFAULT_REGION", "us-east-1"),
    (("AWS_EC2_METADATA_DISABLED",), "AWS_EC2_METADATA_DISABLED", "true"),
    # LiteLLM fetches its table of prices while it is imported, and has a copy of it.
    (("LITELLM_LOCAL_MODEL_COST_MAP",), "LITELLM_LOCAL_MODEL_COST_MAP", "True"),
)


@contextmanager
def dummy_keys() -> Iterator[None]:
    """Set what is missing while the block runs; clients that are made at import time need it earlier than that."""
    added: list[str] = []
    for known, name, value in _KEYS:
        if not any(os.environ.get(k) for k in known):
            if name in os.environ:
                # Set, but empty: that is the user's word for "none", and the SDKs read it so.
                continue
            os.environ[name] = value
            added.append(name)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
