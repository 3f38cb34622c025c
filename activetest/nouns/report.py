"""Contents of a report, before any formatting. Every output format renders this object."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from activetest.nouns.arguments import name_metric
from activetest.nouns.best_report import BestReport
from activetest.nouns.group_beliefs import GroupBeliefs
from activetest.nouns.group_report import Assessment
from activetest.nouns.quantity import Measured
from activetest.nouns.report_details import ReportDetails
from activetest.nouns.simulated_answer import Strategy
from activetest.nouns.surface_report import SurfaceReport

SCHEMA_VERSION = 3

# Entry for an item that cannot be answered.
SKIPPED = "status=skipped in the label file"

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
# Verdicts of labels on an assumption.
REFUTED, SUPPORTED, UNTESTED = "refuted", "supported", "untested"


class Weight(IntEnum):
    """How much a note matters, the larger the more.

    ANSWER    it answers something that was requested of this report, and is always shown
    INVALID   a number may be wrong, or its interval may not hold
    UNSTABLE  a number may still change a lot
    WIDE      little is known yet: intervals are wide, or labels cannot be used yet
    LIMITED   what a number is about, or when its interval holds
    FACT      no caution: units, how items were chosen, how a number was made
    """

    FACT = 0
    LIMITED = 1
    WIDE = 2
    UNSTABLE = 3
    INVALID = 4
    ANSWER = 5


@dataclass(frozen=True)
class Note:
    """One plain sentence or more about a report, and how much it matters."""

    text: str
    weight: Weight = Weight.FACT

    def __str__(self) -> str:
        """The text alone."""
        return self.text

    @property
    def is_caution(self) -> bool:
        """Whether it is a reason to be careful with a number."""
        return Weight.FACT < self.weight < Weight.ANSWER


@dataclass(frozen=True)
class AssumptionCheck:
    """Test, by the labels at hand, of an assumption that a report was asked to make.

    assumption       as the user wrote it: rate[fraud]@score<1e-4<=0.0001
    class_name       the class whose share among its items is bounded
    below, at_most   its items have a score below, and this is the largest share
    n_pool           number of its items
    n_labeled        labels of them, whoever chose the items
    n_found          how many of these are of the class
    most             the largest number that is assumed to be
    stands_for       number of items of the class that drawn ones stand for in an estimate
    upper            upper end of the share that the labels leave possible, at the study's level
    verdict          "refuted": it is not used; "supported"; or "untested": so few labels could not
                     have shown that it is wrong
    """

    assumption: str
    class_name: str
    below: float
    at_most: float
    n_pool: int
    n_labeled: int
    n_found: int
    most: int
    stands_for: float
    upper: float
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """How two models compare, besides the difference of a metric.

    better, worse  estimated shares of items on which the model alone is right, and the reference
                   alone; None for metrics that do not count mistakes
    rope           differences up to this size count as none; None where nobody said
    equal          whether the interval at level 1 - 2 (1 - level) lies within the rope
    """

    better: float | None = None
    worse: float | None = None
    rope: float | None = None
    equal: bool = False


@dataclass(frozen=True, kw_only=True)
class EstimateRow(Measured):
    """One estimate. Where it does not exist its numbers are None, and reason says why.

    quantity            value of the metric, with its interval
    metric, estimator   names in the catalogue
    n_draws             labelled draws that the estimate is made of; None where it is made of
                        none: those of the surrogate, and values that are exact
    n_labeled           labelled items that it is made of; n_answers counts all that were paid for
    n_pool              size of the pool (of the group)
    max_weight_share    largest share of one draw in the estimate
    variance_inflated   whether the interval uses a larger variance than the draws show, because
                        they are few
    class_name          the class of a per-class metric
    group               {column: value}, or None for the whole pool
    headline            whether this is the row to read first
    reason              why there is no estimate, or no interval
    against             for a difference: the group that is subtracted, {column: value}
    shrunk              the value moved towards what is expected of the group, the more the wider
                        its interval is
    surrogate_std       standard deviation of the value between members of the surrogate, for
                        model-based estimates
    from_outputs        of a metric of the labels alone, as a rate: its value if the model's outputs
                        were the labels; None for other metrics
    models              of a metric of further models: the model, or the one from which the other is
                        subtracted, and that; empty for the study's first model
    compared            of a difference of models to a reference
    parts               the name of the part of the population that it is about, and of one that is
                        subtracted; empty for all of it
    """

    metric: str
    estimator: str
    n_labeled: int
    n_pool: int
    n_draws: int | None = None
    max_weight_share: float | None = None
    variance_inflated: bool = False
    class_name: str | None = None
    group: dict[str, str] | None = None
    headline: bool = False
    reason: str | None = None
    against: dict[str, str] | None = None
    shrunk: float | None = None
    parts: tuple[str, ...] = ()
    surrogate_std: float | None = None
    from_outputs: float | None = None
    models: tuple[str, ...] = ()
    compared: Comparison | None = None

    @property
    def title(self) -> str:
        """The metric with its class and models: recall[fraud], recall[fraud](v2)."""
        return name_metric(self.metric, self.class_name, self.models)

    @property
    def n_eff(self) -> float | None:
        """Random labels that would leave the same variance; None where unknown."""
        return self.quantity.saving.random


@dataclass(frozen=True)
class LaterDraws(Measured):
    """The number of a gate by draws alone that came after the model that it judges.

    quantity   value of the metric, with its interval at the study's level; without numbers where
               there are too few draws
    n_labeled  labels of these draws
    """

    n_labeled: int


@dataclass(frozen=True, kw_only=True)
class Gate(Measured):
    """The verdict on one requirement; text, JSON, JUnit and the exit code all come from it.

    quantity               value of the metric, with its interval
    requirement            as the user wrote it
    metric, class_name     what has to be good enough
    group                  {column: value}, or None for the whole pool
    against                for a difference between groups: the one that is subtracted
    models                 as in EstimateRow
    op, threshold          ">=" or "<=", and the value that decides
    verdict                "pass", "fail" or "undecided"
    n_draws                labelled draws that the verdict rests on; None where it rests on the
                           value itself or on a surface
    n_labeled              labelled items that it rests on: of a verdict that stays, those of the
                           round that decided it, as are the estimate and the interval
    e_pass, e_fail         largest values so far of the e-processes against the metric being too bad
                           and being good enough; None for fixed intervals
    more_labels            labels still expected to be needed; None unless undecided
    reason                 what else to know, in a plain sentence
    decided_round          the round that decided it, at every look or a planned one; None while
                           undecided, for fixed intervals, and where no draw was needed
    look, looks            of a sequential gate: the number of the look that it rests on, which is
                           the one that decided it or else the last complete one, 0 before the
                           first; and how many are planned. None for other gates
    labels_to_next_look    labels until the next look of an undecided sequential gate; None after
                           the last
    p_pass                 probability that an undecided sequential gate passes by the last look, if
                           draws go on as they did until its look; None before time 0.35
    parts                  as in EstimateRow
    since_added            by draws since its model came, where that is not the first model that
                           gates were asked of, and came after draws; else None
    """

    requirement: str
    metric: str
    op: str
    threshold: float
    verdict: str
    n_labeled: int
    n_draws: int | None = None
    class_name: str | None = None
    group: dict[str, str] | None = None
    e_pass: float | None = None
    e_fail: float | None = None
    more_labels: int | None = None
    reason: str | None = None
    decided_round: int | None = None
    look: int | None = None
    looks: int | None = None
    labels_to_next_look: int | None = None
    p_pass: float | None = None
    against: dict[str, str] | None = None
    models: tuple[str, ...] = ()
    since_added: LaterDraws | None = None
    parts: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """As of an estimate."""
        return name_metric(self.metric, self.class_name, self.models)


@dataclass(frozen=True)
class ColumnSlope:
    """How the gap between a judge and people varies with one column of the pool.

    column        its name; for the length of a text in characters, "characters of name"
    slope         change of the gap per standard deviation of the column's ranks; None without
    lower, upper  its interval
    p_value       probability of such a slope, or a steeper one, without any dependence
    p_corrected   the same, corrected for the number of columns (Holm 1979)
    n_labeled     labels of items that have a value
    reason        why there is no slope
    """

    column: str
    slope: float | None
    lower: float | None
    upper: float | None
    p_value: float | None
    p_corrected: float | None
    n_labeled: int
    reason: str | None = None


@dataclass(frozen=True)
class JudgeReport:
    """How far a judge is from people, whose labels are the truth.

    column     of the judge's outputs
    positive   the class that is positive; None for scores, and where none is
    outputs    "verdicts", "probabilities" or "scores"
    estimates  the corrected rate or mean first, then the bias and how well they agree
    groups     the gap in every group
    gap        what gaps are: "bias", judge minus people, or "accuracy" where no class is positive:
               then the slopes are those of the share of items on which both differ
    columns    how the gap varies with columns of numbers, and lengths of texts
    level      confidence of all intervals
    """

    column: str
    positive: str | None
    outputs: str
    estimates: tuple[EstimateRow, ...]
    groups: tuple[EstimateRow, ...]
    gap: str
    columns: tuple[ColumnSlope, ...]
    level: float


@dataclass(frozen=True)
class Counts:
    """Where the study stands.

    n_pool          items of the pool
    draws           draws so far
    drawn           items drawn: labelled, pending (not answered yet) and declined ones
    labeled, pending, declined   how many of these are in each state
    supplied        items with an answer that were neither drawn nor chosen
    answers         answers that count: about drawn, chosen and supplied items, of every annotator
    rounds          rounds so far
    budget          labels the user means to buy, or money with prices of labels; or None
    deterministic   items without a probability, chosen by the largest score or drawn between groups
                    without a floor: labelled, pending and declined ones likewise
    missing         ids of pending items in rounds of which, or after which, others were answered
    spent           price of all answers so far, each annotator's and those of declined items; None
                    where labels have no prices
    declined_as     what declined items count as: "worst", at their least and at their most, or
                    "ignore"
    evidence        sentences on how well features and texts foretell the model's answers, and
                    training rows their labels, where the surrogate listens to them
    models          names of the models, in the order in which they came; empty where there is one
    left_out        items that are none of the study, because not all of its models have them
    """

    n_pool: int
    draws: int
    drawn: int
    labeled: int
    pending: int
    declined: int
    supplied: int
    answers: int
    rounds: int
    budget: float | None
    deterministic: int = 0
    missing: tuple[str, ...] = ()
    spent: float | None = None
    declined_as: str = "worst"
    evidence: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class Report:
    """Everything that a report says.

    pool, fingerprint                        address of the pool, and the hash of its contents
    seed                                     of the study
    metric, surrogate, acquisition, floor    what draws are made for, and how: see Choices
    selection                                "draw", or "top" where the largest scores are chosen
    power                                    of the scores that draws are made in proportion to
    surrogate_note                           what the surrogate is made of, what its networks
                                             learned on, how many items augment it; None for most
    auxiliary_outputs                               what the surrogate learns from, where it says so
    counts                                   where the study stands
    estimates                                one row per estimate, groups last
    notes                                    what to know before believing a number, heaviest first
    gates                                    verdicts, in the order of the requirements
    assessment                               the answer to the question about groups; None for a
                                             study without one
    estimators                               those that were named for this report; empty where the
                                             default ones are in it
    population                               whether numbers are about what the pool is a sample
                                             of, and not about the pool itself
    cluster                                  column of clusters that the pool is a sample of; None
                                             for items
    assumptions                              those that were requested, and what labels say about
                                             them: those that are not refuted were used
    weight                                   column of the items' weights; None where all items
                                             count alike
    threshold                                the one that it is about in hindsight; None for others
    population_setting                       the setting of a report on the population; empty where
                                             this is one
    hindsight                                how another metric or group is asked for later
    surface                                  the metric at combinations of attributes; None unless
                                             it is the study's question, or was requested
    judge                                    how far the judge is from people; None unless the
                                             outputs are a judge's
    best                                     which model is best; None unless it is the study's
                                             question
    details                                  what the numbers rest on, for pages; None unless
                                             they were requested
    beliefs                                  densities of the question's groups, for pictures; None
                                             unless they were requested
    """

    pool: str
    fingerprint: str
    seed: int
    metric: str
    surrogate: str
    acquisition: str
    floor: float
    counts: Counts
    estimates: tuple[EstimateRow, ...]
    notes: tuple[Note, ...] = ()
    gates: tuple[Gate, ...] = ()
    selection: str = "draw"
    power: float = 1.0
    surrogate_note: str | None = None
    auxiliary_outputs: tuple[str, ...] = ()
    assessment: Assessment | None = None
    estimators: tuple[str, ...] = ()
    population: bool = False
    cluster: str | None = None
    assumptions: tuple[AssumptionCheck, ...] = ()
    weight: str | None = None
    threshold: float | None = None
    population_setting: str = ""
    hindsight: str = ""
    surface: SurfaceReport | None = None
    judge: JudgeReport | None = None
    best: BestReport | None = None
    details: ReportDetails | None = None
    beliefs: GroupBeliefs | None = None

    @property
    def of_models(self) -> tuple[EstimateRow, ...]:
        """The estimates that are of named models, and of their differences."""
        return tuple(row for row in self.estimates if row.models)


@dataclass(frozen=True)
class SimulatedStrategy(Strategy):
    """How one way to draw and estimate fared over many simulated studies.

    budget            draws each study made
    n_labeled         different items among them, on average: fewer than the budget only where items
                      are drawn with replacement
    runs              studies in which the estimate existed
    rmse, bias        of the estimate against the truth, in the metric's units
    median            median squared error
    quartiles         a quarter of the squared errors is below the first, and one above the second
    mse_ratio         mean squared error of uniform draws (closed form) over this one's; not a
                      number, as all that compares with them, at a budget of 0
    mse_ratio_se      its Monte-Carlo standard error; None where no two runs differ
    labels_saved      uniform labels that reach the same error, over the budget
    surrogate_mse_ratio  mse_ratio of uniform draws with the same surrogate, of doubly robust
                      estimates: what active draws add is what is above it. None where uniform
                      draws were not simulated
    coverage          share of runs whose interval holds the truth; None where all are one study
    width             mean width of the interval
    uniform_mse       mean squared error of uniform draws at this budget
    uniform_median    their median squared error
    """

    estimator: str
    metric: str
    budget: int
    n_labeled: float
    runs: int
    rmse: float
    bias: float
    median: float
    quartiles: tuple[float, float]
    mse_ratio: float
    mse_ratio_se: float | None
    labels_saved: float
    coverage: float | None
    width: float
    uniform_mse: float
    uniform_median: float
    surrogate_mse_ratio: float | None = None


def exit_code(gates: Iterable[Gate]) -> int:
    """1 if any gate failed, else 3 if any is undecided, else 0."""
    verdicts = {gate.verdict for gate in gates}
    return 1 if FAIL in verdicts else 3 if UNDECIDED in verdicts else 0


def count_verdicts(gates: Iterable[Gate]) -> str:
    """How many gates came to which verdict: "gates: 1 FAIL, 2 PASS"."""
    verdicts = [gate.verdict for gate in gates]
    counts = ((verdicts.count(each), each.upper()) for each in (FAIL, UNDECIDED, PASS))
    return "gates: " + ", ".join(f"{count} {verdict}" for count, verdict in counts if count)


def sort_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes, heaviest first; of equal ones, in the order in which they came."""
    return tuple(sorted(notes, key=lambda note: -note.weight))
