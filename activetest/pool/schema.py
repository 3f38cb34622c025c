"""The role of every column of a pool, as it is stored in study.toml."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

from activetest.errors import ChoiceError
from activetest.nouns.choices import Scale, Task
from activetest.nouns.records import (
    Rule,
    find_missing,
    find_unknown,
    list_names,
    one_of,
    read_record,
    write_record,
)
from activetest.nouns.written_numbers import DECIMALS, is_form
from activetest.pool.groups import columns_of
from activetest.pool.image_shape import write_shape

# Before the number of a row, counting from 0, in ids that no other program makes.
ROW_PREFIX = "row-"
# Rules for entries that a text, or a list of texts, may break.
ColumnName = Annotated[str, Rule("it must be the name of a column", bool)]
Forms = Annotated[
    tuple[str, ...],
    Rule("it must be a list of decimal marks with signs", lambda value: all(map(is_form, value))),
]
Shape = Annotated[
    tuple[int, ...],
    Rule(
        "it must be a list of two or three whole numbers above 0",
        lambda value: len(value) in (0, 2, 3) and all(side > 0 for side in value),
    ),
]
Edges = Annotated[
    tuple[tuple[float, ...], ...],
    Rule(
        "it must be a list of lists of ascending numbers",
        lambda value: all(map(_do_ascend, value)),
    ),
]


@dataclass(frozen=True)
class Schema:
    """The role of every column.

    task          "classification" or "regression"
    kind          where the outputs are: "prob-list", "prob-columns", "score" or "pred"
    outputs       the column or columns of that kind
    id            column of ids; None where there is none
    pred          column of predicted classes or values; None where it follows from outputs
    std           column of predictive standard deviations (regression)
    scale         of outputs that are no plain probabilities: a Scale; empty for those that are
    classes       names of the classes, in code order; empty for regression
    open_classes  whether labels outside classes are allowed (hard labels: they are simply wrong)
    positive      the positive class of a binary pool
    threshold     score at which the prediction becomes the positive class
    features      columns for surrogates; list columns count as many
    groups        group columns; products are written "A*B"
    computed      those among them that are no columns of the pool but follow from the outputs
    ignored       columns with no role
    weight        column with the weight of each item; None where all count alike
    price         column with the price of each item's label; None where all cost alike
    attributes    columns whose combinations a surface is about; they are among the groups
    binned        columns of numbers among the attributes that are cut into bins
    edges         (B + 1,) edges of the bins of each of them
    uncertain     attributes that have columns of probabilities
    uncertain_columns  those columns, of each of them
    uncertain_values   the values of each of them, in code order
    gold          those among them with a column of values that are known for some rows
    named         columns of whole numbers that the file has names for, and that are read as these
    names         the names of each of them, from that of 0 on
    numbered      whether the file numbers the classes so: a label may be given as the number
    judge         the column of outputs, where they are a judge's and people's labels the truth
    others        columns of what other models predict
    shape         height and width of the image that the features are, and its channels if several
    texts         columns of free text that surrogates learn from
    written       columns of text that are read as numbers
    forms         how each of them is written: see nouns.written_numbers
    decimal       the decimal mark of numbers written as text, as the user said; empty otherwise
    left_out      number of items of the pool that are left out, because not all models have them
    thresholded   the class that is predicted from the threshold on, and the other one below it,
                  whatever the outputs say: of a model with a threshold of its own; empty otherwise
    """

    task: Annotated[str, one_of(Task)]
    kind: Annotated[str, one_of(("prob-list", "prob-columns", "score", "pred"))]
    outputs: Annotated[tuple[str, ...], Rule("it must be a list of texts", bool)]
    id: ColumnName | None = None
    pred: str | None = None
    std: str | None = None
    classes: tuple[str, ...] = ()
    open_classes: bool = False
    positive: str | None = None
    threshold: float = 0.5
    features: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    weight: ColumnName | None = None
    price: ColumnName | None = None
    # From here on, what few pools have: it is written only where it is.
    attributes: tuple[str, ...] = ()
    binned: tuple[str, ...] = ()
    edges: Edges = ()
    uncertain: tuple[str, ...] = ()
    uncertain_columns: tuple[tuple[str, ...], ...] = ()
    uncertain_values: tuple[tuple[str, ...], ...] = ()
    gold: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    numbered: bool = False
    judge: ColumnName | None = None
    others: tuple[str, ...] = ()
    shape: Shape = ()
    texts: tuple[str, ...] = ()
    scale: Annotated[str, one_of(Scale)] = ""
    written: tuple[str, ...] = ()
    forms: Forms = ()
    decimal: Annotated[str, one_of(DECIMALS)] = ""
    left_out: int = 0
    thresholded: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For study.toml: no None, lists for tuples; what few pools have, only where it is."""
        names = list_names(Schema)
        of_few = names[names.index("attributes") :]
        entries = write_record(self)
        return {name: value for name, value in entries.items() if value or name not in of_few}

    @staticmethod
    def from_dict(entries: Mapping[str, Any]) -> "Schema":
        """The inverse of to_dict.

        Raises ChoiceError for a key that no schema has, a value that it cannot have, or one that is
        missing.
        """
        if unknown := find_unknown(Schema, entries):
            raise ChoiceError(
                f"[pool] has an unknown key {unknown!r}",
                hint=f"known keys: {', '.join(sorted(list_names(Schema)))}",
            )
        if missing := find_missing(Schema, entries):
            raise ChoiceError(
                f"[pool] lacks the key {missing!r}",
                hint="restore it, or give the pool again: `Study.create(pool)`",
            )
        schema = read_record(Schema, entries, "[pool] ")
        lengths = len(schema.uncertain), len(schema.uncertain_columns), len(schema.uncertain_values)
        if (
            len(schema.edges) != len(schema.binned)
            or len({*lengths}) > 1
            or not {*schema.attributes} <= {*schema.groups}
            or len(schema.named) != len(schema.names)
            or len(schema.written) != len(schema.forms)
        ):
            raise ChoiceError(
                "[pool] attributes or named columns and what is said of them do not fit each other",
                hint="restore them, or name the attributes again: `study.change(attributes=names)`",
            )
        return schema

    def list_settings(self) -> dict[str, Any]:
        """{name: value} of the settings that give these roles: see ColumnChoices."""
        return {
            "id": self.id,
            # A column of predicted classes is named, too.
            "outputs": self.output_columns if self.kind != "pred" else self.outputs,
            "features": self.features,
            "groups": self.groups,
            "task": self.task,
            "positive": self.positive,
            "threshold": self.threshold,
            "classes": None if self.open_classes else self.classes or None,
            "weight": self.weight,
            "price": self.price,
            "attributes": self.attributes,
            "judge": self.judge,
            "feature_shape": write_shape(self.shape) or None,
            "other_columns": self.others,
            "text": self.texts,
            "scale": self.scale or None,
            "decimal": self.decimal or None,
        }

    def drop_groups(self) -> "Schema":
        """The roles without features, texts, groups and attributes."""
        absent: dict[str, Any] = dict.fromkeys(_NOT_NEEDED, ())
        return replace(self, **absent)

    @property
    def bins(self) -> dict[str, tuple[float, ...]]:
        """{column: edges} of the attributes that are cut into bins."""
        return dict(zip(self.binned, self.edges, strict=True))

    @property
    def class_names(self) -> dict[str, tuple[str, ...]]:
        """{column: names} of the columns of numbers that are read as names."""
        return dict(zip(self.named, self.names, strict=True))

    @property
    def written_forms(self) -> dict[str, str]:
        """{column: form} of the columns of text that are read as numbers."""
        return dict(zip(self.written, self.forms, strict=True))

    @property
    def prediction(self) -> str:
        """The column of predicted classes or values. Raises ValueError where there is none."""
        if self.pred is None:
            raise ValueError("the pool has no column of predictions")
        return self.pred

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The single columns of the pool that the groups are made of."""
        columns = (column for group in self.groups for column in columns_of(group))
        absent = {*self.computed, *self.uncertain} - {*self.gold}
        return tuple(column for column in dict.fromkeys(columns) if column not in absent)

    @property
    def amount_columns(self) -> tuple[str, ...]:
        """The columns of weights and prices."""
        found = (column for column in (self.weight, self.price) if column is not None)
        return tuple(dict.fromkeys(found))

    @property
    def output_columns(self) -> tuple[str, ...]:
        """Every column that the outputs are read from."""
        return tuple(
            dict.fromkeys([*self.outputs, *(c for c in (self.pred, self.std) if c is not None)])
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the pool that has a role."""
        ids = () if self.id is None else (self.id,)
        of_items = (*self.features, *self.texts, *self.group_columns, *self.amount_columns)
        uncertain = (column for each in self.uncertain_columns for column in each)
        return tuple(dict.fromkeys([*ids, *self.output_columns, *of_items, *uncertain]))


_OF_ATTRIBUTES = (
    *("attributes", "binned", "edges"),
    *("uncertain", "uncertain_columns", "uncertain_values", "gold"),
)
# Without them a pool has its items and what the model says.
_NOT_NEEDED = ("features", "shape", "texts", "groups", *_OF_ATTRIBUTES)


def _do_ascend(edges: Sequence[float]) -> bool:
    """Whether edges of bins ascend; the first two may be the same."""
    above = all(low < high for low, high in pairwise(edges[1:]))
    return len(edges) > 1 and above and edges[0] <= edges[1]
