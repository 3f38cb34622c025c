"""All the evidence there is: confidence, features, training rows and other models, as proven.

Of classes, one Bayesian logistic regression says whether the model is right: agreement, with a
column for every kind of evidence, and a Gaussian process on the components of the features (on the
log-probabilities of three classes or more without features), all weighted by Laplace's evidence
(MacKay 1992). Without any of these it is agreement.
What errors cost is as in agreement. Of values, a linear regression of label minus prediction has
the same columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from activetest.item_statistics.outcomes import other_classes
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates import _values_with_evidence, agreement
from activetest.surrogates._evidence import Evidence, find_evidence, restore_evidence
from activetest.surrogates._logistic import sigmoid
from activetest.surrogates._right_or_wrong import (
    Kernel,
    Layout,
    fit_right_or_wrong,
    restore_kernel,
)
from activetest.surrogates._values_with_evidence import ValuesWithEvidence
from activetest.surrogates.agreement import Agreement

USES_EVIDENCE = True
USES_OTHER_MODELS = True
SAW_FEATURES = True
CROSSES = True

# No item is surer than this: a step divides by what is left.
_LEAST = 1e-4
# What models exclude is as likely as this.
_LEAST_OTHER = 0.01
# Classes whose log-probabilities are inputs of the kernel, at least and at most, and their floor.
_FEWEST_CLASSES, _MOST_CLASSES, _LEAST_PROB = 3, 30, 1e-4


def fit(
    training: TrainingSet, *, rng: np.random.Generator | None = None
) -> "Auto | ValuesWithEvidence":
    """The surrogate after M labels; deterministic."""
    del rng
    return fit_together(training, [len(training.labels)])[0]


def fit_together(
    training: TrainingSet, counts: Sequence[int]
) -> "list[Auto] | list[ValuesWithEvidence]":
    """The surrogate of each of S sets of labels, which follow one another in the training set.

    counts (S,) labels of each. What is found for a set does not depend on the others.
    """
    evidence, rows = find_evidence(training), training.rows
    if not training.classes:
        sets = _split(training, counts)
        return [_values_with_evidence.fit(each, find_evidence(each)) for each in sets]
    if evidence.names or rows.evidence is not None or _read_kernel_inputs(rows) is not None:
        return [_fit_classes(each) for each in _split(training, counts)]
    found = zip(agreement.fit_together(training, counts), counts, strict=True)
    return [Auto(**vars(each), evidence=replace(evidence, labels=count)) for each, count in found]


def _split(training: TrainingSet, counts: Sequence[int]) -> Iterator[TrainingSet]:
    """The training set cut into sets of so many labels."""
    ends = np.cumsum(counts)
    for start, stop in zip(ends - counts, ends, strict=True):
        yield training[start:stop]


def _fit_classes(training: TrainingSet) -> "Auto":
    evidence = find_evidence(training)
    rows, effects = training.rows, agreement.count_effects(training)
    stated, design = rows.outputs.probs is not None, agreement.design_columns(rows, effects)
    components, count, learners = rows.design.shape[1] - stated, None, 0
    if rows.evidence is not None:
        answers = agreement.require_answers(rows)
        design = np.hstack([design[:, : effects + 1 + stated], answers])
        count, learners = answers.shape[1], rows.evidence.shape[1]
        # Of facts, as of components, nobody knows before any label what they say.
        components = count - learners
    fitted = fit_right_or_wrong(
        np.hstack([design, evidence.values(rows)]),
        (training.labels == rows.outputs.pred).astype(float),
        Layout(effects, stated, components, evidence.names, learners),
        agreement.expect_right(training.shares, effects),
        # Features that foretell nothing change nothing.
        None if count == 0 else _read_kernel_inputs(rows),
    )
    return Auto(
        effects=effects,
        mode=fitted.mode,
        covariance=fitted.covariance,
        answers=count,
        kernel=fitted.kernel,
        evidence=evidence,
        trust=_compare_other_models(training),
        **agreement.learn_errors_together(training, [len(training.labels)])[0],
    )


@dataclass(frozen=True)
class AutoMembers:
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
class Auto(Agreement):
    """Agreement with a column for each kind of evidence, the last ones.

    kernel  of items with similar inputs; None for none
    trust   share of other models in what is believed of the true class of an error
    """

    evidence: Evidence = field(kw_only=True)
    kernel: Kernel | None = field(default=None, kw_only=True)
    trust: float = field(default=0.0, kw_only=True)

    @property
    def auxiliary_outputs(self) -> tuple[str, ...]:
        """What it learns from, for the report."""
        own = "the model's confidence" if self.shares is None else "the predicted class"
        known = ("the features",) if self.answers else ()
        return (own, *known, *self.evidence.describe())

    def params(self) -> dict[str, Any]:
        """Those of agreement, of the evidence and of the kernel."""
        kernel = {} if self.kernel is None else self.kernel.params()
        return super().params() | self.evidence.params() | kernel | {"trust": self.trust}

    def attach(self, pool: PoolView) -> "Auto":
        """The same for this pool, whose items may have moved since.

        Raises ValueError for a pool of other classes or features.
        """
        super().attach(pool)
        return replace(self, evidence=self.evidence.attach(pool))

    def draw_members(self, count: int, rng: np.random.Generator) -> Any:
        """(K, D) draws from the posterior of the coefficients; AutoMembers where there is a kernel.

        Members have the kernel in proportion to its share, but for one at most.
        """
        if self.kernel is None:
            return super().draw_members(count, rng)
        with_kernel = int(self.kernel.share * count + rng.random())
        columns = super().draw_members(count - with_kernel, rng)
        return AutoMembers(columns, *self.kernel.draw(with_kernel, rng))

    def wrong_probs(self, rows: Rows) -> Array:
        """(R,) probability that the prediction is wrong."""
        wrong = super().wrong_probs(rows)
        if self.kernel is not None:
            logits = self.right_logits(rows, self.kernel.mode)
            logits = logits + self.kernel.heights(_require_inputs(rows), self.kernel.weights)
            wrong = (1 - self.kernel.share) * wrong + self.kernel.share * sigmoid(-logits)
        return self._limit(wrong)

    def measure_evidence(self, rows: Rows) -> float:
        """By how many times the odds of an error differ, one standard deviation, by the answers."""
        if not self.answers:
            return 1.0
        stop = len(self.mode) - len(self.evidence.names)
        moved = agreement.require_answers(rows) @ self.mode[stop - self.answers : stop]
        return float(np.exp(moved.std()))

    def _average(self, logits: Array, rows: Rows) -> Array:
        """(R,) logits that are nearer to 0, as the slopes of answers are uncertain.

        The mean of a logistic function of a normal, nearly (MacKay 1992, The evidence framework
        applied to classification networks, section 3): priors that take an answer for wrong, and
        for no worse than others, are averaged as probabilities.
        """
        if not self.answers:
            return logits
        answers = agreement.require_answers(rows).astype(float)
        stop = len(self.mode) - len(self.evidence.names)
        block = slice(stop - answers.shape[1], stop)
        variance = np.einsum("rk,kl,rl->r", answers, self.covariance[block, block], answers)
        averaged: Array = logits / np.sqrt(1 + np.pi / 8 * variance)
        return averaged

    def member_wrong_probs(self, rows: Rows, members: Any) -> Array:
        """(R, K) the same by each member."""
        if self.kernel is None:
            return self._limit(super().member_wrong_probs(rows, members))
        logits = self.right_logits(rows, members.linear.T)
        logits = logits + self.kernel.heights(_require_inputs(rows), members.weights.T)
        columns = super().member_wrong_probs(rows, members.columns)
        return self._limit(np.hstack([columns, sigmoid(-logits)]))

    def right_logits(self, rows: Rows, weights: Array) -> Array:
        """(R,) or (R, K) logit of being right by the columns, for (D,) or (D, K) weights."""
        count = len(self.evidence.names)
        if not count:
            return super().right_logits(rows, weights)
        evidence = self.evidence.values(rows) @ weights[-count:]
        return super().right_logits(rows, weights[:-count]) + evidence

    def other_class_probs(self, rows: Rows) -> Array:
        """(C, R) probability of each class given an error, before any was observed.

        By the model's own probabilities and by other models.
        """
        others = super().other_class_probs(rows)
        if self.trust:
            others = (1 - self.trust) * others
            others += self.trust * _find_other_classes(rows).astype(others.dtype)
        return others

    def _predicts_errors_alone(self, rows: Rows) -> bool:
        return not self.trust and super()._predicts_errors_alone(rows)

    def _limit(self, wrong: Array) -> Array:
        """Probabilities of an error that are nowhere too sure; as they are without evidence."""
        if not self.evidence.names and not self.answers and self.kernel is None:
            return wrong
        return np.clip(wrong, _LEAST, 1 - _LEAST)


def restore(params: dict[str, Any]) -> Auto | ValuesWithEvidence:
    """The surrogate that params() described. Raises ValueError for what it cannot have been."""
    evidence = restore_evidence(params)
    if not evidence.classes:
        return _values_with_evidence.restore(params)
    plain, kernel = agreement.restore(params), restore_kernel(params)
    columns, trust = len(plain.mode), float(params["trust"])
    if not 0 <= trust <= 1:
        raise ValueError("the share of other models is no share")
    if kernel is not None and len(kernel.mode) != columns:
        raise ValueError("a kernel does not fit the columns beside it")
    return Auto(**vars(plain), evidence=evidence, kernel=kernel, trust=trust)


def _compare_other_models(training: TrainingSet) -> float:
    """The share of other models in the true class of an error: 0 without any.

    Their probability given the errors that were observed, where they and the model's own word are
    equally likely at first.
    """
    rows = training.rows
    if rows.external is None:
        return 0.0
    wrong = np.flatnonzero((training.labels != rows.outputs.pred) & (training.labels >= 0))
    rows, labels = rows[wrong], training.labels[wrong].astype(np.intp)
    by_itself = other_classes(rows.outputs, training.classes, training.shares)
    by_others, by_itself = (
        np.log(np.maximum(probs[labels, np.arange(len(labels))], _LEAST_OTHER)).sum()
        for probs in (_find_other_classes(rows), by_itself)
    )
    return float(sigmoid(by_others - by_itself))


def _find_other_classes(rows: Rows) -> Array:
    """(C, R) probability of each class given an error, by the mean of other models.

    Raises ValueError for rows without what they say.
    """
    if rows.external is None:
        raise ValueError("the rows have no predictions of other models")
    means = rows.external.mean(axis=1, dtype=float)
    return other_classes(Outputs(rows.outputs.pred, means), means.shape[1])


def _read_kernel_inputs(rows: Rows) -> Array | None:
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


def _require_inputs(rows: Rows) -> Array:
    """(R, k) what the kernel goes by. Raises ValueError for rows that lack it."""
    inputs = _read_kernel_inputs(rows)
    if inputs is None:
        raise ValueError("the rows have neither features nor probabilities of three classes")
    return inputs
