"""One belief about each item's label, from the surrogates of several models.

Every model's surrogate says how likely it is right, and its outputs how likely the other classes
are. The mean of these is believed of the classes that models predict; on items on which not all do
the same it is sharpened: the class c is taken to be in proportion to

    m(c)^(1 + b) exp(sum of t_k over the models k that predict it)

where m is the mean, and "none of these classes" to m^(1 + b) exp(r). The b, t and r follow from the
labels of such items, with normal priors: a multinomial logistic regression with a known part (MAP,
by Newton's method). So what is expected of two models is the same wherever they do the same, and
differences of any two models have no doubt there.
"""

import weakref
from collections.abc import Mapping, Sequence

import numpy as np

from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.compared_pool import ComparedSurrogate

# Standard deviations of the prior of b, of each t, and of r.
_PRIOR = 0.5, 0.5, 1.0
# Probabilities are at least this, and steps of Newton's method at most so many.
_LEAST, _STEPS = 1e-3, 30
_MISTAKE = statistic("zero_one")


class JointSurrogate(ComparedSurrogate):
    """Surrogates of several models, and one belief about each item's label.

    Statistics of mistakes of the models that it is about follow from it, and all others from what
    each surrogate says.
    """

    def __init__(
        self,
        model: str,
        surrogates: Mapping[str, Surrogate],
        classes: int,
        known: tuple[Rows, Array],
        among: Sequence[str],
    ) -> None:
        """As of ComparedSurrogate; among are the models that one belief is about."""
        super().__init__(model, surrogates, classes, known)
        self.among = tuple(among)

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        joint = np.array([self._counts_all(each) for each in statistics], bool)
        found = np.zeros((len(statistics), len(rows.index)))
        if not joint.all():
            others = tuple(np.array(statistics, object)[~joint])
            found[~joint] = super().expected(rows, others)
        if joint.any():
            probs, mistakes = self.believe(rows)
            wrong = (probs[:, :, None] * mistakes).sum(axis=1)
            weights = [self._weigh_models(statistics[each]) for each in np.flatnonzero(joint)]
            found[joint] = np.array(weights) @ wrong.T * rows.mass
        return found

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: object = None
    ) -> Beliefs:
        """Beliefs about R rows; of mistakes over the classes that models predict, and none."""
        if not all(map(self._counts_all, statistics)):
            return super().beliefs(rows, statistics, members)
        probs, mistakes = self.believe(rows)
        weights = np.array([self._weigh_models(each) for each in statistics])
        values = np.moveaxis(mistakes @ weights.T, -1, 0)
        return Beliefs(probs, values * rows.mass[:, None])

    def _weigh_models(self, named: Statistic) -> Array:
        """(K,) weight of each model's mistakes in a statistic."""
        weights = np.zeros(len(self.among))
        for model, _, weight in named.terms:
            weights[self.among.index(model)] += weight
        return weights

    def _counts_all(self, named: Statistic) -> bool:
        """Whether a statistic adds up mistakes of the models that it is about."""
        if not (self.classes and named.terms):
            return False
        mistakes = all(each.name == _MISTAKE.name for _, each, _ in named.terms)
        return mistakes and {model for model, _, _ in named.terms} <= {*self.among}

    def believe(self, rows: Rows) -> tuple[Array, Array]:
        """(R, K + 1) how likely the label is what each of K models predicts, and none of that.

        A class that several models predict counts for the first of them. And (R, K + 1, K) which
        models are wrong then. Kept for the rows that were last asked about.
        """
        about, found = vars(self).get("_last", (None, None))
        if about is None or about() is not rows:
            found = self._find_beliefs(rows)
            self._last = weakref.ref(rows), found
        assert found is not None
        return found

    def _find_beliefs(self, rows: Rows) -> tuple[Array, Array]:
        parts = self._split(rows)
        shifts = self.compute_once("shifts", self._fit_shifts)
        probs = _find_probs(*parts, shifts)
        same = parts[1]
        mistakes = np.ones((len(probs), len(self.among) + 1, len(self.among)))
        mistakes[:, :-1] -= same
        return probs, mistakes

    def _split(self, rows: Rows) -> tuple[Array, Array]:
        """(R, K + 1) logarithms of what is believed on average; and (R, K, K) who says the same."""
        plain = rows.unweighted
        # Models may have codes of classes of their own: those of the outputs are shared by all.
        seen = [plain.outputs.others[name] for name in self.among]
        pred = np.stack([each.pred for each in seen], axis=1)
        same = pred[:, :, None] == pred[:, None, :]
        mean = np.zeros(pred.shape)
        for place, (name, each) in enumerate(zip(self.among, seen, strict=True)):
            own = plain.others[name]
            wrong = self.surrogates[name].expected(own, (_MISTAKE,))[0].astype(float)
            others = _share_rest(each, pred, place, self.classes)
            mean += np.where(same[:, place], 1 - wrong[:, None], wrong[:, None] * others)
        mean /= len(seen)
        first = ~np.tril(same, -1).any(axis=2)
        none = np.maximum(1 - (mean * first).sum(axis=1), _LEAST if self.classes > 2 else 0.0)
        known = np.column_stack([np.where(first, np.maximum(mean, _LEAST), 0.0), none])
        with np.errstate(divide="ignore"):
            return np.log(known), same

    def _fit_shifts(self) -> Array:
        """(K + 2,) b, r and the t of each model, from labels of items on which models differ."""
        rows, labels = self.known
        logs, same = self._split(rows)
        pred = np.stack([rows.outputs.others[name].pred for name in self.among], axis=1)
        right = pred == labels[:, None]
        outcome = np.where(right.any(axis=1), right.argmax(axis=1), right.shape[1])
        use = ~same.all(axis=(1, 2)) & np.isfinite(logs[np.arange(len(logs)), outcome])
        return _fit(logs[use], same[use], outcome[use])


def _share_rest(outputs: Outputs, pred: Array, place: int, classes: int) -> Array:
    """(R, K) share of each predicted class in what a model at this place believes of the others."""
    if outputs.probs is None:
        return np.full(pred.shape, 1 / max(classes - 1, pred.shape[1], 1))
    probs = np.take_along_axis(outputs.probs, pred, axis=1).astype(float)
    rest = np.maximum(1 - probs[:, [place]], 1e-6)
    return np.minimum(probs / rest, 1.0)


def _add_design(logs: Array, same: Array) -> Array:
    """(R, K + 1, K + 2) what b, r and each t add to the logits."""
    count = same.shape[1]
    design = np.zeros((len(logs), count + 1, count + 2))
    design[..., 0] = np.where(np.isfinite(logs), logs, 0.0)
    design[:, count, 1] = 1.0
    design[:, :count, 2:] = same
    return design


def _find_probs(logs: Array, same: Array, shifts: Array) -> Array:
    """(R, K + 1) probabilities; on items on which all models do the same, those of the mean."""
    apart = ~same.all(axis=(1, 2))
    logits = logs.copy()
    logits[apart] += _add_design(logs[apart], same[apart]) @ shifts
    weights = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _fit(logs: Array, same: Array, outcome: Array) -> Array:
    """(K + 2,) the shifts after M items of which outcome (M,) came true."""
    count = same.shape[1]
    b, t, r = _PRIOR
    precision = np.array([b, r, *[t] * count]) ** -2.0
    design = _add_design(logs, same)
    chosen = design[np.arange(len(logs)), outcome].sum(axis=0)

    def measure(shifts: Array) -> tuple[float, Array]:
        logits = logs + design @ shifts
        top = logits.max(axis=1, keepdims=True, initial=-np.inf)
        total = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
        fit = (logits[np.arange(len(logs)), outcome] - total).sum()
        return float(precision @ shifts**2 / 2 - fit), np.exp(logits - total[:, None])

    shifts = np.zeros(count + 2)
    value, probs = measure(shifts)
    for _ in range(_STEPS):
        mean = (probs[..., None] * design).sum(axis=1)
        gradient = mean.sum(axis=0) - chosen + precision * shifts
        weighted = (probs[..., None] * design).reshape(-1, count + 2)
        square = weighted.T @ design.reshape(-1, count + 2) - mean.T @ mean
        step, size = np.linalg.solve(square + np.diag(precision), gradient), 1.0
        before = value
        value, probs = measure(shifts - step)
        while value > before and size > 1e-6:
            size /= 2
            value, probs = measure(shifts - size * step)
        shifts = shifts - size * step
        if before - value < 1e-9:
            break
    return shifts
