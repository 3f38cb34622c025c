"""A metric is an item statistic and a smooth map of its mean: theta = phi(mean_j h(f_j, y_j))."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from activetest.evidence import Array


@dataclass(frozen=True)
class Metric:
    """What to compute from the means of statistics.

    name           as on the command line
    statistics     (d,) names of losses, in the order smooth expects their means
    smooth         (d,) means -> the metric's value
    lower, upper   range of the value
    """

    name: str
    statistics: tuple[str, ...]
    smooth: Callable[[Array], float]
    lower: float = 0.0
    upper: float = np.inf

    def gradient(self, mean: Array) -> Array:
        """(d,) derivative of the smooth map at mean, by central differences."""
        mean = np.asarray(mean, float)
        slopes = []
        for axis, size in enumerate(np.maximum(np.abs(mean), 1e-3)):
            step = np.zeros_like(mean)
            step[axis] = 1e-5 * size
            slopes.append((self.smooth(mean + step) - self.smooth(mean - step)) / (2 * step[axis]))
        return np.array(slopes)


def first(mean: Array) -> float:
    """The smooth map of a metric that is a mean itself: (1,) means -> the value."""
    return float(mean[0])
