"""The nouns between a log and a number: samples and estimates. Axes as in rows."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from activetest.nouns.once import Remembers
from activetest.nouns.rows import Array


@dataclass(frozen=True)
class PassSums:
    """Sums of statistics in each of the K passes of a surrogate, which labels items by itself.

    In a pass every item has the class that is the most probable one in it.

    unknown    (K, d) sums over the unknown
    augmented  (K, d) the same, where items of which the surrogate learned the box's label as theirs
               have that label
    known      (K, d) sums over the items with a label, with the class of the pass
    """

    unknown: Array
    augmented: Array
    known: Array


@dataclass(frozen=True)
class Sample(Remembers):
    """The answered draws of a log and what was predictable before each, for one metric and group.

    The d statistics are the metric's. Where any item was declined, one more is last: 1.0 for an
    item that was answered. Where items have weights, each statistic is times its item's weight.

    stats         (M, d) statistics of the drawn item; zero outside the group
    q             (M,) probability of the draw, given all before it
    weights       (M,) weight of each draw's step in the estimate, summing to one
    known_sum     (M, d) sum of the statistics over all in the group that was known before the draw
    imputed       (M, d) the surrogate's expectation of these statistics; zero outside the group
    imputed_sum   (M, d) its sum over all in the group that was not known before the draw
    inside        (M,) 1.0 where the drawn item is in the group
    left          (M,) members of the group that were not known before the draw; where items have
                  weights, the sum of theirs, and so for size and unknown
    crossed       (M,) whether the expectation follows from labels of the draw's own round: no draw
                  of that calibrates it. None: nowhere
    own           (M,) number of the draws before the draw's round, where guesses of values may
                  follow from the round's other labels, see estimators._own_labels; -1 elsewhere.
                  None: nowhere
    size          members of the group
    total         (d,) sum of the statistics over all in the group that is known now
    unknown       members of the group about which nothing is known now. Here, in left and in
                  inside, members count that can change the metric: the part of the others is known
                  from the start
    counted       (M,) 1.0 where the drawn item is in the group and has a label
    uniform       every draw was as likely as any other
    limits        (2, d) smallest and largest mean that what is known leaves possible
    spread        spread(weights (d,), mean (d,)) -> variance of the weighted sum over the items of
                  the group, around this mean, from all that is known: that of one random draw, who
                  may draw an item that is declined. NaN without an answer; None for draws with
                  replacement, which are weighed by their own probabilities
    surrogate     (d,) the surrogate's sum over the unknown, now, or over all for an estimator that
                  ignores labels; None where it is not needed
    posterior     (K, d) members' sums over the same items, labels drawn; None where not needed
    passes        members' sums with the most probable labels; None where not needed
    replaced      items were drawn with replacement, which only simulations do
    remaining     (M,) items of the whole pool that could be drawn, or the sum of their weights;
                  None: as left
    mass          (M,) weight of the drawn item, zero outside the group; None where all count alike
    floor         lowest floor of the rounds of these draws; 1.0 for uniform draws
    learned       (M,) labels that the surrogate of each draw's round had learned from; None where
                  it was the same one throughout
    graded        (d,) whether a statistic takes any value between bounds or without, rather than
                  counting; None: none does
    possible      range of the metric that what is known leaves possible; None for one of one mean,
                  and where that is the metric's own
    certain       (d,) part of total that stems from items without an answer, because every label
                  makes the same of them; None where there are none
    relevant      members of the group that can change the metric; None where all can
    expect        expect(weights (d,)) -> mean and variance (M,) of the weighted sum of statistics
                  at the drawn items under the surrogate that knows every label; zero outside the
                  group
    label_variance   label_variance(weights (d,)) -> variance that doubt about labels adds to the
                  mean of the weighted sum; 0 where labels are certain
    doubted       labels of several annotators could not be corrected, or the model that corrects
                  them was not tested, or was refuted: no interval is reliable
    unaccounted   probabilities of a log may not account for the pool: no interval is reliable that
                  rests on them

    reach         reach(guess (M,)) -> (2, 2, M), for one statistic that is no indicator, or one
                  whose guesses follow labels of their own round: of every drawn item, below and
                  above, the value from which its label may move it and the value that it reaches at
                  most. The first is the other end of the item's values, and where labels are
                  numbers its guess; of an indicator it is the value that is nearer to its guess
    bounded       whether it has these bounds: without, labels are taken to be no farther apart than
                  those that were seen and the predictions

    imputed, imputed_sum and left are zero where the round recorded nothing about the group.
    """

    stats: Array
    q: Array
    weights: Array
    known_sum: Array
    imputed: Array
    imputed_sum: Array
    inside: Array
    left: Array
    size: float
    total: Array
    unknown: float
    counted: Array
    uniform: bool
    limits: Array
    expect: Callable[[Array], tuple[Array, Array]]
    label_variance: Callable[[Array], float]
    surrogate: Array | None = None
    posterior: Array | None = None
    passes: PassSums | None = None
    replaced: bool = False
    spread: Callable[[Array, Array], float] | None = None
    remaining: Array | None = None
    possible: tuple[float, float] | None = None
    certain: Array | None = None
    relevant: int | None = None
    mass: Array | None = None
    floor: float = 1.0
    learned: Array | None = None
    graded: Array | None = None
    crossed: Array | None = None
    own: Array | None = None
    reach: Callable[[Array], Array] | None = None
    bounded: bool = True
    doubted: bool = False
    unaccounted: bool = False

    @property
    def drawn_mass(self) -> Array:
        """(M,) weight of the drawn item in the group: 1.0 or 0.0 where all items count alike."""
        return self.inside if self.mass is None else self.mass

    @property
    def drawable(self) -> Array:
        """(M,) items that could be drawn, or the sum of their weights."""
        return self.left if self.remaining is None else self.remaining

    @property
    def no_limits(self) -> Array:
        """(2, d) limits that no mean reaches, for estimates that need not be possible."""
        limits: Array = np.full_like(self.limits, np.inf, float) * [[-1.0], [1.0]]
        return limits

    def per_unit(self, values: Array) -> Array:
        """(M, d) what was summed with weights (M, d), for one unit of weight; zero outside."""
        mass = self.drawn_mass[:, None]
        return values / np.where(mass > 0, mass, 1.0)


@dataclass(frozen=True)
class Shape:
    """Shape of an estimate's distribution, besides its variance: see Estimate."""

    freedom: float
    skewness: float
    spread_freedom: float


@dataclass(frozen=True)
class Sides:
    """The labels that lower an estimate, and those that raise it.

    counts   (2,) their effective numbers as uniform draws would have shown them: each label once
             at most, and less as its item was likelier to be drawn than by a uniform draw
    shares   (2,) parts of the variance of one uniform draw that stem from them
    """

    counts: tuple[float, float]
    shares: tuple[float, float]


@dataclass(frozen=True)
class Excess:
    """How far labels moved a loss, below and above, between bounds: see Sample.reach.

    mean     (2,) on average over the pool
    most     (2,) how far a label could have moved an item, of items in proportion to that
    counts   (2,) effective numbers of the labels that did, counted as in Sides: labels that moved
             it far decide, (sum c x^2)^2 / sum c x^4 for moves x, and no more than moves of most
             would be, sum c min(x / most, 1)^2
    bounded  as in Sample
    of_share it is of a statistic that is 0 or 1, which labels move if they contradict its guess:
             those of either side show how good guesses are
    """

    mean: tuple[float, float]
    most: tuple[float, float]
    counts: tuple[float, float]
    bounded: bool = True
    of_share: bool = False

    @property
    def support(self) -> float:
        """Effective number of labels that speak for the variance."""
        return sum(self.counts) if self.of_share else min(self.counts)


@dataclass(frozen=True)
class Estimate(Remembers):
    """An estimated mean of d statistics, or (d = 1) what a metric makes of them.

    mean             (d,) the estimate
    variance         (d, d) its estimated sampling variance; model-based: posterior variance
    terms            (M, d) one unbiased term per draw, in draw order; model-based: empty
    weights          (M,) their weights, summing to one; model-based: empty
    guess            (M, d) what each term took the drawn item's statistics to be, without its
                     weight; model-based: empty
    limits           (2, d) smallest and largest value that what is known leaves possible
    inside           (M,) 1.0 where the draw fell into the group and could be answered;
                     model-based: empty
    follows          (M, d) whether the level and slope of a guess are what the draws before it say,
                     whatever the surrogate says; None: nowhere
    draws            (K, d) posterior draws of the mean; None for design-based estimates
    averaged         a metric is the mean of its values over the draws; else that of the mean
    ignores_labels   what is known binds no value, as labels are not part of it
    exact            everything is known: the mean is the truth

    Known only once a metric was made of the means (d = 1):

    model_variance           sampling variance that the surrogate expects; model-based: zero
    one_draw                 variance of the metric's linear part over the pool: that of one uniform
                             draw
    minority_count           effective number of labels of the rarer kind: those that raise the
                             metric, or those that lower it, counted by how much they do
    weighted_minority_count  the same, counted by how much they do over the probability of their
                             draw
    shape                    degrees of freedom and skewness; None where the terms say them
    sides                    labels on either side of the estimate; None where that is not known
    excess                   of a loss between bounds, of a share of labels, and of values without
                             while too few labels were far off; None for all others
    residual_count           labels that were as far from what their terms took them to be as
                             matters, counted as in Sides
    tail_index               of these distances (Hill 1975): infinite where they are alike
    unmet                    of a share: how much items of a kind that no draw met may add below its
                             line, in parts of that, for one that draws were expected to meet
    uniform_count            labelled draws in the group, as uniform draws would have shown them
    max_weight               how many times less likely than a uniform draw the least likely draw
                             was; 1.0 for uniform draws
    floor                    lowest floor of the draws, as in Sample
    undefined                number of draws without a value, because the metric is 0/0 there
    known                    part of the mean that was known before the first draw; 0.0 for a mean
                             over answerable items and for functions of several means
    open_share               share of the items that was not known before it; 1.0 for these
    doubt                    part of each variance that not knowing labels for certain adds
    open_items               number of items that were not known before it, or where items have
                             weights, as many as weigh what the drawn ones do on average; infinite
                             where that was not recorded
    """

    mean: Array
    variance: Array
    terms: Array
    weights: Array
    guess: Array
    limits: Array
    inside: Array
    follows: Array | None = None
    draws: Array | None = None
    averaged: bool = False
    ignores_labels: bool = False
    exact: bool = False
    model_variance: float = 0.0
    one_draw: float = np.nan
    minority_count: float = 0.0
    weighted_minority_count: float = 0.0
    shape: Shape | None = None
    sides: Sides | None = None
    excess: Excess | None = None
    residual_count: float = np.inf
    tail_index: float = np.inf
    unmet: float = 0.0
    uniform_count: float = np.inf
    max_weight: float = 1.0
    floor: float = 1.0
    undefined: int = 0
    known: float = 0.0
    open_share: float = 1.0
    doubt: float = 0.0
    open_items: float = np.inf

    @property
    def uniform_minority_count(self) -> float:
        """The smaller one of the two counts of labels, as uniform draws would have shown them."""
        return 0.0 if self.sides is None else min(self.sides.counts)

    @property
    def limited_mean(self) -> Array:
        """(d,) the estimate within its limits."""
        lower, upper = self.limits
        limited: Array = np.minimum(np.maximum(self.mean, lower), upper)
        return limited

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom of the variance; infinite for model-based estimates."""
        if self.shape is not None:
            return self.shape.freedom
        return max(1 / (self.weights**2).sum() - 1, 1.0) if len(self.weights) else np.inf

    @property
    def skewness(self) -> float:
        """Skewness of the estimate (d = 1), from the third moments of its terms; 0 without any."""
        if self.shape is not None:
            return self.shape.skewness
        parts = self._parts()
        spread = (parts**2).sum()
        return float((parts**3).sum() / spread**1.5) if spread > 0 else 0.0

    @property
    def spread_freedom(self) -> float:
        """Degrees of freedom of the variance (d = 1) that the kurtosis of the terms leaves.

        The variance of n terms of kurtosis c has a relative variance of (c - 1) / n, and one of
        normal terms with f degrees of freedom 2 / f (Satterthwaite 1946). Few terms hardly show
        their kurtosis: at least 3, and at most what `freedom` says.
        """
        if self.shape is not None:
            return self.shape.spread_freedom
        squares = self._parts() ** 2
        spread = squares.sum()
        relative = (squares**2).sum() / spread**2 - (self.weights**2).sum() if spread > 0 else 0.0
        return float(min(max(2 / relative, 3.0), self.freedom) if relative > 0 else self.freedom)

    @property
    def farthest(self) -> tuple[float, float]:
        """How much the draw that lowers the estimate (d = 1) most adds, and that which raises."""
        parts = self._parts()
        return max(-float(parts.min(initial=0.0)), 0.0), float(parts.max(initial=0.0))

    def _parts(self) -> Array:
        """(M,) weighted deviations of the terms from their mean; rounding is none."""
        terms = self.terms[:, 0]
        apart = terms - self.weights @ terms
        apart[np.abs(apart) <= 1e-12 * np.abs(terms).max(initial=0)] = 0.0
        parts: Array = self.weights * apart
        return parts

    @property
    def shown(self) -> float:
        """Draws in the group that agree on its value: where the floor is low, as uniform_count."""
        draws = float(self.inside.sum())
        return draws if self.floor >= HIGH_FLOOR else min(draws, self.uniform_count)

    @property
    def undrawn(self) -> float:
        """Share of what was open before the first draw that was not drawn."""
        return max(1 - float(self.inside.sum()) / self.open_items, 0.0)


@dataclass(frozen=True)
class Increments:
    """The increments of an e-process about a mean of statistics: M draws, in order.

    value         (M,) an unbiased estimate X of the part of the mean not known at the draw
    low, high     (M,) smallest and largest X possible, over every item that could have been drawn
    offset        (M,) the part of the mean that was known: X has mean (mean - offset)
    least, most   (M,) bounds of that mean, from the statistic's range over what was not known
    """

    value: Array
    low: Array
    high: Array
    offset: Array
    least: Array
    most: Array

    def until(self, draws: int) -> "Increments":
        """Those of the first draws: each increment rests on nothing that came after it."""
        return Increments(*(getattr(self, each.name)[:draws] for each in fields(self)))


# With fewer labels of the rarer kind than this, intervals widen their variance: rare large losses
# may not have been sampled yet.
RARE = 20
# Labels above and below a metric of several means that its linear approximation needs.
FEW = 3
# Labels of a quantity without bounds that have to be off by as much as matters, counted as uniform
# draws would have shown them: while nearly all agree with what they were taken to be, nothing says
# how far the others are off.
ENOUGH_RESIDUALS = 5
# The floor from which on a draw of an item weighs little more than a uniform one.
HIGH_FLOOR = 0.35
