"""The labels on either side of an estimate, how far they moved a loss, and how uneven they are."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.estimation.estimate import estimate_metric
from activetest.item_statistics.metric import linear_metric, ratio_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.estimate import Estimate, Sample
from tests.estimation.test_estimate_open import ERROR, errors, uniform_draws

HITS, MISSES = statistic("tp:1"), statistic("fn:1")
RECALL = ratio_metric("recall", [HITS, MISSES], above=[0, 1, 0], below=[0, 1, 1], upper=1.0)
LOSS = linear_metric("brier", statistic("brier"))
DRAWS = 40


def lure(sample: Sample, metric=ERROR) -> Estimate:
    return estimate_metric(sample, metric, "lure").estimate


def losses(values: np.ndarray, *, start=(2.0, 0.0), end=(0.0, 2.0)) -> Sample:
    """Uniform draws of a loss from 0 to 2; start and end of every item, below and above."""
    sample = uniform_draws(np.zeros(len(values)), size=1000)

    def reach(guess: np.ndarray) -> np.ndarray:
        return np.stack([start, end], axis=1)[:, :, None] * np.ones(len(guess))

    return replace(sample, stats=values[:, None], reach=reach)


def test_each_side_has_its_labels_and_its_part_of_the_variance_of_one_draw():
    """4 errors of 40 pull up by 0.9 each, and 36 right answers down by 0.1."""
    sides = lure(uniform_draws(errors(DRAWS, 4), size=1000)).sides
    assert sides.counts == approx((36, 4))
    squares = 36 * 0.1**2, 4 * 0.9**2
    # Of draws without replacement the later ones weigh a little more.
    assert sides.shares == approx(np.array(squares) / sum(squares), rel=0.02)
    assert sum(sides.shares) == approx(1)


def positives(found: int, missed: int) -> Sample:
    """Uniform draws of which so many are positive, and predicted as such or not."""
    stats = np.zeros((DRAWS, 2))
    stats[:found, 0] = stats[found : found + missed, 1] = 1.0
    one = uniform_draws(np.zeros(DRAWS), size=1000)
    twice = {name: np.repeat(getattr(one, name), 2, axis=1) for name in ("imputed", "imputed_sum")}
    known = np.cumsum(stats, axis=0) - stats
    limits = np.array([stats.sum(axis=0), stats.sum(axis=0) + one.unknown]) / one.size
    return replace(
        one, stats=stats, known_sum=known, total=stats.sum(axis=0), limits=limits, **twice
    )


def test_what_no_draw_met_may_add_to_a_share_is_counted_by_the_least_likely_draws():
    """Ten positives of 40 draws: an item met once would add a tenth below the line."""
    ten = positives(10, 0)
    assert lure(ten, RECALL).unmet == approx(0.1, rel=0.03)
    assert lure(positives(8, 2), RECALL).unmet == approx(0.1, rel=0.03)
    # Where some negative was drawn with a third of the chance, three times as many may be there.
    prob = ten.q * np.where(np.arange(DRAWS) == 30, 1 / 3, 1.0)
    seldom = lure(replace(ten, q=prob), RECALL)
    assert seldom.unmet == approx(3 * lure(ten, RECALL).unmet, rel=0.1)
    # Draws that cannot change the metric do not count.
    inside = np.where(np.arange(DRAWS) == 30, 0.0, 1.0)
    apart = replace(ten, q=prob, inside=inside, counted=inside)
    assert lure(apart, RECALL).unmet == approx(lure(ten, RECALL).unmet, rel=0.1)
    assert lure(uniform_draws(errors(DRAWS, 4), size=1000)).unmet == 0


def test_where_all_labels_are_alike_no_side_has_any():
    sides = lure(uniform_draws(np.zeros(DRAWS), size=1000)).sides
    assert (sides.counts, sides.shares) == ((0, 0), (0, 0))


def test_how_far_labels_moved_a_loss_is_a_share_of_how_far_they_could():
    values = np.zeros(DRAWS)
    values[[3, 9, 20, 31]] = 2.0
    excess = lure(losses(values), LOSS).excess
    assert excess.most == approx((2, 2))
    assert excess.mean[1] == approx(0.2, rel=0.05)
    assert sum(excess.mean) == approx(2)
    assert excess.counts == approx((36, 4))


def test_values_without_bounds_have_room_only_until_five_labels_were_far_off():
    """The room is then what was seen, and is no bound."""
    values = np.zeros(DRAWS)
    values[:4] = 2.0
    few = lure(replace(losses(values), bounded=False), LOSS)
    assert not few.excess.bounded and few.excess.most == approx((2, 2))
    assert lure(losses(values), LOSS).excess.bounded
    values[:5] = 2.0
    assert lure(replace(losses(values), bounded=False), LOSS).excess is None


def test_small_moves_are_no_large_ones_however_many_there_are():
    """Ten moves of half of what is possible count as 2.5: items that can move it far are others."""
    values = np.zeros(DRAWS)
    values[:10] = 1.0
    assert lure(losses(values), LOSS).excess.counts[1] == approx(2.5)
    values[:10] = 2.0
    assert lure(losses(values), LOSS).excess.counts[1] == approx(10)


def test_a_draw_that_was_likelier_than_a_uniform_one_counts_for_less():
    values = np.zeros(DRAWS)
    values[:4] = 2.0
    sample = losses(values)
    ratio = np.where(values > 0, 4.0, 1.0)
    excess = lure(replace(sample, q=sample.q * ratio), LOSS).excess
    assert excess.counts[1] == approx(1)


@pytest.mark.parametrize("end", [(0.0, np.inf), (-np.inf, 2.0)])
def test_a_loss_that_an_item_does_not_bound_has_no_excess(end):
    assert lure(losses(np.zeros(DRAWS), end=end), LOSS).excess is None
    assert lure(uniform_draws(np.zeros(DRAWS), size=1000)).excess is None


def residuals(off: np.ndarray) -> Estimate:
    """Values from 1 to 5 that were guessed but for what they are off by."""
    values = 1 + np.arange(len(off)) % 5
    sample = uniform_draws(np.zeros(len(off)), size=1000)
    sample = replace(sample, stats=(values + off)[:, None])
    guess = values[:, None].astype(float)
    sums = np.full((len(off), 1), guess.mean() * 1000)
    sample = replace(sample, imputed=guess, imputed_sum=sums)
    return estimate_metric(sample, LOSS, "doubly-robust").estimate


def test_labels_that_are_as_guessed_are_not_off():
    """Errors of single precision count as none, too."""
    assert residuals(np.zeros(DRAWS)).residual_count == 0
    rounded = np.random.default_rng(1).normal(scale=1e-7, size=DRAWS)
    assert residuals(rounded).residual_count == 0


def test_only_labels_off_by_a_tenth_of_the_largest_difference_count():
    off = np.zeros(DRAWS)
    off[[5, 15, 25]], off[35] = 2.0, 0.15
    assert residuals(off).residual_count == approx(3)
    off[35] = 0.6
    assert residuals(off).residual_count == approx(4)
    assert residuals(off).tail_index > 0


def test_the_tail_index_is_hills_of_the_largest_tenth():
    rng = np.random.default_rng(8)
    even, heavy = rng.uniform(-1, 1, 400), rng.pareto(1.0, 400)
    assert residuals(even).tail_index > 4
    assert residuals(heavy).tail_index < 1.5
