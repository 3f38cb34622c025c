"""The answer to a question about groups, without formatting: ranks, comparison, confusion, bins."""

from dataclasses import dataclass

from activetest.nouns.quantity import Measured, Quantity


@dataclass(frozen=True, kw_only=True)
class Ranked(Measured):
    """One group. Where it has no items its numbers are None, and it is ranked last.

    quantity                 its value: the posterior mean of the finite pool (of a calibration
                             error, the value at the posterior means of its bins), or by its method:
                             "posterior"; "exact" where every label is known; "doubly-robust" and
                             "pseudo-posterior" where labels were not drawn uniformly inside the
                             group: the estimate by the draws' probabilities, and with too few
                             labels for that a posterior in which labels are weighted; "none"
    group                    {column: value}
    n_pool                   items, without those that were declined
    n_labeled                labels that are known in it, whoever chose the items
    rank                     1 is the worst by the estimate
    p_worst, p_best          probability that the group is the worst or the best of all
    p_among_worst            that it is among the m worst, m as the question says
    rank_lower, rank_upper   credible interval of its rank
    """

    group: dict[str, str]
    n_pool: int
    n_labeled: int
    rank: int
    p_worst: float | None
    p_best: float | None
    p_among_worst: float | None
    rank_lower: int | None
    rank_upper: int | None


@dataclass(frozen=True, kw_only=True)
class Comparison(Measured):
    """Value of the first group minus value of the second.

    quantity        the difference: posterior mean and credible interval; its method is that of
                    both groups
    first, second   {column: value} of each
    p_below         probability of a difference below -rope
    p_within        probability of a difference between -rope and rope
    p_above         probability of a difference above rope
    probability     the largest of the three: lambda in the paper
    region          the one it belongs to: "below", "within" or "above"
    words           what that says about the first group, as a sentence
    rope            differences up to this count as equal
    """

    first: dict[str, str]
    second: dict[str, str]
    p_below: float
    p_within: float
    p_above: float
    probability: float
    region: str
    words: str
    rope: float


@dataclass(frozen=True)
class Column:
    """All items of one predicted class; method as for groups."""

    predicted: str
    n_pool: int
    n_labeled: int
    method: str


@dataclass(frozen=True, kw_only=True)
class Cell(Measured):
    """Share of the items predicted as one class whose true class is `truth`.

    quantity   the share; method is that of the column
    """

    truth: str
    predicted: str


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix, each column of which sums to one.

    classes     predicted classes, in the pool's order
    truths      true classes: the same, and one more where labels may be outside them
    columns     one for each predicted class
    cells       for each predicted class every truth; the largest mistakes where they are too many
    complete    whether no cell is left out
    """

    classes: tuple[str, ...]
    truths: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]
    complete: bool


@dataclass(frozen=True, kw_only=True)
class Bin(Measured):
    """The items whose confidence is in one range.

    quantity       the accuracy: share of right predictions; method as for groups
    low, high      ends of the range
    confidence     mean confidence of the items; None without an item
    """

    low: float
    high: float
    n_pool: int
    n_labeled: int
    confidence: float | None


@dataclass(frozen=True)
class Reliability:
    """Bins of the confidence, and the expected calibration error (ECE) that they make.

    ece       method as for groups: "doubly-robust" or "pseudo-posterior" where the accuracy of
              some bin is; "none" with the reason
    """

    bins: tuple[Bin, ...]
    ece: Quantity
    reason: str | None = None


@dataclass(frozen=True)
class Assessment:
    """The answer to a question about groups.

    question                "estimate" each group, "identify" the worst, or "compare" two
    metric, target          as in Choices
    column                  the group column
    worst, rope             as in Choices
    prior, prior_strength   starting belief about each group: "informative" or "uniform", and how
                            many labels it counts as
    level                   of every interval, and the probability that decides
    groups                  the worst first
    comparison              of the two groups that are compared, or None
    confusion, reliability  None where the pool has none
    decided                 whether the question is answered; None for "estimate", which has no end
    probability             of the answer, None for "estimate"; ties do not lower it
    more_labels             labels still expected until it is decided; None where it is decided, or
                            where the number cannot be foreseen
    rmse                    expected error of the groups' estimates (of the matrix, where that is
                            the target): root of the mean over items of the squared errors that
                            the posterior expects; None where some column of it is doubly robust
    """

    question: str
    metric: str
    target: str
    column: str
    worst: int
    rope: float
    prior: str
    prior_strength: float
    level: float
    groups: tuple[Ranked, ...]
    comparison: Comparison | None
    confusion: Confusion | None
    reliability: Reliability | None
    decided: bool | None
    probability: float | None
    more_labels: int | None
    rmse: float | None
