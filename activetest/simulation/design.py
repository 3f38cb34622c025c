"""Plan of a simulation: every strategy that is compared, and where it is looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from activetest import catalog
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Metric
from activetest.nouns.choices import NO_QUESTION, Choices, Interval, Selection
from activetest.nouns.study_lists import Model
from activetest.pool.costs import read_costs
from activetest.pool.pool import Pool
from activetest.sampling.choices import check_choices, check_inputs, check_training
from activetest.sampling.question import (
    check_unasked,
    chooses_between,
    find_fact,
    list_question_choices,
    usual_floor,
)
from activetest.sampling.settings import Settings

ACQUISITIONS = ("optimal", "uniform")
# Choices that all strategies share.
_SHARED = ("floor", "floor_rule", "level", "augment", "refit")


@dataclass(frozen=True)
class Plan:
    """Plan of every run.

    strategies            choices to draw with, one study each
    estimators, metrics   what to estimate
    budgets               draws after which to estimate, increasing
    interval              kind of interval, see assess_view
    batch                 items to draw at a time
    seed                  the runs' own seeds are derived from it
    models                (name, fingerprint) of further models
    first                 name of the first one
    """

    strategies: tuple[Choices, ...]
    estimators: tuple[str, ...]
    metrics: tuple[str, ...]
    budgets: tuple[int, ...]
    interval: str
    batch: int
    seed: int
    models: tuple[tuple[str, str], ...] = ()
    first: str = Model.name

    def seed_of(self, run: int) -> int:
        """The seed of a run: the same for every strategy, so that they differ by nothing else."""
        return (self.seed * 1_000_003 + run) % 2**63


def choices_of_groups(settings: Settings, *, grouped: bool) -> dict[str, Any]:
    """The choices about groups; none without a question.

    grouped  whether groups were named. Raises ChoiceError where settings have no effect without a
    question.
    """
    of_questions = list_question_choices()
    given = {name: value for name, value in settings.choices.items() if name in of_questions}
    question = settings.choices.get("question")
    if question in (None, NO_QUESTION):
        check_unasked(
            [
                *given,
                *(["groups"] if grouped else []),
                *(["attributes"] if settings.columns.get("attributes") else []),
            ]
        )
        return {}
    return given | {"question": question}


def list_strategies(
    given: Settings,
    of_groups: Mapping[str, Any],
    pool: Pool,
    metrics: tuple[str, ...],
    *,
    aim: str | None,
    further: Sequence[str],
    interval: str,
) -> tuple[Choices, ...]:
    """One choice for every way to draw that is compared, each once.

    of_groups  choices about groups
    metrics    to estimate; draws aim at the first, unless aim names another
    further    metrics that acquisitions aim at, too, which add up the information about each

    Equal scores and choices between groups have no top and no power, the order of scores no power,
    and draws with replacement no top. Surrogates that cannot be augmented are not, where others
    can. Without a floor every acquisition has its usual one. Raises
    ChoiceError or UnknownMethod for what makes no sense in such a pool.
    """
    roles, chosen = pool.schema.to_dict() | {"uri": pool.uri}, given.choices
    question = of_groups.get("question")
    common = {name: chosen[name] for name in _SHARED if name in chosen}
    if given.costs is not None:
        common["costs"] = read_costs(given.costs, pool.schema.classes)
    common |= {"metric": aim or metrics[0], "metrics": metrics, "groups": pool.schema.groups}
    common |= {"attributes": pool.schema.attributes, **of_groups}
    common["interval"] = Interval.ANYTIME if interval == Interval.ANYTIME else Interval.FIXED
    also = tuple(
        metric.title
        for name in further
        for metric in specification.find_metrics(
            name, specification.describe_pool(roles, common.get("costs"))
        )
    )
    usual = find_fact(question, "SIMULATED") or ACQUISITIONS
    acquisitions = chosen.get("acquisition", usual)
    if finding := find_fact(question, "FINDING"):
        catalog.load("simulated", finding).check_compared(acquisitions)
    surrogates = chosen.get("surrogate") or (Choices.surrogate,)
    found: dict[Choices, None] = {}
    augmented = [name for name in surrogates if catalog.fact("surrogates", name, "AUGMENTS")]
    for surrogate, acquisition, selection, power in product(
        surrogates,
        acquisitions,
        chosen.get("selection", (Choices.selection,)),
        chosen.get("power", (Choices.power,)),
    ):
        between_groups = chooses_between(acquisition)
        unscored = acquisition == "uniform" or between_groups
        drawn = unscored or with_replacement(acquisition)
        top = selection == Selection.TOP and not drawn
        choices = {
            "floor": usual_floor(acquisition, (aim or metrics[0],)),
            **common,
            "surrogate": surrogate,
            "acquisition": acquisition,
            "selection": Selection.DRAW.value if drawn else selection,
            "power": 1.0 if unscored or top else power,
        }
        if catalog.fact("acquisition", acquisition, "NEEDS_KINDS"):
            choices["also"] = also
        if between_groups and not all(map(chooses_between, acquisitions)):
            # Groups have no scores to clip; the others have.
            choices.pop("floor_rule", None)
        if augmented and surrogate not in augmented:
            # It is compared with the others, for which that choice is.
            choices.pop("augment", None)
        fitting = check_choices(choices, roles, simulated=True)
        check_inputs(fitting, roles)
        check_training(fitting, training=bool(given.files["train"]))
        found[fitting] = None
    return tuple(found)


def has_estimate(choices: Choices, estimator: str, metric: Metric, aim: Metric) -> bool:
    """Whether an estimator can estimate the metric from draws with these choices.

    aim is the metric of the choices. Without a floor, draws by true losses never come to items
    without a loss while there are others: these add nothing to the mean that draws aim at, and
    `lure` is unbiased for it. They matter to all other means, and to estimates that predict them.
    """
    if choices.floor or not catalog.fact("acquisition", choices.acquisition, "NEEDS_KEY"):
        return True
    if catalog.fact("estimators", estimator, "MODEL_BASED") or estimator == "naive":
        return True
    same = [each.name for each in metric.statistics] == [each.name for each in aim.statistics]
    one_mean = len(metric.statistics) == 1 and metric.refine is None
    return estimator == "lure" and same and one_mean


def with_replacement(acquisition: str) -> bool:
    """Whether an acquisition draws with replacement, as no study does."""
    return bool(catalog.fact("acquisition", acquisition, "WITH_REPLACEMENT"))
