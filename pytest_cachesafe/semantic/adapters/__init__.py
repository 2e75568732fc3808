"""Semantic caches of other packages as `lookup` / `store` / `reset`, so that they can be asked themselves.

    judge = CollisionJudge(adapt(my_cache))

Nothing is imported that is not there already: a cache that a user hands over has been imported by the user.
"""

from __future__ import annotations

from pytest_cachesafe.semantic.adapters.adapt import AdaptedCache, adapt

__all__ = ["AdaptedCache", "adapt"]
