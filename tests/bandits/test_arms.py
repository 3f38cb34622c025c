"""The finite pool's posterior of every group, against enumeration and closed forms."""

import itertools
from dataclasses import replace
from math import lgamma

import numpy as np
import pytest
from scipy.stats import beta, betabinom, kstest

from activetest.bandits import arms as module
from activetest.bandits.arms import (
    Arms,
    beliefs,
    dirichlet,
    expected,
    outcomes,
    possible,
    samples,
    values,
    variances,
)


def made(kind, size, known, prior, *, evidence=None, owner=None, value=None, score=None) -> Arms:
    """Arms of one cell each unless owner says otherwise; all that is known is evidence too."""
    known, prior = np.asarray(known, float), np.asarray(prior, float)
    cells, width = prior.shape[-2:]
    owner = np.arange(cells) if owner is None else np.asarray(owner)
    first = [0.0, 1.0] if kind == "error" else [1.0, *[0.0] * (width - 1)]
    return Arms(
        kind=kind,
        meaning=tuple({"group": str(number)} for number in range(owner.max() + 1)),
        owner=owner,
        size=np.asarray(size),
        value=np.tile(first, (cells, 1)) if value is None else np.asarray(value, float),
        score=np.zeros(cells) if score is None else np.asarray(score, float),
        known=known,
        evidence=known if evidence is None else np.asarray(evidence, float),
        prior=prior,
    )


def pmf(parameters, rest: int) -> dict[tuple, float]:
    """Probability of every split of the rest among the outcomes: Dirichlet-multinomial."""
    found = {}
    for split in itertools.product(range(rest + 1), repeat=len(parameters)):
        if sum(split) == rest:
            log = lgamma(rest + 1) + lgamma(sum(parameters)) - lgamma(rest + sum(parameters))
            for count, each in zip(split, parameters, strict=True):
                log += lgamma(count + each) - lgamma(each) - lgamma(count + 1)
            found[split] = np.exp(log)
    return found


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


# --- the posterior of the finite pool


def test_accuracy_is_what_is_known_and_a_beta_binomial():
    one = made("accuracy", [20], [[3, 1]], [[1.2, 0.8]])
    exact = betabinom(16, 4.2, 1.8)
    drawn = samples(one, 40_000, rng())[:, 0]
    counts = np.rint(drawn * 20 - 3).astype(int)
    chances = exact.pmf(np.arange(17))
    errors = np.sqrt(chances * (1 - chances) / len(counts))
    shares = np.bincount(counts, minlength=17) / len(counts)
    assert (np.abs(shares - chances) < 4.5 * errors).all()
    np.testing.assert_allclose(values(one, expected(one)), (3 + exact.mean()) / 20)
    np.testing.assert_allclose(variances(one), exact.var() / 20**2)


def test_the_unknown_rest_of_three_outcomes_is_dirichlet_multinomial():
    value = np.array([[0.0, 2.0, 5.0]])
    one = made("cost", [7], [[2, 0, 1]], [[0.5, 0.2, 0.3]], value=value)
    chances = pmf([2.5, 0.2, 1.3], 4)
    assert sum(chances.values()) == pytest.approx(1)
    costs = {split: (split[1] * 2 + (split[2] + 1) * 5) / 7 for split in chances}
    mean = sum(chances[split] * costs[split] for split in chances)
    variance = sum(chances[split] * (costs[split] - mean) ** 2 for split in chances)
    assert values(one, expected(one)) == pytest.approx(mean)
    assert variances(one) == pytest.approx(variance)
    share = outcomes(one, dirichlet(one.posterior, 40_000, rng()), rng())[:, 0]
    splits = np.rint(share * 7 - one.known).astype(int)
    for split, chance in chances.items():
        found = (splits == split).all(axis=1).mean()
        assert found == pytest.approx(chance, abs=4.5 * np.sqrt(chance / len(splits)))


@pytest.mark.parametrize("parameters", [[0.3, 2.0, 5.0], [40.0, 9.0, 3.0], [0.3, 0.2, 0.4]])
def test_broken_sticks_are_a_dirichlet(parameters):
    drawn = dirichlet(np.array([parameters]), 20_000, rng())[:, 0]
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    total = sum(parameters)
    mean = np.array(parameters) / total
    covariance = (np.diag(mean) - np.outer(mean, mean)) / (total + 1)
    products = (drawn - mean)[:, :, None] * (drawn - mean)[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(products.mean(axis=0) - covariance) < 4.5 * error).all()
    for share, each in zip(drawn.T, parameters, strict=True):
        assert kstest(share, beta(each, total - each).cdf).pvalue > 1e-3


def test_tiny_parameters_choose_one_outcome_as_often_as_they_are_large():
    drawn = dirichlet(np.array([[2e-9, 1e-9, 1e-9]]), 20_000, rng())[:, 0]
    np.testing.assert_allclose(drawn.max(axis=1), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), [0.5, 0.25, 0.25], atol=0.015)


def test_without_prior_only_what_was_seen_occurs():
    one = made("accuracy", [9, 9], [[0, 0], [2, 0]], [[1, 0], [0, 0]])
    np.testing.assert_allclose(samples(one, 50, rng()), 1)
    np.testing.assert_allclose(variances(one), 0, atol=1e-8)


def test_with_neither_prior_nor_labels_anything_may_be():
    one = made("accuracy", [9], [[0, 0]], [[0, 0]])
    np.testing.assert_allclose(one.mean, 0.5)
    drawn = samples(one, 4000, rng())
    assert set(np.unique(drawn)) == {0, 1}
    assert drawn.mean() == pytest.approx(0.5, abs=0.03)


def test_a_group_that_is_all_labelled_is_certain():
    one = made("accuracy", [5, 5], [[3, 2], [3, 1]], np.ones((2, 2)))
    drawn = samples(one, 100, rng())
    assert (drawn[:, 0] == 0.6).all()
    assert set(np.unique(drawn[:, 1])) == {0.6, 0.8}
    assert variances(one)[0] == 0
    assert variances(one)[1] == pytest.approx(betabinom(1, 4, 2).var() / 25)


def test_labels_that_count_for_less_are_known_all_the_same():
    one = made("accuracy", [20], [[6, 2]], [[1, 1]], evidence=[[1.7, 0.6]])
    exact = betabinom(12, 2.7, 1.6)
    assert one.rest == 12
    assert values(one, expected(one)) == pytest.approx((6 + exact.mean()) / 20)
    drawn = samples(one, 20_000, rng())
    assert drawn.min() >= 6 / 20
    assert drawn.max() <= 18 / 20
    assert drawn.mean() == pytest.approx((6 + exact.mean()) / 20, abs=5 * exact.std() / 20 / 141)


# --- values


def test_a_group_without_items_has_no_value_and_an_empty_cell_no_say():
    one = made("accuracy", [4, 0], [[3, 1], [0, 0]], np.ones((2, 2)))
    np.testing.assert_array_equal(values(one, expected(one)), [0.75, np.nan])
    two = made("ece", [4, 0], [[3, 1], [0, 0]], np.ones((2, 2)), owner=[0, 0], score=[0.5, 0])
    np.testing.assert_array_equal(values(two, expected(two)), [0.25])


def test_error_mirrors_accuracy():
    right, wrong = (
        made(kind, [9, 30], [[3, 1], [5, 9]], np.ones((2, 2))) for kind in ("accuracy", "error")
    )
    np.testing.assert_allclose(samples(wrong, 90, rng()), 1 - samples(right, 90, rng()))
    np.testing.assert_allclose(variances(wrong), variances(right))
    assert (right.worse, wrong.worse) == (-1, 1)


def test_costs_of_one_for_every_mistake_are_the_error():
    known = np.array([[5, 2, 1], [0, 4, 0], [1, 1, 1]])
    prior = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    said = np.arange(3)
    cost = made("cost", [30, 20, 10], known, prior, value=1 - np.eye(3))

    def told(each):
        return np.stack([each[said, said], each.sum(axis=1) - each[said, said]], axis=1)

    error = made("error", [30, 20, 10], told(known), told(prior))
    np.testing.assert_allclose(values(cost, expected(cost)), values(error, expected(error)))
    np.testing.assert_allclose(variances(cost), variances(error))
    one, other = (samples(each, 20_000, rng()) for each in (cost, error))
    np.testing.assert_allclose(one.mean(axis=0), other.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(one.std(axis=0), other.std(axis=0), rtol=0.03)


def test_calibration_in_one_bin_is_the_distance_of_accuracy_and_confidence():
    known, prior = [[6, 3], [2, 9]], np.ones((2, 2))
    ece = made("ece", [20, 20], known, prior, score=[0.5, 0.9])
    accuracy = made("accuracy", [20, 20], known, prior)
    wanted = np.abs(samples(accuracy, 60, rng()) - [0.5, 0.9])
    np.testing.assert_allclose(samples(ece, 60, rng()), wanted)


def test_calibration_is_the_mean_of_its_bins_by_their_items():
    known, score = [[6, 4], [9, 1], [5, 5]], [0.5, 0.6, 0.1]
    ece = made("ece", [10, 30, 10], known, np.ones((3, 2)), owner=[0, 0, 1], score=score)
    share = np.array([[0.6, 0.4], [0.9, 0.1], [0.5, 0.5]])
    np.testing.assert_allclose(values(ece, share), [0.25 * 0.1 + 0.75 * 0.3, 0.4])


def test_a_confusion_matrix_is_not_one_number():
    one = made("confusion", [9], [[1, 1, 1]], np.ones((1, 3)))
    with pytest.raises(ValueError, match="no single value"):
        values(one, expected(one))


# --- cells, arms, studies


def test_arms_are_sums_of_their_cells_and_can_be_taken_out():
    prior = np.arange(1.0, 9).reshape(4, 2)
    whole = made("ece", [10, 30, 5, 15], prior, prior, owner=[0, 1, 1, 1], score=[0.1, 0.2, 0.3, 0])
    np.testing.assert_array_equal(whole.total(whole.size), [10, 50])
    np.testing.assert_array_equal(whole.total(whole.known[:, 0]), [1, 15])
    np.testing.assert_allclose(whole.weight, [1, 0.6, 0.1, 0.3])
    one = whole.some([1])
    assert one.meaning == ({"group": "1"},)
    np.testing.assert_array_equal(one.known, prior[1:])
    np.testing.assert_allclose(values(one, expected(one)), values(whole, expected(whole))[1:])


def test_many_studies_at_once_are_each_as_if_alone():
    known = rng().integers(0, 5, (6, 4, 3))
    whole = made(
        "cost",
        [20, 30, 20, 15],
        known,
        np.ones((4, 3)) / 3,
        owner=[0, 0, 1, 2],
        value=rng().random((4, 3)),
    )
    theta = dirichlet(whole.posterior, 3, rng())
    assert theta.shape == (3, 6, 4, 3)
    assert samples(whole, 3, rng()).shape == (3, 6, 3)
    for study in range(6):
        one = made(
            "cost", whole.size, known[study], whole.prior, owner=whole.owner, value=whole.value
        )
        np.testing.assert_allclose(expected(whole)[study], expected(one))
        np.testing.assert_allclose(variances(whole)[study], variances(one))
        alone = values(one, expected(one))
        np.testing.assert_allclose(values(whole, expected(whole))[study], alone)
        np.testing.assert_allclose(values(whole, theta)[:, study], values(one, theta[:, study]))


def test_samples_come_in_pieces_that_memory_holds():
    many = made("cost", np.full(2000, 50), np.zeros((2000, 100)), np.ones((2000, 100)))
    pieces = [theta.shape[0] for theta in beliefs(many, 12, rng())]
    assert pieces == [5, 5, 2]
    assert 5 * many.posterior.size <= module._PIECE
    assert samples(many.some([3]), 12, rng()).shape == (12, 1)


def test_nothing_is_believed_that_labels_rule_out():
    """8 of 10 items have a label, 3 of them count: the others say what is possible, and no more."""
    some = Arms(
        kind="accuracy",
        meaning=({"group": "a"},),
        owner=np.array([0]),
        size=np.array([10]),
        value=np.array([[1.0, 0.0]]),
        score=np.array([0.5]),
        known=np.array([[3.0, 0.0]]),
        evidence=np.array([[3.0, 0.0]]),
        prior=np.array([[1.0, 1.0]]),
        told=np.array([[3, 5]]),
    )
    assert values(some, expected(some))[0] == pytest.approx(0.5)
    drawn = samples(some, 500, np.random.default_rng(0))
    assert (drawn.min(), drawn.max()) == pytest.approx((0.3, 0.5))
    three = np.array([[[0.2, 0.5, 0.3]]])
    cell = replace(some, told=np.array([[1, 2, 4]]))
    moved = possible(cell, three)[0, 0]
    assert moved == pytest.approx([0.1 + 0.3 * 0.1 / 0.4, 0.2 + 0.3 * 0.3 / 0.4, 0.4])
