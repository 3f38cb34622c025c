"""Kinds of labels, against the values of metrics in exact fractions over all small pools."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from activetest.item_statistics import kinds as kinds_of_labels
from activetest.item_statistics import specification
from activetest.item_statistics.curves import approximate_influence
from activetest.item_statistics.kinds import _tabulate_kinds, find_kinds
from activetest.item_statistics.metric import Facts, evaluate
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.rows import Outputs

CLASSES = ("cat", "dog", "owl")
COSTS = ((0.0, 1.0, 2.0), (1.5, 1.5, 1.5), (2.0, 0.0, 0.0))
CODES = range(len(CLASSES))
FACTS = Facts("classification", CLASSES, costs=COSTS, probabilities=True)
# Sixteenths, exact in single precision: one row has two classes of equal probability.
SIXTEENTHS = ((9, 4, 3), (10, 3, 3), (7, 6, 3), (11, 1, 4))
# The box's predictions for four items. The first item is the one whose label varies.
PREDICTIONS = ((0, 0, 1, 2), (1, 0, 0, 2), (0, 1, 1, 1), (2, 2, 2, 2), (1, 1, 0, 1))


def give_probs(pred) -> list[list[Fraction]]:
    """Probabilities of the classes for each item; that of the prediction is the largest."""
    rows = []
    for code, sixteenths in zip(pred, SIXTEENTHS, strict=True):
        turned = [sixteenths[(each - code) % len(CLASSES)] for each in CODES]
        rows.append([Fraction(each, 16) for each in turned])
    return rows


def divide(above, below):
    return None if below == 0 else Fraction(above) / Fraction(below)


def count(pred, labels, code) -> tuple[int, int, int]:
    """Tp, fp and fn of a class."""
    pairs = list(zip(pred, labels, strict=True))
    return (
        sum(a == code and y == code for a, y in pairs),
        sum(a == code and y != code for a, y in pairs),
        sum(a != code and y == code for a, y in pairs),
    )


def precision(tp, fp, fn, size):
    return divide(tp, tp + fp)


def recall(tp, fp, fn, size):
    return divide(tp, tp + fn)


def f1(tp, fp, fn, size):
    return divide(2 * tp, 2 * tp + fp + fn)


def f2(tp, fp, fn, size):
    return divide(5 * tp, 5 * tp + fp + 4 * fn)


def specificity(tp, fp, fn, size):
    return divide(size - tp - fp - fn, size - tp - fn)


def false_positive_rate(tp, fp, fn, size):
    return divide(fp, size - tp - fn)


RATES = {
    "precision": precision, "recall": recall, "f1": f1, "f-beta[2": f2,
    "specificity": specificity, "false-positive-rate": false_positive_rate,
}  # fmt: skip


def average(rate, pred, labels, weighted):
    """Over the classes that have the rate."""
    above = below = Fraction(0)
    for code in CODES:
        tp, fp, fn = count(pred, labels, code)
        value, weight = rate(tp, fp, fn, len(pred)), tp + fn if weighted else 1
        if value is not None:
            above, below = above + weight * value, below + weight
    return divide(above, below)


def margins(pred, labels):
    """N, right, and sums over classes of called times true, called squared and true squared."""
    called = [sum(a == code for a in pred) for code in CODES]
    true = [sum(y == code for y in labels) for code in CODES]
    right = sum(a == y for a, y in zip(pred, labels, strict=True))
    dot = [sum(map(prod, zip(*pair, strict=True))) for pair in
           ((called, true), (called, called), (true, true))]  # fmt: skip
    return len(pred), right, *dot


def kappa(pred, labels, probs):
    size, right, chance, _, _ = margins(pred, labels)
    return divide(size * right - chance, size**2 - chance)


def mcc(pred, labels, probs):
    """Sign and square of it: the root is no fraction."""
    size, right, chance, called, true = margins(pred, labels)
    gap = size * right - chance
    square = divide(gap**2, (size**2 - called) * (size**2 - true))
    return None if square is None else (gap > 0, square)


def share(of):
    """The mean of a number per item: of(a, y, p)."""
    return lambda pred, labels, probs: divide(
        sum((Fraction(of(*each)) for each in zip(pred, labels, probs, strict=True)), Fraction(0)),
        len(pred),
    )


def ece(pred, labels, probs, power=1):
    """Two bins of the confidence, of equal width."""
    total = Fraction(0)
    for inside in (lambda p: p <= Fraction(1, 2), lambda p: p > Fraction(1, 2)):
        kept = [(a == y, p[a]) for a, y, p in zip(pred, labels, probs, strict=True)]
        kept = [each for each in kept if inside(each[1])]
        gap = abs(sum((right - p for right, p in kept), Fraction(0)))
        total += gap if power == 1 else (gap**2 / len(kept) if kept else 0)
    return total


def classwise_ece(pred, labels, probs):
    total = Fraction(0)
    for code in CODES:
        for inside in (lambda p: p <= Fraction(1, 2), lambda p: p > Fraction(1, 2)):
            kept = [(y == code) - p[code] for y, p in zip(labels, probs, strict=True)
                    if inside(p[code])]  # fmt: skip
            total += abs(sum(kept, Fraction(0)))
    return total


def auroc(pred, labels, probs):
    """Of the first class: pairs of a hit and another that are in order; ties count half."""
    hits = [p[0] for y, p in zip(labels, probs, strict=True) if y == 0]
    others = [p[0] for y, p in zip(labels, probs, strict=True) if y != 0]
    order = sum(2 * (hit > other) + (hit == other) for hit in hits for other in others)
    return divide(order, 2 * len(hits) * len(others))


def average_precision(pred, labels, probs):
    """Of the first class."""
    scores = [p[0] for p in probs]
    hits = [score for y, score in zip(labels, scores, strict=True) if y == 0]
    parts = [
        Fraction(sum(each >= score for each in hits), sum(each >= score for each in scores))
        for score in hits
    ]
    return divide(sum(parts, Fraction(0)), len(hits))


EXACT = {
    "accuracy": share(lambda a, y, p: a == y),
    "error": share(lambda a, y, p: a != y),
    "cost": share(lambda a, y, p: Fraction(COSTS[a][y])),
    "confusion[cat as dog]": share(lambda a, y, p: a == 1 and y == 0),
    "confusion[cat as cat]": share(lambda a, y, p: a == 0 and y == 0),
    "top-k-error[2]": share(lambda a, y, p: y not in np.argsort(p, kind="stable")[1:]),
    "brier": share(lambda a, y, p: sum((p[c] - (c == y)) ** 2 for c in CODES)),
    # A product of probabilities has an order of its own, but is equal where its logarithm is.
    "log-loss": lambda pred, labels, probs: prod(p[y] for y, p in zip(labels, probs, strict=True)),
    "ece[2]": ece,
    "calibration-error-squared[2]": lambda *pool: ece(*pool, power=2),
    "classwise-ece[2]": classwise_ece,
    "kappa": kappa,
    "mcc": mcc,
    "auroc[cat]": auroc,
    "average-precision[cat]": average_precision,
    "balanced-accuracy": lambda a, y, p: average(recall, a, y, False),
}  # fmt: skip


def rate_of(rate, what):
    """The rate of a class, or an average of it."""
    if what in CLASSES:
        code = CLASSES.index(what)
        return lambda pred, labels, probs: rate(*count(pred, labels, code), len(labels))
    return lambda pred, labels, probs: average(rate, pred, labels, what == "weighted")


for name, rate in RATES.items():
    for what in ("cat", "dog", "macro", "weighted"):
        EXACT[f"{name}{',' if '[' in name else '['}{what}]"] = rate_of(rate, what)


def kinds_of(name, pred) -> np.ndarray:
    """(R, C) the kinds for a pool with these predictions."""
    outputs = Outputs(np.array(pred), np.array(give_probs(pred), np.float32))
    metric = specification.find_metric(name, FACTS)
    if metric.refine:
        labels = np.array([0, 1, 2, 0])
        refined = metric.refine(outputs, labels, np.ones(len(labels)))
        code = CLASSES.index(metric.class_name)
        curve = approximate_influence(refined, code, outputs.probs[:, code])
        return find_kinds((curve,), outputs, len(CLASSES))
    return find_kinds(metric.statistics, outputs, len(CLASSES))


def tell_apart(name) -> Counter:
    """How often two labels of the first item, all others held fixed, are told apart by what.

    Keys are (of one kind, of one value).
    """
    found: Counter = Counter()
    for pred in PREDICTIONS:
        kinds, probs = kinds_of(name, pred)[0], give_probs(pred)
        for others in product(CODES, repeat=len(pred) - 1):
            values = [EXACT[name](pred, (label, *others), probs) for label in CODES]
            for one, other in combinations(CODES, 2):
                found[bool(kinds[one] == kinds[other]), values[one] == values[other]] += 1
    return found


# Pairs of labels of different kinds, of 405 pairs in all, that give the metric one value by chance.
COINCIDENCES = {
    "classwise-ece[2]": 42, "kappa": 110, "mcc": 90, "auroc[cat]": 36, "average-precision[cat]": 28,
    "balanced-accuracy": 102, "precision[weighted]": 92, "recall[cat]": 74, "recall[dog]": 78,
    "recall[macro]": 102, "f1[cat]": 98, "f1[dog]": 90, "f1[macro]": 61,
    "f1[weighted]": 76, "f-beta[2,cat]": 98, "f-beta[2,dog]": 90, "f-beta[2,macro]": 59,
    "f-beta[2,weighted]": 74, "specificity[cat]": 76, "specificity[dog]": 84,
    "specificity[macro]": 103, "specificity[weighted]": 66, "false-positive-rate[cat]": 76,
    "false-positive-rate[dog]": 84, "false-positive-rate[macro]": 103,
    "false-positive-rate[weighted]": 66,
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_labels_of_one_kind_give_one_value_and_others_another_but_for_coincidences(name):
    found = tell_apart(name)
    assert sum(found.values()) == 405
    assert found[True, False] == 0
    assert found[False, True] == COINCIDENCES.get(name, 0)
    assert found[False, False] > 0


@pytest.mark.parametrize(
    ("name", "happens"),
    [
        # Found, as all others of the class are; or missed, as all others of it are.
        ("recall[cat]", lambda a, tp, fp, fn: tp + fn > 0 and (fn if a == 0 else tp) == 0),
        # Missed, and no other item of the class was found.
        ("f1[cat]", lambda a, tp, fp, fn: a != 0 and tp == 0 and fp + fn > 0),
        ("precision[cat]", lambda a, tp, fp, fn: False),
    ],
)
def test_the_coincidences_of_a_class_are_where_its_fractions_stay_at_an_end(name, happens):
    """Whether the first item is a cat; tp, fp and fn are those of the other items."""
    for pred in PREDICTIONS:
        kinds, probs = kinds_of(name, pred)[0], give_probs(pred)
        for others in product(CODES, repeat=len(pred) - 1):
            values = [EXACT[name](pred, (label, *others), probs) for label in CODES]
            same = happens(pred[0], *count(pred[1:], others, 0))
            assert (values[0] == values[1]) == (same or kinds[0] == kinds[1])


@pytest.mark.parametrize("name", EXACT)
def test_the_exact_values_are_equal_where_those_of_the_program_are(name):
    pred = PREDICTIONS[0]
    probs = give_probs(pred)
    metric = specification.find_metric(name, FACTS)
    outputs = Outputs(np.array(pred), np.array(probs, np.float32))
    labels = [(*each, 2) for each in product(CODES, repeat=3)]
    program = [round(evaluate(metric, outputs, np.array(each)), 9) for each in labels]
    exact = [EXACT[name](pred, each, probs) for each in labels]
    assert [np.isnan(each) for each in program] == [each is None for each in exact]
    known = [place for place, each in enumerate(exact) if each is not None]
    for one, other in combinations(known, 2):
        assert (exact[one] == exact[other]) == (program[one] == program[other])


ALL, NOTHING = [0, 1, 2], [0, 0, 0]
CAT, DOG, OWL = [0, 1, 1], [0, 1, 0], [0, 0, 2]


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["accuracy", "error", "precision[macro]", "precision[micro]", "ece"], [CAT, DOG, OWL]),
        (["recall[weighted]", "recall[micro]"], [CAT, DOG, OWL]),
        (["precision[dog]"], [NOTHING, DOG, NOTHING]),
        (["recall[dog]", "f1[dog]", "specificity[dog]", "auroc[dog]"], [DOG, DOG, DOG]),
        (["recall[macro]", "balanced-accuracy", "f1[macro]", "kappa", "mcc"], [ALL, ALL, ALL]),
        (["confusion[cat as owl]"], [NOTHING, NOTHING, CAT]),
        (["cost"], [ALL, NOTHING, CAT]),
    ],
)
def test_each_metric_has_its_kinds_for_each_predicted_class(names, kinds):
    for name in names:
        assert kinds_of(name, (0, 1, 2, 0))[:3].tolist() == kinds


def test_weighted_recall_is_the_accuracy_among_labels_that_are_classes_of_the_pool():
    """With open classes, too, it tells the predicted class from the pool's others alone."""
    pred = PREDICTIONS[0]
    opened = specification.find_metric("recall[weighted]", replace(FACTS, open_classes=True))
    closed = specification.find_metric("recall[weighted]", FACTS)
    outputs = Outputs(np.array(pred))
    assert find_kinds(opened.statistics, outputs, 3)[:3].tolist() == [CAT, CAT, DOG]
    exact = rate_of(recall, "weighted")
    for labels in product((-1, *CODES), repeat=len(pred)):
        expected, given = exact(pred, labels, None), np.array(labels, float)
        if expected is None:
            assert np.isnan(evaluate(opened, outputs, given))
            continue
        assert evaluate(opened, outputs, given) == pytest.approx(float(expected), abs=1e-12)
        if -1 not in labels:
            assert evaluate(closed, outputs, given) == pytest.approx(float(expected), abs=1e-12)


def test_classes_of_equal_probability_are_of_one_kind_however_small_it_is():
    """Sums with squares of the others lose what is small: probabilities themselves decide."""
    probs = np.array([[0.5, 0.5 - 3e-9, 1e-9, 2e-9], [0.5, 0.25, 0.125, 0.125]], np.float32)
    outputs = Outputs(np.array([0, 0]), probs)
    brier, log_loss = (statistic(name) for name in ("brier", "log_loss"))
    assert brier.table(outputs, 4)[0, 2] == brier.table(outputs, 4)[0, 3]
    for each in (brier, log_loss):
        assert find_kinds((each,), outputs, 4)[:, 2:].tolist() == [[2, 3], [2, 2]]
    tiny = Outputs(np.array([0]), np.array([[1.0, 0.0, 1e-13, 1e-14]], np.float32))
    assert find_kinds((log_loss,), tiny, 4).tolist() == [[0, 1, 1, 1]]
    assert find_kinds((brier,), tiny, 4).tolist() == [[0, 1, 2, 3]]


def test_many_classes_are_as_few():
    """Kinds of several statistics together, against the definition."""
    rng = np.random.default_rng(1)
    tables = rng.integers(3, size=(2, 20, 150)).astype(float)
    made = tuple(Statistic("", lambda outputs, labels, each=each: each) for each in tables)
    outputs = Outputs(np.zeros(20, int), np.full((20, 150), 1 / 150))
    alike = (tables[..., None] == tables[:, :, None, :]).all(axis=0)
    assert (find_kinds(made, outputs, 150) == alike.argmax(axis=2)).all()


def test_tables_of_many_classes_are_not_kept(monkeypatch):
    """Of a thousand classes, one for each metric of a class would fill the memory."""
    made = tuple(statistic(f"{name}:140") for name in ("tp", "fp"))
    outputs = Outputs(np.array([140, 0, 149]))
    kept = _tabulate_kinds.cache_info().currsize
    kinds = find_kinds(made, outputs, 150)
    assert _tabulate_kinds.cache_info().currsize == kept
    assert kinds.max(axis=1).tolist() == [140, 0, 0] and (kinds[0] > 0).sum() == 1
    monkeypatch.setattr(kinds_of_labels, "_MOST_CLASSES", 150)
    assert (find_kinds(made, outputs, 150) == kinds).all()
    assert _tabulate_kinds.cache_info().currsize == kept + 1
