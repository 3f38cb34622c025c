"""Labels of several annotators, corrected by one model of all raters: see labels/latent_classes.

Estimates take the expectation of an item's statistics under its corrected label in place of those
of the most probable class, which would call too many predictions wrong.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.labels.latent_classes import NEEDS_SHARED, Raters, fit_raters
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.rounding import is_below
from activetest.nouns.rows import Array, Rows
from activetest.rounds.fit import make_generator

# The level of the test that raters err independently.
_LEVEL = 0.05


@dataclass(frozen=True)
class Correction:
    """Evidence on labels from the answers of several annotators.

    raters   of the labelled items; None where too few of them have two annotators
    places   (n,) of these items, among the drawn and then the supplied ones
    codes    (K,) the classes that occur; the number of classes stands for labels of no class
    shared   items with two annotators or more, and with three or more
    """

    raters: Raters | None
    places: Array
    codes: Array
    shared: tuple[int, int]

    @property
    def refuted(self) -> bool:
        """Whether raters do not err independently, as far as a test shows."""
        found = None if self.raters is None else self.raters.independent
        return found is not None and is_below(found, _LEVEL)

    @property
    def doubted(self) -> bool:
        """Whether there is no correction, or one whose model was not tested or was refuted."""
        return self.raters is None or self.raters.independent is None or self.refuted

    def tell(self, code: int) -> "Correction":
        """The same for the labels 0 and 1: whether the class is the one of this code."""
        merge = np.column_stack([self.codes != code, self.codes == code]).astype(float)
        raters = self.raters and replace(
            self.raters,
            labels=self.raters.labels @ merge,
            posterior=self.raters.posterior @ merge,
            replicates=self.raters.replicates @ merge,
        )
        return replace(self, raters=raters, codes=np.arange(2))

    def correct(
        self, stats: Array, rows: Rows, statistics: tuple[Statistic, ...], classes: int, start: int
    ) -> Array:
        """(R, T + 1) statistics of rows under their labels; all others stand before `start`."""
        if self.raters is None:
            return stats
        here = (self.places >= start) & (self.places < start + len(stats))
        at, labels = self.places[here] - start, self.raters.labels[here]
        mass = rows.mass[at]
        for column, each in enumerate(statistics):
            table = tabulate(each, rows[at], classes)[:, self.codes]
            stats[at, column] = (labels * table).sum(axis=1) * mass
        return stats


def correct_labels(
    log: Log, predicted: Array, weights: Array, classes: int, *, seed: int
) -> Correction:
    """The correction of the labels of a log whose answers are given.

    predicted   (D + B,) class that the black box predicts for each drawn and each supplied item
    weights     of labelled items: how many of the pool's items each of them stands for
    """
    assert log.given is not None
    places = np.flatnonzero(log.item_status == LABELLED)
    given, predicted = log.given[places], predicted[places]
    count = (given >= 0).sum(axis=1)
    shared = int((count >= 2).sum()), int((count >= 3).sum())
    codes, found = np.unique(np.append(given, predicted), return_inverse=True)
    found = found.ravel() - int(-1 in codes)
    codes = codes[codes >= 0]
    raters = None
    if shared[0] >= NEEDS_SHARED:
        rng = make_generator(seed, len(log.history) + 1, "raters")
        weights = weights if weights.any() else np.ones(len(weights))
        answers = found[: given.size].reshape(given.shape)
        raters = fit_raters(answers, found[given.size :], len(codes), weights, rng)
    return Correction(raters, places, codes, shared)


def tabulate(statistic: Statistic, rows: Rows, classes: int) -> Array:
    """(R, C + 1) value of every row under every class, and under a label that is no class."""
    outputs, classes = rows.outputs.in_double, max(classes, 2)
    other = statistic.value(outputs, -np.ones((len(rows.index), 1)))
    return np.hstack([np.asarray(statistic.table(outputs, classes), float), other])
