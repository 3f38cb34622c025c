"""What is said about a study, before any formatting. Every output format renders this object."""

from collections.abc import Iterable
from dataclasses import dataclass

from activetest.nouns.group_report import Assessment

SCHEMA_VERSION = 1

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"


@dataclass(frozen=True)
class EstimateRow:
    """One estimate. Where it does not exist its numbers are None, and reason says why.

    metric, estimator   names in the catalogue
    estimate            value of the metric
    lower, upper        its interval, at level
    method              the interval's name; "exact" where everything is known, "none" without one
    n_labeled           labels the estimate used
    n_pool              size of the pool (of the group)
    n_eff               labels that uniform draws would have needed for this variance
    labels_saved        n_eff / n_labeled
    max_weight_share    largest share of one draw in the estimate
    variance_inflated             the interval trusts a larger variance than the draws show, because they are
                        few: n_eff and labels_saved are then rather too small than too large
    class_name          the class of a per-class metric
    group               {column: value}, or None for the whole pool
    headline            whether this is the line to read first
    against             for a difference: the group that is subtracted, {column: value}
    shrunk              the value drawn towards the other groups' by as much as its doubt demands
    reliable             False where the labels are too few for the interval to be believed
    """

    metric: str
    estimator: str
    estimate: float | None
    lower: float | None
    upper: float | None
    level: float
    method: str
    n_labeled: int
    n_pool: int
    n_eff: float | None = None
    labels_saved: float | None = None
    max_weight_share: float | None = None
    variance_inflated: bool = False
    class_name: str | None = None
    group: dict[str, str] | None = None
    headline: bool = False
    reason: str | None = None
    against: dict[str, str] | None = None
    shrunk: float | None = None
    reliable: bool = True


@dataclass(frozen=True)
class Gate:
    """The verdict on one requirement; text, JSON, JUnit and the exit code all come from it.

    requirement            as it was asked
    metric, class_name     what has to be good enough
    group                  {column: value}, or None for the whole pool
    op, threshold          ">=" or "<=", and the value that decides
    verdict                "pass", "fail" or "undecided"
    estimate, lower, upper its interval, at level; None where there is none
    method                 the interval's name
    n_labeled              labels the verdict rests on
    e_pass, e_fail         largest values so far of the e-processes against the metric being too bad
                           and being good enough; None for fixed intervals
    more                   labels still expected to be needed; None unless undecided
    reason                 what else to know, in a plain sentence
    """

    requirement: str
    metric: str
    op: str
    threshold: float
    verdict: str
    level: float
    method: str
    n_labeled: int
    class_name: str | None = None
    group: dict[str, str] | None = None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    e_pass: float | None = None
    e_fail: float | None = None
    more: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Counts:
    """Where the study stands.

    n_pool     items of the pool
    drawn      draws so far: labelled, pending (not answered yet) and declined ones
    supplied    answers that are known although nobody drew or deterministic the item
    rounds     rounds so far
    budget     labels the user means to buy, or None
    deterministic     items without a probability, deterministic by the largest score or drawn between groups
               without a floor: labelled, pending and declined ones likewise
    """

    n_pool: int
    drawn: int
    labelled: int
    pending: int
    declined: int
    supplied: int
    rounds: int
    budget: int | None
    deterministic: int = 0


@dataclass(frozen=True)
class Report:
    """Everything `activetest report` says.

    pool, fingerprint                        address of the pool, and the hash of its contents
    seed                                     of the study
    metric, surrogate, acquisition, floor    what draws aim at, and how: see Choices
    selection                                "draw", or "top" where the largest scores are deterministic
    power                                    of the scores that draws are made in proportion to
    surrogate_note                           what the surrogate is made of, or what its networks
                                             learned on; None for most
    counts                                   where the study stands
    estimates                                one line per estimate, groups last
    notes                                    plain sentences: what to know before believing a number
    gates                                    verdicts, in the order asked
    assessment                               the answer to the task; None for a study without one
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
    notes: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    selection: str = "draw"
    power: float = 1.0
    surrogate_note: str | None = None
    assessment: Assessment | None = None


@dataclass(frozen=True)
class SimulatedStrategy:
    """How one way to draw and estimate fared over many simulated studies.

    surrogate, acquisition, selection, power, refit, estimator   the strategy: see Choices
    budget            draws each study made
    labels            different items among them, on average: fewer than the budget only where items
                      are drawn with replacement
    runs              studies in which the estimate existed
    rmse, bias        of the estimate against the truth, in the metric's units
    median            median squared error
    quartiles         a quarter of the squared errors is below the first, and one above the second
    labels_saved      mean squared error of uniform draws (closed form) over this one's
    labels_saved_se   its Monte-Carlo standard error; None where no two runs differ
    label_ratio       uniform labels that reach the same error, over the budget
    coverage          share of runs whose interval holds the truth; None where all are one study
    width             mean width of the interval
    uniform_mse       mean squared error of uniform draws at this budget
    uniform_median    their median squared error
    """

    surrogate: str
    acquisition: str
    selection: str
    power: float
    refit: str
    estimator: str
    metric: str
    budget: int
    labels: float
    runs: int
    rmse: float
    bias: float
    median: float
    quartiles: tuple[float, float]
    labels_saved: float
    labels_saved_se: float | None
    label_ratio: float
    coverage: float | None
    width: float
    uniform_mse: float
    uniform_median: float


def exit_code(gates: Iterable[Gate]) -> int:
    """1 if any gate failed, else 3 if any is undecided, else 0."""
    verdicts = {gate.verdict for gate in gates}
    return 1 if FAIL in verdicts else 3 if UNDECIDED in verdicts else 0


def count_verdicts(gates: Iterable[Gate]) -> str:
    """How many gates came to which verdict: "gates: 1 FAIL, 2 PASS"."""
    verdicts = [gate.verdict for gate in gates]
    counts = ((verdicts.count(each), each.upper()) for each in (FAIL, UNDECIDED, PASS))
    return "gates: " + ", ".join(f"{count} {verdict}" for count, verdict in counts if count)
