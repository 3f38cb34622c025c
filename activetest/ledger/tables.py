"""The tables of a ledger, by their rows: names, order and types of columns are those of the fields.

The first field of each is its key. A field `entry` is the number of the entry of the hash chain
that the row came with; draws came with their round, and answers with their file.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, get_args, get_type_hints


class Meta(NamedTuple):
    """The one row of meta: what changes with the whole study."""

    number: int
    seed: int
    revision: int
    time: str | None


class StoredPart(NamedTuple):
    """A part of the population; see Part. `retired` is the revision that retired it."""

    number: int
    entry: int
    name: str
    address: str
    format: str
    fingerprint: str
    rows: int
    time: str | None
    retired: int | None


class StoredModel(NamedTuple):
    """A model; see Model. `removed` is the revision that removed it."""

    number: int
    entry: int
    name: str
    version: str | None
    part: int | None
    source: str | None
    fingerprint: str
    trained: int | None
    time: str | None
    removed: int | None


class StoredCriterion(NamedTuple):
    """A question that is asked about every item."""

    number: int
    entry: int
    name: str
    time: str | None


class StoredRater(NamedTuple):
    """Whoever answers; see Rater."""

    number: int
    entry: int
    name: str
    kind: str
    price: float | None
    time: str | None


class StoredText(NamedTuple):
    """A text that several rounds have in common."""

    number: int
    text: str


class StoredRound(NamedTuple):
    """A round; choices, params and record are numbers of texts.

    labels_seen  the revision that it was computed from: it knew all files that counted then
    fit_round    number of the round that fitted its surrogate; None for its own
    fit_labels   number of labels that this surrogate was fitted to
    arrays       name of the file of its surrogate's arrays
    """

    number: int
    entry: int
    time: str | None
    labels_seen: int
    phase: int
    fit_round: int | None
    fit_labels: int
    arrays: str | None
    choices: int
    params: int
    record: int
    params_numbers: bytes
    numbers: bytes


class StoredDraw(NamedTuple):
    """A draw; q is its probability among the items that it could reach, None without one."""

    position: int
    round: int
    id: str
    repeat: str | None
    part: int
    phase: int
    q: float | None
    imputed: bytes


class StoredFile(NamedTuple):
    """A file of labels; `undone` is the revision that took it back."""

    number: int
    entry: int
    source: str | None
    time: str | None
    revision: int
    undone: int | None


class StoredAnswer(NamedTuple):
    """An answer; criterion and rater are numbers, and value is JSON: None where it declines."""

    number: int
    file: int
    id: str
    repeat: str | None
    criterion: int
    rater: int
    status: int
    value: str | None
    price: float | None
    seconds: float | None
    time: str | None
    comment: str | None


class StoredGate(NamedTuple):
    """A gate that somebody asked for; see AskedGate. expression and conditions are JSON."""

    number: int
    entry: int
    requirement: str
    expression: str
    op: str
    threshold: float
    level: float
    interval: str
    source: str
    conditions: str | None
    time: str | None


class StoredPlan(NamedTuple):
    """The plan from then on; see Plan."""

    number: int
    entry: int
    budget: float | None
    unit: str
    looks: int | None
    last_look: int | None
    spending: str | None
    interval: str
    level: float
    declined: str
    time: str | None


class Entry(NamedTuple):
    """One write: what it was, which round, file, gate, plan or model it was about, and JSON."""

    number: int
    kind: str
    of: int | None
    data: str | None
    hash: bytes


@dataclass(frozen=True)
class Tables:
    """The rows of every table, in the order of their keys; texts by their numbers."""

    meta: Meta
    parts: list[StoredPart]
    models: list[StoredModel]
    criteria: list[StoredCriterion]
    raters: list[StoredRater]
    texts: dict[int, str]
    rounds: list[StoredRound]
    draws: list[StoredDraw]
    files: list[StoredFile]
    answers: list[StoredAnswer]
    gates: list[StoredGate]
    plans: list[StoredPlan]
    entries: list[Entry]


# {table: what its rows are}.
ROWS: dict[str, Any] = {
    name: next(iter(get_args(hint)), hint) for name, hint in get_type_hints(Tables).items()
} | {"texts": StoredText}
# {table: {column: the types it may hold}}.
TABLES: dict[str, dict[str, tuple[type, ...]]] = {
    name: {column: get_args(hint) or (hint,) for column, hint in get_type_hints(row).items()}
    for name, row in ROWS.items()
}
# The columns that a later entry may change: entries say them, and rows are hashed without them.
CHANGING = {
    "meta": ("seed", "time"),
    "parts": ("fingerprint", "retired"),
    "models": ("fingerprint", "removed"),
    "files": ("undone",),
}
# The columns that hold numbers of texts, which rows are hashed with the hashes of.
SHARED = {"rounds": ("choices", "params", "record")}
