"""What the user decided."""

from dataclasses import dataclass


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
