"""Labels to ask for once more: those whose doubt moves the estimate most.

Of a labelled item with share w in the estimate, label l and a probability p of every true class c,
the expected squared error that its label adds is w^2 sum_c p(c) (h(l) - h(c))^2, where h is the
metric's linearised statistic. One more answer a, by an annotator as good as those so far, leads to
another p and perhaps another label; what it adds is the error now less the expected error then.

p is the surrogate's and the model's belief about the item times the likelihood of the answers. It
decides what to ask, and enters no estimate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation import samples
from activetest.estimation.view import build_view
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic, combine_statistics, statistic
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import MARGIN, find_nearly_largest
from activetest.nouns.rows import Array, Rows
from activetest.rounds.fit import get_surrogate

# An annotator as if four answers had been right and one wrong, as in Dawid-Skene.
_RIGHT, _WRONG = 4.0, 1.0
# Nobody is taken to be surer of a class than this.
_SUREST = 0.99


@dataclass(frozen=True)
class Opinions:
    """The answers to M labelled items, in the order of list_labelled.

    answers    (M,) lists of (annotator, class code), in the order given; the code of a label that
               is none of the classes is their number
    soft       (M, C) probability of each class by Dawid-Skene; None where labels are certain
    resolve    the label's code that a list of codes leads to, where soft is None
    """

    answers: Sequence[Sequence[tuple[str, int]]]
    soft: Array | None
    resolve: Callable[[Sequence[int]], int]


def weigh_labels(
    log: Log, cache: PoolView, choices: Choices, metric: Metric, *, seed: int
) -> tuple[Array, Rows, Statistic]:
    """(M,) share of each labelled item in the estimate, the items, and the metric's linear part.

    Where there is no estimate yet all items weigh alike, and so do the metric's statistics.
    """
    view = build_view(log, cache, choices, [metric], seed=seed, own_view=False)
    evidence, whole = view.evidence, view.evidence.groups[0]
    positions, _, shares = samples.known_weights(
        log, whole.items, whole, evidence.drawn, evidence.supplied
    )
    shares = shares if shares.any() else np.ones(len(shares))
    shares = shares / whole.total
    refined = view.metrics[metric.title]
    slope = np.ones(len(refined.statistics))
    try:
        value = view.value(metric, "doubly-robust")
        if value.several:
            found = refined.gradient(value.means.mean[: len(slope)])
            slope = found if np.isfinite(found).all() else slope
    except NotEstimable:
        pass
    return shares, cache.take(positions), combine_statistics(refined.statistics, list(slope))


def rank_classes(
    log: Log,
    cache: PoolView,
    choices: Choices,
    metric: Metric,
    opinions: Opinions,
    *,
    seed: int,
) -> tuple[Array, Array]:
    """(M,) what another answer adds, and what the label's doubt costs now: expected squared errors.

    With labels by majority an answer that cannot change the label adds nothing by itself.
    """
    shares, rows, linear = weigh_labels(log, cache, choices, metric, seed=seed)
    classes = len(cache.classes)
    outputs = rows.outputs
    other = linear.value(outputs, -np.ones((len(shares), 1)))
    table = np.hstack([np.asarray(linear.table(outputs, classes), float), other])
    table = table * shares[:, None]
    accuracy, typical = _measure_accuracy(log, opinions)
    prior = _believe(log, cache, choices, rows, seed=seed)
    chance = _weigh_answers(opinions, prior, accuracy)
    labels = np.array([_find_label(opinions, at, chance[at]) for at in range(len(shares))], int)
    # Answers decide the label, and the beliefs of surrogate and model do not.
    decided = _weigh_answers(opinions, np.ones_like(prior), accuracy)
    now = _expect_error(table, chance, labels)
    after = np.zeros(len(shares))
    wrong = (1 - typical) / max(classes, 1)
    for answer in range(classes + 1):
        likelihood = np.full(classes + 1, wrong)
        likelihood[answer] = typical
        joint = chance * likelihood
        if opinions.soft is not None:
            then = find_nearly_largest(decided * likelihood, axis=1)
        else:
            codes = [[code for _, code in each] + [answer] for each in opinions.answers]
            then = np.array([opinions.resolve(each) for each in codes], int)
        after += _expect_error(table, joint, then)
    # Where another answer changes no label, rounding is all that is left.
    return np.where(now - after > MARGIN * now, now - after, 0.0), now


def rank_values(
    log: Log,
    cache: PoolView,
    choices: Choices,
    metric: Metric,
    values: Sequence[Sequence[float]],
    *,
    seed: int,
) -> tuple[Array, Array]:
    """As rank_classes, where the answers (M,) are numbers and a label is their median.

    A label of k answers with variance s^2 has variance s^2 / k, and one more answer takes
    s^2 / (k (k + 1)) away; s is the spread of the item's answers, or for one answer how far it is
    from the prediction.
    """
    shares, rows, _ = weigh_labels(log, cache, choices, metric, seed=seed)
    counts = np.array([len(each) for each in values], float)
    apart = [
        np.var(each, ddof=1) if len(each) > 1 else (each[0] - rows.outputs.pred[at]) ** 2
        for at, each in enumerate(values)
    ]
    spread = np.array(apart, float) * shares**2
    return spread / (counts * (counts + 1)), spread / counts


def _expect_error(table: Array, chance: Array, labels: Array) -> Array:
    """(M,) sum over classes of chance (M, C) times the squared error of a label (M,)."""
    own = np.take_along_axis(table, labels[:, None], axis=1)
    errors: Array = (chance * (table - own) ** 2).sum(axis=1)
    return errors


def _find_label(opinions: Opinions, at: int, chance: Array) -> int:
    """The code of an item's label now."""
    if opinions.soft is None:
        return opinions.resolve([code for _, code in opinions.answers[at]])
    soft = opinions.soft[at]
    return int(find_nearly_largest(np.append(soft, max(1 - soft.sum(), 0.0))))


def _measure_accuracy(log: Log, opinions: Opinions) -> tuple[dict[str, float], float]:
    """How often each annotator is right, from items that several answered; and a typical one."""
    right: dict[str, float] = {}
    count: dict[str, float] = {}
    for at, answers in enumerate(opinions.answers):
        if len(answers) < 2:
            continue
        label = opinions.resolve([code for _, code in answers])
        for annotator, code in answers:
            soft = None if opinions.soft is None else opinions.soft[at]
            known = soft is not None and code < len(soft)
            hit = float(soft[code]) if known and soft is not None else float(code == label)
            right[annotator] = right.get(annotator, 0.0) + hit
            count[annotator] = count.get(annotator, 0.0) + 1
    names = {annotator for answers in opinions.answers for annotator, _ in answers}
    accuracy = {
        name: min((right.get(name, 0.0) + _RIGHT) / (count.get(name, 0.0) + _RIGHT + _WRONG), 0.99)
        for name in names
    }
    return accuracy, float(np.mean(list(accuracy.values())))


def _believe(log: Log, cache: PoolView, choices: Choices, rows: Rows, *, seed: int) -> Array:
    """(M, C + 1) probability of each class by surrogate and model; the last is none of them."""
    count, classes = len(rows.index), len(cache.classes)
    pred, probs = rows.outputs.pred, rows.outputs.probs
    surrogate = get_surrogate(log, cache, choices, seed=seed)
    wrong = np.asarray(surrogate.expected(rows, (statistic("zero_one"),))[0], float)
    belief = np.full((count, classes + 1), 1e-3)
    if probs is not None:
        wrong = (wrong + 1 - rows.outputs.confidence) / 2
        belief[:, :classes] += probs
    else:
        belief[:, :classes] += 1.0
    wrong = np.clip(wrong, 1 - _SUREST, _SUREST)
    at = np.arange(count)
    belief[at, pred] = 0.0
    belief *= (wrong / belief.sum(axis=1))[:, None]
    belief[at, pred] = 1 - wrong
    return belief


def _weigh_answers(opinions: Opinions, prior: Array, accuracy: dict[str, float]) -> Array:
    """(M, C + 1) probability of each class given the answers."""
    chance = prior.copy()
    several = any(len(each) > 1 for each in opinions.answers)
    classes = prior.shape[1] - 1
    if opinions.soft is not None and several:
        soft = np.column_stack([opinions.soft, np.maximum(1 - opinions.soft.sum(axis=1), 1e-9)])
        chance *= np.maximum(soft, 1e-9)
    else:
        for at, answers in enumerate(opinions.answers):
            for annotator, code in answers:
                right = accuracy[annotator]
                likelihood = np.full(classes + 1, (1 - right) / max(classes, 1))
                likelihood[code] = right
                chance[at] *= likelihood
    chance /= chance.sum(axis=1, keepdims=True)
    return chance


def select_soft(log: Log) -> Array | None:
    """(M, C) Dawid-Skene's probabilities of labelled items, drawn ones first."""
    soft = log.item_soft
    return None if soft is None else soft[log.item_status == LABELLED]
