"""Agreement: the probability that the black box is right.

Bayesian logistic regression on the confidence, the predicted class and the features. Users who only
have predictions have no training data, and a model of all classes that is fitted to a few dozen
labels makes poor estimates. This surrogate predicts a single bit per item. Its prior is the black
box itself: without labels, P(right) is the confidence. Where outputs are classes without
probabilities it is 3/4, and less for a class that is seldom predicted. The widths of the prior are
averaged by their evidence. The cost of an error, given that there is one, is that of the black
box's other probabilities, times one fitted factor per predicted class. The true class of an error
follows those probabilities, or how often each class is predicted, and the errors observed so far.

`auto` fits the same surrogate to all the evidence that there is besides.
"""

import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics.outcomes import (
    OtherClasses,
    find_other_classes,
    other_class,
    other_classes,
    sum_others,
    when_wrong,
)
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.contraction import contract
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._evidence import Evidence
from activetest.surrogates._logistic import average_gaussians, fit_laplace, sigmoid
from activetest.surrogates._right_or_wrong import Kernel, Layout, list_priors, restore_kernel

TASK = "classification"
RIGHT_OR_WRONG = True
CROSSES = True

# P(right) before any label, where the black box gives no probabilities: chosen on simulated pools
# in which it is right in 60 to 95 % of the items, see tests/benchmarks/verdicts.py.
_USUALLY_RIGHT = 0.75
# With more classes than this, predicted classes have no intercepts.
_MOST_EFFECTS = 30
# No item is surer than this, given evidence: a step divides by what is left.
_LEAST = 1e-4
# Classes whose log-probabilities are inputs of the kernel, at least and at most, and their floor.
_FEWEST_CLASSES, _MOST_CLASSES, _LEAST_PROB = 3, 30, 1e-4
# Pseudo-observations that shrink cost factors to 1, over all classes and for one class.
_COST_PRIOR = 2.0
# Pseudo-observations of the black box's own probabilities of the true class of an error.
_CLASS_PRIOR = 3.0
# Probabilities of members that are looked at at a time.
_AT_ONCE = 1 << 16
# Stored numbers of a posterior are below this.
_LARGEST = 1e12


def fit(training: TrainingSet, *, rng: np.random.Generator | None = None) -> "Agreement":
    """The posterior mode and covariance after M labels; deterministic.

    Raises ChoiceError for a regression pool.
    """
    del rng
    return fit_together(training, [len(training.labels)])[0]


def fit_together(training: TrainingSet, counts: Sequence[int]) -> "list[Agreement]":
    """The posterior of each of S sets of labels, which follow one another in the training set.

    counts (S,) labels of each. The result for a set does not depend on the others. Raises
    ChoiceError for a regression pool.
    """
    if not training.classes:
        raise ChoiceError(
            "the surrogate 'agreement' asks whether a class is right, and this pool predicts "
            "values",
            hint='`study.change(surrogate="residual")`',
        )
    rows, effects = training.rows, count_effects(training)
    design = design_columns(rows, effects)
    stated = rows.outputs.probs is not None
    layout = Layout(effects, stated, rows.design.shape[1] - stated, ())
    mean, deviations, _ = list_priors(layout, expect_right(training.shares, effects))
    right = (training.labels == rows.outputs.pred).astype(float)
    sizes = np.asarray(counts)
    starts = np.cumsum(sizes) - sizes
    posteriors: dict[int, tuple[Array, Array]] = {}
    for size in np.unique(sizes):
        sets = np.flatnonzero(sizes == size)
        places = starts[sets, None] + np.arange(size)
        found = average_gaussians(
            *fit_laplace(design[places], right[places], mean, deviations, effects=effects)
        )
        posteriors |= dict(zip(sets.tolist(), zip(*found, strict=True), strict=True))
    learned = learn_errors_together(training, counts)
    return [
        Agreement(effects, mode=posteriors[each][0], covariance=posteriors[each][1], **errors)
        for each, errors in enumerate(learned)
    ]


def count_effects(training: TrainingSet) -> int:
    """The number of class effects: none where classes are many."""
    return training.classes if training.classes <= _MOST_EFFECTS else 0


def learn_errors_together(training: TrainingSet, counts: Sequence[int]) -> list[dict[str, Any]]:
    """{field of Agreement: value} of what an error costs, and which class it is instead.

    For each of S sets of labels that follow one another: counts (S,) of them.
    """
    wrong = np.flatnonzero(training.labels != training.rows.outputs.pred)
    ends = np.cumsum(counts)
    owner = np.searchsorted(ends, wrong, side="right")
    cost, noise = _fit_cost_factors(training, wrong, owner, len(counts))
    pairs = [training.rows.outputs.pred[wrong], training.labels[wrong]]
    # -1 is for a class of no pool.
    confused = np.column_stack(pairs).astype(np.intp)
    known = confused[:, 1] >= 0
    parts = np.searchsorted(owner[known], np.arange(1, len(counts)))
    shares = None if training.rows.outputs.probs is not None else training.shares
    return [
        {
            "learned": training.statistics,
            "cost": cost[each],
            "noise": noise[each],
            "confused": errors,
            "shares": shares,
        }
        for each, errors in enumerate(np.split(confused[known], parts))
    ]


@dataclass(frozen=True)
class KernelMembers:
    """K members: those of the columns alone, and those that have the kernel.

    columns  (K1, D) coefficients
    linear   (K2, D) coefficients of the columns that a kernel is added to
    weights  (K2, m) of the kernel
    """

    columns: Array
    linear: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.columns) + len(self.linear)


@dataclass(frozen=True)
class Agreement:
    """A posterior of D coefficients: class effects first, then the intercept, then the design.

    effects       number of class effects: one per predicted class, or 0 where classes are many
    learned       (T,) names of the cache's statistics, which have factors
    mode          (D,) posterior mode, averaged over the prior's widths
    covariance    (D, D) of a Gaussian around it
    cost, noise   (T, classes) factors on mean and variance of those statistics when wrong
    confused      (E, 2) predicted and true class of every observed error
    shares        (classes,) how often each class is predicted; None where outputs are
                  probabilities
    answers       number of columns of what learners of the black box's answers say, and of facts
                  of texts, which stand after the confidence instead of the components of features;
                  None for these
    evidence      what else is known: a column for each kind, the last ones; None for nothing
    kernel        of items with similar inputs; None for none
    trust         share of other models in what is believed of the true class of an error
    """

    effects: int
    learned: tuple[str, ...]
    mode: Array
    covariance: Array
    cost: Array
    noise: Array
    confused: Array
    shares: Array | None = None
    answers: int | None = None
    evidence: Evidence | None = None
    kernel: Kernel | None = None
    trust: float = 0.0

    @property
    def auxiliary_outputs(self) -> tuple[str, ...]:
        """Sources that it learns from, for the report."""
        if self.evidence is None:
            return ()
        own = "the model's confidence" if self.shares is None else "the predicted class"
        known = ("the features",) if self.answers else ()
        return (own, *known, *self.evidence.describe())

    @property
    def _kinds(self) -> int:
        """The number of columns of evidence."""
        return 0 if self.evidence is None else self.evidence.width

    def params(self) -> dict[str, Any]:
        """JSON-ready parameters: the fields, arrays as lists; those of evidence and kernel."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        if self.shares is not None:
            arrays["shares"] = self.shares.tolist()
        if self.answers is not None:
            arrays["answers"] = self.answers
        if self.evidence is not None:
            kernel = {} if self.kernel is None else self.kernel.params()
            arrays |= self.evidence.params() | kernel | {"trust": self.trust}
        return {"effects": self.effects, "learned": list(self.learned), **arrays}

    def attach(self, pool: PoolView) -> "Agreement":
        """The same for this pool, whose items may have moved since.

        Raises ValueError for a pool of other classes, statistics or features.
        """
        if more := len(pool.classes) - self.cost.shape[1]:
            if more < 0:
                raise ValueError("it knows other classes than the pool has")
            return self._add_classes(more).attach(pool)
        if self.learned != pool.statistics[: len(self.learned)]:
            raise ValueError("it knows other statistics than the pool has")
        if self.answers is not None:
            first = pool.rows(0, 1)
            if first.evidence is None or require_answers(first).shape[1] != self.answers:
                raise ValueError("it knows other evidence than the pool has")
        return self if self.evidence is None else replace(self, evidence=self.evidence.attach(pool))

    def _add_classes(self, count: int) -> "Agreement":
        """The same where items that came later are predicted as so many further classes.

        Of such a class nothing is known: its effect is 0, as uncertain as the least certain one,
        its factors are 1, and it is as rare as the rarest.
        """
        mode, covariance = self.mode, self.covariance
        if self.effects:
            places = np.full(count, self.effects)
            widest = covariance.diagonal()[: self.effects].max()
            mode = np.insert(mode, places, 0.0)
            covariance = np.insert(np.insert(covariance, places, 0.0, 0), places, 0.0, 1)
            new = np.arange(self.effects, self.effects + count)
            covariance[new, new] = widest
        ones, shares = np.ones((len(self.learned), count)), self.shares
        if shares is not None:
            shares = np.append(shares, np.full(count, shares.min()))
            shares = shares / shares.sum()
        return replace(
            self,
            effects=self.effects + count * (self.effects > 0),
            mode=mode,
            covariance=covariance,
            cost=np.hstack([self.cost, ones]),
            noise=np.hstack([self.noise, ones]),
            shares=shares,
        )

    def check(self) -> None:
        """Raises ValueError for what nobody fitted: a study may have been written by anybody."""
        columns, (_, classes) = len(self.mode), self.cost.shape
        shapes = {
            "mode": (columns,),
            "covariance": (columns, columns),
            "cost": (len(self.learned), classes),
            "noise": self.cost.shape,
        }
        if (
            self.effects not in (0, classes)
            or not 0 <= (self.answers or 0) < columns - self.effects
        ):
            raise ValueError("class effects do not fit the classes or the coefficients")
        if any(getattr(self, name).shape != shape for name, shape in shapes.items()):
            raise ValueError("a posterior does not fit its coefficients")
        if any((~(np.abs(getattr(self, name)) < _LARGEST)).any() for name in shapes):
            raise ValueError("a posterior has what is no number, or too large")
        if (self.noise < 0).any() or (np.linalg.eigvalsh(self.covariance) <= 0).any():
            raise ValueError("a posterior has a variance below zero")
        if (self.confused < 0).any() or (self.confused >= classes).any():
            raise ValueError("errors are of classes that there are not")
        if self.shares is not None and (
            self.shares.shape != (classes,) or not ((self.shares > 0) & (self.shares <= 1)).all()
        ):
            raise ValueError("predicted classes have no shares")
        if not 0 <= self.trust <= 1:
            raise ValueError("the share of other models is no share")
        if self.kernel is not None and len(self.kernel.mode) != columns:
            raise ValueError("a kernel does not fit the columns beside it")

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Array | None = None
    ) -> Beliefs:
        """Outcomes [right, wrong] (C = 2), from the posterior mode; draws from the members."""
        wrong = self.wrong_probs(rows)
        right, mean, spread = self._outcome_moments(rows, statistics)
        member_wrong = None if members is None else self.member_wrong_probs(rows, members).T
        return Beliefs(
            _stack_outcomes(1 - wrong, wrong),
            _stack_outcomes(right, mean),
            _stack_outcomes(np.zeros_like(spread), spread),
            None if member_wrong is None else np.stack([1 - member_wrong, member_wrong], axis=-1),
        )

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic: as in the beliefs, without their variance."""
        named = tuple(each.name for each in statistics)
        if not all(named):
            return self._expect(rows, statistics)
        return self._once(rows, named, lambda: self._expect(rows, statistics))

    def _expect(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        wrong = self.wrong_probs(rows)
        right, mean, _ = self._outcomes(rows, statistics, noise=False)
        mean -= right
        mean *= wrong
        mean += right
        return mean

    def _once(self, rows: Rows, key: Hashable, compute: Callable[[], Array]) -> Array:
        """Result of compute() the last time, if that was about the same rows: read-only.

        A round asks for several things about the same rows, one after another.
        """
        kept: dict[Hashable, tuple[weakref.ref[Rows], Array]]
        kept = vars(self).setdefault("_kept", {})
        found = kept.get(key)
        if found is None or found[0]() is not rows:
            found = kept[key] = weakref.ref(rows), compute()
            found[1].flags.writeable = False
        return found[1]

    def __getstate__(self) -> dict[str, Any]:
        """Results about rows of this process are not sent to another."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    def draw_members(self, count: int, rng: np.random.Generator) -> Any:
        """(K, D) draws from the posterior of the coefficients, or KernelMembers.

        Members have the kernel in proportion to its share, but for one at most.
        """
        with_kernel = 0 if self.kernel is None else int(self.kernel.share * count + rng.random())
        columns = rng.multivariate_normal(
            self.mode, self.covariance, size=count - with_kernel, method="cholesky"
        )
        if self.kernel is None:
            return columns
        return KernelMembers(columns, *self.kernel.draw(with_kernel, rng))

    def totals(
        self, rows: Rows, members: Array, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        right, mean, spread = self._outcome_moments(rows, statistics)
        gap = (mean - right).astype(float)
        # h is right + gap B with B ~ Bernoulli(wrong), and has variance `spread` when wrong.
        square = gap**2
        above = np.ascontiguousarray(np.concatenate([gap, square + spread]).T)
        below = np.ascontiguousarray(square.T)
        total = np.zeros((len(members), 2 * len(gap)))
        total[:, : len(gap)] += right.sum(axis=1, dtype=float)
        # Blocks of rows stay in the processor's cache.
        step = max(_AT_ONCE // len(members), 1)
        for start in range(0, len(rows.index), step):
            block = slice(start, start + step)
            # Long sums are for double precision.
            wrong = self.member_wrong_probs(rows[block], members).T.astype(float)
            total += wrong @ above[block]
            wrong *= wrong
            total[:, len(gap) :] -= wrong @ below[block]
        mean_total, variance = np.split(total, 2, axis=1)
        return mean_total, variance

    def wrong_probs(self, rows: Rows) -> Array:
        """(R,) probability that the prediction is wrong, from the posterior mode.

        By exponentials in double precision: those in single precision are others on another
        processor.
        """

        def compute() -> Array:
            logits = self.right_logits(rows, self.mode)
            wrong = sigmoid(-self._average(logits.astype(float), rows)).astype(logits.dtype)
            if self.kernel is not None:
                logits = self.right_logits(rows, self.kernel.mode)
                logits = logits + self.kernel.heights(require_inputs(rows), self.kernel.weights)
                wrong = (1 - self.kernel.share) * wrong + self.kernel.share * sigmoid(-logits)
            return self._limit(wrong)

        return self._once(rows, None, compute)

    def measure_evidence(self, rows: Rows) -> float:
        """By how many times the odds of an error differ, one standard deviation, by the answers."""
        if not self.answers:
            return 1.0
        stop = len(self.mode) - self._kinds
        moved = require_answers(rows) @ self.mode[stop - self.answers : stop]
        return float(np.exp(moved.std()))

    def _average(self, logits: Array, rows: Rows) -> Array:
        """(R,) logits that are nearer to 0, as the slopes of answers are uncertain.

        The mean of a logistic function of a normal, nearly (MacKay 1992, The evidence framework
        applied to classification networks, section 3): priors that take an answer for wrong, and
        for no worse than others, are averaged as probabilities.
        """
        if not self.answers:
            return logits
        answers = require_answers(rows).astype(float)
        stop = len(self.mode) - self._kinds
        block = slice(stop - answers.shape[1], stop)
        variance = contract("rk,kl,rl->r", answers, self.covariance[block, block], answers)
        averaged: Array = logits / np.sqrt(1 + np.pi / 8 * variance)
        return averaged

    def member_wrong_probs(self, rows: Rows, members: Any) -> Array:
        """(R, K) the same by each member."""
        columns = members if self.kernel is None else members.columns
        probs = self.right_logits(rows, columns.T)
        # In place: there are many of them.
        with np.errstate(over="ignore"):
            np.exp(probs, out=probs)
        probs += 1
        np.divide(1, probs, out=probs)
        if self.kernel is not None:
            logits = self.right_logits(rows, members.linear.T)
            logits = logits + self.kernel.heights(require_inputs(rows), members.weights.T)
            probs = np.hstack([probs, sigmoid(-logits)])
        return self._limit(probs)

    def _limit(self, wrong: Array) -> Array:
        """Probabilities of an error that are nowhere too sure; as they are without evidence."""
        if not self._kinds and not self.answers and self.kernel is None:
            return wrong
        return np.clip(wrong, _LEAST, 1 - _LEAST)

    def right_logits(self, rows: Rows, weights: Array) -> Array:
        """(R,) or (R, K) logit of being right, for (D,) or (D, K) weights."""
        if self.evidence is not None and self._kinds:
            found = self.evidence.values(rows) @ weights[-self._kinds :]
            return self._own_logits(rows, weights[: -self._kinds]) + found
        return self._own_logits(rows, weights)

    def _own_logits(self, rows: Rows, weights: Array) -> Array:
        """The same by the columns that are no evidence."""
        weights = weights.astype(np.float32)
        columns, several = weights[self.effects + 1 :], weights.ndim > 1
        design = rows.design
        if self.answers is not None:
            answers = require_answers(rows)
            design = np.hstack([design[:, : len(columns) - self.answers], answers])
        # Another processor would round a product by `@` in another way.
        logits: Array = design @ columns if several else contract("rd,d->r", design, columns)
        if not self.effects:
            logits += weights[self.effects]
            return logits
        logits += (weights[: self.effects] + weights[self.effects]).take(rows.outputs.pred, axis=0)
        return logits

    def _outcomes(
        self, rows: Rows, statistics: tuple[Statistic, ...], *, noise: bool = True
    ) -> tuple[Array, Array, Array | None]:
        """(T, R) value of each statistic when right, and its mean and variance when wrong.

        Without noise there are no variances.
        """
        factors = {
            t: self.learned.index(each.name)
            for t, each in enumerate(statistics)
            if each.name in self.learned
        }
        remaining = [None if t in factors else each for t, each in enumerate(statistics)]
        probs = cache(lambda: self.error_class_probs(rows))
        # Whether the class of an error follows from the predicted class alone.
        alone = rows.outputs.probs is None and not self.trust
        others = OtherClasses(
            self.cost.shape[1],
            probs,
            lambda code: self._error_class_prob(rows, code) if alone else probs()[code],
        )
        right, mean, spread = when_wrong(remaining, rows.outputs, others, noise=noise)
        for t, place in factors.items():
            pred = rows.outputs.pred
            cost = self.cost[place].astype(np.float32).take(pred)
            right[t], own_mean, own_spread = rows.find_outcome(place)
            mean[t] = own_mean * cost
            if spread is not None:
                factor = self.noise[place].astype(np.float32).take(pred)
                spread[t] = own_spread * factor
        return right, mean, spread

    def _outcome_moments(
        self, rows: Rows, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array, Array]:
        """(T, R) value of each statistic when right, and its mean and variance when wrong."""
        right, mean, spread = self._outcomes(rows, statistics)
        if spread is None:
            raise ValueError("outcomes have no variances")
        return right, mean, spread

    def other_class_probs(self, rows: Rows) -> Array:
        """(C, R) the same before any error was observed; nobody may write to it.

        By the model's own probabilities and by other models.
        """
        classes, shares = self.cost.shape[1], self.shares
        others = find_other_classes(rows.outputs, classes, shares)
        if self.trust:
            others = (1 - self.trust) * others
            others += self.trust * ask_other_models(rows).astype(others.dtype)
        return others

    def error_class_probs(self, rows: Rows) -> Array:
        """(C, R) probability of each class given an error, from outputs and observed errors."""
        classes = self.cost.shape[1]
        others = self.other_class_probs(rows)
        if not len(self.confused):
            return others
        # Only of classes that were taken for another: a last column stands for all others.
        codes, column = np.unique(self.confused[:, 0], return_inverse=True)
        counts = np.zeros((classes, len(codes) + 1), np.float32)
        np.add.at(counts, (self.confused[:, 1], column), 1)
        weight = _CLASS_PRIOR + counts.sum(axis=0)
        place = np.full(classes, len(codes))
        place[codes] = np.arange(len(codes))
        place = place.take(rows.outputs.pred)
        others = others * (_CLASS_PRIOR / weight).astype(others.dtype).take(place)
        others += (counts / weight).astype(others.dtype).take(place, axis=1)
        return others

    def _error_class_prob(self, rows: Rows, code: int) -> Array:
        """(R,) that of one class, with hard labels: the same to the last digit."""
        share = 1.0 if self.shares is None else float(self.shares[code])
        before, pred = other_class(rows.outputs, code, share, self._sums), rows.outputs.pred
        if not len(self.confused):
            return before
        taken, here = self.confused[:, 0], self.confused[:, 1] == code
        weight = _CLASS_PRIOR + _count_each(taken, pred)
        found: Array = before * (_CLASS_PRIOR / weight) + _count_each(taken[here], pred) / weight
        return found

    @cached_property
    def _sums(self) -> Array:
        """(C,) shares of all classes but each."""
        return sum_others(self.cost.shape[1], self.shares)


def _count_each(codes: Array, pred: Array) -> Array:
    """(R,) float32 how often each pred code (R,) is among the codes."""
    ends = [np.searchsorted(np.sort(codes), pred, side=side) for side in ("left", "right")]
    return np.subtract(*ends[::-1], dtype=np.float32)


_ARRAYS = ("mode", "covariance", "cost", "noise", "confused")


def restore(params: Mapping[str, Any], evidence: Evidence | None = None) -> Agreement:
    """The surrogate that params() described, and the evidence that was among them.

    Raises ValueError, or LookupError or TypeError, for what it cannot have been.
    """
    arrays: dict[str, Any] = {name: np.array(params[name], float) for name in _ARRAYS}
    if arrays["cost"].ndim != 2:
        raise ValueError("factors of costs are no table")
    arrays["confused"] = arrays["confused"].reshape(-1, 2).astype(np.intp)
    shares = np.array(params["shares"], float) if "shares" in params else None
    answers = int(params["answers"]) if "answers" in params else None
    names = tuple(params["learned"])
    if evidence is not None:
        kernel, trust = restore_kernel(params), float(params["trust"])
        arrays |= {"evidence": evidence, "kernel": kernel, "trust": trust}
    found = Agreement(int(params["effects"]), names, **arrays, shares=shares, answers=answers)
    found.check()
    return found


def require_answers(rows: Rows) -> Array:
    """(R, K) what learners of the black box's answers say, and facts of texts after that.

    Raises ValueError for rows without.
    """
    if rows.evidence is None:
        raise ValueError("the rows have no evidence of answers")
    return rows.evidence if rows.facts is None else np.hstack([rows.evidence, rows.facts])


def ask_other_models(rows: Rows) -> Array:
    """(C, R) probability of each class given an error, by the mean of other models.

    Raises ValueError for rows without what they say.
    """
    if rows.external is None:
        raise ValueError("the rows have no predictions of other models")
    means = rows.external.mean(axis=1, dtype=float)
    return other_classes(Outputs(rows.outputs.pred, means), means.shape[1])


def read_kernel_inputs(rows: Rows) -> Array | None:
    """(R, k) what the kernel goes by; None where the confidence says as much.

    The components of the features, or else the log-probabilities of the classes.
    """
    probs = rows.outputs.probs
    components = rows.design[:, (probs is not None) :]
    if components.shape[1]:
        return components
    if probs is None or not _FEWEST_CLASSES <= probs.shape[1] <= _MOST_CLASSES:
        return None
    return np.log(np.maximum(probs, _LEAST_PROB))


def require_inputs(rows: Rows) -> Array:
    """(R, k) what the kernel goes by. Raises ValueError for rows that lack it."""
    inputs = read_kernel_inputs(rows)
    if inputs is None:
        raise ValueError("the rows have neither features nor probabilities of three classes")
    return inputs


def _stack_outcomes(right: Array, wrong: Array) -> Array:
    """(..., 2) view in which the values of each outcome are contiguous in memory."""
    both = np.array([right, wrong])
    return both.transpose(*range(1, both.ndim), 0)


def design_columns(rows: Rows, effects: int) -> Array:
    """(R, D) one column per predicted class, the intercept and the rows' design."""
    one_hot = np.eye(effects)[rows.outputs.pred] if effects else np.empty((len(rows.design), 0))
    return np.column_stack([one_hot, np.ones(len(rows.design)), rows.design.astype(float)])


def expect_right(shares: Array | None, effects: int) -> Array:
    """(effects + 1,) prior means of class effects and intercept without probabilities: logits.

    A class that is predicted less often than the average one is right less often, down to half of
    the time: false alarms outnumber what is rare. shares (classes,) of predictions.
    """
    frequent = _to_logit(np.array(_USUALLY_RIGHT))
    if not effects or shares is None:
        return np.append(np.zeros(effects), frequent)
    often = np.minimum(len(shares) * shares, 1)
    return np.append(_to_logit(0.5 + (_USUALLY_RIGHT - 0.5) * often) - frequent, frequent)


def _to_logit(probs: Array) -> Array:
    logits: Array = np.log(probs / (1 - probs))
    return logits


def _fit_cost_factors(
    training: TrainingSet, wrong: Array, owner: Array, sets: int
) -> tuple[Array, Array]:
    """(S, T, classes) factors on the box's own mean and variance of statistics given an error.

    Observed over expected among the errors, of which wrong (E,) are the places and owner (E,) the
    sets of labels: shrunk to 1 over all classes, and to that again for each predicted class.
    """
    codes = training.rows.outputs.pred[wrong]
    shape = (sets, len(training.statistics), training.classes)
    cost, noise = np.ones(shape), np.ones(shape)
    cells = owner * training.classes + codes
    for t in range(shape[1]):
        observed = training.stats[wrong, t]
        _, *moments = training.rows.find_outcome(t)
        expected, spread = (each[wrong].astype(float) for each in moments)
        cost[:, t] = _shrink_ratio(observed, expected, cells, shape[::2])
        squares = (observed - cost[owner, t, codes] * expected) ** 2
        noise[:, t] = _shrink_ratio(squares, spread, cells, shape[::2])
    return cost, noise


def _shrink_ratio(observed: Array, expected: Array, cells: Array, shape: tuple[int, int]) -> Array:
    """(S, classes) sum of observed over sum of expected by class, each shrunk to the overall ratio.

    The overall ratio of a set of labels is shrunk to 1. cells (E,) are set times classes + class,
    shape is (S, classes).
    """
    size = shape[0] * shape[1]
    above, below, count = (
        np.bincount(cells, values, size).reshape(shape) for values in (observed, expected, None)
    )
    total = below.sum(axis=1, keepdims=True)
    there = total > 0
    prior = _COST_PRIOR * total / np.maximum(count.sum(axis=1, keepdims=True), 1)
    overall = (prior + above.sum(axis=1, keepdims=True)) / np.where(there, prior + total, 1.0)
    ratio = (prior * overall + above) / np.where(there, prior + below, 1.0)
    return np.where(there, ratio, 1.0)
