"""LURE, the levelled unbiased risk estimator.

Active Testing (Kossen 2021), eq. (3)-(4); Farquhar 2021. Written as a weighted mean of unbiased
steps, (1/N)[sum of what is known + h / q], with weights proportional to 1 / (n (n - 1)), n the
number of items left: this is identical to the papers' weights v_m.
"""

import numpy as np

from activetest.estimators._steps import weighted_mean
from activetest.nouns.estimate import Estimate, Sample


def estimate(sample: Sample) -> Estimate:
    """Means (d,), unbiased for any draws of known positive probability; uses no surrogate."""
    terms = (sample.known_sum + sample.stats / sample.prob[:, None]) / sample.size
    return weighted_mean(terms, np.zeros_like(sample.stats), sample)
