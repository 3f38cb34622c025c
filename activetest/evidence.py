"""The nouns that every part of the program speaks in. Plain arrays with names; no behaviour.

Axes, everywhere: N pool, R rows of a chunk, C outcomes, K members (draws of a surrogate), T statistics of
items, G groups (the first is always the whole pool), D draws, M draws used by an estimate, d statistics of
one metric.
"""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray

PENDING, LABELLED, DECLINED = 0, 1, 2


@dataclass(frozen=True)
class Choices:
    """What the user decided for the rounds to come; a round records the choices it was drawn with.

    metric        what draws aim at
    metrics       what is reported
    surrogate, acquisition   names in the catalogue
    floor         share of the draw probability that is spread evenly over what remains, in [0, 1]
    level         of every interval
    budget        labels the user means to buy, or None
    groups        names of group columns, products written "A*B"
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
        pick = lambda array: None if array is None else array[index]
        return Outputs(self.pred[index], pick(self.probs), pick(self.std))


@dataclass(frozen=True)
class Rows:
    """A chunk of the pool as the methods see it.

    index    (R,) position of each row in the pool
    hashes   (R,) uint64 hash of each row's id
    outputs  what the black box said
    design   (R, D) float32 columns for linear surrogates: the model's own confidence (classification) or
             prediction (regression) first, then standardised principal components of the features
    codes    (R, G - 1) integer code of each group column's value
    right    (T, R) value of each statistic when the black box is right
    wrong    (T, R) its mean over the other classes, as likely as the black box thinks them
    spread   (T, R) its variance over them
    (right, wrong and spread are None for regression, where outcomes are not right or wrong)
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
    noise   (T, R, C) variance of that value inside an outcome, or None where an outcome leaves no doubt
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
    choices       names and numbers the round was drawn with
    params        the surrogate's parameters, JSON-ready: enough to predict again
    statistics    (T,) names of the statistics below
    groups        (G,) names of the groups below; the first is "" (everything)
    imputed       (n, T) the surrogate's expectation of each statistic at each drawn item
    imputed_sum   (G, T) its sum over what was neither known nor drawn when the round began
    count         (G,) number of such rows
    doubt         (G, T, 4) sums over the same rows of r v, r g^2, r g, r, with r = 1/q - 1 at the round's
                  start, g the expectation and v the variance under the surrogate
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

    rows, probs, round    (D,) pool position, probability, number of the round of each draw
    status                (D,) PENDING, LABELLED or DECLINED
    labels                (D,) class code or value as float; NaN unless labelled
    brought_rows          (B,) pool positions of labels that were never drawn
    brought_status        (B,) LABELLED, DECLINED, or PENDING for one that was known once and taken back
    brought_labels        (B,)
    brought_round         (B,) first round that knew it (one more than the last round when none did yet)
    history               the rounds, in order
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
    """The answered draws of a log, with what was predictable before each, for d statistics of one group.

    stats         (M, d) statistics of the drawn item; zero outside the group
    probs         (M,) probability of the draw
    weights       (M,) weight of each draw's step in the estimate, summing to one
    known_sum     (M, d) sum of the statistics over everything known before the draw
    imputed       (M, d) the surrogate's expectation of the drawn item's statistics; zero outside the group
    imputed_sum   (M, d) its sum over everything in the group that was not known before the draw
    inside        (M,) 1.0 where the drawn item is in the group
    left          (M,) members of the group not known before the draw
    doubt         (M, d, 4) see Round; of the round the draw belongs to
    size          members of the group
    total         (d,) sum of the statistics over everything known now
    unknown       members of the group about which nothing is known now
    tally         (d,) number of labels seen in the group whose statistic is nearer to its upper bound, or to
                  its lower one, whichever is rarer; only for statistics with two bounds
    uniform       every draw was as likely as any other
    limits        (2, d) smallest and largest mean that what is known leaves possible
    surrogate     (d,) the surrogate's sum over the unknown, now; None where it was not asked for
    posterior     (K, d) members' sums over the unknown, their labels drawn; None where not asked for
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
    tally: Array
    uniform: bool
    limits: Array
    surrogate: Array | None = None
    posterior: Array | None = None


@dataclass(frozen=True)
class Estimate:
    """An estimated mean of d statistics, before any metric's smooth map.

    mean             (d,)
    variance         (d, d) estimated sampling variance
    terms            (M, d) one unbiased term per draw, in draw order; empty for model-based estimates
    weights          (M,) their weights
    tally, limits    as in Sample
    inside           (M,) 1.0 where the draw fell into the group; empty for model-based estimates
    model_variance   (d, d) variance of this estimate that the surrogate expects; zeros for model-based ones
    draws            (K, d) posterior draws of the mean; None for design-based estimates
    exact            everything is known: the mean is the truth
    """

    mean: Array
    variance: Array
    terms: Array
    weights: Array
    tally: Array
    limits: Array
    inside: Array
    model_variance: Array
    draws: Array | None = None
    exact: bool = False

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom of the variance."""
        return max(1 / (self.weights**2).sum() - 1, 1.0) if len(self.weights) else np.inf


@dataclass(frozen=True)
class Interval:
    """[lower, upper] at a level, the name of the method that made it, and the variance it trusted."""

    lower: float
    upper: float
    level: float
    method: str
    variance: float
