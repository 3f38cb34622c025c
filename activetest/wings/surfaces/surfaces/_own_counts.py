"""An arm's own labels beside a prediction from other arms: a Beta, and how strong it is.

Axes: O arms with labels, G strengths, as in activetest.nouns.surface.
"""

import numpy as np
from scipy.special import betaln

from activetest.nouns.rounding import MARGIN, find_nearly_largest, level_ties
from activetest.nouns.rows import Array

# Prior of a strength: log-normal, about 30 labels, give or take a factor of 7.4. It takes a
# thousand labels or more to know it well, so that draws of it are used.
_MEDIAN, _SPREAD = 30.0, 2.0
_GRID = np.linspace(np.log(0.3), np.log(1e5), 61)
# A prediction is never more certain than this, whatever its model says.
_EDGE = 1e-4


def combine_strengths(strength: float | Array, mean: Array, variance: Array) -> Array:
    """(O,) labels that a prediction with this mean and variance counts as.

    The strength says how arms differ from what their attributes say; the variance v, how well that
    is known. By the law of total variance, with m (1 - m) = 1: 1 / (1 + scale) = v + (1 - v) / (1 +
    strength).
    """
    share = np.minimum(variance / (mean * (1 - mean)), 1)
    return np.asarray(np.maximum(1 / (share + (1 - share) / (1 + strength)) - 1, 0.01))


def compute_log_likelihoods(strength: float, counts: Array, mean: Array, variance: Array) -> Array:
    """(O,) Beta-binomial log-likelihood of the counts (O, 2) of each arm, given their order."""
    mean = np.clip(mean, _EDGE, 1 - _EDGE)
    scale = combine_strengths(strength, mean, variance)
    a, b = scale * mean, scale * (1 - mean)
    return np.asarray(betaln(a + counts[:, 0], b + counts[:, 1]) - betaln(a, b))


def weigh_strengths(counts: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """(G,) strengths and their probabilities, by the Beta-binomial likelihood of all counts.

    mean and variance (O,) are those of predictions that do not know the arm's own counts. Without
    two labels in any arm the likelihood is flat, and the prior decides.
    """
    strengths = np.exp(_GRID)
    scores = [
        compute_log_likelihoods(strength, counts, mean, variance).sum() for strength in strengths
    ]
    score = np.array(scores) - 0.5 * ((_GRID - np.log(_MEDIAN)) / _SPREAD) ** 2
    prob = np.exp(score - score.max())
    return strengths, prob / prob.sum()


def find_strength(counts: Array, mean: Array, variance: Array) -> float:
    """The strength that is most probable."""
    strengths, prob = weigh_strengths(counts, mean, variance)
    return float(strengths[find_nearly_largest(prob)])


def draw_strengths(
    counts: Array, mean: Array, variance: Array, draws: int, rng: np.random.Generator
) -> Array:
    """(draws,) strengths at equally spaced probabilities, shuffled, the same in each half."""
    strengths, prob = weigh_strengths(counts, mean, variance)
    half = draws // 2
    place = np.searchsorted(prob.cumsum(), (np.arange(half) + 0.5) / half * (1 - MARGIN))
    chosen = rng.permutation(strengths[np.minimum(place, len(strengths) - 1)])
    return np.asarray(np.tile(chosen, 2))


def discount_counts(counts: Array, strength: float) -> Array:
    """(O, 2) counts that tell as much of the mean as those of arms that differ from it.

    n labels of one arm have (psi + n) / (psi + 1) times the variance of n labels of different arms.
    """
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts * np.minimum((1 + strength) / (strength + total), 1))


def find_weights(log_likelihoods: Array, draws: int, rng: np.random.Generator) -> Array:
    """(members,) whole numbers with sum draws: softmax weights on out-of-fold log-likelihoods.

    log_likelihoods is (members, O). A softmax of sums takes luck for skill, so that it is averaged
    over 200 Bayesian bootstraps of the arms (pseudo-BMA+, Yao 2018, section 3.4).
    """
    members, arms = log_likelihoods.shape
    if arms == 0:
        shares = np.full(members, 1 / members)
    else:
        again = rng.dirichlet(np.ones(arms), size=200) * arms
        scores = again @ log_likelihoods.T
        scores -= scores.max(axis=1, keepdims=True)
        weights = np.exp(scores)
        shares = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
    # Largest remainders, in pairs: draws come as mirror images.
    pairs = draws // 2
    whole = np.floor(shares * pairs + MARGIN * pairs).astype(int)
    order = np.argsort(-level_ties(1 + shares * pairs - whole), kind="stable")
    whole[order[: pairs - whole.sum()]] += 1
    return 2 * whole
