"""Paired comparisons of ways to draw: the tests of Active Testing (Kossen 2021), Table 1."""

import numpy as np
from scipy.stats import wilcoxon


def compare_with_best(errors: dict[str, np.ndarray], best: str) -> dict[str, float]:
    """{way: p} of Wilcoxon's signed-rank test that `best` has the smaller squared error.

    errors are {way: (runs,) squared errors}; the same place is the same run (appendix A.3: pairs of
    a run, one-sided). Raises ValueError where a pair is of different lengths.
    """
    return {
        way: float(wilcoxon(errors[best], other, alternative="less").pvalue)
        for way, other in errors.items()
        if way != best
    }


def find_best(errors: dict[str, np.ndarray]) -> str:
    """The way with the smallest median squared error."""
    return min(errors, key=lambda way: float(np.median(errors[way])))


def follow_lure(losses: np.ndarray, prob: np.ndarray, size: int, counts: list[int]) -> np.ndarray:
    """LURE after each number of draws, eq. (3)-(4), of losses (M,) in the order drawn.

    prob (M,) is q of each draw, size N the number of items in the pool.
    """
    found = []
    for count in counts:
        ahead = size - np.arange(1, count + 1)
        # All items are known after N draws.
        ratio = (size - count) / np.maximum(ahead, 1)
        weights = 1 + ratio * (1 / ((ahead + 1) * prob[:count]) - 1)
        found.append(float(weights @ losses[:count] / count))
    return np.array(found)
