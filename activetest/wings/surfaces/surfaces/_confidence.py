"""How right the model is, by its own confidence: a logistic regression over labels, by Laplace.

logit P(right) = b logit(confidence) + intercept + an effect of the predicted class + one of each
attribute's value, averaged over the items of an arm that have no label. b is normal about 1 (a
model that is calibrated) with standard deviation 1, the intercept about 0 with 1; effects are about
0, and their two standard deviations maximise the marginal likelihood with a weak prior.

Axes: N items, E entries of the membership of labels (one per label where attributes are known), P
columns, O arms with labels, D draws.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, log_expit, logit

from activetest.nouns.rows import Array
from activetest.nouns.surface import SurfaceData

# Confidence is cut off here: a probability of 1 says no more than this.
_EDGE = 1e-4
START = np.log([0.3, 0.3])


@dataclass(frozen=True)
class Regression:
    """The weights given labels.

    weights    (P,) at the mode: b, intercept, classes, values of attributes
    precision  (P, P) of the posterior
    """

    weights: Array
    precision: Array


@dataclass(frozen=True)
class Entries:
    """Labels in arms, one row for each arm that a label belongs to.

    columns    (E, P) sparse design
    values     (E,) from 0 to 1
    weights    (E,) of the label times P(arm | item)
    arm        (E,) position of the arm
    """

    columns: csr_matrix
    values: Array
    weights: Array
    arm: Array


def design(data: SurfaceData, item: Array, arm: Array) -> csr_matrix:
    """(E, P) sparse columns of items in arms."""
    assert data.confidence is not None
    codes, sizes = data.arms.codes[arm], data.arms.attributes.sizes
    first = 2 + data.classes + np.cumsum([0, *sizes[:-1]])
    score = logit(np.clip(data.confidence[item].astype(float), _EDGE, 1 - _EDGE))
    row = len(item)
    indices = np.column_stack(
        [np.zeros(row, int), np.ones(row, int), 2 + data.predicted[item], codes + first]
    )
    content = np.ones(indices.shape)
    content[:, 0] = score
    pointer = np.arange(row + 1) * indices.shape[1]
    columns = 2 + data.classes + sum(sizes)
    return csr_matrix((content.ravel(), indices.ravel(), pointer), shape=(row, columns))


def list_entries(data: SurfaceData) -> Entries:
    """The labels as rows of the regression."""
    membership = data.membership.tocoo()
    label, arm = membership.row, membership.col
    return Entries(
        columns=design(data, data.items[label], arm),
        values=data.values[label],
        weights=data.weights[label] * membership.data,
        arm=arm,
    )


def make_prior(theta: Array, classes: int, sizes: tuple[int, ...]) -> tuple[Array, Array]:
    """(P,) means and precisions of the weights; theta are logs of the standard deviations."""
    values = sum(sizes)
    mean = np.concatenate([[1.0], np.zeros(1 + classes + values)])
    spread = np.concatenate(
        [[1.0, 1.0], np.full(classes, np.exp(theta[0])), np.full(values, np.exp(theta[1]))]
    )
    return mean, spread**-2


def regress(entries: Entries, prior: tuple[Array, Array]) -> tuple[Regression, float]:
    """The mode, and Laplace's approximation of the log marginal likelihood."""
    centre, precision = prior
    columns, values, weights = entries.columns, entries.values, entries.weights
    at = centre.copy()

    def evaluate(at: Array) -> float:
        eta = columns @ at
        fit = weights @ (values * log_expit(eta) + (1 - values) * log_expit(-eta))
        return float(fit - precision @ (at - centre) ** 2 / 2)

    value = evaluate(at)
    for _ in range(50):
        prob = expit(columns @ at)
        curvature = weights * prob * (1 - prob)
        hessian = (columns.T @ columns.multiply(curvature[:, None])).toarray()
        hessian.flat[:: len(at) + 1] += precision
        slope = columns.T @ (weights * (values - prob)) - precision * (at - centre)
        move = np.linalg.solve(hessian, slope)
        step, reached = 1.0, evaluate(at + move)
        while reached < value - 1e-9 and step > 1e-3:
            step /= 2
            reached = evaluate(at + step * move)
        gain, value, at = reached - value, reached, at + step * move
        if gain < 1e-6:
            break
    evidence = value - (np.linalg.slogdet(hessian)[1] - np.log(precision).sum()) / 2
    return Regression(at, hessian), float(evidence)


def search(data: SurfaceData, entries: Entries, begin: Array, evaluations: int) -> Array:
    """(2,) logs of the standard deviations of the effects of classes and of attribute values."""
    sizes = data.arms.attributes.sizes

    def loss(theta: Array) -> float:
        theta = np.clip(theta, -4, 3)
        _, evidence = regress(entries, make_prior(theta, data.classes, sizes))
        return float(((theta - START) ** 2).sum() / 2 - evidence)

    corners = np.concatenate([begin[None], begin + 0.8 * np.eye(2)])
    options = {"maxfev": evaluations, "initial_simplex": corners, "xatol": 0.05, "fatol": 0.05}
    found = minimize(loss, begin, method="Nelder-Mead", options=options)
    return np.clip(np.asarray(found.x), -4, 3)


def leave_out(entries: Entries, found: Regression, arms: Array) -> tuple[Array, Array]:
    """(O,) mean and variance of the logit of an arm's mean over its labels, as other arms say.

    One step of Newton away from the mode for each arm, exact where the likelihood is Gaussian; the
    mean over labels is taken as linear on the logit's scale.
    """
    covariance = np.linalg.inv(found.precision)
    prob = expit(entries.columns @ found.weights)
    bend = prob * (1 - prob)
    order = np.argsort(entries.arm, kind="stable")
    bounds = np.searchsorted(entries.arm[order], [arms, arms + 1])
    mean, variance = np.empty(len(arms)), np.empty(len(arms))
    for place, (start, stop) in enumerate(bounds.T):
        rows = order[start:stop]
        own, weights = entries.columns[rows].toarray(), entries.weights[rows]
        share = weights / max(weights.sum(), 1e-300)
        level = float(np.clip(share @ prob[rows], 1e-9, 1 - 1e-9))
        gradient = (share * bend[rows]) @ own / (level * (1 - level))
        curvature = weights * bend[rows]
        pull = own.T @ (weights * (entries.values[rows] - prob[rows]))
        both = np.column_stack([gradient, pull])
        if len(rows) < len(gradient):
            # (P - X'WX)^-1 = C + C X'W (1 - X C X'W)^-1 X C.
            carried = covariance @ both
            inner = np.eye(len(rows)) - (own @ covariance @ own.T) * curvature
            back = np.linalg.solve(inner, own @ carried)
            carried += covariance @ (own.T @ (curvature[:, None] * back))
        else:
            carried = np.linalg.solve(found.precision - (own.T * curvature) @ own, both)
        mean[place] = logit(level) - gradient @ carried[:, 1]
        variance[place] = gradient @ carried[:, 0]
    return mean, np.maximum(variance, 0)


@dataclass(frozen=True)
class Averages:
    """Draws of the mean of P(right) in each arm.

    rest     (D, A) over items without a label; over all items where every item has one
    labels   (D, A) over labels; 0 in arms without any
    """

    rest: Array
    labels: Array


def draw_averages(
    data: SurfaceData,
    entries: Entries,
    found: Regression,
    draws: int,
    rng: np.random.Generator,
) -> Averages:
    """Mirrored pairs of draws from the posterior, each averaged over the items of every arm."""
    half = draws // 2
    factor = cholesky(found.precision, lower=True)
    away = solve_triangular(factor.T, rng.standard_normal((len(found.weights), half))).T
    weights = np.concatenate([found.weights + away, found.weights - away])
    arms, sizes = data.arms, data.arms.attributes.sizes
    share = np.ones(len(data.predicted), np.float32)
    share[data.items] = 1e-9
    if data.declined is not None:
        share[data.declined] = 1e-9
    membership = arms.membership.tocoo()
    item, arm = membership.row, membership.col
    content = membership.data * share[item]
    assert data.confidence is not None
    score = logit(np.clip(data.confidence.astype(float), _EDGE, 1 - _EDGE)).astype(np.float32)
    total = np.maximum(np.bincount(arm, content, len(arms)), 1e-30)
    known = np.bincount(entries.arm, entries.weights, len(arms))
    rest = np.empty((draws, len(arms)), np.float32)
    labels = np.empty((draws, len(arms)), np.float32)
    first = 2 + data.classes
    starts = first + np.cumsum([0, *sizes[:-1]])
    for place, row in enumerate(weights):
        of_arm = row[arms.codes + starts].sum(axis=1).astype(np.float32)
        of_item = (row[0] * score + row[2 + data.predicted] + row[1]).astype(np.float32)
        prob = expit(of_item[item] + of_arm[arm])
        rest[place] = np.bincount(arm, content * prob, len(arms)) / total
        prob = expit(entries.columns @ row) * entries.weights
        labels[place] = np.bincount(entries.arm, prob, len(arms)) / np.maximum(known, 1e-30)
    return Averages(rest, labels)


def extend(data: SurfaceData, rest: Array) -> tuple[Callable[[Array], Array], float]:
    """Draws (D, A) read for combinations that never occur: a regression of logits on values.

    Without items there is no confidence to average, so that main effects stand for it, fitted to
    the arms by their items. Returns the function from codes (M, K) to (D, M), and the variance of
    logits about it.
    """
    arms, sizes = data.arms, data.arms.attributes.sizes
    starts = 1 + np.cumsum([0, *sizes[:-1]])
    width = 1 + sum(sizes)

    def spread(codes: Array) -> csr_matrix:
        indices = np.column_stack([np.zeros(len(codes), int), codes + starts])
        pointer = np.arange(len(codes) + 1) * indices.shape[1]
        return csr_matrix(
            (np.ones(indices.size), indices.ravel(), pointer), shape=(len(codes), width)
        )

    columns = spread(arms.codes)
    target = logit(np.clip(rest.astype(float), _EDGE, 1 - _EDGE)).T
    heavy = np.minimum(arms.support, 20)
    gram = (columns.T @ columns.multiply(heavy[:, None])).toarray()
    gram.flat[:: width + 1] += 1
    solution = np.linalg.solve(gram, columns.T @ (heavy[:, None] * target))
    left = (target - columns @ solution).mean(axis=1)
    variance = float(heavy @ left**2 / heavy.sum())

    def evaluate(codes: Array) -> Array:
        out = expit(spread(codes) @ solution).T.astype(np.float32)
        place = arms.find(codes)
        out[:, place >= 0] = rest[:, place[place >= 0]]
        return np.asarray(out)

    return evaluate, variance
