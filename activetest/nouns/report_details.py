"""Contents of a page beyond a report: how numbers came about, and what they rest on. Plain data."""

from dataclasses import dataclass

from activetest.nouns.curve import Curve
from activetest.nouns.quantity import Measured

# At most so many of each are in the details of a report.
MOST_POINTS = 20
MOST_CLASSES = 12
MOST_ITEMS = 10
MOST_VALUES = 12
# Texts of items are cut after so many characters.
MOST_CHARACTERS = 300


@dataclass(frozen=True)
class HistoryPoint:
    """The headline metric as it was estimated after a round. Missing values are None.

    round                       number of the round
    n_labeled                   labels of items that were drawn up to this round, and of items that
                                the user supplied, with the answers that count now
    estimate, lower, upper      the estimate from these draws and labels alone, and its interval
    random_lower, random_upper  ends of the interval that as many labels of random items would have
                                had, around the present estimate: see ReportDetails.random_band
    """

    round: int
    n_labeled: int
    estimate: float | None
    lower: float | None
    upper: float | None
    random_lower: float | None = None
    random_upper: float | None = None


@dataclass(frozen=True, kw_only=True)
class ConfusionCell(Measured):
    """The share of all items of the pool with this prediction and this true class.

    quantity   the share, with its interval; without an estimate where there is none
    predicted  class that the model says, or the table's `others`
    truth      class that is right; likewise
    n_labeled  labelled items in the cell; without any there is no estimate
    """

    predicted: str
    truth: str
    n_labeled: int


@dataclass(frozen=True)
class ConfusionTable:
    """Confusions of each class with others: shares of the pool, each estimated by itself.

    classes    predicted classes, of the rows: the MOST_CLASSES most frequent ones in the order of
               the pool's classes, then `others` where some are left out
    truths     true classes, of the columns: the same, then `others` where some are left out, or
               where labels are of classes that the pool does not have
    cells      one per row and column, row by row
    others     name of the row and the column of all other classes together; None without
    left_out   names of the classes that have no row of their own
    """

    classes: tuple[str, ...]
    truths: tuple[str, ...]
    cells: tuple[ConfusionCell, ...]
    others: str | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorstItem:
    """A labelled item that the model did badly on.

    id          of the item
    text        its text column or columns, cut after MOST_CHARACTERS characters, without control
                characters; None for a pool without text
    predicted   what the model says: class or number
    label       what is right
    confidence  probability of the predicted class; None where the pool has none
    loss        how bad it is: see ReportDetails.loss
    unlike      whether the model's answer is unlike its answers to items with similar features or
                texts
    """

    id: str
    text: str | None
    predicted: str
    label: str
    confidence: float | None
    loss: float
    unlike: bool = False


@dataclass(frozen=True)
class DisputedItem:
    """A labelled item on which a model is right and the reference is wrong, or the other way.

    id       of the item
    text     as of a WorstItem
    label    what is right
    answers  (model, what it says, whether it is right), the reference first; of regression the one
             that is nearer is right
    """

    id: str
    text: str | None
    label: str
    answers: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True)
class SampledShare:
    """A slice of the pool, and how much of what was drawn and labelled is in it.

    what             how the pool is cut: "confidence", "predicted value", "predicted class", or
                     the name of a group column
    name             of the slice: a bin "0.5 to 0.8", a class, a value of the column
    share_of_pool    its items over those of the pool
    share_of_labels  its labelled draws over all labelled draws; 0 where nothing is labelled yet.
                     Items that the user supplied do not count
    n_pool, n_labeled  the counts themselves
    """

    what: str
    name: str
    share_of_pool: float
    share_of_labels: float
    n_pool: int
    n_labeled: int


@dataclass(frozen=True)
class AnnotatorAnswers:
    """Answers of one annotator.

    name      as in the label files; empty where answers have no name
    labeled   items with a label, declined ones not counted
    declined  items that could not be answered
    compared  labels of others for the same items
    agreeing  share of these that are equal; None where there are none
    confusion {true class: {answer: estimated share}}; None where it is not estimated
    """

    name: str
    labeled: int
    declined: int
    compared: int
    agreeing: float | None
    confusion: dict[str, dict[str, float]] | None = None


@dataclass(frozen=True)
class ContestedItem:
    """An item whose annotators gave different labels.

    id       of the item
    text     as of WorstItem
    label    the label that counts
    answers  (annotator, label) in the order given
    """

    id: str
    text: str | None
    label: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from, for an auditor. Times are in UTC, as 2026-01-31T12:00:00Z.

    pool          address of the pool, without secrets; fingerprint is the hash of its contents
    rows          items of the pool
    version       of activetest that reports; and `versions`, that drew rounds, in order: another
                  program may have drawn the first ones
    seed          of the study
    created       when the study was created; None where the ledger does not say
    first_round, last_round    when rounds were drawn; None without any
    first_answer, last_answer  when files of answers came; None without any
    rounds, draws, answers     how many rounds, drawn items, and answers that count now
    settings      (name, value) of what differs from the defaults
    commands      what leads to this study, a line each
    chain         hash of the ledger's last entry, in hexadecimal digits: it covers every draw and
                  every answer
    """

    pool: str
    fingerprint: str
    rows: int
    version: str
    versions: tuple[str, ...]
    seed: int
    created: str | None
    first_round: str | None
    last_round: str | None
    first_answer: str | None
    last_answer: str | None
    rounds: int
    draws: int
    answers: int
    settings: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    chain: str | None


@dataclass(frozen=True, kw_only=True)
class ReportDetails:
    """Basis of a report, from the same computation. Missing parts are None or empty.

    history      the headline metric round by round: at most MOST_POINTS points, evenly spaced, the
                 last round always
    history_of   title of that metric, and history_by the name of the estimator
    random_band  what the band of random labels is, in a plain sentence; None where no point has one
    confusion    which classes are taken for which; None for regression
    reliability  whether confidence can be believed; None without probabilities
    worst_items  at most MOST_ITEMS labelled items with the largest loss, the largest first
    loss         what their loss is, in a few words; None without any
    sampled      what was drawn and labelled against the pool, cut in several ways
    raters       everybody who answered, in the order of their first answers; empty where answers
                 have no names
    alpha        Krippendorff's: how far annotators agree beyond chance; None without two labels of
                 an item
    contested    at most MOST_ITEMS items whose annotators disagree, those with the most
                 disagreeing answers first
    n_contested  how many there are
    provenance   where the numbers come from
    draws_csv    the log of draws and answers, as `study.export().to_csv()` writes it
    disputed     at most MOST_ITEMS labelled items on which models and their reference differ: those
                 on which most models do, and of these the first that were drawn
    """

    history: tuple[HistoryPoint, ...]
    history_of: str
    history_by: str
    random_band: str | None
    confusion: ConfusionTable | None
    reliability: Curve | None
    worst_items: tuple[WorstItem, ...]
    loss: str | None
    sampled: tuple[SampledShare, ...]
    raters: tuple[AnnotatorAnswers, ...]
    alpha: float | None
    contested: tuple[ContestedItem, ...]
    n_contested: int
    provenance: Provenance
    draws_csv: str
    disputed: tuple[DisputedItem, ...] = ()
