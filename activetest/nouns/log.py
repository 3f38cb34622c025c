"""What was drawn and what is known: the log every estimate is made from. Axes as in rows."""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array

PENDING, LABELLED, DECLINED = 0, 1, 2


@dataclass(frozen=True)
class Aim:
    """A weighted sum of statistics whose mean draws were meant to estimate well.

    statistics   (d,) names
    weights      (d,) one each: the metric's gradient when the round began
    total        sum of the squares of the acquisition's scores for it, over every row that could
                 be drawn; NaN where an older version drew by another rule
    peak         largest of those scores: where choices raise scores to a power, they are divided by
                 it first, also in the total
    """

    statistics: tuple[str, ...]
    weights: tuple[float, ...]
    total: float
    peak: float = 1.0


@dataclass(frozen=True)
class Shares:
    """How likely a round that chose between groups made every row; L cells.

    group, strata   what the pool was cut by: see arms_survey.Partition
    strength        (L,) strength of one row of each cell when the round began
    """

    group: str
    strata: tuple
    strength: tuple[float, ...]


@dataclass(frozen=True)
class Round:
    """One batch of draws from one frozen score vector, as it is recorded.

    number        1, 2, ...
    rows          (n,) pool positions in the order drawn
    probs         (n,) probability of each draw, given all before it; NaN for items that were
                  picked by the largest score, or drawn where others had no chance
    choices       the fields of Choices that the round was drawn with
    params        the surrogate's parameters, JSON-ready or arrays: enough to predict again
    statistics    (T,) names of the statistics below
    groups        (G,) names of the groups below; the first is "" (everything)
    imputed       (n, T) the surrogate's expectation of each statistic at each drawn item
    imputed_sum   (G, T) its sum over what was neither known nor drawn when the round began
    count         (G,) number of such rows
    aims          what draws aimed at: enough to compute the strength of every row again, unless
                  there are shares
    learned       number of the round whose surrogate this is: its own unless it was not refitted
    knew          labels that this surrogate knew
    shares        of rounds that chose between groups: enough to compute the strength of every row
                  again; None for those whose rows had scores of their own
    """

    number: int
    rows: Array
    probs: Array
    choices: dict
    params: dict
    statistics: tuple[str, ...]
    groups: tuple[str, ...]
    imputed: Array
    imputed_sum: Array
    count: Array
    aims: tuple[Aim, ...]
    learned: int = 0
    knew: int = 0
    shares: Shares | None = None

    @property
    def picked(self) -> bool:
        """Whether its items have no probabilities: the largest scores, or plain Thompson draws."""
        return bool(np.isnan(self.probs).any())


@dataclass(frozen=True)
class Log:
    """What was drawn, in order, and what is known: the only input of every estimate.

    rows, probs, round   (D,) pool position, probability and number of the round of each draw; a
                         picked item is a draw whose probability is NaN, see Round
    status               (D,) PENDING, LABELLED or DECLINED
    labels               (D,) class code or value as float; NaN unless labelled
    brought_rows         (B,) pool positions of items whose labels were brought without a draw
    brought_status       (B,) LABELLED or DECLINED; PENDING where the answer was taken back
    brought_labels       (B,) as labels
    brought_round        (B,) first round that knew it; one more than the last when none did yet
    history              the rounds, in order
    soft, brought_soft   (D, C) and (B, C) probability of each class for every item whose label is
                         in doubt, NaN unless labelled; what is missing to one is outside the
                         classes. None where labels are taken as certain
    """

    rows: Array
    probs: Array
    round: Array
    status: Array
    labels: Array
    brought_rows: Array
    brought_status: Array
    brought_labels: Array
    brought_round: Array
    history: tuple[Round, ...] = ()
    soft: Array | None = None
    brought_soft: Array | None = None

    @property
    def picked(self) -> Array:
        """(D,) True for items without a probability, see Round."""
        return np.isnan(self.probs)

    @property
    def declined(self) -> bool:
        """Whether any item was declined: then every mean is over those that can be answered."""
        return bool(DECLINED in self.status or DECLINED in self.brought_status)

    @staticmethod
    def empty() -> "Log":
        """Nothing drawn, nothing known."""
        whole = np.empty(0, np.int64)
        real = np.empty(0)
        return Log(whole, real, whole, whole, real, whole, whole, real, whole)


def used(log: Log) -> tuple[int, bool]:
    """Number of draws, picks among them, that estimates use, and whether they are whole rounds.

    Steps need every earlier draw answered, and a fixed interval must not end inside a round: where
    the answered beginning ends could depend on the answers. A label that a round knew and that was
    then taken back ends it as well. Of the first round alone the answered beginning is used.
    """
    waiting = np.flatnonzero(log.status == PENDING)
    answered = int(waiting[0]) if len(waiting) else len(log.rows)
    taken_back = log.brought_round[log.brought_status == PENDING]
    if len(taken_back):
        answered = min(answered, int(np.searchsorted(log.round, taken_back.min())))
    if answered == len(log.rows):
        return answered, True
    start = int(np.searchsorted(log.round, log.round[answered]))
    if log.picked[:start].all() and not log.picked[answered]:
        return answered, answered == start
    return start, True
