"""All the evidence there is: confidence, features, training rows and other models, as proven.

Of classes, one Bayesian logistic regression says whether the model is right: agreement, with a
column for every kind of evidence, and a Gaussian process on the components of the features (on the
log-probabilities of three classes or more without features), all weighted by Laplace's evidence
(MacKay 1992). Without any of these it is agreement.
The cost of errors is as in agreement. Of values, a linear regression of label minus prediction has
the same columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from activetest.item_statistics.outcomes import other_classes
from activetest.nouns.training import TrainingSet
from activetest.surrogates import _values_with_evidence, agreement, residual
from activetest.surrogates._evidence import find_evidence, restore_evidence
from activetest.surrogates._logistic import sigmoid
from activetest.surrogates._right_or_wrong import (
    Layout,
    fit_right_or_wrong,
)
from activetest.surrogates.agreement import Agreement
from activetest.surrogates.residual import Residual

USES_EVIDENCE = True
USES_OTHER_MODELS = True
COUNTS_VOTES = True
SAW_FEATURES = True
CROSSES = True

# Classes that models exclude are as likely as this.
_LEAST_OTHER = 0.01


def fit(training: TrainingSet, *, rng: np.random.Generator | None = None) -> Agreement | Residual:
    """The surrogate after M labels; deterministic."""
    del rng
    return fit_together(training, [len(training.labels)])[0]


def fit_together(training: TrainingSet, counts: Sequence[int]) -> list[Agreement] | list[Residual]:
    """The surrogate of each of S sets of labels, which follow one another in the training set.

    counts (S,) labels of each. The result for a set does not depend on the others.
    """
    evidence, rows = find_evidence(training), training.rows
    if not training.classes:
        sets = _split(training, counts)
        return [_values_with_evidence.fit(each, find_evidence(each)) for each in sets]
    if (
        evidence.names
        or rows.evidence is not None
        or agreement.read_kernel_inputs(rows) is not None
    ):
        return [_fit_classes(each) for each in _split(training, counts)]
    found = zip(agreement.fit_together(training, counts), counts, strict=True)
    return [replace(each, evidence=replace(evidence, labels=count)) for each, count in found]


def _split(training: TrainingSet, counts: Sequence[int]) -> Iterator[TrainingSet]:
    """The training set cut into sets of so many labels."""
    ends = np.cumsum(counts)
    for start, stop in zip(ends - counts, ends, strict=True):
        yield training[start:stop]


def _fit_classes(training: TrainingSet) -> Agreement:
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
        Layout(effects, stated, components, evidence.names, learners, evidence.votes),
        agreement.expect_right(training.shares, effects),
        # Features that foretell nothing change nothing.
        None if count == 0 else agreement.read_kernel_inputs(rows),
    )
    return Agreement(
        effects=effects,
        mode=fitted.mode,
        covariance=fitted.covariance,
        answers=count,
        kernel=fitted.kernel,
        evidence=evidence,
        trust=_compare_other_models(training),
        **agreement.learn_errors_together(training, [len(training.labels)])[0],
    )


def restore(params: dict[str, Any]) -> Agreement | Residual:
    """The surrogate that params() described. Raises ValueError for what it cannot have been."""
    evidence = restore_evidence(params)
    return (agreement if evidence.classes else residual).restore(params, evidence)


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
        for probs in (agreement.ask_other_models(rows), by_itself)
    )
    return float(sigmoid(by_others - by_itself))
