"""What a report says about a task: groups, two of them, mistakes and calibration. No formatting."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ranked:
    """One group. Where it has no items its numbers are None, and it is ranked last.

    group                    {column: value}
    n_pool                   items, without those that were declined
    n_labeled                labels that are known in it, whoever chose the items
    estimate                 its value: the posterior mean of the finite pool (of a calibration
                             error, the value at the posterior means of its bins), or what method
                             says
    lower, upper             its interval
    rank                     1 is the worst by the estimate
    p_worst, p_best          probability that the group is the worst or the best of all
    p_among_worst            that it is among the m worst, m as the task says
    rank_lower, rank_upper   credible interval of its rank
    method                   "posterior"; "exact" where every label is known; "doubly-robust" and
                             "pseudo-posterior" where labels were not drawn uniformly inside the
                             group: the estimate by the draws' probabilities, and with too few
                             labels for that a posterior in which they count by weight; "none"
    """

    group: dict[str, str]
    n_pool: int
    n_labeled: int
    estimate: float | None
    lower: float | None
    upper: float | None
    rank: int
    p_worst: float | None
    p_best: float | None
    p_among_worst: float | None
    rank_lower: int | None
    rank_upper: int | None
    method: str


@dataclass(frozen=True)
class Comparison:
    """Value of one group minus value of the other.

    one, two        {column: value} of each
    difference      posterior mean; lower and upper its credible interval
    p_below         probability of a difference below -rope
    p_within        of one that is practically none
    p_above         of one above rope
    probability     lambda: the largest of the three
    region          the one it belongs to: "below", "within" or "above"
    words           what that says about the first group
    rope            differences up to this are practically none
    """

    one: dict[str, str]
    two: dict[str, str]
    difference: float
    lower: float
    upper: float
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


@dataclass(frozen=True)
class Cell:
    """Share of the items predicted so whose true class is another one, or the same."""

    truth: str
    predicted: str
    estimate: float | None
    lower: float | None
    upper: float | None


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


@dataclass(frozen=True)
class Bin:
    """The items whose confidence is in one interval; method as for groups.

    low, high      of the confidence
    confidence     mean of theirs; None without an item
    accuracy       share of right predictions; lower and upper its interval
    """

    low: float
    high: float
    n_pool: int
    n_labeled: int
    confidence: float | None
    accuracy: float | None
    lower: float | None
    upper: float | None
    method: str


@dataclass(frozen=True)
class Reliability:
    """Bins of the confidence, and the expected calibration error (ece) they make.

    method    as for groups: "doubly-robust" where the accuracy of some bin is, and
              "pseudo-posterior" where that of some bin is that; "none" with the reason
    """

    bins: tuple[Bin, ...]
    ece: float | None
    lower: float | None
    upper: float | None
    method: str
    reason: str | None = None


@dataclass(frozen=True)
class Assessment:
    """The answer to a task.

    task, metric, target    as in Choices
    column                  the group column
    worst, rope             as in Choices
    prior, strength         of the groups' values: "informative" or "uniform", and its weight in
                            labels
    level                   of every interval, and the probability that decides
    groups                  the worst first
    comparison              of the two groups that are compared, or None
    confusion, reliability  None where the pool has none
    decided                 whether the question is answered; None for estimates, which have no end
    probability             of the answer, None likewise; groups that tie do not speak against it
    more                    labels still expected until it is decided; None where it is, and where
                            nobody can say
    rmse                    expected error of the groups' estimates (of the matrix, where that is
                            the target): root of the mean over items of the squared errors that
                            the posterior expects; None where some column of it is doubly robust
    """

    task: str
    metric: str
    target: str
    column: str
    worst: int
    rope: float
    prior: str
    strength: float
    level: float
    groups: tuple[Ranked, ...]
    comparison: Comparison | None
    confusion: Confusion | None
    reliability: Reliability | None
    decided: bool | None
    probability: float | None
    more: int | None
    rmse: float | None
