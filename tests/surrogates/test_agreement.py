"""Agreement starts as the black box, learns one bit per item, and never loses its head."""

import json

import numpy as np
import pytest
from pytest import approx

from activetest.item_statistics.outcomes import right_and_wrong
from activetest.item_statistics.statistic import combine_statistics, statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Outputs, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates import agreement

NAMES = ("zero_one", "log_loss", "brier")
STATISTICS = tuple(map(statistic, NAMES))
# Statistics that no factor is learned for.
COUNTS = tuple(map(statistic, ("tp:1", "fp:1", "fn:1", "cell:2:0", "missed_top:2")))


def pool(count: int = 200, classes: int = 3, *, features=None, seed: int = 1) -> Rows:
    """Rows whose design is the logit of the confidence, then the features."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(classes), size=count).astype(np.float32)
    outputs = Outputs(probs.argmax(axis=1), probs)
    confidence = probs.max(axis=1).astype(float)
    logit = np.log(confidence / (1 - confidence))
    columns = [logit] if features is None else [logit, *np.transpose(features)]
    return Rows(
        np.arange(count),
        outputs,
        np.stack(columns, axis=1).astype(np.float32),
        np.empty((count, 0), np.int64),
        *right_and_wrong(outputs, NAMES),
    )


def fitted(rows: Rows, labels) -> agreement.Agreement:
    """The surrogate after the first len(labels) rows were labelled."""
    labels = np.asarray(labels, float)
    some = rows[np.arange(len(labels))]
    stats = [each.value(some.outputs, labels[:, None])[:, 0] for each in STATISTICS]
    classes = rows.outputs.probs.shape[1]
    return agreement.fit(
        TrainingSet(some, labels, np.reshape(stats, (3, -1)).T, NAMES, classes=classes)
    )


def other(rows: Rows) -> np.ndarray:
    """Labels that are all wrong: the class after the predicted one."""
    return (rows.outputs.pred + 1) % rows.outputs.probs.shape[1]


# --- without labels


@pytest.mark.parametrize("asked", [STATISTICS, COUNTS], ids=["learned", "counts"])
def test_without_labels_it_equals_the_black_box(asked):
    rows = pool()
    mean, variance = moments(fitted(rows, []).beliefs(rows, asked))
    probs = rows.outputs.probs.astype(float)
    tables = np.stack([each.value(rows.outputs, None) for each in asked])
    exact = (probs * tables).sum(axis=-1)
    assert mean == approx(exact, rel=1e-4, abs=1e-5)
    square = (probs * (tables - exact[..., None]) ** 2).sum(axis=-1)
    assert variance == approx(square, rel=1e-3, abs=1e-6)


def test_without_labels_an_error_costs_what_the_black_box_says():
    made = fitted(pool(), [])
    assert (made.cost == 1).all()
    assert (made.noise == 1).all()


def verdicts(pred, shares=None, labels=()) -> tuple[Rows, agreement.Agreement]:
    """Rows of predicted classes without probabilities, and what is believed after some labels."""
    outputs = Outputs(np.asarray(pred))
    count, zero_one = len(outputs.pred), ("zero_one",)
    rows = Rows(
        np.arange(count),
        outputs,
        np.empty((count, 0), np.float32),
        np.empty((count, 0), np.int64),
        *right_and_wrong(outputs, zero_one),
    )
    some, known = rows[np.arange(len(labels))], np.asarray(labels, float)
    stats = (known != some.outputs.pred).astype(float)[:, None]
    shares = None if shares is None else np.array(shares)
    return rows, agreement.fit(TrainingSet(some, known, stats, zero_one, classes=4, shares=shares))


RATES = tuple(statistic(f"true:{code}") for code in range(4))


def test_without_probabilities_three_in_four_are_right_and_rare_classes_less_often():
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    rows, prior = verdicts([0, 1, 2, 3], shares)
    # An average class, 1 / 4 of the predictions, is the least that is right in 3 / 4 of the items.
    right = np.array([0.75, 0.75, 0.5 + 0.25 * 0.6, 0.5 + 0.25 * 0.2])
    assert 1 - prior.expected(rows, STATISTICS[:1])[0] == approx(right, rel=1e-5)
    others = np.tile(shares, (4, 1)) * (1 - np.eye(4))
    expected = np.diag(right) + (1 - right)[:, None] * others / others.sum(axis=1, keepdims=True)
    assert approx(expected, rel=1e-5) == prior.expected(rows, RATES).T


def test_shares_give_way_to_the_errors_that_are_seen():
    rows, learned = verdicts([0] * 60, [0.25, 0.65, 0.05, 0.05], labels=[2] * 60)
    expected = learned.expected(rows, RATES)[:, 0]
    assert expected[2] > 0.7
    assert expected[1] < 0.1


def test_shares_come_back_with_the_parameters():
    rows, learned = verdicts([0, 1, 2, 3] * 5, [0.5, 0.3, 0.1, 0.1], labels=[0, 0, 2, 1] * 3)
    again = agreement.restore(json.loads(json.dumps(learned.params())))
    assert (again.expected(rows, RATES) == learned.expected(rows, RATES)).all()


# --- learning


def test_errors_make_errors_likelier_and_right_answers_make_them_rarer():
    rows = pool()
    before, worse, better = (
        moments(fitted(rows, labels).beliefs(rows, STATISTICS))[0][0].mean()
        for labels in ([], other(rows)[:60], rows.outputs.pred[:60])
    )
    assert better < before < worse


def test_it_recovers_the_coefficients_of_a_feature_that_decides():
    """4000 labels from a logistic model: the mode is within four posterior deviations."""
    rng = np.random.default_rng(2)
    features = rng.normal(size=(4000, 1))
    rows = pool(4000, features=features)
    logit = rows.design[:, 0] * 0.5 + 1.0 + 0.8 * features[:, 0]
    right = rng.random(4000) < 1 / (1 + np.exp(-logit))
    made = fitted(rows, np.where(right, rows.outputs.pred, other(rows)))
    # The intercept is shared with the effects of the classes: their sum is what is identified.
    deviation = np.sqrt(np.diag(made.covariance))[-2:]
    assert (np.abs(made.mode[-2:] - [0.5, 0.8]) < 4 * deviation).all()


def test_labels_that_the_box_expected_leave_its_calibration_where_it_was():
    """400 labels as likely as the box says: slope and intercept stay near 1 and 0."""
    rows = pool(400)
    right = np.random.default_rng(5).random(400) < rows.outputs.probs.max(axis=1)
    made = fitted(rows, np.where(right, rows.outputs.pred, other(rows)))
    intercept, slope = made.mode[-2:]
    assert abs(intercept) < 0.2
    assert abs(slope - 1) < 0.2
    assert np.abs(made.mode[:3]).max() < 0.2


def test_the_box_is_believed_the_less_the_more_often_it_was_sure_and_wrong():
    """Half of the answers are right whatever the confidence: the slope nears 0."""
    rows = pool(400)
    half = np.where(np.arange(400) % 2, rows.outputs.pred, other(rows))
    slopes = [fitted(rows, half[:count]).mode[-1] for count in (0, 40, 400)]
    assert slopes == sorted(slopes, reverse=True)
    assert slopes[0] == 1
    assert abs(slopes[-1]) < 0.2


def test_zero_one_losses_cost_exactly_one_when_wrong():
    rows = pool()
    made = fitted(rows, other(rows)[:50])
    assert made.cost[0] == approx(np.ones(3))
    assert made.noise[0] == approx(np.ones(3))


def test_cost_factors_move_towards_the_observed_loss_and_are_shrunk():
    """Every error has twice the loss that the black box expects of errors: the factor nears 2."""
    rows = pool()
    factors = []
    for count in (2, 20, 200):
        codes = rows.outputs.pred[:count]
        expected = rows.wrong[1, :count].astype(float)
        made = agreement._shrink_ratio(2 * expected, expected, codes, (1, 3))
        assert (made > 1).all()
        assert (made < 2).all()
        factors.append(made.mean())
    assert factors == sorted(factors)
    assert factors[-1] > 1.9


def test_a_class_without_errors_borrows_the_overall_factor():
    expected = np.ones(10)
    codes = np.array([0] * 8 + [1] * 2)
    (made,) = agreement._shrink_ratio(3 * expected, expected, codes, (1, 3))
    overall = (2 + 30) / (2 + 10)
    assert made[2] == approx(overall)
    assert overall < made[1] < made[0] < 3


def test_the_learned_factor_reaches_the_beliefs():
    """Errors whose log-loss is the largest possible raise what errors are expected to cost."""
    rows = pool()
    least = rows.outputs.probs.argmin(axis=1)
    before, after = (
        moments(fitted(rows, labels).beliefs(rows, STATISTICS))[0] for labels in ([], least[:60])
    )
    made = fitted(rows, least[:60])
    assert (made.cost[1] > 1).all()
    assert after[1].mean() > before[1].mean()


# --- which class it is instead


def test_hits_false_alarms_and_misses_share_what_is_predicted_and_what_is_wrong():
    rows = pool()
    made = fitted(rows, np.where(np.arange(60) % 3, rows.outputs.pred[:60], other(rows)[:60]))
    asked = [statistic(f"{word}:{code}") for word in ("tp", "fp", "fn") for code in range(3)]
    mean, _ = moments(made.beliefs(rows, (*asked, statistic("zero_one"))))
    tp, fp, fn = mean[:9].reshape(3, 3, -1)
    assert tp + fp == approx((rows.outputs.pred == np.arange(3)[:, None]).astype(float))
    assert fp.sum(axis=0) == approx(mean[9], rel=1e-5)
    assert fn.sum(axis=0) == approx(mean[9], rel=1e-5)


def test_errors_that_were_seen_say_which_class_it_is_instead():
    """The box's own word counts as three errors, whatever class it predicts."""
    rows = pool()
    first = np.flatnonzero(rows.outputs.pred == 0)[:12]
    order = np.append(first, np.setdiff1d(np.arange(200), first))
    rows = rows[order]
    made = fitted(rows, np.full(12, 2.0))
    asked = (statistic("cell:1:0"), statistic("cell:2:0"))
    # When wrong, an item predicted as 0 is a 1 or a 2.
    wrong = made.beliefs(rows, asked).outcome_values[:, :, 1]
    probs = rows.outputs.probs.astype(float)
    box = probs[:, 1:] / probs[:, 1:].sum(axis=1, keepdims=True)
    zero = rows.outputs.pred == 0
    assert wrong[0, zero] == approx(3 * box[zero, 0] / 15, rel=1e-4)
    assert wrong[1, zero] == approx((3 * box[zero, 1] + 12) / 15, rel=1e-4)
    assert (wrong[:, ~zero] == 0).all()


def test_an_error_of_a_class_that_the_pool_lacks_confuses_nobody():
    rows = pool()
    labels = np.append(np.full(5, -1.0), other(rows)[5:8])
    assert fitted(rows, labels).confused.tolist() == [
        [predicted, (predicted + 1) % 3] for predicted in rows.outputs.pred[5:8]
    ]


# --- numbers


@pytest.mark.parametrize("heavy", [1, 5, 9])
def test_members_exist_however_heavy_the_features_are(heavy):
    features = np.random.default_rng(8).standard_cauchy((200, 5)) ** heavy
    features = np.clip(features / features.std(axis=0), -1e3, 1e3)
    rows = pool(features=features)
    made = fitted(rows, np.where(features[:, 0] > 0, rows.outputs.pred, other(rows))[:100])
    members = made.draw_members(50, np.random.default_rng(9))
    totals, variances = made.totals(rows, members, STATISTICS)
    assert np.isfinite(totals).all()
    assert np.isfinite(variances).all()


@pytest.mark.parametrize("asked", [STATISTICS, COUNTS], ids=["learned", "counts"])
def test_a_member_at_the_mode_has_the_totals_of_the_beliefs(asked):
    rows = pool()
    made = fitted(rows, np.where(np.arange(80) % 4, rows.outputs.pred[:80], other(rows)[:80]))
    totals, variances = made.totals(rows, made.mode[None], asked)
    mean, variance = moments(made.beliefs(rows, asked))
    assert totals[0] == approx(mean.sum(axis=1), rel=1e-4)
    assert variances[0] == approx(variance.sum(axis=1), rel=1e-3)


def test_members_scatter_as_the_covariance_says():
    rows = pool()
    made = fitted(rows, rows.outputs.pred[:30])
    members = made.draw_members(20_000, np.random.default_rng(10))
    deviation = np.sqrt(np.diag(made.covariance))
    assert (np.abs(members.mean(axis=0) - made.mode) < 4 * deviation / 20_000**0.5).all()
    assert members.std(axis=0) == approx(deviation, rel=0.03)


def test_more_than_thirty_classes_get_no_effects_of_their_own():
    assert fitted(pool(classes=30), []).effects == 30
    many = pool(classes=31)
    made = fitted(many, many.outputs.pred[:20])
    assert made.effects == 0
    assert len(made.mode) == 1 + many.design.shape[1]
    assert made.cost.shape == (3, 31)


def test_it_predicts_identically_after_a_round_trip():
    rows = pool()
    made = fitted(rows, np.where(np.arange(60) % 3, rows.outputs.pred[:60], other(rows)[:60]))
    again = agreement.restore(json.loads(json.dumps(made.params())))
    asked = (*STATISTICS, statistic("tp:1"))
    one, two = made.beliefs(rows, asked), again.beliefs(rows, asked)
    for part in ("probs", "outcome_values", "outcome_variance"):
        np.testing.assert_array_equal(getattr(one, part), getattr(two, part))


# --- several sets of labels at once


def training(rows: Rows, places, labels) -> TrainingSet:
    """The items at these places with these labels."""
    some, labels = rows[np.asarray(places)], np.asarray(labels, float)
    stats = [each.value(some.outputs, labels[:, None])[:, 0] for each in STATISTICS]
    classes = rows.outputs.probs.shape[1]
    return TrainingSet(some, labels, np.reshape(stats, (3, -1)).T, NAMES, classes=classes)


@pytest.mark.parametrize("counts", [(30, 30, 30), (40, 0, 7, 40), (1,)])
def test_sets_of_labels_side_by_side_are_learned_as_each_alone(counts):
    """Sets of other sizes, without labels, without errors, and with labels of no class."""
    rng = np.random.default_rng(3)
    rows = pool(200, features=rng.normal(size=(200, 2)))
    places = [rng.choice(200, count, replace=False) for count in counts]
    labels = [
        np.where(rng.random(count) < 0.3 * number, other(rows)[place], rows.outputs.pred[place])
        for number, (place, count) in enumerate(zip(places, counts, strict=True))
    ]
    labels[-1][::3] = -1
    whole = training(rows, np.concatenate(places), np.concatenate(labels))
    together = agreement.fit_together(whole, counts)
    assert len(together) == len(counts)
    for found, place, known in zip(together, places, labels, strict=True):
        alone = agreement.fit(training(rows, place, known)).params()
        assert found.params().keys() == alone.keys()
        for name, values in alone.items():
            if name == "learned":
                assert found.params()[name] == values
            else:
                assert np.array(found.params()[name]) == approx(np.array(values), rel=1e-12), name


def test_members_are_summed_over_any_blocks_of_rows(monkeypatch):
    rows = pool(300)
    made = fitted(rows, other(rows)[:40])
    members = made.draw_members(20, np.random.default_rng(1))
    whole = made.totals(rows, members, STATISTICS)
    wrong = made.member_wrong_probs(rows, members)
    right, mean, spread = made._outcome_moments(rows, STATISTICS)
    gap = (mean - right)[:, :, None]
    exact = (right[:, :, None] + gap * wrong).astype(float).sum(axis=1).T
    noise = gap**2 * wrong * (1 - wrong) + spread[:, :, None] * wrong
    assert whole[0] == approx(exact, rel=1e-5)
    # Single precision: it is a difference of larger sums.
    rounding = 1e-5 * len(rows.index)
    assert whole[1] == approx(noise.astype(float).sum(axis=1).T, rel=1e-5, abs=rounding)
    monkeypatch.setattr(agreement, "_AT_ONCE", 20 * 7)
    for one, other_ in zip(whole, made.totals(rows, members, STATISTICS), strict=True):
        assert one == approx(other_, rel=1e-5, abs=rounding)


def test_what_was_expected_of_other_rows_is_not_said_of_these():
    rows, more = pool(50), pool(50, seed=2)
    made = fitted(rows, other(rows)[:20])
    again = fitted(rows, other(rows)[:20])
    for some in (rows, more, rows):
        assert (made.expected(some, STATISTICS) == again.expected(some, STATISTICS)).all()
        assert (made.wrong_probs(some) == again.wrong_probs(some)).all()
        again = fitted(rows, other(rows)[:20])
    two = made.expected(rows, STATISTICS[:2])
    assert (two == made.expected(rows, STATISTICS)[:2]).all()


# --- many classes


ABOUT_A_CLASS = ("zero_one", "of_class", *(f"{word}:1" for word in ("tp", "fp", "fn", "true")))


def many_classes(classes: int) -> tuple[Rows, agreement.Agreement]:
    """Rows of hard labels of many classes, and what is believed after some errors."""
    rng = np.random.default_rng(3)
    outputs = Outputs(rng.integers(classes, size=500))
    rows = Rows(np.arange(500), outputs, np.empty((500, 0), np.float32), np.empty((500, 0), int))
    confused = np.array([[1, 2], [2, 1], [2, 1], [outputs.pred[0], 1]])
    nothing, shares = np.ones((0, classes)), rng.dirichlet(np.ones(classes)) + 1e-6
    made = agreement.Agreement(
        0, (), np.array([0.5]), np.eye(1), nothing, nothing, confused, shares / shares.sum()
    )
    return rows, made


def test_rows_without_columns_are_predicted_whatever_lies_in_memory():
    rows, made = many_classes(5)
    nothing = np.lib.stride_tricks.as_strided(np.full(1, np.nan, np.float32), (500, 0), (0, 0))
    assert made.wrong_probs(rows.change(design=nothing)) == approx(1 / (1 + np.exp(0.5)))


@pytest.mark.parametrize("classes", [5, 129, 2000])
def test_a_class_is_asked_about_without_looking_at_all_others(classes, monkeypatch):
    rows, made = many_classes(classes)
    total = combine_statistics([statistic("tp:1"), statistic("fp:1"), statistic("fn:1")], [3, 2, 1])
    asked = (*map(statistic, ABOUT_A_CLASS), statistic("excess:1"), statistic("cell:1:2"), total)
    others = made.error_class_probs(rows)
    labels = np.broadcast_to(np.arange(classes), (500, classes))
    tables = np.stack([each.value(rows.outputs, labels) for each in asked])
    mean = np.einsum("cr,trc->tr", others, tables)
    variance = np.einsum("cr,trc->tr", others, tables**2) - mean**2
    if classes > 128:
        monkeypatch.setattr(agreement.Agreement, "error_class_probs", None)
    right, wrong, spread = made._outcome_moments(rows, asked)
    np.testing.assert_array_equal(right, tables[:, np.arange(500), rows.outputs.pred])
    np.testing.assert_allclose(wrong, mean, atol=1e-5)
    np.testing.assert_allclose(spread, variance, atol=1e-5)
    for each, table in zip(asked, tables, strict=True):
        ends = each.range_by_row(rows.outputs, classes)
        np.testing.assert_array_equal(ends, [table.min(axis=1), table.max(axis=1)])


def test_the_classes_of_errors_are_counted_without_a_square_of_all_classes():
    rows, made = many_classes(60_000)
    few = rows[np.arange(3)]
    probs = made.error_class_probs(few)
    np.testing.assert_allclose(probs.sum(axis=0), 1, rtol=1e-4)
    for code in (1, 2, 59_999):
        np.testing.assert_allclose(made._error_class_prob(few, code), probs[code], rtol=1e-4)
