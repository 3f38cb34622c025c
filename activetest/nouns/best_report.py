"""The answer to which of several models is best, without formatting."""

from dataclasses import dataclass

from activetest.nouns.quantity import Measured


@dataclass(frozen=True, kw_only=True)
class RankedModel(Measured):
    """One of the models.

    quantity  how far it is from the likely best one: its value minus that one's, with an interval;
              those of all models hold together. Of the likely best one itself, 0
    model     its name
    value     its estimated value: that of the study's first model, and how far both are apart; None
              where there is no estimate
    p_best    probability that it is the best, or within the tolerance of it
    regret    how much worse than the best it is expected to be
    """

    model: str
    value: float | None
    p_best: float
    regret: float


@dataclass(frozen=True)
class BestReport:
    """The answer by a posterior of how far apart all models are.

    metric       what models are judged by
    best         the model with the smallest expected regret
    probability  that it is the best, or within the tolerance of it
    regret       how much worse than the best it is expected to be
    level        probability from which on the answer is decided
    tolerance    models count as best whose value is within so much of the best one
    decided      whether the probability is at least the level
    more_labels  that are expected to decide it; None where that cannot be foreseen, 0 once decided
    n_labeled    labels that are known
    n_telling    those of them of items on which not all models do the same
    models       all of them, the one with the smallest expected regret first
    """

    metric: str
    best: str
    probability: float
    regret: float
    level: float
    tolerance: float
    decided: bool
    more_labels: int | None
    n_labeled: int
    n_telling: int
    models: tuple[RankedModel, ...]
