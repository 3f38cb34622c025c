"""Residual: Bayesian linear regression of label minus prediction, as `agreement` is for classes.

Its prior mean is zero, which is the black box itself. The residual's variance is log-linear in the
prediction, the black box's own deviation and the features: a shrunk gamma regression of the squared
residuals (Aitkin 1987).
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, expectation
from activetest.nouns.contraction import contract
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._evidence import Evidence
from activetest.surrogates._gaussian import (
    RESIDUAL_VARIANCE_SHARE,
    node_beliefs,
    reweight_nodes,
    sum_moments,
)

TASK = "regression"
CROSSES = True

# Prior standard deviations: of the mean's coefficients, in units of the residual's spread, and of
# the log-variance's slopes.
_MEAN, _LOG_VARIANCE = 0.3, 0.3
# Columns of the log-variance are bounded by this, and evidence is at least so far, in spreads.
_BOUND, _LEAST_DISTANCE = 2.0, 0.1
# Labels that the prior variance of the residual counts as.
GUESS_WEIGHT = 2.0


def fit(training: TrainingSet, *, rng: np.random.Generator | None = None) -> "Residual":
    """The posterior after M labels; deterministic.

    Raises ChoiceError for a classification pool.
    """
    del rng
    if training.classes:
        raise ChoiceError(
            "the surrogate 'residual' predicts values, and this pool predicts classes",
            hint='`study.change(surrogate="agreement")`',
        )
    residual = training.labels - training.rows.outputs.pred
    design = design_columns(training.rows)
    guess = RESIDUAL_VARIANCE_SHARE * training.scale**2
    scale = (GUESS_WEIGHT * guess + residual @ residual) / (GUESS_WEIGHT + len(residual))
    center = np.zeros(design.shape[1])
    center[0] = np.log(scale)
    doubt = np.full(design.shape[1], _LOG_VARIANCE**-2)
    doubt[0] = GUESS_WEIGHT / 2
    log_variance = center
    for _ in range(3):
        weights = np.exp(-design @ log_variance)
        precision = (design.T * weights) @ design + np.eye(design.shape[1]) / (_MEAN**2 * scale)
        covariance = np.linalg.inv(precision)
        mode = covariance @ (design.T @ (weights * residual))
        # The fitted mean explains part of the spread: add the posterior variance of the mean.
        squares = (residual - design @ mode) ** 2 + contract(
            "md,de,me->m", design, covariance, design
        )
        log_variance, _ = fit_log_variance(design, squares, log_variance, center, doubt)
    return Residual(mode, covariance, log_variance, len(residual))


@dataclass(frozen=True)
class Residual:
    """Mean and log-variance of label minus prediction: D coefficients each, the intercept first.

    mode           (D,) posterior mode of the mean's coefficients
    covariance     (D, D) their posterior covariance
    log_variance   (D,) coefficients of the log-variance
    labels         number of labels it learned from
    evidence       what else is known: a column of the mean for each kind, the last ones; None for
                   nothing
    spread         standard deviation of label minus prediction: the unit of distances of the
                   evidence
    last           the latest rows of each thread and their columns, since rounds ask for them twice
    """

    mode: Array
    covariance: Array
    log_variance: Array
    labels: int
    evidence: Evidence | None = None
    spread: float = 1.0
    last: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def auxiliary_outputs(self) -> tuple[str, ...]:
        """Sources that it learns from, for the report."""
        return (
            () if self.evidence is None else ("the model's prediction", *self.evidence.describe())
        )

    def params(self) -> dict[str, Any]:
        """JSON-ready parameters: the fields, arrays as lists; those of the evidence."""
        arrays = {
            name: getattr(self, name).tolist() for name in ("mode", "covariance", "log_variance")
        }
        known = {}
        if self.evidence is not None:
            known = {"spread": self.spread} | self.evidence.params()
        return {"labels": self.labels, **arrays, **known}

    def attach(self, pool: PoolView) -> "Residual":
        """The same for this pool, whose items may have moved since.

        Raises ValueError for a pool of classes or of other features.
        """
        if pool.classes:
            raise ValueError("it predicts values, and the pool has classes")
        if self.evidence is None:
            return self
        return replace(self, evidence=self.evidence.attach(pool), last=threading.local())

    def check(self) -> None:
        """Raises ValueError for what nobody fitted: a study may have been written by anybody."""
        columns = len(self.mode)
        if self.mode.ndim != 1 or self.log_variance.ndim != 1 or not len(self.log_variance):
            raise ValueError("coefficients are no vectors")
        if self.covariance.shape != (columns, columns):
            raise ValueError("a posterior does not fit its coefficients")
        arrays = (self.mode, self.covariance, self.log_variance)
        if not all((np.abs(each) < np.inf).all() for each in arrays):
            raise ValueError("a posterior has what is no number")
        if self.labels < 0 or (np.linalg.eigvalsh(self.covariance) < 0).any():
            raise ValueError("a posterior has a variance below zero")
        if not 0 < self.spread < np.inf:
            raise ValueError("residuals have no standard deviation")

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Array | None = None
    ) -> Beliefs:
        """Outcomes are nodes of N(pred + mean residual, variance of residual and mean)."""
        design, noise = self.read(rows)
        mean = rows.outputs.pred + design @ self.mode
        variance = noise + self.find_mean_variance(design, noise)
        draws = None
        if members is not None:
            draws = reweight_nodes(mean, variance, *self.draws(rows, members))
        return node_beliefs(rows, mean, variance, statistics, draws)

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        return expectation(self.beliefs(rows, statistics))

    def draw_members(self, count: int, rng: np.random.Generator) -> Array:
        """(K, D + 1) draws of the mean's coefficients and of the log-variance's intercept."""
        mean = rng.multivariate_normal(self.mode, self.covariance, size=count, method="cholesky")
        level = rng.normal(0, np.sqrt(2 / (GUESS_WEIGHT + self.labels)), size=(count, 1))
        return np.hstack([mean, level])

    def totals(
        self, rows: Rows, members: Array, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        return sum_moments(rows, *self.draws(rows, members), statistics)

    def draws(self, rows: Rows, members: Array) -> tuple[Array, Array]:
        """(K, R) mean and variance of the label under each member."""
        design, noise = self.read(rows)
        means = rows.outputs.pred + members[:, :-1] @ design.T
        return means, noise * np.exp(members[:, -1:])

    def read(self, rows: Rows) -> tuple[Array, Array]:
        """(R, D) columns of the mean, and (R,) variance of the residual."""
        if getattr(self.last, "rows", None) is not rows:
            design = noise_design = design_columns(rows)
            if self.evidence is not None:
                columns = self.evidence.values(rows)
                design = np.hstack([design, columns])
                noise_design = noise_columns(rows, columns, self.spread)
            noise = np.exp(self.log_variance[0] + limit_variance(noise_design, self.log_variance))
            self.last.columns, self.last.rows = (design, noise), rows
        found: tuple[Array, Array] = self.last.columns
        return found

    def find_mean_variance(self, design: Array, noise: Array) -> Array:
        """(R,) posterior variance of the mean; noise (R,) is that of the residual.

        With evidence, at most that of the residual: priors are wide, and of items far from all
        labels they say no more than that.
        """
        variance: Array = contract("rd,de,re->r", design, self.covariance, design)
        return variance if self.evidence is None else np.minimum(variance, noise)


def restore(params: Mapping[str, Any], evidence: Evidence | None = None) -> Residual:
    """The surrogate that params() described, and the evidence that was among them.

    Raises ValueError, or LookupError or TypeError, for what it cannot have been.
    """
    arrays: dict[str, Any] = {
        name: np.array(params[name], float) for name in ("mode", "covariance", "log_variance")
    }
    spread = 1.0 if evidence is None else float(params["spread"])
    found = Residual(labels=int(params["labels"]), **arrays, evidence=evidence, spread=spread)
    found.check()
    return found


def design_columns(rows: Rows) -> Array:
    """(R, D) an intercept and the rows' design."""
    return np.column_stack([np.ones(len(rows.design)), rows.design.astype(float)])


def noise_columns(rows: Rows, evidence: Array, spread: float) -> Array:
    """(R, H) columns of the log-variance: 1, prediction, its square, rest, distance of evidence.

    evidence (R, K), spread as in Residual.
    """
    bounded = _BOUND * np.tanh(rows.design.astype(float) / _BOUND)
    distance = np.log(np.abs(evidence) / spread + _LEAST_DISTANCE)
    constant = np.ones((len(bounded), 1))
    return np.hstack([constant, bounded[:, :1], bounded[:, :1] ** 2 - 1, bounded[:, 1:], distance])


def limit_variance(design: Array, log_variance: Array) -> Array:
    """(R,) log-variance of the residual less its level, at most 3 from it.

    Without that limit the exponential of a linear extrapolation explodes on heavy tails.
    """
    limited: Array = np.clip(design[:, 1:] @ log_variance[1:], -3, 3)
    return limited


def fit_log_variance(
    design: Array,
    squares: Array,
    first: Array,
    center: Array,
    precision: Array,
    trust: float = 1.0,
) -> tuple[Array, float]:
    """(H,) shrunk coefficients of log E[square], and the negative log posterior there.

    Damped Newton on a gamma likelihood of shape 1/2. design (M, H), squares (M,), first (H,)
    coefficients; center, precision (H,) of the prior; trust is how much a square counts.
    """

    def objective(weights: Array) -> float:
        logs = design @ weights
        with np.errstate(over="ignore"):
            fit = 0.5 * trust * (logs + squares * np.exp(-logs)).sum()
        return float(fit + 0.5 * precision @ (weights - center) ** 2)

    weights, value = first, objective(first)
    # The expected curvature is always positive definite; the observed one need not be.
    curvature = 0.5 * trust * design.T @ design + np.diag(precision)
    for _ in range(30):
        ratio = squares * np.exp(-(design @ weights))
        gradient = 0.5 * trust * design.T @ (1 - ratio) + precision * (weights - center)
        step, size = np.linalg.solve(curvature, gradient), 1.0
        while (trial := objective(weights - size * step)) > value and size > 1e-6:
            size /= 2
        if value - trial < 1e-9:
            break
        weights, value = weights - size * step, trial
    return weights, value
