"""The plain mean of what was drawn, however it was drawn.

The biased estimate of Active Testing (Kossen 2021), Fig. 8. Only `simulate` has it, to show the
bias.
"""

from dataclasses import replace

import numpy as np

from activetest.estimators._steps import weighted_mean
from activetest.nouns.estimate import Estimate, Sample

SIMULATION_ONLY = True


def estimate(sample: Sample) -> Estimate:
    """Means (d,) of the drawn items, as if every draw had been uniform; biased when it was not."""
    even = np.full(len(sample.stats), 1 / max(len(sample.stats), 1))
    stats = sample.per_unit(sample.stats)
    return weighted_mean(stats, None, replace(sample, weights=even))
