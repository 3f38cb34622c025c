"""LURE, the levelled unbiased risk estimator.

Active Testing (Kossen 2021), eq. (3)-(4); Farquhar 2021. Written as a weighted mean of unbiased
steps, (1/N)[sum of what is known + h / q], with weights proportional to 1 / (n (n - 1)), n the
number of items left: this is identical to the papers' weights v_m.
"""

import numpy as np

from activetest.estimators._steps import weigh_labels, weighted_mean
from activetest.nouns.estimate import Estimate, Sample
from activetest.nouns.rows import Array


def estimate(sample: Sample) -> Estimate:
    """Means (d,), unbiased for any draws of known positive probability; uses no surrogate."""

    def find() -> Estimate:
        terms = (sample.known_sum + sample.stats / sample.q[:, None]) / sample.size
        return weighted_mean(terms, None, sample)

    # The plain mean asks for it, too.
    return sample.compute_once("lure", find)


def label_weights(sample: Sample, low: Array, high: Array) -> tuple[Array, Array]:
    """Smallest and largest weight (M, d) of the drawn items' statistics in the mean: both the same.

    low, high (M, d) bound the statistics, which matter only to estimates with guesses.
    """
    weights = np.broadcast_to(weigh_labels(sample), low.shape)
    return weights, weights
