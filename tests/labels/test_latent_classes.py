"""Several annotators and the black box as raters: what their answers show of labels and doubt."""

import numpy as np
import pytest
from pytest import approx

from activetest.labels.latent_classes import NEEDS_SHARED, fit_raters

HABITS = (0.8, 0.8, 0.8)


def ask(rng, count: int, right=HABITS, wrong: float = 0.1):
    """True classes, predictions that are wrong on a share, and the answers of every annotator."""
    truth = rng.integers(2, size=count)
    predicted = np.where(rng.random(count) < wrong, 1 - truth, truth)
    given = [np.where(rng.random(count) < each, truth, 1 - truth) for each in right]
    return truth, predicted, np.column_stack(given)


def fit(answers, predicted, weights=None, classes: int = 2, seed: int = 0):
    weights = np.ones(len(answers)) if weights is None else weights
    return fit_raters(answers, predicted, classes, weights, np.random.default_rng(seed))


def measure_error(found, predicted, weights=None) -> float:
    share = 1 - np.take_along_axis(found.labels, predicted[:, None], axis=1)[:, 0]
    return float(np.average(share, weights=weights))


def test_the_habits_of_annotators_and_of_the_model_are_found_again():
    truth, predicted, answers = ask(np.random.default_rng(0), 20_000, (0.95, 0.8, 0.65))
    found = fit(answers, predicted)
    right = np.einsum("jkk->jk", found.confusion)
    # Of 10,000 items a share is known to 0.005; three times that for what is latent.
    assert right == approx(np.array([[0.95] * 2, [0.8] * 2, [0.65] * 2, [0.9] * 2]), abs=0.015)
    assert found.confusion.sum(axis=2) == approx(np.ones((4, 2)))
    for label in (0, 1):
        assert found.labels[truth == label, label].mean() == approx(1, abs=0.02)
        assert found.labels[truth != label, label].mean() == approx(0, abs=0.02)


def test_corrected_labels_are_right_where_further_answers_followed_from_earlier_ones():
    """Second and third answers where the first contradicts the model, and some at random."""
    rng = np.random.default_rng(1)
    truth, predicted, answers = ask(rng, 20_000)
    ask_again = (answers[:, 0] != predicted) | (rng.random(len(truth)) < 0.1)
    answers[~ask_again, 1:] = -1
    found = fit(answers, predicted)
    assert measure_error(found, predicted) == approx((truth != predicted).mean(), abs=0.012)
    majority = np.where(answers[:, 0] < 0, 0, answers[:, 0])
    assert (majority != predicted).mean() > 0.2


def test_corrected_labels_are_right_in_a_part_that_the_model_knows_nothing_of():
    """Probabilities of the model's classes would move the parts towards each other."""
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=20_000)
    bad = rng.random(len(truth)) < 0.3
    predicted = np.where(rng.random(len(truth)) < np.where(bad, 0.25, 0.05), 1 - truth, truth)
    answers = np.column_stack(
        [np.where(rng.random(len(truth)) < each, truth, 1 - truth) for each in HABITS]
    )
    found = fit(answers, predicted)
    wrong = 1 - np.take_along_axis(found.labels, predicted[:, None], axis=1)[:, 0]
    likely = 1 - np.take_along_axis(found.posterior, predicted[:, None], axis=1)[:, 0]
    assert wrong[bad].mean() == approx(0.25, abs=0.02)
    assert wrong[~bad].mean() == approx(0.05, abs=0.02)
    assert likely[bad].mean() < 0.22


def test_items_stand_for_as_many_as_their_weights_say():
    """Half of the wrong predictions were not drawn: those that were stand for two."""
    truth, predicted, answers = ask(np.random.default_rng(3), 20_000)
    kept = (truth == predicted) | (np.arange(len(truth)) % 2 == 0)
    weights = np.where(truth == predicted, 1.0, 2.0)[kept]
    found = fit(answers[kept], predicted[kept], weights)
    assert measure_error(found, predicted[kept], weights) == approx(0.1, abs=0.012)


def test_the_doubt_is_the_spread_of_estimates_over_studies():
    """With the variance of the corrected labels, which is too small without it."""
    errors, claimed, plain, size, pool = [], [], [], 200, 10_000
    for seed in range(40):
        _, predicted, answers = ask(np.random.default_rng(seed), size)
        answers[40:, 1:] = -1
        found = fit(answers, predicted, seed=seed)
        errors.append(measure_error(found, predicted) - 0.1)
        table = (predicted[:, None] != np.arange(2)).astype(float)
        plain.append((found.labels * table).sum(axis=1).var() / size)
        doubt = found.measure_doubt(table, np.full(size, pool / size)) / pool**2
        claimed.append(plain[-1] + doubt)
    spread = np.std(errors)
    # A deviation over 40 studies is known to 11 %.
    assert np.mean(claimed) ** 0.5 == approx(spread, rel=0.2)
    assert np.mean(plain) ** 0.5 < 0.8 * spread
    assert abs(np.mean(errors)) < 3 * spread / 40**0.5 + 0.005


def test_refitted_labels_add_no_less_than_they_vary_themselves():
    """Though of resampled items they may make up for which these are, as a guess does as well."""
    made_up = 0
    for seed in range(20):
        _, predicted, answers = ask(np.random.default_rng(seed), 200)
        answers[40:, 1:] = -1
        found, table = fit(answers, predicted, seed=seed), np.tile([0.0, 1.0], (200, 1))
        known = (found.labels * table).sum(axis=1)
        change = (found.replicates[found.pattern] - found.labels[:, None])[..., 1].T
        refit = (found.times * change).sum(axis=1)
        fixed = found.times @ (known - known.mean())
        added = (fixed + refit).var() - fixed.var()
        made_up += added < refit.var()
        mean = found.posterior[:, 1]
        spread = (mean - mean**2).sum()
        doubt = found.measure_doubt(table, np.ones(200))
        assert doubt == approx(max(added, refit.var()) + spread)
    assert 0 < made_up < 20


def test_annotators_who_copy_each_other_are_found_out_and_others_are_not():
    rng, refuted = np.random.default_rng(4), []
    for copied in (0.0, 0.5):
        found = []
        for _ in range(20):
            _, predicted, answers = ask(rng, 400)
            copy = rng.random(400) < copied
            answers[copy, 1] = answers[copy, 0]
            found.append(fit(answers, predicted).independent < 0.05)
        refuted.append(sum(found))
    assert refuted[0] <= 4 and refuted[1] >= 17


@pytest.mark.parametrize(("third", "tested"), [(NEEDS_SHARED - 1, False), (NEEDS_SHARED, True)])
def test_independence_is_tested_where_three_annotators_share_enough_items(third, tested):
    _, predicted, answers = ask(np.random.default_rng(5), 100)
    answers[third:, 2] = -1
    assert (fit(answers, predicted).independent is not None) == tested


def test_many_classes_and_items_without_a_second_answer_leave_numbers():
    rng = np.random.default_rng(6)
    truth = rng.integers(12, size=150)
    answers = np.column_stack([truth, rng.integers(12, size=150), truth])
    answers[50:, 1:] = -1
    found = fit(answers, truth, classes=12)
    assert np.isfinite(found.labels).all()
    assert found.labels.sum(axis=1) == approx(np.ones(150))


def test_the_same_seed_gives_the_same_replicates():
    _, predicted, answers = ask(np.random.default_rng(7), 60)
    one, two = fit(answers, predicted), fit(answers, predicted)
    assert np.array_equal(one.replicates, two.replicates) and one.independent == two.independent
