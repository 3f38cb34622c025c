"""The finite pool's posterior of every group, against enumeration and closed forms."""

import itertools
from dataclasses import replace
from math import lgamma

import numpy as np
import pytest
from scipy.stats import beta, betabinom, kstest

from activetest.wings.groups import arms as module
from activetest.wings.groups.arms import (
    Arms,
    cell_variances,
    compute_values,
    expect_outcome_shares,
    limit_to_possible,
    sample_dirichlet,
    sample_outcome_shares,
    sample_posterior,
    sample_values,
)


def make_arms(
    kind,
    size,
    known,
    prior,
    *,
    exchangeable=None,
    arm_of_cell=None,
    value=None,
    mean_confidence=None,
) -> Arms:
    """Arms of one cell each by default; all known labels are exchangeable by default."""
    known, prior = np.asarray(known, float), np.asarray(prior, float)
    cells, width = prior.shape[-2:]
    arm_of_cell = np.arange(cells) if arm_of_cell is None else np.asarray(arm_of_cell)
    first = [0.0, 1.0] if kind == "error" else [1.0, *[0.0] * (width - 1)]
    return Arms(
        kind=kind,
        groups=tuple({"group": str(number)} for number in range(arm_of_cell.max() + 1)),
        arm_of_cell=arm_of_cell,
        size=np.asarray(size),
        value=np.tile(first, (cells, 1)) if value is None else np.asarray(value, float),
        mean_confidence=np.zeros(cells)
        if mean_confidence is None
        else np.asarray(mean_confidence, float),
        known_counts=known,
        exchangeable_counts=known if exchangeable is None else np.asarray(exchangeable, float),
        prior=prior,
    )


def pmf(parameters, unlabelled: int) -> dict[tuple, float]:
    """Probability of every split of the rest among the outcomes: Dirichlet-multinomial."""
    found = {}
    for split in itertools.product(range(unlabelled + 1), repeat=len(parameters)):
        if sum(split) == unlabelled:
            log = (
                lgamma(unlabelled + 1)
                + lgamma(sum(parameters))
                - lgamma(unlabelled + sum(parameters))
            )
            for count, each in zip(split, parameters, strict=True):
                log += lgamma(count + each) - lgamma(each) - lgamma(count + 1)
            found[split] = np.exp(log)
    return found


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


# --- the posterior of the finite pool


def test_accuracy_is_what_is_known_and_a_beta_binomial():
    arm = make_arms("accuracy", [20], [[3, 1]], [[1.2, 0.8]])
    exact = betabinom(16, 4.2, 1.8)
    drawn = sample_values(arm, 40_000, rng())[:, 0]
    counts = np.rint(drawn * 20 - 3).astype(int)
    probs = exact.pmf(np.arange(17))
    errors = np.sqrt(probs * (1 - probs) / len(counts))
    shares = np.bincount(counts, minlength=17) / len(counts)
    assert (np.abs(shares - probs) < 4.5 * errors).all()
    np.testing.assert_allclose(
        compute_values(arm, expect_outcome_shares(arm)), (3 + exact.mean()) / 20
    )
    np.testing.assert_allclose(cell_variances(arm), exact.var() / 20**2)


def test_the_unknown_rest_of_three_outcomes_is_dirichlet_multinomial():
    value = np.array([[0.0, 2.0, 5.0]])
    arm = make_arms("cost", [7], [[2, 0, 1]], [[0.5, 0.2, 0.3]], value=value)
    probs = pmf([2.5, 0.2, 1.3], 4)
    assert sum(probs.values()) == pytest.approx(1)
    costs = {split: (split[1] * 2 + (split[2] + 1) * 5) / 7 for split in probs}
    mean = sum(probs[split] * costs[split] for split in probs)
    variance = sum(probs[split] * (costs[split] - mean) ** 2 for split in probs)
    assert compute_values(arm, expect_outcome_shares(arm)) == pytest.approx(mean)
    assert cell_variances(arm) == pytest.approx(variance)
    share = sample_outcome_shares(arm, sample_dirichlet(arm.posterior, 40_000, rng()), rng())[:, 0]
    splits = np.rint(share * 7 - arm.known_counts).astype(int)
    for split, prob in probs.items():
        found = (splits == split).all(axis=1).mean()
        assert found == pytest.approx(prob, abs=4.5 * np.sqrt(prob / len(splits)))


@pytest.mark.parametrize("parameters", [[0.3, 2.0, 5.0], [40.0, 9.0, 3.0], [0.3, 0.2, 0.4]])
def test_broken_sticks_are_a_dirichlet(parameters):
    drawn = sample_dirichlet(np.array([parameters]), 20_000, rng())[:, 0]
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
    drawn = sample_dirichlet(np.array([[2e-9, 1e-9, 1e-9]]), 20_000, rng())[:, 0]
    np.testing.assert_allclose(drawn.max(axis=1), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), [0.5, 0.25, 0.25], atol=0.015)


def test_without_prior_only_what_was_seen_occurs():
    arm = make_arms("accuracy", [9, 9], [[0, 0], [2, 0]], [[1, 0], [0, 0]])
    np.testing.assert_allclose(sample_values(arm, 50, rng()), 1)
    np.testing.assert_allclose(cell_variances(arm), 0, atol=1e-8)


def test_with_neither_prior_nor_labels_anything_may_be():
    arm = make_arms("accuracy", [9], [[0, 0]], [[0, 0]])
    np.testing.assert_allclose(arm.mean, 0.5)
    drawn = sample_values(arm, 4000, rng())
    assert set(np.unique(drawn)) == {0, 1}
    assert drawn.mean() == pytest.approx(0.5, abs=0.03)


def test_a_group_that_is_all_labelled_is_certain():
    arm = make_arms("accuracy", [5, 5], [[3, 2], [3, 1]], np.ones((2, 2)))
    drawn = sample_values(arm, 100, rng())
    assert (drawn[:, 0] == 0.6).all()
    assert set(np.unique(drawn[:, 1])) == {0.6, 0.8}
    assert cell_variances(arm)[0] == 0
    assert cell_variances(arm)[1] == pytest.approx(betabinom(1, 4, 2).var() / 25)


def test_labels_that_count_for_less_are_known_all_the_same():
    arm = make_arms("accuracy", [20], [[6, 2]], [[1, 1]], exchangeable=[[1.7, 0.6]])
    exact = betabinom(12, 2.7, 1.6)
    assert arm.unlabelled == 12
    assert compute_values(arm, expect_outcome_shares(arm)) == pytest.approx((6 + exact.mean()) / 20)
    drawn = sample_values(arm, 20_000, rng())
    assert drawn.min() >= 6 / 20
    assert drawn.max() <= 18 / 20
    assert drawn.mean() == pytest.approx((6 + exact.mean()) / 20, abs=5 * exact.std() / 20 / 141)


# --- values


def test_a_group_without_items_has_no_value_and_an_empty_cell_no_say():
    arm = make_arms("accuracy", [4, 0], [[3, 1], [0, 0]], np.ones((2, 2)))
    np.testing.assert_array_equal(compute_values(arm, expect_outcome_shares(arm)), [0.75, np.nan])
    calibration = make_arms(
        "ece",
        [4, 0],
        [[3, 1], [0, 0]],
        np.ones((2, 2)),
        arm_of_cell=[0, 0],
        mean_confidence=[0.5, 0],
    )
    np.testing.assert_array_equal(
        compute_values(calibration, expect_outcome_shares(calibration)), [0.25]
    )


def test_error_mirrors_accuracy():
    right, wrong = (
        make_arms(kind, [9, 30], [[3, 1], [5, 9]], np.ones((2, 2)))
        for kind in ("accuracy", "error")
    )
    np.testing.assert_allclose(sample_values(wrong, 90, rng()), 1 - sample_values(right, 90, rng()))
    np.testing.assert_allclose(cell_variances(wrong), cell_variances(right))
    assert (right.worse_sign, wrong.worse_sign) == (-1, 1)


def test_costs_of_one_for_every_mistake_are_the_error():
    known = np.array([[5, 2, 1], [0, 4, 0], [1, 1, 1]])
    prior = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    predicted = np.arange(3)
    cost = make_arms("cost", [30, 20, 10], known, prior, value=1 - np.eye(3))

    def merge_errors(each):
        return np.stack(
            [each[predicted, predicted], each.sum(axis=1) - each[predicted, predicted]], axis=1
        )

    error = make_arms("error", [30, 20, 10], merge_errors(known), merge_errors(prior))
    np.testing.assert_allclose(
        compute_values(cost, expect_outcome_shares(cost)),
        compute_values(error, expect_outcome_shares(error)),
    )
    np.testing.assert_allclose(cell_variances(cost), cell_variances(error))
    arm, error_draws = (sample_values(each, 20_000, rng()) for each in (cost, error))
    np.testing.assert_allclose(arm.mean(axis=0), error_draws.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(arm.std(axis=0), error_draws.std(axis=0), rtol=0.03)


def test_calibration_in_one_bin_is_the_distance_of_accuracy_and_confidence():
    known, prior = [[6, 3], [2, 9]], np.ones((2, 2))
    ece = make_arms("ece", [20, 20], known, prior, mean_confidence=[0.5, 0.9])
    accuracy = make_arms("accuracy", [20, 20], known, prior)
    expected = np.abs(sample_values(accuracy, 60, rng()) - [0.5, 0.9])
    np.testing.assert_allclose(sample_values(ece, 60, rng()), expected)


def test_calibration_is_the_mean_of_its_bins_by_their_items():
    known, mean_confidence = [[6, 4], [9, 1], [5, 5]], [0.5, 0.6, 0.1]
    ece = make_arms(
        "ece",
        [10, 30, 10],
        known,
        np.ones((3, 2)),
        arm_of_cell=[0, 0, 1],
        mean_confidence=mean_confidence,
    )
    share = np.array([[0.6, 0.4], [0.9, 0.1], [0.5, 0.5]])
    np.testing.assert_allclose(compute_values(ece, share), [0.25 * 0.1 + 0.75 * 0.3, 0.4])


def test_a_confusion_matrix_is_not_one_number():
    arm = make_arms("confusion", [9], [[1, 1, 1]], np.ones((1, 3)))
    with pytest.raises(ValueError, match="no single value"):
        compute_values(arm, expect_outcome_shares(arm))


# --- cells, arms, studies


def test_arms_are_sums_of_their_cells_and_can_be_taken_out():
    prior = np.arange(1.0, 9).reshape(4, 2)
    whole = make_arms(
        "ece",
        [10, 30, 5, 15],
        prior,
        prior,
        arm_of_cell=[0, 1, 1, 1],
        mean_confidence=[0.1, 0.2, 0.3, 0],
    )
    np.testing.assert_array_equal(whole.sum_cells(whole.size), [10, 50])
    np.testing.assert_array_equal(whole.sum_cells(whole.known_counts[:, 0]), [1, 15])
    np.testing.assert_allclose(whole.weight, [1, 0.6, 0.1, 0.3])
    arm = whole.select([1])
    assert arm.groups == ({"group": "1"},)
    np.testing.assert_array_equal(arm.known_counts, prior[1:])
    np.testing.assert_allclose(
        compute_values(arm, expect_outcome_shares(arm)),
        compute_values(whole, expect_outcome_shares(whole))[1:],
    )


def test_many_studies_at_once_are_each_as_if_alone():
    known = rng().integers(0, 5, (6, 4, 3))
    whole = make_arms(
        "cost",
        [20, 30, 20, 15],
        known,
        np.ones((4, 3)) / 3,
        arm_of_cell=[0, 0, 1, 2],
        value=rng().random((4, 3)),
    )
    theta = sample_dirichlet(whole.posterior, 3, rng())
    assert theta.shape == (3, 6, 4, 3)
    assert sample_values(whole, 3, rng()).shape == (3, 6, 3)
    for study in range(6):
        arm = make_arms(
            "cost",
            whole.size,
            known[study],
            whole.prior,
            arm_of_cell=whole.arm_of_cell,
            value=whole.value,
        )
        np.testing.assert_allclose(expect_outcome_shares(whole)[study], expect_outcome_shares(arm))
        np.testing.assert_allclose(cell_variances(whole)[study], cell_variances(arm))
        alone = compute_values(arm, expect_outcome_shares(arm))
        np.testing.assert_allclose(
            compute_values(whole, expect_outcome_shares(whole))[study], alone
        )
        np.testing.assert_allclose(
            compute_values(whole, theta)[:, study], compute_values(arm, theta[:, study])
        )


def test_samples_come_in_pieces_that_memory_holds():
    many = make_arms("cost", np.full(2000, 50), np.zeros((2000, 100)), np.ones((2000, 100)))
    chunks = [theta.shape[0] for theta in sample_posterior(many, 12, rng())]
    assert chunks == [5, 5, 2]
    assert 5 * many.posterior.size <= module._CHUNK
    assert sample_values(many.select([3]), 12, rng()).shape == (12, 1)


def test_nothing_is_believed_that_labels_rule_out():
    """8 of 10 items have a label, 3 of them count: the others say what is possible, and no more."""
    arms = Arms(
        kind="accuracy",
        groups=({"group": "a"},),
        arm_of_cell=np.array([0]),
        size=np.array([10]),
        value=np.array([[1.0, 0.0]]),
        mean_confidence=np.array([0.5]),
        known_counts=np.array([[3.0, 0.0]]),
        exchangeable_counts=np.array([[3.0, 0.0]]),
        prior=np.array([[1.0, 1.0]]),
        observed_counts=np.array([[3, 5]]),
    )
    assert compute_values(arms, expect_outcome_shares(arms))[0] == pytest.approx(0.5)
    drawn = sample_values(arms, 500, np.random.default_rng(0))
    assert (drawn.min(), drawn.max()) == pytest.approx((0.3, 0.5))
    three = np.array([[[0.2, 0.5, 0.3]]])
    cell = replace(arms, observed_counts=np.array([[1, 2, 4]]))
    moved = limit_to_possible(cell, three)[0, 0]
    assert moved == pytest.approx([0.1 + 0.3 * 0.1 / 0.4, 0.2 + 0.3 * 0.3 / 0.4, 0.4])


def test_part_of_an_item_has_one_outcome_and_weighs_as_much_as_it_is():
    """Size 4, one label of each outcome known: 2 items left, or 2.5 where weights say so."""
    even = make_arms("accuracy", [4.0, 4.0], [[1.0, 0.5], [1.0, 1.0]], np.ones((2, 2)))
    assert even.unlabelled.tolist() == [2.5, 2.0]
    sure = np.array([[[0.0, 1.0], [1.0, 0.0]]] * 3)
    shares = sample_outcome_shares(even, sure, rng())
    assert shares == pytest.approx(np.array([[[0.25, 0.75], [0.75, 0.25]]] * 3))
    half = make_arms("accuracy", [1.0], [[0.3, 0.2]], np.ones((1, 2)))
    shares = sample_outcome_shares(half, np.full((400, 1, 2), 0.5), rng())
    first = np.round(shares[:, 0, 0], 9)
    assert set(first.tolist()) == {0.3, 0.8} and abs((first == 0.3).mean() - 0.5) < 0.1
    # Less than a rounding error is no item.
    whole = make_arms("accuracy", [3.0 + 1e-13], [[1.0, 1.0]], np.ones((1, 2)))
    assert sample_outcome_shares(whole, sure[:, :1], rng())[:, 0, 0] == pytest.approx(1 / 3)


def test_where_labels_fill_a_cell_nothing_is_left_to_divide():
    full = replace(
        make_arms("accuracy", [2.0, 4.0], [[1.0, 1.0], [1.0, 0.0]], np.ones((2, 2))),
        observed_counts=np.array([[1.0, 1.0], [1.0, 0.0]]),
    )
    shares = limit_to_possible(full, np.array([[0.5, 0.5], [0.0, 1.0]]))
    assert shares.tolist() == [[0.5, 0.5], [0.25, 0.75]]
