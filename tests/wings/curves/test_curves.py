"""Curves: they are scikit-learn's where all is labelled, and rows of reports elsewhere."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx
from scipy.integrate import trapezoid
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from activetest.errors import ChoiceError
from activetest.estimation.cells import view_cells
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.losses import codes
from activetest.item_statistics.rates import of_counts
from activetest.item_statistics.statistic import Statistic
from activetest.item_statistics.thresholds import choose_thresholds, find_cells, rate_at
from activetest.metrics.classes import false_positive_rate, precision, recall
from activetest.nouns.choices import Choices
from activetest.nouns.curve import MEASURES, Curve, CurveKind
from activetest.nouns.log import DECLINED, PENDING, Log
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import EstimateRow
from activetest.reporting.rows import HEADLINE, estimate_row
from activetest.wings.curves import curves
from activetest.wings.curves.curves import make_monotone
from tests.makers import build_table, play_rounds, set_status, supply_labels

SIZE = 300
CHOICES = Choices("error", ("error",), "agreement")
RATES = {each.name: each for each in (recall, false_positive_rate, precision)}


def make_bank(folder, *, ties: int | None = None, weight: bool = False, **columns):
    """A pool of transactions, a third of them fraud, and its labels."""
    rng = np.random.default_rng(5)
    score = rng.beta(0.6, 1.2, SIZE)
    if ties:
        score = np.round(score * ties) / ties
    truth = (rng.random(SIZE) < 0.15 + 0.7 * score).astype(float)
    columns = {"id": range(SIZE), "prob_no": 1 - score, "prob_yes": score, **columns}
    choices = {}
    if weight:
        columns["visits"] = rng.integers(1, 5, SIZE)
        choices["weight"] = "visits"
    pool = build_table(folder, columns, **choices)
    facts = specification.describe_pool(pool.roles, None, pool)
    return SimpleNamespace(pool=pool, truth=truth, facts=facts, score=score)


def make_curve(bank, log, kind, class_name=None, *, choices=CHOICES, **settings) -> Curve:
    about = {"points": None, "bins": None, "simultaneous": False} | settings
    return curves.estimate_curve(
        log, bank.pool, choices, bank.facts, CurveKind(kind), class_name=class_name, seed=1, **about
    )


def read(curve: Curve, name: str) -> np.ndarray:
    values = [point[name] for point in curve.list_points()]
    return np.array([np.nan if value is None else value for value in values])


# --- all is labelled


@pytest.fixture(params=["drawn", "supplied"])
def known(request, tmp_path):
    """A pool with 17 distinct scores, every label of which is known."""
    bank = make_bank(tmp_path, ties=16)
    if request.param == "drawn":
        bank.log = play_rounds(bank.pool, bank.truth, (CHOICES, SIZE))
    else:
        bank.log = supply_labels(Log.empty(), np.arange(SIZE), bank.truth)
    return bank


def test_a_curve_of_known_labels_is_that_of_scikit_learn(known):
    rates, hits, thresholds = roc_curve(known.truth, known.score, drop_intermediate=False)
    found = make_curve(known, known.log, "roc")
    assert found.class_name == "yes" and found.moved == 0
    assert read(found, "recall")[::-1] == approx(hits, abs=1e-12)
    assert read(found, "false_positive_rate")[::-1] == approx(rates, abs=1e-12)
    assert read(found, "threshold")[:-1][::-1] == approx(thresholds[1:], abs=1e-7)
    for name in ("recall", "false_positive_rate"):
        for end in ("lower", "upper"):
            assert read(found, f"{name}_{end}") == approx(read(found, name), abs=1e-12)
    precisions, recalls, _ = precision_recall_curve(known.truth, known.score)
    found = make_curve(known, known.log, "precision-recall")
    assert read(found, "recall") == approx(recalls, abs=1e-12)
    # Where nothing is called scikit-learn sets 1, and there is no number.
    assert read(found, "precision")[:-1] == approx(precisions[:-1], abs=1e-12)
    assert found.list_points()[-1]["precision"] is None
    assert "above all scores" in found.list_points()[-1]["reason"]
    counts = [(known.score >= each - 1e-6).sum() for each in read(found, "threshold")[:-1]]
    assert read(found, "n_pool").tolist() == [*counts, 0]
    assert read(found, "n_labeled").tolist() == [*counts, 0]


def test_areas_under_points_are_the_rows_of_the_areas(known):
    metrics = [
        specification.find_metric(name, known.facts) for name in ("auroc", "average-precision")
    ]
    view = build_view(known.log, known.pool, CHOICES, metrics, seed=1, own_view=False)
    auroc, area = (estimate_row(view, each, HEADLINE, level=0.95).estimate for each in metrics)
    roc = make_curve(known, known.log, "roc")
    x, y = read(roc, "false_positive_rate")[::-1], read(roc, "recall")[::-1]
    assert trapezoid(y, x) == approx(auroc, abs=1e-12)
    found = make_curve(known, known.log, "precision-recall")
    gains = -np.diff(read(found, "recall"))
    assert gains @ read(found, "precision")[:-1] == approx(area, abs=1e-12)
    assert area == approx(average_precision_score(known.truth, known.score), abs=1e-7)


@pytest.mark.parametrize("bins", ["10", "7"])
def test_reliability_of_known_labels_is_that_of_scikit_learn(known, bins):
    """But for scores on edges between bins, which single precision may move."""
    shares, means = calibration_curve(
        known.truth, known.score.astype(np.float32).astype(float), n_bins=int(bins)
    )
    edges = np.linspace(0, 1, int(bins) + 1)[1:-1]
    apart = not np.isclose(known.score[:, None], edges).any()
    found = make_curve(known, known.log, "reliability", "yes", bins=bins)
    sizes = read(found, "n_pool")
    assert sizes.sum() == SIZE and found.class_name == "yes"
    if apart:
        assert read(found, "observed")[sizes > 0] == approx(shares, abs=1e-12)
        assert read(found, "predicted")[sizes > 0] == approx(means, abs=1e-6)
    confidence = np.maximum(known.score, 1 - known.score)
    right = (known.score > 0.5) == known.truth
    found = make_curve(known, known.log, "reliability", bins="equal-count,4")
    for point in found.list_points():
        inside = (confidence > point["low"] + 1e-6) & (confidence <= point["high"] + 1e-6)
        inside |= (confidence == 0.5) & (point["low"] == 0)
        assert point["n_pool"] == inside.sum() == point["n_labeled"]
        assert point["observed"] == approx(right[inside].mean(), abs=1e-12)
        assert point["observed_lower"] == approx(point["observed"]) == point["observed_upper"]


def test_more_scores_than_points_leave_the_ends_and_cost_little_of_the_area(tmp_path):
    bank = make_bank(tmp_path)
    log = supply_labels(Log.empty(), np.arange(SIZE), bank.truth)
    rates, hits, _ = roc_curve(bank.truth, bank.score, drop_intermediate=False)
    found = make_curve(bank, log, "roc", points=20)
    # At most 20, the model's own threshold, and one above all scores.
    assert 15 < len(found.points) <= 22
    x, y = read(found, "false_positive_rate")[::-1], read(found, "recall")[::-1]
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert trapezoid(y, x) == approx(trapezoid(hits, rates), abs=0.02)
    # Every point is one of the complete curve.
    complete = {(round(a, 9), round(b, 9)) for a, b in zip(rates, hits, strict=True)}
    assert all((round(a, 9), round(b, 9)) in complete for a, b in zip(x, y, strict=True))


# --- some is labelled


def count_plainly(word: str, code: int, threshold: float) -> Statistic:
    """tp, fp or fn at a threshold, of the model's outputs themselves."""

    def value(outputs, labels):
        called = (outputs.known_probs[:, code] >= np.float32(threshold) - 1e-7)[:, None]
        hits = codes(outputs, labels) == code
        return ((called == (word != "fn")) & (hits == (word != "fp"))).astype(float)

    return Statistic(f"plain {word} at {threshold}", value)


def find_plain(rate, code: int, threshold: float, name: str):
    counts = {word: count_plainly(word, code, threshold) for word in ("tp", "fp", "fn")}
    return of_counts(rate, counts, name, f"plain {rate.name} at {threshold}")


def doubt(log: Log, truth) -> Log:
    """The log after annotators disagreed about every third item."""
    share = np.where(np.arange(len(log.rows)) % 3 == 0, 0.7, 1.0)
    labels = truth[log.rows]
    soft = np.column_stack([np.where(labels == 0, share, 1 - share) for _ in range(1)])
    return replace(log, soft=np.column_stack([soft, 1 - soft]), supplied_soft=np.empty((0, 2)))


SITUATIONS = {
    "uniform": lambda bank: play_rounds(
        bank.pool, bank.truth, (replace(CHOICES, acquisition="uniform"), 90)
    ),
    "active": lambda bank: play_rounds(bank.pool, bank.truth, *[(CHOICES, 30)] * 4),
    "supplied": lambda bank: play_rounds(
        bank.pool,
        bank.truth,
        *[(CHOICES, 40)] * 2,
        log=supply_labels(Log.empty(), range(20), bank.truth),
    ),
    "declined": lambda bank: set_status(
        play_rounds(bank.pool, bank.truth, *[(CHOICES, 40)] * 3), [3, 50, 51], DECLINED
    ),
    "pending": lambda bank: set_status(
        play_rounds(bank.pool, bank.truth, *[(CHOICES, 40)] * 3), [100], PENDING
    ),
    "annotators": lambda bank: doubt(
        play_rounds(bank.pool, bank.truth, *[(CHOICES, 40)] * 2), bank.truth
    ),
}


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_point_is_what_its_metric_alone_would_be(tmp_path, situation, weight):
    """The whole way of a number, by cells in one pass and by a statistic of each threshold."""
    bank = make_bank(tmp_path, weight=weight)
    log = SITUATIONS[situation](bank)
    scores = bank.pool.scores(1)
    thresholds = choose_thresholds(scores, 6)
    cells, count = find_cells(thresholds, scores), len(thresholds)
    for name in ("recall", "false-positive-rate"):
        points = [rate_at(RATES[name], place, count, "yes") for place in range(1, count)]
        plain = [find_plain(RATES[name], 1, each, "yes") for each in thresholds[1:]]
        view = view_cells(log, bank.pool, CHOICES, points, cells=cells, count=count, code=1, seed=1)
        alone = build_view(log, bank.pool, CHOICES, plain, seed=1, own_view=False)
        for point, metric in zip(points, plain, strict=True):
            found, expected = (
                each.value(about, HEADLINE) for each, about in ((view, point), (alone, metric))
            )
            assert found.value == approx(np.clip(expected.value, *found.possible), rel=1e-5)
            assert found.estimate.variance == approx(expected.estimate.variance, rel=1e-4)
            assert found.estimate.model_variance == approx(
                expected.estimate.model_variance, rel=1e-3
            )
            if situation == "pending":
                continue
            # By cells is known what the labels leave possible, which the other way leaves open.
            possible = found.possible
            ends = [
                each.interval(value, 0.95) for each, value in ((view, found), (alone, expected))
            ]
            assert ends[0].lower == approx(np.clip(ends[1].lower, *possible), rel=1e-3, abs=1e-4)
            assert ends[0].upper == approx(np.clip(ends[1].upper, *possible), rel=1e-3, abs=1e-4)


def test_the_point_at_the_models_own_threshold_is_the_row_of_a_report(tmp_path):
    bank = make_bank(tmp_path)
    log = SITUATIONS["active"](bank)
    names = ("recall", "false-positive-rate", "precision")
    metrics = {name: specification.find_metric(name, bank.facts) for name in names}
    view = build_view(log, bank.pool, CHOICES, list(metrics.values()), seed=1, own_view=False)
    own = bank.score[bank.score > 0.5].min()
    for kind, measures in (("roc", names[:2]), ("precision-recall", names[::2])):
        curve = make_curve(bank, log, kind, points=12)
        (point,) = (
            each for each in curve.list_points() if each["threshold"] == approx(own, abs=1e-6)
        )
        for name in measures:
            row = estimate_row(view, metrics[name], HEADLINE, level=0.95)
            key = name.replace("-", "_")
            # Ends can be those of a neighbour, which are sharper, and the estimate moves with them.
            slack = 1e-6 if name == "precision" else 0.02
            assert point[key] == approx(row.estimate, abs=slack)
            assert point[f"{key}_lower"] >= row.lower - 1e-6
            assert point[f"{key}_upper"] <= row.upper + 1e-6
    assert point["precision_lower"] == approx(row.lower) and point["precision"] == approx(
        row.estimate
    )


def test_several_classes_have_a_curve_each_against_all_others(tmp_path):
    rng = np.random.default_rng(2)
    probs = rng.dirichlet([1, 1, 1], 60)
    truth = np.array([rng.choice(3, p=row) for row in probs], float)
    names = ("cat", "dog", "=cmd()")
    columns = {"id": range(60)} | {f"prob_{name}": probs[:, k] for k, name in enumerate(names)}
    pool = build_table(tmp_path, columns)
    facts = specification.describe_pool(pool.roles, None, pool)
    bank = SimpleNamespace(pool=pool, facts=facts)
    log = supply_labels(Log.empty(), np.arange(60), truth)
    code = facts.classes.index("dog")
    found = make_curve(bank, log, "roc", "dog", points=1000)
    _, hits, _ = roc_curve(truth == 1, probs[:, 1], drop_intermediate=False)
    assert code == 1 and read(found, "recall")[::-1] == approx(hits, abs=1e-12)
    with pytest.raises(ChoiceError, match="about one class"):
        make_curve(bank, log, "roc")
    with pytest.raises(ChoiceError, match="no class 'cow'"):
        make_curve(bank, log, "roc", "cow")


def test_rounds_that_left_classes_out_serve_the_thresholds_that_they_can(tmp_path):
    bank = make_bank(tmp_path)
    aim = replace(CHOICES, metric="precision[yes]", metrics=("precision[yes]",))
    log = play_rounds(bank.pool, bank.truth, *[(aim, 30)] * 3)
    assert log.left_out
    points = make_curve(bank, log, "precision-recall", points=12).list_points()
    above = [point for point in points[:-1] if point["threshold"] > 0.5]
    below = [point for point in points[:-1] if point["threshold"] < 0.5]
    assert above and below
    assert all(point["precision"] is not None for point in above)
    assert all(point["precision"] is None for point in below)
    # At the lowest threshold everything is called: recall is 1 whatever was drawn.
    assert [point["recall"] for point in points[1:-1]] == [None] * (len(points) - 2)
    assert all("left out of the draws" in point["reason"] for point in below)
    metric = specification.find_metric("precision", bank.facts)
    view = build_view(log, bank.pool, aim, [metric], seed=1, own_view=False)
    row = estimate_row(view, metric, HEADLINE, level=0.95)
    assert above[0]["precision"] == approx(row.estimate, abs=0.02)


def test_without_a_label_every_point_has_a_reason(tmp_path):
    bank = make_bank(tmp_path)
    for kind in CurveKind:
        points = None if kind == CurveKind.RELIABILITY else 4
        for point in make_curve(bank, Log.empty(), kind, points=points).list_points():
            measured = [point[name] for name in point if name in MEASURES[kind]]
            assert measured == [None] * len(measured) and point["reason"]
            assert point["reliable"] is False and point["n_labeled"] == 0


def test_bins_with_too_few_labels_have_no_number(tmp_path):
    bank = make_bank(tmp_path)
    log = play_rounds(bank.pool, bank.truth, (CHOICES, 60))
    points = make_curve(bank, log, "reliability").list_points()
    empty = [point for point in points if point["high"] <= 0.45]
    assert {point["reason"] for point in empty} == {"the pool has no item in this bin"}
    few = [point for point in points if 0 < point["n_labeled"] < 10]
    assert few and all(point["observed"] is None for point in few)
    assert all("too few labels" in point["reason"] for point in few)
    assert any(point["observed"] for point in points)


@pytest.mark.parametrize(("used", "reason"), [(4, "were left out of the draws"), (5, "no cats")])
def test_a_point_that_all_draws_are_about_says_itself_why_it_has_no_value(
    monkeypatch, used, reason
):
    row = EstimateRow(
        quantity=Quantity(None, None, None, 0.95, "none"),
        metric="recall",
        estimator=HEADLINE,
        n_labeled=5,
        n_pool=9,
        reason="no cats",
    )
    view = SimpleNamespace(
        log=SimpleNamespace(left_out=True), evidence=SimpleNamespace(steps=range(5))
    )
    monkeypatch.setattr(curves, "estimate_row", lambda *_, **__: row)
    monkeypatch.setattr(curves, "find_metric_steps", lambda *_: range(used))
    found = curves._estimate_point(view, SimpleNamespace(name="recall"), 0.95)
    assert found.reason.endswith(reason)


def test_a_bin_is_the_group_of_its_items_with_ends_that_are_whole_items(tmp_path):
    bins = "equal-count,3"
    bank = make_bank(tmp_path)
    edges = make_curve(bank, Log.empty(), "reliability", bins=bins).list_points()
    confidence = np.maximum(bank.score, 1 - bank.score)
    where = np.searchsorted([point["high"] + 1e-7 for point in edges[:-1]], confidence)
    columns = {"id": range(SIZE), "prob_no": 1 - bank.score, "prob_yes": bank.score}
    grouped = build_table(
        tmp_path, columns | {"bin": [f"b{each}" for each in where]}, name="grouped", groups=("bin",)
    )
    log = SITUATIONS["active"](bank)
    metric = specification.find_metric("accuracy", bank.facts)
    view = build_view(log, grouped, CHOICES, [metric], seed=1, own_view=False)
    points = make_curve(bank, log, "reliability", bins=bins).list_points()
    for group, point in zip(view.evidence.groups[1:], points, strict=True):
        row = estimate_row(view, metric, HEADLINE, group, level=0.95)
        assert point["observed"] == approx(row.estimate, abs=1e-6)
        items = point["n_pool"]
        for end, near in (("lower", row.lower), ("upper", row.upper)):
            whole = point[f"observed_{end}"] * items
            assert whole == approx(round(whole)) and abs(whole - near * items) < 1
        assert point["observed_lower"] <= row.lower and row.upper <= point["observed_upper"]


# --- bands


def test_a_simultaneous_band_is_wider_and_less_than_bonferronis(tmp_path):
    bank = make_bank(tmp_path)
    log = SITUATIONS["active"](bank)
    for kind, name in (
        ("roc", "recall"),
        ("precision-recall", "precision"),
        ("reliability", "observed"),
    ):
        settings = {} if kind == "reliability" else {"points": 6}
        alone = make_curve(bank, log, kind, **settings)
        joint = make_curve(bank, log, kind, simultaneous=True, **settings)
        strict = make_curve(
            bank, log, kind, choices=replace(CHOICES, level=1 - 0.05 / 16), **settings
        )
        assert (alone.band, joint.band, joint.level) == ("pointwise", "simultaneous", 0.95)
        assert read(alone, name) == approx(read(joint, name), nan_ok=True)
        widths = [
            np.nanmean(read(each, f"{name}_upper") - read(each, f"{name}_lower"))
            for each in (alone, joint, strict)
        ]
        assert widths[0] * 1.1 < widths[1] < widths[2]
    again = make_curve(bank, log, "reliability", simultaneous=True)
    assert again == joint


def test_what_hardly_a_label_says_is_wide_and_not_reliable(tmp_path):
    """The model is sure of 80 % of the items, and no label so far contradicts it."""
    rng = np.random.default_rng(8)
    score = np.append(rng.uniform(0.6, 1, 40), 1e-6 * rng.random(260))
    columns = {"id": range(SIZE), "prob_no": 1 - score, "prob_yes": score}
    pool = build_table(tmp_path, columns)
    facts = specification.describe_pool(pool.roles, None, pool)
    bank = SimpleNamespace(pool=pool, facts=facts)
    uniform = replace(CHOICES, acquisition="uniform")
    log = play_rounds(pool, (score > 0.5).astype(float), (uniform, 60))
    points = make_curve(bank, log, "roc", points=6).list_points()
    (point,) = (each for each in points if each["n_pool"] == 40)
    below = 60 - point["n_labeled"]
    # Three in so many may be of the class among the others (Hanley and Lippman-Hand 1983).
    missed = 3 / below * 260
    assert point["recall"] > 0.99 and not point["reliable"]
    assert point["recall_lower"] < 40 / (40 + missed) < 0.8
    assert point["recall_upper"] == 1
    assert point["false_positive_rate_upper"] > 0.005
    assert points[0]["recall_lower"] == points[0]["recall_upper"] == 1


def test_few_labels_are_fewer_than_three_of_one_kind():
    labels = {"tp": [9, 2, 3], "fn": [3, 9, 9], "fp": [0, 1, 5], "tn": [9, 9, 2]}
    labels = {word: np.array(counts) for word, counts in labels.items()}
    assert curves.find_few("recall", labels).tolist() == [False, True, False]
    assert curves.find_few("false_positive_rate", labels).tolist() == [True, True, True]
    assert curves.find_few("precision", labels).tolist() == [True, True, False]


def test_labels_of_unlikely_draws_are_needed_where_a_kind_may_be_hidden(tmp_path, monkeypatch):
    """The model is sure that most items are no fraud, and 3 % of these are."""
    rng = np.random.default_rng(17)
    score = rng.beta(0.05, 2, 800)
    truth = (rng.random(800) < 0.03 + 0.9 * score).astype(float)
    pool = build_table(tmp_path, {"id": range(800), "prob_no": 1 - score, "prob_yes": score})
    facts = specification.describe_pool(pool.roles, None, pool)
    bank = SimpleNamespace(pool=pool, truth=truth, facts=facts, score=score)
    for acquisition in ("optimal", "uniform"):
        choices = replace(CHOICES, acquisition=acquisition)
        log = play_rounds(pool, truth, *[(choices, 50)] * 4)
        found = {}
        for hidden in (True, False):
            with monkeypatch.context() as patch:
                if not hidden:
                    patch.setattr(curves, "_ENOUGH", dict.fromkeys(curves._ENOUGH, 0))
                found[hidden] = [
                    make_curve(bank, log, kind, "yes", choices=choices, points=13)
                    for kind in ("roc", "precision-recall")
                ]
        wider = {
            name: np.nan_to_num(read(new, f"{name}_upper") - read(new, f"{name}_lower"))
            > np.nan_to_num(read(old, f"{name}_upper") - read(old, f"{name}_lower")) + 1e-9
            for new, old in zip(found[True], found[False], strict=True)
            for name in MEASURES[new.kind]
        }
        # Uniform draws hide nothing: three labels of a kind are enough.
        assert all(each.any() for each in wider.values()) == (acquisition == "optimal")
        assert any(each.any() for each in wider.values()) == (acquisition == "optimal")


def quantities(*ends) -> list[Quantity]:
    return [Quantity(*each, 0.95, "fixed") for each in ends]


def test_what_cannot_rise_does_not_and_ends_never_cross_the_estimate():
    given = quantities((0.9, 0.2, 1.0), (0.5, 0.4, 0.7), (0.6, 0.5, 0.95), (None, None, None))
    found, moved = make_monotone(given)
    assert [each.estimate for each in found] == [0.9, approx(0.55), approx(0.55), None]
    assert [each.lower for each in found] == [0.5, 0.5, 0.5, None]
    assert [each.upper for each in found] == [1.0, 0.7, 0.7, None]
    assert moved.tolist() == [True, True, True, False]
    crossed, _ = make_monotone(quantities((0.5, 0.4, 0.6), (0.9, 0.8, 1.0)))
    assert all(each.lower <= each.estimate <= each.upper for each in crossed)
    falling = quantities((0.9, 0.8, 1.0), (0.5, 0.4, 0.6))
    assert make_monotone(falling)[0] == falling and not make_monotone(falling)[1].any()
    only = quantities((0.5, None, None), (0.7, None, None))
    assert [each.lower for each in make_monotone(only)[0]] == [None, None]
    assert make_monotone([])[0] == []


def test_curves_never_rise_with_the_threshold(tmp_path):
    bank = make_bank(tmp_path)
    log = play_rounds(bank.pool, bank.truth, *[(CHOICES, 15)] * 3)
    for simultaneous in (False, True):
        curve = make_curve(bank, log, "roc", points=12, simultaneous=simultaneous)
        assert curve.moved
        for name in ("recall", "false_positive_rate"):
            for end in ("", "_lower", "_upper"):
                values = read(curve, f"{name}{end}")
                assert (np.diff(values) <= 1e-12).all()
            assert (read(curve, f"{name}_lower") <= read(curve, name) + 1e-12).all()
            assert (read(curve, f"{name}_upper") >= read(curve, name) - 1e-12).all()


@pytest.mark.slow
def test_points_are_unbiased_before_they_are_made_monotone(tmp_path):
    """Over 400 studies with draws by score, within 4 standard errors at every threshold."""
    bank = make_bank(tmp_path)
    scores = bank.pool.scores(1)
    thresholds = choose_thresholds(scores, 4)
    cells, count = find_cells(thresholds, scores), len(thresholds)
    metrics = [rate_at(RATES["recall"], place, count, "yes") for place in (1, 2)]
    found = []
    for seed in range(400):
        log = play_rounds(bank.pool, bank.truth, (CHOICES, 25), (CHOICES, 25), seed=seed)
        view = view_cells(
            log, bank.pool, CHOICES, metrics, cells=cells, count=count, code=1, seed=seed
        )
        # The means of tp and fn are unbiased; a ratio of them is so up to terms of second order.
        found.append([view.value(metric, HEADLINE).means.mean for metric in metrics])
    called = cells[:, None] >= np.array([1, 2])
    hits = bank.truth[:, None] == 1
    truth = np.stack([(called & hits).mean(axis=0), (~called & hits).mean(axis=0)], axis=1)
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert (errors > 0).all() and (abs(means - truth) < 4 * errors).all()


# --- refusals


@pytest.mark.parametrize(
    ("kind", "settings", "problem"),
    [
        ("roc", {"points": 1}, "`points` is 1"),
        ("roc", {"points": 1001}, "`points` is 1001"),
        ("roc", {"bins": "10"}, "thresholds, no bins"),
        ("reliability", {"points": 6}, "bins, no thresholds"),
        ("reliability", {"bins": "1"}, "whole number from 2 to 100"),
        ("reliability", {"bins": "round"}, "reliability"),
        ("precision-recall", {"class_name": "maybe"}, "no class 'maybe'"),
    ],
)
def test_what_a_curve_does_not_have_is_refused(tmp_path, kind, settings, problem):
    bank = make_bank(tmp_path)
    with pytest.raises(ChoiceError, match=problem):
        make_curve(bank, Log.empty(), kind, **settings)


def test_pools_without_probabilities_have_no_curves(tmp_path):
    labels = build_table(tmp_path, {"id": range(20), "pred": ["a", "b"] * 10}, name="labels")
    values = build_table(tmp_path, {"id": range(20), "pred": np.linspace(1, 9, 20)}, name="values")
    for pool, problem in ((labels, "needs probabilities"), (values, "is about classes")):
        facts = specification.describe_pool(pool.roles, None, pool)
        bank = SimpleNamespace(pool=pool, facts=facts)
        for kind in CurveKind:
            with pytest.raises(ChoiceError, match=problem):
                make_curve(bank, Log.empty(), kind)


# --- extremes


def make_two_classes(score, **columns) -> dict:
    return {"id": range(len(score)), "prob_a": 1 - score, "prob_b": score, **columns}


SCORES = np.random.default_rng(0).random(150)
LABELS = (np.random.default_rng(1).random(150) < SCORES).astype(float)
VISITS = np.where(np.arange(150) < 40, 0, 1 + np.arange(150) % 7)
EXTREMES = {
    "one score": (make_two_classes(np.full(40, 0.3)), LABELS[:40], 20, {}),
    "one score, all labelled": (make_two_classes(np.full(40, 0.3)), LABELS[:40], 40, {}),
    "three items": (make_two_classes(np.array([0.2, 0.7, 0.8])), np.array([0.0, 1, 0]), 2, {}),
    "no item of the class": (make_two_classes(SCORES), np.zeros(150), 50, {}),
    "no other item": (make_two_classes(SCORES), np.ones(150), 50, {}),
    "scores of 0 and 1": (make_two_classes(SCORES.round()), LABELS, 50, {}),
    "another class": (make_two_classes(SCORES), np.where(SCORES < 0.2, -1.0, LABELS), 50, {}),
    "weights of 0": (make_two_classes(SCORES, w=VISITS), LABELS, 50, {"weight": "w"}),
    "weights of 0, all labelled": (
        make_two_classes(SCORES, w=VISITS),
        LABELS,
        110,
        {"weight": "w"},
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", EXTREMES)
def test_every_number_is_finite_and_inside_of_its_interval_or_has_a_reason(tmp_path, name):
    columns, truth, count, roles = EXTREMES[name]
    pool = build_table(tmp_path, columns, **roles)
    facts = specification.describe_pool(pool.roles, None, pool)
    bank = SimpleNamespace(pool=pool, facts=facts)
    log = play_rounds(pool, truth, (CHOICES, count))
    declined = set_status(log, range(0, count, 3), DECLINED)
    for kind, given in product(CurveKind, (log, declined)):
        points = None if kind == CurveKind.RELIABILITY else 3
        curve = make_curve(bank, given, kind, points=points, simultaneous=given is log)
        for point in curve.list_points():
            for measure in MEASURES[kind]:
                value, low, high = (point[f"{measure}{end}"] for end in ("", "_lower", "_upper"))
                assert value is not None or point["reason"]
                if low is not None:
                    assert -1e-9 <= low <= value + 1e-9 <= high + 2e-9 <= 1 + 1e-8
