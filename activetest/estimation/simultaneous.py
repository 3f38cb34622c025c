"""The level of intervals that hold together: sup-t bands (Montiel Olea and Plagborg-Moller 2019).

Estimates at neighbouring thresholds rest on nearly the same labels and err together, so that
Bonferroni's bound on the chance that any of them errs is far too large. A sup-t band widens all
intervals alike until the largest of the correlated errors is inside with the level's probability.
The correlations are those of the linearised terms of the draws.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from activetest.estimation.value import Value
from activetest.nouns.rows import Array

# Draws of the largest error.
_DRAWS = 4000
# A standard deviation below this share of the largest term is what rounding leaves of none.
_NONE = 1e-9


def find_joint_level(
    families: Sequence[Sequence[tuple[Value, bool]]], level: float, rng: np.random.Generator
) -> float:
    """The level of single intervals that makes all of them hold together with probability `level`.

    families   values of one metric each, such as recall at every threshold, and whether too few
               labels of one kind are behind a value to show how it errs

    Errors are jointly normal, with the covariance of the terms of the draws. Values that are known
    cannot err. Those of few labels, or whose terms do not differ, err independently of the others,
    and as one in each family. Never more than Bonferroni's level needs
    and never less than `level`. Bonferroni's where values are made of different draws.
    """
    open_ = [[pair for pair in each if not pair[0].of_pool.estimate.exact] for each in families]
    count = sum(map(len, open_))
    if not count:
        return level
    bonferroni = 1 - (1 - level) / count
    values = [value for each in open_ for value, _ in each]
    shown = np.array([not few for each in open_ for _, few in each])
    sizes = {len(value.estimate.terms) for value in values}
    if len(sizes) > 1:
        return bonferroni
    errors = np.stack([_weigh_errors(value) for value in values])
    deviation = np.sqrt((errors**2).sum(axis=1))
    seen = (deviation > 0) & shown
    correlated = errors[seen] / deviation[seen, None]
    largest = np.abs(rng.standard_normal((_DRAWS, errors.shape[1])) @ correlated.T)
    splits = np.split(seen, np.cumsum([len(each) for each in open_])[:-1])
    alone = sum(bool((~each).any()) for each in splits)
    others = np.abs(rng.standard_normal((_DRAWS, alone)))
    maxima = np.concatenate([largest, others], axis=1).max(axis=1, initial=0)
    critical = float(np.quantile(maxima, level))
    return min(max(1 - 2 * float(ndtr(-critical)), level), bonferroni)


def _weigh_errors(value: Value) -> Array:
    """(M,) weighted deviation of each draw's term from their mean; zeros where all are alike."""
    estimate = value.estimate
    terms = estimate.terms[:, 0]
    errors = estimate.weights * (terms - estimate.weights @ terms)
    scale = estimate.weights.max(initial=0) * np.abs(terms).max(initial=0)
    errors[np.abs(errors) <= _NONE * scale] = 0.0
    return np.asarray(errors)
