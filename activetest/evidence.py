"""The nouns that every part of the program speaks in. Plain arrays with names; no behaviour.

Axes, everywhere: N pool, R rows of a chunk, C outcomes, K members (draws of a surrogate), T
statistics of items, G groups (the first is always the whole pool), D draws of a log (columns of a
design where there is one), B labels that were brought, M draws used by an estimate, d statistics
of one metric.
"""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray

PENDING, LABELLED, DECLINED = 0, 1, 2


@dataclass(frozen=True)
class Choices:
    """What the user decided for the rounds to come; a round records the choices it was drawn with.

    metric                   what draws aim at
    metrics                  what is reported
    surrogate, acquisition   names in the catalogue
    floor                    share of the draw probability that is spread evenly over what remains,
                             in [0, 1]
    level                    of every interval
    budget                   labels the user means to buy, or None
    groups                   names of group columns, products written "A*B"
    """

    metric: str
    metrics: tuple[str, ...]
    surrogate: str
    acquisition: str = "optimal"
    floor: float = 0.35
    level: float = 0.95
    budget: int | None = None
    groups: tuple[str, ...] = ()


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
    right    (T, R) value of each statistic when the black box is right
    wrong    (T, R) its mean over the other classes, as likely as the black box thinks them
    spread   (T, R) its variance over them

    right, wrong and spread are None for regression, where outcomes are not right or wrong.
    """

    index: Array
    hashes: Array
    outputs: Outputs
    design: Array
    codes: Array
    right: Array | None = None
    wrong: Array | None = None
    spread: Array | None = None


@dataclass(frozen=True)
class Known:
    """The labels a surrogate may learn from.

    rows         the M labelled rows
    labels       (M,) class codes or values
    stats        (M, T) the statistics observed there
    statistics   (T,) their names
    classes      number of classes; 0 for regression
    scale        standard deviation of the predictions over the pool; regression only
    """

    rows: Rows
    labels: Array
    stats: Array
    statistics: tuple[str, ...]
    classes: int = 0
    scale: float = 1.0


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
class Round:
    """One batch of draws from one frozen score vector, as it is recorded.

    number        1, 2, ...
    rows          (n,) pool positions in the order drawn
    probs         (n,) probability of each draw, given all before it
    choices       the fields of Choices that the round was drawn with
    params        the surrogate's parameters, JSON-ready: enough to predict again
    statistics    (T,) names of the statistics below
    groups        (G,) names of the groups below; the first is "" (everything)
    imputed       (n, T) the surrogate's expectation of each statistic at each drawn item
    imputed_sum   (G, T) its sum over what was neither known nor drawn when the round began
    count         (G,) number of such rows
    doubt         (G, T, 4) sums over the same rows of r v, r g^2, r g and r, where r = 1/q - 1 at
                  the round's start, g the expectation and v the variance under the surrogate
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
    doubt: Array


@dataclass(frozen=True)
class Log:
    """What was drawn, in order, and what is known: the only input of every estimate.

    rows, probs, round   (D,) pool position, probability and number of the round of each draw
    status               (D,) PENDING, LABELLED or DECLINED
    labels               (D,) class code or value as float; NaN unless labelled
    brought_rows         (B,) pool positions of items whose labels were brought without a draw
    brought_status       (B,) LABELLED or DECLINED; PENDING where the answer was taken back
    brought_labels       (B,) as labels
    brought_round        (B,) first round that knew it; one more than the last when none did yet
    history              the rounds, in order
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

    @staticmethod
    def empty() -> "Log":
        """Nothing drawn, nothing known."""
        whole = np.empty(0, np.int64)
        real = np.empty(0)
        return Log(whole, real, whole, whole, real, whole, whole, real, whole)


@dataclass(frozen=True)
class Sample:
    """The answered draws of a log and what was predictable before each, for one metric and group.

    The d statistics are the metric's. Where any item was declined, one more is last: 1.0 for an
    item that was answered.

    stats         (M, d) statistics of the drawn item; zero outside the group
    probs         (M,) probability of the draw, given all before it
    weights       (M,) weight of each draw's step in the estimate, summing to one
    known_sum     (M, d) sum of the statistics over all in the group that was known before the draw
    imputed       (M, d) the surrogate's expectation of these statistics; zero outside the group
    imputed_sum   (M, d) its sum over all in the group that was not known before the draw
    inside        (M,) 1.0 where the drawn item is in the group
    left          (M,) members of the group that were not known before the draw
    doubt         (M, d, 4) the sums of the draw's round over the group, see Round
    size          members of the group
    total         (d,) sum of the statistics over all in the group that is known now
    unknown       members of the group about which nothing is known now
    tally         labels of these draws in the group that are of the rarer kind, right or wrong;
                  all of them where predictions are values
    uniform       every draw was as likely as any other
    limits        (2, d) smallest and largest mean that what is known leaves possible
    surrogate     (d,) the surrogate's sum over the unknown, now; None where it was not asked
    posterior     (K, d) members' sums over the unknown, labels drawn; None where it was not asked

    imputed, imputed_sum, left and doubt are zero where the round recorded nothing about the group.
    """

    stats: Array
    probs: Array
    weights: Array
    known_sum: Array
    imputed: Array
    imputed_sum: Array
    inside: Array
    left: Array
    doubt: Array
    size: int
    total: Array
    unknown: int
    tally: int
    uniform: bool
    limits: Array
    surrogate: Array | None = None
    posterior: Array | None = None


@dataclass(frozen=True)
class Estimate:
    """An estimated mean of d statistics, before any metric's smooth map.

    mean             (d,) the estimate
    variance         (d, d) its estimated sampling variance; model-based: posterior variance
    terms            (M, d) one unbiased term per draw, in draw order; model-based: empty
    weights          (M,) their weights, summing to one; model-based: empty
    tally, limits    as in Sample
    inside           (M,) 1.0 where the draw fell into the group and could be answered;
                     model-based: empty
    model_variance   (d, d) sampling variance that the surrogate expects; model-based: zeros
    draws            (K, d) posterior draws of the mean; None for design-based estimates
    exact            everything is known: the mean is the truth
    """

    mean: Array
    variance: Array
    terms: Array
    weights: Array
    tally: int
    limits: Array
    inside: Array
    model_variance: Array
    draws: Array | None = None
    exact: bool = False

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom of the variance; infinite for model-based estimates."""
        return max(1 / (self.weights**2).sum() - 1, 1.0) if len(self.weights) else np.inf


@dataclass(frozen=True)
class Interval:
    """[lower, upper] at a level, the method that made it, and the variance it trusted.

    method     name in the catalogue, or "exact" where everything is known
    variance   of the mean statistic; 0.0 where the interval is exact
    """

    lower: float
    upper: float
    level: float
    method: str
    variance: float
