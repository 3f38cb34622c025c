"""The nouns that every part of the program speaks in. Plain arrays with names; no behaviour.

Axes, everywhere: N pool, R rows of a chunk, C outcomes, K members (draws of a surrogate), T
statistics of items, G groups (the first is always the whole pool), D draws of a log (columns of a
design where there is one), B labels that were brought, M draws used by an estimate, d statistics
of one metric.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

Array = np.ndarray

PENDING, LABELLED, DECLINED = 0, 1, 2


@dataclass(frozen=True)
class Choices:
    """What the user decided for the rounds to come; a round records the choices it was drawn with.

    metric                   the headline, and what draws aim at
    metrics                  what is reported, and what rounds record sums for
    surrogate, acquisition   names in the catalogue
    floor                    how likely every item must at least be, compared with a draw in which
                             all are alike, in [0, 1]
    level                    of every interval
    budget                   labels the user means to buy, or None
    groups                   names of group columns, products written "A*B"; a task is about the
                             first of them
    also                     further metrics that draws aim at
    annotators               how several answers to one item become a label: "majority" or
                             "dawid-skene"
    interval                 what draws serve: "fixed" intervals, by the floor above, or "anytime"
                             ones, by the floor that bets are worth most with; see rounds_floor
    costs                    (C, C) cost of predicting (row) for the truth (column), or None
    refit                    when the surrogate learns: "every" round, "doubling" (of the labels it
                             knew last time), or after so many new labels, as text
    selection                "draw" at random with known probabilities, or take the "top" scores
    power                    scores are raised to it before the floor is mixed in: above 1 draws
                             come closer to the top scores
    task                     what is asked of groups: "estimate" each, "identify" the worst,
                             "compare" two; None where they are not the question
    target                   what they are judged by where it is not the metric: "confusion", for
                             estimate alone
    worst                    groups to identify
    compare                  values of the two groups to compare
    prior                    of every group: "informative", from the model's own probabilities, or
                             "uniform"
    strength                 labels that the prior counts as; None for 2, or 1 where outcomes are
                             the true classes
    rope                     differences up to this are practically none

    Metrics are specifications: a name, and what stands in brackets after it.
    """

    metric: str
    metrics: tuple[str, ...]
    surrogate: str
    acquisition: str = "optimal"
    floor: float = 0.35
    level: float = 0.95
    budget: int | None = None
    groups: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    annotators: str = "majority"
    interval: str = "fixed"
    costs: tuple[tuple[float, ...], ...] | None = None
    refit: str = "every"
    selection: str = "draw"
    power: float = 1.0
    task: str | None = None
    target: str = ""
    worst: int = 1
    compare: tuple[str, ...] = ()
    prior: str = "informative"
    strength: float | None = None
    rope: float = 0.05

    @property
    def judged(self) -> str:
        """What the task's groups are judged by: the target, else the metric."""
        return self.target or self.metric


@dataclass(frozen=True)
class Outputs:
    """What the black box said about R items.

    pred    (R,) class code (integer) or predicted value (float)
    probs   (R, C) class probabilities; None for hard labels and for regression
    std     (R,) predictive standard deviation; None unless a regression pool has one
    """

    pred: Array
    probs: Array | None = None
    std: Array | None = None

    @cached_property
    def confidence(self) -> Array:
        """(R,) probability of the predicted class."""
        return np.take_along_axis(self.probs, self.pred[:, None], axis=1)[:, 0]

    def __getitem__(self, index) -> "Outputs":
        """The outputs of some of the rows; index is whatever an array takes."""
        probs = None if self.probs is None else self.probs[index]
        std = None if self.std is None else self.std[index]
        return Outputs(self.pred[index], probs, std)


@dataclass(frozen=True)
class Rows:
    """A chunk of the pool as the methods see it.

    index    (R,) position of each row in the pool
    hashes   (R,) uint64 hash of each row's id
    outputs  what the black box said
    design   (R, D) float32 columns for linear surrogates: the model's own confidence
             (classification) or prediction (regression) first, then standardised principal
             components of the features
    codes    (R, columns) integer code of each group column's value
    right    (T, R) value of each of the cache's statistics when the black box is right
    wrong    (T, R) its mean over the other classes, as likely as the black box thinks them
    spread   (T, R) its variance over them

    features (R, D) float32 all features, standardised over the pool; missing values are 0
    external (R, E, C) what E other models say: class probabilities; (R, E) values for regression

    right, wrong and spread are None for regression, where outcomes are not right or wrong; features
    and external are None unless a surrogate wants them.
    """

    index: Array
    hashes: Array
    outputs: Outputs
    design: Array
    codes: Array
    right: Array | None = None
    wrong: Array | None = None
    spread: Array | None = None
    features: Array | None = None
    external: Array | None = None

    def __getitem__(self, index) -> "Rows":
        """Some of the rows; index is whatever an array takes."""
        each = (self.index, self.hashes, self.outputs, self.design, self.codes)
        across = (self.right, self.wrong, self.spread)
        asked = (self.features, self.external)
        return Rows(
            *(part[index] for part in each),
            *(None if part is None else part[:, index] for part in across),
            *(None if part is None else part[index] for part in asked),
        )


@dataclass(frozen=True)
class Beliefs:
    """What a surrogate believes about R rows.

    probs   (R, C) plug-in probability of each outcome
    stakes  (T, R, C) value of statistic t under outcome c
    noise   (T, R, C) variance of that value inside an outcome; None where that leaves no doubt
    draws   (K, R, C) the members' probabilities, or None where they were not asked for
    """

    probs: Array
    stakes: Array
    noise: Array | None = None
    draws: Array | None = None


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
