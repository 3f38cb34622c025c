"""Assumptions about items with a tiny score, and the numbers that follow from them.

Labels hardly show how rare a class is among very many items in which the model does not see it: k
of them without a hit leave 3 / k possible. Somebody may know more than that. An assumption bounds
the share of the class among the items with a score below a cut, its items. A metric then splits:
what its items add lies between what is known of them and the most that is assumed, and the rest of
the pool is estimated like a group, by the draws that fell into it. The interval is the hull of
those at both ends. Labels of the items test the assumption, and one that they refute is not used.
"""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from operator import add

import numpy as np
from scipy.special import betaincinv, gammaincinv

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.certain import find_part, find_possible
from activetest.estimation.cut_pool import CutPool
from activetest.estimation.delta_method import count_effectively
from activetest.estimation.estimate import estimate_metric
from activetest.estimation.evidence import Evidence
from activetest.estimation.samples import (
    build_sample,
    collect_evidence,
    find_metric_steps,
    limit_means,
    weigh_items,
)
from activetest.estimation.value import Value, WorstCase
from activetest.item_statistics.metric import Metric, linear_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Sample
from activetest.nouns.log import LABELLED
from activetest.nouns.pool import PoolView
from activetest.nouns.report import REFUTED, SUPPORTED, UNTESTED, AssumptionCheck
from activetest.nouns.rounding import floor_count, is_above, round_count
from activetest.nouns.rows import Array, Outputs
from activetest.system.parallel import map_reduce

_EXAMPLE = "write it like 'rate[fraud]@score<1e-4<=0.0001'"
_FORM = re.compile(r"rate\[(.+)\]\s*@\s*score\s*([<>]=?)([^<>=]*)([<>]=?)([^<>=]*)", re.DOTALL)
# The group of all items that no assumption is about.
_REST = "rest"
# Scores and shares that an assumption is proposed of, the largest first; which part of the class it
# may leave among its items, and from which part on that is worth it.
_POWERS = tuple(float(f"1e-{power}") for power in range(1, 9))
_SMALL, _LARGE = 0.05, 0.25


@dataclass(frozen=True)
class Assumption:
    """At most so many of the items with a score below a cut are of a class.

    text        as the user wrote it
    class_name, code   the class; the score is the model's probability of it
    below       the cut
    at_most     largest share of the items
    """

    text: str
    class_name: str
    code: int
    below: float
    at_most: float

    def covers(self, outputs: Outputs) -> Array:
        """(R,) whether it is about these items; scores are compared as the pool keeps them."""
        probs = outputs.known_probs[:, self.code]
        found: Array = probs < np.asarray(self.below, probs.dtype)
        return found

    def count_items(self, cache: PoolView) -> Array:
        """(C,) its items by predicted class."""
        return self._sum_items(cache)[:-1]

    def expect_share(self, cache: PoolView) -> float:
        """The share of the class among its items, as the model has it: their mean score."""
        sums = self._sum_items(cache)
        return float(sums[-1] / max(sums[:-1].sum(), 1))

    def _sum_items(self, cache: PoolView) -> Array:
        """(C + 1,) its items by predicted class, and the sum of their scores."""
        return sum_below(cache, self.code, (self.below,))[0]


def sum_below(cache: PoolView, code: int, cuts: Sequence[float]) -> list[Array]:
    """(C + 1,) for each cut: items with a lower score by predicted class, and their scores' sum.

    code  of the class whose scores they are
    cuts  in descending order: one pass serves those that were not asked for before
    """
    sums: dict[float, Array] = cache.compute_once(("items below", code), dict)
    missing = [below for below in cuts if below not in sums]

    def on_piece(piece: tuple[int, int]) -> Array:
        outputs = cache.rows(*piece).outputs
        pred, scores = outputs.pred, outputs.known_probs[:, code]
        found = []
        for below in missing:
            # The items below a cut are among those below a higher one.
            inside = scores < np.asarray(below, scores.dtype)
            if not inside.all():
                pred, scores = pred[inside], scores[inside]
            counts = np.bincount(pred, minlength=len(cache.classes))
            found.append(np.append(counts, scores.sum(dtype=float)))
        return np.stack(found)

    if missing:
        sums |= zip(missing, map_reduce(cache.chunks(), on_piece, np.add), strict=True)
    return [sums[below] for below in cuts]


def parse_assumptions(texts: Sequence[str], cache: PoolView) -> tuple[Assumption, ...]:
    """The assumptions `rate[CLASS]@score<X<=Y` in texts.

    Raises ChoiceError for other texts, and for what the pool does not have or cannot use.
    """
    if texts and not _has_scores(cache):
        raise ChoiceError(
            f"assumption {texts[0]!r} counts items by the probabilities of their classes, and this "
            f"pool has {'weights' if cache.roles.get('weight') else 'no such probabilities'}",
            "leave out `assume`",
        )
    found: list[Assumption] = []
    for text in dict.fromkeys(each.strip() for each in texts):
        each = _parse(text, cache)
        # Items of another class's assumption are others: they are not predicted as their own class.
        if each.code in (other.code for other in found):
            raise ChoiceError(
                f"several assumptions are about {each.class_name}",
                "give the one that you are surest of",
            )
        found.append(each)
    return tuple(found)


def _has_scores(cache: PoolView) -> bool:
    """Whether items count alike and have probabilities of classes."""
    alike = bool(cache.classes) and not cache.roles.get("weight")
    return alike and cache.take([0]).outputs.probs is not None


def _parse(text: str, cache: PoolView) -> Assumption:
    def refuse(what: str, hint: str) -> ChoiceError:
        return ChoiceError(f"assumption {text!r} {what}", hint)

    form = _FORM.fullmatch(text)
    if form is None:
        raise refuse("is not of the form rate[CLASS]@score<X<=Y", _EXAMPLE)
    name, (first, second) = form[1].strip(), form.group(2, 4)
    classes = list(cache.classes)
    if name not in classes:
        raise refuse(f"names no class: {name!r}", catalog.nearest(name, classes))
    below, at_most = (_read_number(number) for number in form.group(3, 5))
    if not (0 < below <= 1 and 0 <= at_most < 1):
        what = "needs a score above 0 and at most 1, and a share of at least 0 and below 1"
        hint = "write shares, not percentages: 0.0001 for 0.01 %" if "%" in text else _EXAMPLE
        raise refuse(what, hint)
    if (first, second) != ("<", "<="):
        right = f"rate[{name}]@score<{below:g}<={at_most:g}"
        if first[0] == second[0] == ">" and len(classes) == 2 and below < 1 and at_most > 0:
            # The other class has the other scores.
            other = classes[1 - classes.index(name)]
            right = f"rate[{other}]@score<{1 - below:g}<={1 - at_most:g}"
        raise refuse(f"has {first} and {second} where < and <= belong", f"write {right!r}")
    found = Assumption(text, name, classes.index(name), below, at_most)
    counts = found.count_items(cache)
    if not counts.sum():
        lowest = float(cache.scores(found.code).min())
        raise refuse("is about no item of this pool", f"the lowest score of {name} is {lowest:g}")
    if counts[found.code]:
        hint = f"choose a lower score than {below:g}: at most the model's threshold"
        raise refuse(f"is about {counts[found.code]:,} items that are predicted as {name}", hint)
    return found


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def check_assumption(assumption: Assumption, evidence: Evidence, level: float) -> AssumptionCheck:
    """Test of an assumption by the labels at hand.

    A drawn item stands for as many as its weight in an estimate says. Of the hits, counted by their
    weights, the lower gamma limit at the level (Garwood 1936; Fay and Feuer 1997) is how many items
    of the class there are at least; where that is more than what is assumed, or the hits alone are,
    it is refuted. It is supported where the upper limit is not above it, for as many labels as
    uniform draws among its items would have shown.
    """
    log, code = evidence.log, assumption.code
    known = (evidence.drawn, log.status), (evidence.supplied, log.supplied_status)
    drawn, supplied = (
        assumption.covers(rows.outputs) & (status == LABELLED) for rows, status in known
    )
    hits, size = drawn & (log.labels == code), int(assumption.count_items(evidence.cache).sum())
    found = int(hits.sum() + (log.supplied_labels[supplied] == code).sum())
    labelled, most = int(drawn.sum() + supplied.sum()), floor_count(assumption.at_most * size)
    rate = linear_metric("rate", statistic(f"true:{code}"), class_name=assumption.class_name)
    weights, steps = weigh_items(evidence, rate)[1], find_metric_steps(evidence, rate)
    weights = weights[: len(hits)][hits]
    total, count = float(weights.sum()), count_effectively(weights)
    least = total * float(gammaincinv(count, 1 - level)) / count if count else 0.0
    there = steps[drawn[steps]]
    rarity = 1 / (log.q[there] * (evidence.groups[0].size - there))
    draws = round_count(np.minimum(rarity / rarity.mean(), 1).sum()) if len(rarity) else 0.0

    def limit(tail: float) -> float:
        if labelled == size:
            return found / max(size, 1)
        seen = min(max(total, found) / size, 1.0) * draws
        return float(betaincinv(seen + 1, draws - seen, 1 - tail)) if seen < draws else 1.0

    verdict = UNTESTED
    if found > most or is_above(least, most):
        verdict = REFUTED
    elif not is_above(limit(1 - level), assumption.at_most):
        verdict = SUPPORTED
    about = assumption.text, assumption.class_name, assumption.below, assumption.at_most
    upper = limit((1 - level) / 2)
    return AssumptionCheck(*about, size, labelled, found, most, total, upper, verdict)


def propose_assumption(evidence: Evidence, class_name: str, level: float) -> Assumption | None:
    """The assumption that would say most about a rare class, in powers of ten; None without one.

    Its share is the largest that leaves among its items at most a twentieth of those of the class
    in the pool, as labels estimate them. Its cut is the largest score below which the model expects
    no more than that, none of some labels is of the class, and no item is predicted as it. It is
    worth saying where the labels leave a quarter of the class possible there.
    """
    cache = evidence.cache
    if not _has_scores(cache) or class_name not in cache.classes:
        return None
    code = list(cache.classes).index(class_name)
    everything = Assumption("", class_name, code, np.inf, 1.0)
    sum_below(cache, code, (np.inf, *_POWERS))
    total = check_assumption(everything, evidence, level).stands_for
    for below in _POWERS if total > 0 else ():
        cut = replace(everything, below=below)
        check, share = check_assumption(cut, evidence, level), 0.0
        if check.n_labeled and not check.n_found and not cut.count_items(cache)[code]:
            fitting = (x for x in _POWERS if not is_above(x * check.n_pool, _SMALL * total))
            share = next(fitting, 0.0)
        if share and not is_above(cut.expect_share(cache), share, unit=share):
            text = f"rate[{class_name}]@score<{below:g}<={share:g}"
            much = not is_above(_LARGE * total, check.upper * check.n_pool)
            return replace(cut, text=text, at_most=share) if much else None
    return None


def bears_on(assumptions: Sequence[Assumption], metric: Metric, evidence: Evidence) -> bool:
    """Whether numbers of the metric follow from these assumptions, and change with them.

    None does while items are declined: numbers are then about the others, however many they are.
    """
    if metric.refine or metric.interval or not assumptions or evidence.log.declined:
        return False
    found = [_split(metric, each.code, evidence) for each in assumptions]
    return None not in found and any(each[1].any() for each in found if each)


def _split(metric: Metric, code: int, evidence: Evidence) -> tuple[Array, Array] | None:
    """(C, d) what an item of another class adds, and (d,) how much more one of the class.

    By predicted class, for items that are predicted as another. None where that depends on more: on
    the score, or on which other class the label or the prediction is.
    """
    if not metric.statistics or not all(each.cells for each in metric.statistics):
        return None
    classes = evidence.classes
    outputs = Outputs(np.arange(classes))
    labels = [*(other for other in range(classes) if other != code), *[-1] * evidence.open_classes]
    wide = np.broadcast_to([code, *labels], (classes, 1 + len(labels)))
    tables = np.stack([each.value(outputs, wide) for each in metric.statistics], axis=2)
    others = np.delete(tables, code, axis=0)
    more = others[:, 0] - others[:, 1]
    if (others[:, 1:] != others[:, 1:2]).any() or (more != more[0]).any():
        return None
    return tables[:, 1], more[0]


@dataclass(frozen=True)
class Assumed:
    """Assumptions about different items, in force together.

    evidence   with the rest of the pool as a group, and the items of each assumption
    """

    assumptions: tuple[Assumption, ...]
    evidence: Evidence

    def estimate(self, metric: Metric, estimator: str) -> Value:
        """The value of a metric that they bear on, and those at both ends of what is assumed.

        The value is at what labels of their items say, or the nearest number that is assumed to be
        possible. Raises NotEstimable, with the reason.
        """
        ranges, likely, ends = [], [], []
        for each in self.assumptions:
            check = check_assumption(each, self.evidence, 0.5)
            ranges.append((check.n_found, max(check.most, check.n_found)))
            likely.append(float(np.clip(check.stands_for, *ranges[-1])))
        sample = build_sample(self.evidence, metric, self.evidence.groups[1])

        def find(counts: Sequence[float]) -> Value:
            return estimate_metric(self._add_items(sample, metric, counts), metric, estimator)

        value = find(likely)
        for counts in product(*ranges):
            with suppress(NotEstimable):
                ends.append(find(counts))
        ends.sort(key=lambda each: float(each.estimate.mean[0]))
        if len(ends) < 2 ** len(ranges):
            return replace(value, worst=WorstCase(None, None, value.metric.bounds))
        low, high = (float(each.estimate.mean[0]) for each in (ends[0], ends[-1]))
        return replace(value, worst=WorstCase(ends[0], ends[-1], (low, high)))

    def _add_items(self, sample: Sample, metric: Metric, counts: Sequence[float]) -> Sample:
        """The sample of the whole pool, from that of the rest, with so many items of each class."""
        evidence, sums = self.evidence, np.zeros(len(metric.statistics))
        for each, count in zip(self.assumptions, counts, strict=True):
            others, more = _split(metric, each.code, evidence) or (0.0, 0.0)
            sums += each.count_items(evidence.cache) @ others + count * more
        whole, rest = evidence.groups[:2]
        part, size, share = find_part(evidence, metric, rest), whole.size, rest.size / whole.size
        total, spread, label_variance = sample.total + sums, sample.spread, sample.label_variance
        return replace(
            sample,
            size=size,
            known_sum=sample.known_sum + sums,
            total=total,
            limits=limit_means(metric, total, sample.unknown, size, declined=False),
            possible=sample.possible and find_possible(evidence, metric, part, total, size),
            relevant=part.count,
            label_variance=lambda weights: share**2 * label_variance(weights),
            spread=spread
            and (
                lambda weights, mean: share**2 * spread(weights, (mean * size - sums) / rest.size)
            ),
        )


def assume(
    assumptions: tuple[Assumption, ...],
    evidence: Evidence,
    choices: Choices,
    metrics: Sequence[Metric],
) -> Assumed:
    """The assumptions in force, for these metrics; evidence is that without them."""
    cache, known = evidence.cache, evidence.surrogate

    def on_piece(piece: tuple[int, int]) -> list[Array]:
        outputs = cache.rows(*piece).outputs
        places = [place * each.covers(outputs) for place, each in enumerate(assumptions, 1)]
        return [np.max(places, axis=0)]

    cells = np.concatenate(map_reduce(cache.chunks(), on_piece, add))
    divided = CutPool(cache, cells, [_REST, *(each.text for each in assumptions)])
    found = collect_evidence(
        evidence.log, divided, choices, metrics, seed=evidence.seed, surrogate=known
    )
    return Assumed(assumptions, found)
