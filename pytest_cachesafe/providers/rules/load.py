"""The rules in force: the shipped tables, and what the project's `pyproject.toml` says otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_cachesafe.configuration import closest, file_stamp, read_table
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.rules.ids import spellings
from pytest_cachesafe.providers.rules.overrides import lay_over
from pytest_cachesafe.providers.rules.read import PROVIDERS, read_provider
from pytest_cachesafe.providers.rules.table import ModelRules, ProviderRules
from pytest_cachesafe.usage import UsageError

__all__ = ["Rules", "load_rules"]

# The deployment of an Azure path says nothing of the model behind it.
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/")


class Rules:
    """Dated rules of every provider; nothing in them is guessed."""

    def __init__(self, providers: Mapping[str, ProviderRules]) -> None:
        self.providers = providers
        self._found: dict[tuple[str, str], ModelRules | None] = {}

    def provider(self, name: str) -> ProviderRules:
        """The rules of one provider.

        Raises:
            UsageError: there is none of that name (with the closest one).
        """
        try:
            return self.providers[name]
        except KeyError:
            raise UsageError(f"no rules for provider {name!r}; {closest(name, self.providers)}") from None

    def model(self, provider: str, model_id: str | None) -> ModelRules | None:
        """What is known of a model; None where nothing is.

        Found are the stem itself, dated ids (`-20250929`, `@20250929`, `-2026-04-23`, `-latest`), Bedrock ids with
        routing and version (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`, ARNs of models and of system inference
        profiles), names of gateways (`anthropic/claude-opus-4.8`) and what the user added. A name that merely
        resembles a known one is unknown.

        Raises:
            UsageError: unknown provider.
        """
        rules = self.provider(provider)
        if not model_id:
            return None
        if (provider, model_id) not in self._found:
            self._found[provider, model_id] = rules.models.get(model_id) or self._spelled(provider, model_id)
        return self._found[provider, model_id]

    def _spelled(self, provider: str, model_id: str) -> ModelRules | None:
        for spelling in spellings(provider, model_id):
            rules = self.providers[spelling.provider]
            found = rules.models.get(rules.aliases.get(spelling.stem, spelling.stem))
            if found is not None:
                return replace(found, prices=found.routed.get(spelling.routing, found.prices), routed={})
        return None

    def for_exchange(self, exchange: Exchange) -> ModelRules | None:
        """What is known of the model a request went to; an Azure deployment is known only if the user named it."""
        found = _DEPLOYMENT.search(exchange.path or "")
        if found is not None:
            return self.provider(exchange.provider).models.get(found[1]) if self._is_own(exchange, found[1]) else None
        return self.model(exchange.provider, exchange.model)

    def _is_own(self, exchange: Exchange, name: str) -> bool:
        # A deployment called "gpt-5" may hold anything, unless the user's own table says what it is.
        mine, shipped = self.provider(exchange.provider).models.get(name), read_provider(exchange.provider).models
        return mine is not None and mine is not shipped.get(name)


def load_rules(overrides: Mapping[str, Any] | None = None) -> Rules:
    """The rules in force; made once per table and kept.

    Args:
        overrides: entries in the form of `[tool.cachesafe.providers]`, instead of those of the nearest
            `pyproject.toml` at or above the working directory. `{}`: the shipped rules alone.

    Raises:
        UsageError: the file or the entries cannot be used; one line that says where and what to write.
    """
    if overrides is not None:
        return _shipped() if not overrides else Rules(lay_over(_shipped().providers, overrides, "rules"))
    folder = Path.cwd()
    for parent in (folder, *folder.parents):
        path = str(parent / "pyproject.toml")
        stamp = file_stamp(path)
        if stamp is not None:
            return _of_project(path, stamp)
    return _shipped()


@lru_cache(maxsize=1)
def _shipped() -> Rules:
    return Rules({name: read_provider(name) for name in PROVIDERS})


@lru_cache(maxsize=32)
def _of_project(path: str, stamp: tuple[int, int]) -> Rules:
    section = (read_table(path, stamp) or {}).get("providers")
    if section is None:
        return _shipped()
    return Rules(lay_over(_shipped().providers, section, f"{path}: [tool.cachesafe.providers]"))
