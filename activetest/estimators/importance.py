"""Self-normalised importance weighting of draws with replacement: active risk estimation.

Sawade 2010; Active Testing (Kossen 2021), appendix D. Only `simulate` has it: a study draws without
replacement.
"""

from dataclasses import replace

from activetest.errors import NotEstimable
from activetest.estimators._steps import weighted_mean
from activetest.nouns.estimate import Estimate, Sample

SIMULATION_ONLY = True


def estimate(sample: Sample) -> Estimate:
    """Means (d,): sum of h / q over sum of 1 / q; consistent, and biased while draws are few.

    Raises NotEstimable where no draw counts.
    """
    shares = sample.drawn_mass / sample.q
    if not shares.any():
        raise NotEstimable("none of the drawn items counts here", hint="`study.next(10)`")
    shares = shares / shares.sum()
    weighed = replace(sample, weights=shares)
    stats = sample.per_unit(sample.stats)
    return weighted_mean(stats, None, weighed, replaced=True)
