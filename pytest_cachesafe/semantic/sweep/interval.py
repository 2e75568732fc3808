"""Shares of few pairs with what they leave open: exact binomial bounds and Wilson's interval, standard library only.

Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26
(1934); E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["CONFIDENCE", "Share", "clopper_pearson", "needed", "upper_bound", "wilson"]

CONFIDENCE = 0.95
_STEPS = 200
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n`, with an interval; nothing is known of a share of nothing (0 to 1)."""

    count: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """The share itself, 0 to 1; None where there is nothing to count."""
        return self.count / self.n if self.n else None

    def as_dict(self) -> dict[str, float | int | None]:
        """JSON form."""
        value = self.value
        return {
            "count": self.count,
            "n": self.n,
            "share": None if value is None else round(value, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
        }

    def __str__(self) -> str:
        value = self.value
        if value is None:
            return "none of 0"
        return f"{value:.1%} [{self.low:.1%}, {self.high:.1%}]"


def wilson(count: int, n: int, confidence: float = CONFIDENCE) -> Share:
    """Two-sided interval of Wilson's: close to its level on average, also for shares near 0 and 1."""
    _check(count, n, confidence)
    if not n:
        return Share(0, 0, 0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p, z2 = count / n, z * z
    middle = p + z2 / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low, high = (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)
    # At the ends the formula is exact; rounding is not.
    return Share(count, n, 0.0 if count == 0 else max(low, 0.0), 1.0 if count == n else min(high, 1.0))


def clopper_pearson(count: int, n: int, confidence: float = CONFIDENCE) -> Share:
    """Two-sided exact interval: never below its level, whatever the true share is."""
    _check(count, n, confidence)
    if not n:
        return Share(0, 0, 0.0, 1.0)
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else _quantile(tail, count, n - count + 1)
    high = 1.0 if count == n else _quantile(1 - tail, count + 1, n - count)
    return Share(count, n, low, high)


def upper_bound(count: int, n: int, confidence: float = CONFIDENCE) -> float:
    """One-sided exact bound: the true share is at most this, with that confidence."""
    _check(count, n, confidence)
    return 1.0 if count == n else _quantile(confidence, count + 1, n - count)


def needed(budget: float, confidence: float = CONFIDENCE) -> int:
    """Pairs that it takes to show a share of at most `budget`, even if not one of them goes wrong: 299 for 1%."""
    if not 0 < budget < 1:
        raise ValueError(budget)
    found = max(math.ceil(math.log(1 - confidence) / math.log1p(-budget)), 1)
    # Rounded the wrong way by a last bit: decided by the bound itself.
    return found if upper_bound(0, found, confidence) <= budget else found + 1


def _check(count: int, n: int, confidence: float) -> None:
    if not 0 <= count <= n or not 0 < confidence < 1:
        raise ValueError((count, n, confidence))


def _quantile(level: float, a: float, b: float) -> float:
    """Of the beta distribution, by bisection to the last bit."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _beta_cdf(middle, a, b) < level:
            low = middle
        else:
            high = middle
    # The side on which a bound stays one.
    return high if level > 0.5 else low


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22, modified Lentz's algorithm)."""
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_cdf(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    ) / a  # fmt: skip
    c, d = 1.0, 1.0 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    # Grows with the square root of the larger parameter.
    for m in range(1, 200 + 4 * math.isqrt(int(max(a, b)))):
        for even in (True, False):
            if even:
                term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            else:
                term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            d = 1.0 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value


def _apart(value: float) -> float:
    """Away from zero, which is divided by."""
    return value if abs(value) > _TINY else _TINY
