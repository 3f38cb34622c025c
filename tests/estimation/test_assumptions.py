"""Assumptions about the items with a tiny score: how they are written, tested and used."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import binom, gamma

from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation import view as views
from activetest.estimation.assumptions import (
    bears_on,
    check_assumption,
    parse_assumptions,
    propose_assumption,
)
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, PENDING
from activetest.nouns.report import REFUTED, SUPPORTED, UNTESTED
from tests.makers import build_table, play_rounds, set_status, supply_labels

# Items with a score below 1e-4, which come first, and others.
LOW, HIGH = 240, 60
HEADLINE = "doubly-robust"
CHOICES = Choices(metric="recall[fraud]", metrics=("recall[fraud]",), surrogate="agreement")
OF_ERROR = replace(CHOICES, metric="error", metrics=("error",))
WITHIN = "rate[fraud]@score<1e-4<=0.02"


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A pool in which four items in five have hardly a chance to be fraud."""
    scores = np.concatenate([np.linspace(1e-6, 9e-5, LOW), np.linspace(0.02, 0.97, HIGH)])
    columns = {"id": range(LOW + HIGH), "prob_ok": 1 - scores, "prob_fraud": scores}
    columns["place"] = ["barn", "tree"] * ((LOW + HIGH) // 2)
    return build_table(tmp_path_factory.mktemp("rare"), columns, groups=("place",))


def truth_of(hidden: int) -> np.ndarray:
    """(N,) labels: fraud in every third item with a higher score, and in so many of the others."""
    labels = np.zeros(LOW + HIGH)
    labels[LOW + 2 :: 3] = 1
    labels[:LOW][:: LOW // max(hidden, 1)][:hidden] = 1
    return labels


def look(pool, log, *names, assume=(), choices=CHOICES):
    """The view of these metrics with the assumptions, and the metrics."""
    facts = describe_pool(pool.roles, None, pool)
    metrics = [find_metric(name, facts) for name in names]
    view = views.build_view(log, pool, choices, metrics, seed=1, own_view=False)
    return replace(view, assumptions=parse_assumptions(assume, pool)), metrics


def measure(labels, pool, name):
    """The value of a metric where every label is known."""
    everything = supply_labels(play_rounds(pool, labels), range(LOW + HIGH), labels, round=1)
    view, (metric,) = look(pool, everything, name)
    return view.value(metric, HEADLINE).value


# --- how they are written


def test_an_assumption_is_a_class_a_score_and_a_share(pool):
    (found,) = parse_assumptions([" rate[fraud] @ score < 1e-4 <= 0.02 "], pool)
    assert (found.class_name, found.below, found.at_most) == ("fraud", 1e-4, 0.02)
    assert found.text == "rate[fraud] @ score < 1e-4 <= 0.02"
    assert found.count_items(pool).tolist() == [LOW, 0]
    assert parse_assumptions([], pool) == ()
    assert len(parse_assumptions([WITHIN, WITHIN], pool)) == 1


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("fraud<0.1", "not of the form", WITHIN[:20]),
        ("recall[fraud]>=0.9", "not of the form", "rate[fraud]"),
        ("rate[fraud]@score<1e-4", "not of the form", "rate[fraud]"),
        ("rate[frau]@score<1e-4<=0.02", "names no class: 'frau'", "did you mean 'fraud'?"),
        ("rate[fraud]@score<x<=0.02", "needs a score above 0", "rate[fraud]"),
        ("rate[fraud]@score<1e-4<=2%", "needs a score above 0", "0.0001 for 0.01 %"),
        ("rate[fraud]@score<1e-4<=1", "needs a score above 0", "rate[fraud]"),
        ("rate[fraud]@score<0<=0.1", "needs a score above 0", "rate[fraud]"),
        ("rate[fraud]@score<=0.1<=0.1", "has <= and <=", "write 'rate[fraud]@score<0.1<=0.1'"),
        ("rate[fraud]@score<1e-4<0.02", "has < and <", "write 'rate[fraud]@score<0.0001<=0.02'"),
        ("rate[ok]@score>0.75>=0.98", "has > and >=", "write 'rate[fraud]@score<0.25<=0.02'"),
        ("rate[fraud]@score<1e-7<=0.02", "no item", "the lowest score of fraud is 1e-06"),
        ("rate[fraud]@score<0.6<=0.02", "predicted as fraud", "a lower score than 0.6"),
    ],
)
def test_another_text_is_refused_and_the_hint_works(pool, text, problem, hint):
    with pytest.raises(ChoiceError) as error:
        parse_assumptions([text], pool)
    assert problem in str(error.value)
    assert hint in error.value.hint
    if error.value.hint.startswith("write 'rate"):
        parse_assumptions([error.value.hint.removeprefix("write ").strip("'")], pool)


def test_one_class_has_one_assumption_and_each_class_may_have_one(pool):
    both = parse_assumptions([WITHIN, "rate[ok]@score<0.04<=0.5"], pool)
    assert [each.class_name for each in both] == ["fraud", "ok"]
    with pytest.raises(ChoiceError, match="several assumptions are about fraud"):
        parse_assumptions([WITHIN, "rate[fraud]@score<1e-5<=0.02"], pool)


def test_pools_without_scores_and_with_weights_have_none(tmp_path):
    labels = {"id": range(4), "pred": ["ok", "fraud"] * 2}
    scores = {"id": range(4), "prob_ok": [0.5] * 4, "prob_fraud": [0.5] * 4}
    scores["heavy"] = [1.0, 2.0, 3.0, 4.0]
    for name, columns, given in (("a", labels, {}), ("b", scores, {"weight": "heavy"})):
        found = build_table(tmp_path, columns, name=name, **given)
        with pytest.raises(ChoiceError, match="counts items by the probabilities"):
            parse_assumptions([WITHIN], found)


def test_an_item_at_the_cut_is_not_below_it(tmp_path):
    scores = [0.1, 0.05, 1e-4, np.nextafter(np.float32(1e-4), 0)]
    columns = {"id": range(4), "prob_ok": 1 - np.array(scores), "prob_fraud": scores}
    (found,) = parse_assumptions(["rate[fraud]@score<0.0001<=0"], build_table(tmp_path, columns))
    assert found.covers(
        build_table(tmp_path, columns, name="again").rows(0, 4).outputs
    ).tolist() == [*(False, False, False, True)]


# --- what labels say about them


def check(pool, log, text, level=0.95):
    view, _ = look(pool, log, "error")
    (assumption,) = parse_assumptions([text], pool)
    return check_assumption(assumption, view.evidence, level)


UNIFORM = replace(CHOICES, acquisition="uniform")


def test_labels_without_a_hit_leave_possible_what_a_binomial_limit_says(pool):
    log = play_rounds(pool, truth_of(0), (UNIFORM, 100))
    found = check(pool, log, "rate[fraud]@score<1e-4<=0.001")
    drawn = int((log.rows < LOW).sum())
    assert (found.n_pool, found.n_labeled, found.n_found) == (LOW, drawn, 0)
    # Draws without replacement are hardly more likely later.
    assert binom.cdf(0, drawn, found.upper) == approx(0.025, rel=0.05)
    assert found.verdict == UNTESTED


def test_it_is_supported_where_the_upper_limit_is_not_above_it(pool):
    log = play_rounds(pool, truth_of(0), (UNIFORM, 100))
    limit = 1 - 0.05 ** (1 / (log.rows < LOW).sum())
    assert check(pool, log, f"rate[fraud]@score<1e-4<={1.2 * limit}").verdict == SUPPORTED
    assert check(pool, log, f"rate[fraud]@score<1e-4<={0.9 * limit}").verdict == UNTESTED


def test_it_is_refuted_where_the_hits_stand_for_more_than_it_allows(pool):
    labels = truth_of(12)
    log = play_rounds(pool, labels, (UNIFORM, 100))
    hits = int((labels[log.rows] * (log.rows < LOW)).sum())
    assert hits > 2
    # Each of the hits stands for three items: the limit is that of Garwood for so many events.
    least = 3 * gamma.ppf(0.05, hits) / LOW
    assert check(pool, log, f"rate[fraud]@score<1e-4<={1.15 * least}").verdict == UNTESTED
    assert check(pool, log, f"rate[fraud]@score<1e-4<={0.85 * least}").verdict == REFUTED


def test_hits_alone_refute_it_whoever_chose_them(pool):
    labels = truth_of(12)
    log = supply_labels(
        play_rounds(pool, labels, (UNIFORM, 10)), np.flatnonzero(labels[:LOW]), labels
    )
    found = check(pool, log, "rate[fraud]@score<1e-4<=0.045")
    assert (found.n_found, found.verdict) == (12, REFUTED)
    assert check(pool, log, "rate[fraud]@score<1e-4<=0.051").verdict != REFUTED


def test_where_every_label_is_known_it_is_true_or_not(pool):
    labels = truth_of(3)
    log = supply_labels(play_rounds(pool, labels), range(LOW), labels, round=1)
    assert check(pool, log, f"rate[fraud]@score<1e-4<={3 / LOW}").verdict == SUPPORTED
    assert check(pool, log, f"rate[fraud]@score<1e-4<={2.9 / LOW}").verdict == REFUTED


def test_a_true_assumption_is_seldom_refuted(pool):
    """At a level of 0.95 in at most one study of 20, whatever the probabilities of draws."""
    labels, refuted = truth_of(4), 0
    for seed in range(60):
        log = play_rounds(pool, labels, (CHOICES, 60), seed=seed)
        refuted += check(pool, log, f"rate[fraud]@score<1e-4<={4 / LOW}").verdict == REFUTED
    assert refuted <= 6


# --- numbers that rest on them


def test_it_bears_on_metrics_that_its_items_can_change(pool):
    names = ["recall[fraud]", "f1[fraud]", "error", "accuracy", "rate[fraud]", "kappa", "mcc"]
    names += ["balanced-accuracy", "recall[ok]", "false-positive-rate[fraud]"]
    others = ["precision[fraud]", "brier", "log-loss", "ece", "auroc[fraud]"]
    view, metrics = look(pool, play_rounds(pool, truth_of(0), (CHOICES, 20)), *names, *others)
    given = parse_assumptions([WITHIN], pool)
    found = [
        each.title for each in metrics if bears_on(given, view.metrics[each.title], view.evidence)
    ]
    assert found == names


def test_of_several_classes_it_bears_on_the_metrics_of_its_own(tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.1, 1, 1], 60)
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(("cat", "dog", "owl"))}
    pool = build_table(tmp_path, {"id": range(60)} | columns)
    labels = probs.argmax(axis=1).astype(float)
    names = [
        "recall[cat]",
        "f1[cat]",
        "rate[cat]",
        "recall[dog]",
        "error",
        "kappa",
        "recall[macro]",
    ]
    view, metrics = look(pool, play_rounds(pool, labels, (OF_ERROR, 20)), *names)
    given = parse_assumptions(["rate[cat]@score<0.01<=0.02"], pool)
    found = [each.title for each in metrics if bears_on(given, each, view.evidence)]
    assert found == names[:3]


@pytest.mark.parametrize(
    "name", ["recall[fraud]", "f1[fraud]", "error", "kappa", "balanced-accuracy"]
)
def test_with_the_rest_known_the_interval_is_from_none_to_all_that_is_assumed(pool, name):
    """An outside reference: the metric itself, with as many labels changed."""
    labels = truth_of(0)
    log = supply_labels(play_rounds(pool, labels), range(LOW, LOW + HIGH), labels, round=1)
    log = play_rounds(pool, labels, (UNIFORM, 5), log=log)
    view, (metric,) = look(pool, log, name, assume=[WITHIN])
    found = view.interval(view.value(metric, HEADLINE), 0.95)
    ends = [measure(truth_of(count), pool, name) for count in (0, int(0.02 * LOW))]
    assert [found.lower, found.upper] == approx(sorted(ends), abs=1e-12)


def test_known_hits_count_and_bound_it_from_below(pool):
    labels = truth_of(2)
    everything = [*range(LOW, LOW + HIGH), *np.flatnonzero(labels[:LOW])]
    log = supply_labels(play_rounds(pool, labels), everything, labels, round=1)
    log = play_rounds(pool, labels, (UNIFORM, 5), log=log)
    view, (metric,) = look(pool, log, "rate[fraud]", assume=[WITHIN])
    found = view.interval(view.value(metric, HEADLINE), 0.95)
    shares = np.array([20 + 2, 20 + 4]) / (LOW + HIGH)
    assert [found.lower, found.upper] == approx(shares)


@pytest.mark.parametrize("name", ["rate[fraud]", "rate[ok]"])
def test_the_mean_of_many_studies_is_the_truth(pool, name):
    """It is unbiased for the rest of the pool, and knows the others."""
    labels, found = truth_of(0), []
    for seed in range(60):
        log = play_rounds(pool, labels, (CHOICES, 30), seed=seed)
        view, (metric,) = look(pool, log, name, assume=["rate[fraud]@score<1e-4<=0"])
        found.append(float(view.value(metric, HEADLINE).estimate.mean[0]))
    error, share = np.std(found) / len(found) ** 0.5, labels.mean()
    assert np.mean(found) == approx(share if name == "rate[fraud]" else 1 - share, abs=3 * error)
    assert error < 0.005


def test_the_interval_is_narrower_and_covers_where_it_is_true(pool):
    labels, covered, widths = truth_of(2), 0, []
    true = labels.mean()
    for seed in range(40):
        log = play_rounds(pool, labels, (UNIFORM, 60), seed=seed)
        view, (metric,) = look(pool, log, "rate[fraud]", assume=[WITHIN])
        plain = replace(view, assumptions=())
        found, without = (
            each.interval(each.value(metric, HEADLINE), 0.95) for each in (view, plain)
        )
        covered += found.lower <= true <= found.upper
        widths.append([found.upper - found.lower, without.upper - without.lower])
    assert covered >= 36
    narrow, wide = np.mean(widths, axis=0)
    assert narrow < 0.95 * wide


def test_random_labels_would_be_of_the_rest(pool):
    """The variance of one uniform draw is that of the rest, for its share of the pool."""
    labels = truth_of(0)
    log = supply_labels(play_rounds(pool, labels), range(LOW, LOW + HIGH), labels, round=1)
    log = play_rounds(pool, labels, (UNIFORM, 5), log=log)
    view, (metric,) = look(pool, log, "error", assume=["rate[fraud]@score<1e-4<=0"])
    value = view.value(metric, HEADLINE)
    wrong = (labels != (pool.scores(1) >= 0.5))[LOW:].mean()
    share = HIGH / (LOW + HIGH)
    assert value.estimate.one_draw == approx(share**2 * wrong * (1 - wrong))
    assert value.relevant == HIGH


def test_what_is_known_still_bounds_it(pool):
    """One item of the rest, predicted as fraud, has no label: recall is known but for it."""
    labels = truth_of(0)
    rows = [row for row in range(LOW, LOW + HIGH) if row != LOW + HIGH - 1]
    log = supply_labels(play_rounds(pool, labels), rows, labels, round=1)
    log = play_rounds(pool, labels, (UNIFORM, 5), log=log)
    view, (metric,) = look(pool, log, "recall[fraud]", assume=["rate[fraud]@score<1e-4<=0"])
    if LOW + HIGH - 1 in log.rows:
        pytest.skip("it was drawn")
    hits, misses = (
        int((labels[rows] * ((pool.scores(1)[rows] >= 0.5) == found)).sum()) for found in (1, 0)
    )
    found = view.value(metric, HEADLINE).possible
    assert found == approx((hits / (hits + misses), (hits + 1) / (hits + misses + 1)))


def test_numbers_that_do_not_rest_on_it_are_the_same(pool):
    log = play_rounds(pool, truth_of(0), (CHOICES, 60))
    names = "precision[fraud]", "brier", "error"
    view, metrics = look(pool, log, *names, assume=[WITHIN])
    plain, _ = look(pool, log, *names)
    for metric in metrics[:2]:
        assert (
            view.value(metric, HEADLINE).estimate.mean
            == plain.value(metric, HEADLINE).estimate.mean
        )
    barn, tree = view.evidence.groups[1:]
    for group in (barn, tree):
        assert view.find_assumptions(metrics[2], group) == ()
        values = [each.value(metrics[2], HEADLINE, group).value for each in (view, plain)]
        assert values[0] == values[1]


def test_missing_answers_are_not_filled(pool):
    log = play_rounds(pool, truth_of(0), (CHOICES, 40), (CHOICES, 40))
    log = set_status(log, [50], PENDING)
    view, (recall,) = look(pool, log, "recall[fraud]", assume=[WITHIN])
    assert view.fill_missing(recall) is None
    value = view.value(recall, HEADLINE)
    assert len(value.estimate.terms) == 40


def test_while_items_are_declined_no_number_rests_on_it(pool):
    log = set_status(play_rounds(pool, truth_of(0), (CHOICES, 60)), [3, 7], DECLINED)
    view, (recall,) = look(pool, log, "recall[fraud]", assume=[WITHIN])
    assert view.find_assumptions(recall, view.evidence.groups[0]) == ()
    plain, _ = look(pool, log, "recall[fraud]")
    assert view.value(recall, HEADLINE).value == plain.value(recall, HEADLINE).value


def test_a_view_of_earlier_rounds_rests_on_the_same(pool):
    log = play_rounds(pool, truth_of(0), (CHOICES, 40), (CHOICES, 40))
    view, (recall,) = look(pool, log, "recall[fraud]", assume=[WITHIN])
    assert view.at_end_of(1, [recall]).assumptions == view.assumptions


def test_before_two_draws_there_is_no_estimate(pool):
    view, (recall,) = look(
        pool, play_rounds(pool, truth_of(0), (CHOICES, 1)), "recall[fraud]", assume=[WITHIN]
    )
    with pytest.raises(NotEstimable):
        view.value(recall, HEADLINE)


# --- which one is proposed


def propose(pool, log, name="fraud"):
    view, _ = look(pool, log, "recall[fraud]")
    return propose_assumption(view.evidence, name, 0.95)


def test_it_is_proposed_in_powers_of_ten_by_a_stated_rule(pool):
    labels = truth_of(0)
    found = propose(pool, play_rounds(pool, labels, (CHOICES, 100)))
    # 20 items are fraud: a twentieth is one, and 0.001 of 240 items is less than that.
    assert found.text == "rate[fraud]@score<0.01<=0.001"
    assert parse_assumptions([found.text], pool)[0].count_items(pool).sum() == LOW


def test_none_is_proposed_where_a_label_contradicts_it_or_little_is_possible(pool):
    assert propose(pool, play_rounds(pool, truth_of(24), (UNIFORM, 100))) is None
    labels = truth_of(0)
    known = supply_labels(play_rounds(pool, labels), range(LOW), labels, round=1)
    assert propose(pool, play_rounds(pool, labels, (UNIFORM, 40), log=known)) is None
    assert propose(pool, play_rounds(pool, labels, (UNIFORM, 40)), "owl") is None
