"""What is said about a study, before any formatting. Every output format renders this one object."""

from dataclasses import dataclass, field

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Line:
    """One estimate. Fields that do not exist are None, and then reason says why.

    class_name       the class of a per-class metric
    group            {column: value}, or None for the whole pool
    n_labeled        labels the estimate used
    n_pool           size of the pool (of the group)
    n_eff            labels that uniform draws would have needed for this variance
    labels_saved     n_eff / n_labeled
    max_weight_share largest share of one draw in the estimate
    headline         whether this is the line to read first
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
    class_name: str | None = None
    group: dict[str, str] | None = None
    headline: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class Counts:
    """Where the study stands."""

    n_pool: int
    drawn: int
    labelled: int
    pending: int
    declined: int
    brought: int
    rounds: int
    budget: int | None


@dataclass(frozen=True)
class Report:
    """Everything `activetest report` says.

    notes   plain sentences: what to know before believing a number
    gates   verdicts, in the order asked
    """

    pool: str
    fingerprint: str
    seed: int
    metric: str
    surrogate: str
    acquisition: str
    floor: float
    counts: Counts
    estimates: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    gates: tuple = field(default=())


@dataclass(frozen=True)
class SimulatedStrategy:
    """How one way to draw and estimate fared over many simulated studies.

    labels_saved   mean squared error of uniform draws (closed form) over this one's; _se its Monte-Carlo error
    label_ratio    uniform labels that reach the same error, over the budget
    coverage       share of runs whose interval holds the truth; width is the interval's mean
    """

    surrogate: str
    acquisition: str
    estimator: str
    metric: str
    budget: int
    runs: int
    rmse: float
    bias: float
    labels_saved: float
    labels_saved_se: float
    label_ratio: float
    coverage: float
    width: float
