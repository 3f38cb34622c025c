"""The role of every column of a pool, as it is stored in study.toml."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

from activetest.errors import ChoiceError
from activetest.nouns.choices import Scale
from activetest.nouns.written_numbers import DECIMALS
from activetest.pool.groups import columns_of
from activetest.pool.number_texts import is_form

# Before the number of a row, counting from 0, in ids that no other program makes.
ROW_PREFIX = "row-"


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
    forms         how each of them is written: see number_texts
    decimal       the decimal mark of numbers written as text, as the user said; empty otherwise
    """

    task: str
    kind: str
    outputs: tuple[str, ...]
    id: str | None = None
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
    weight: str | None = None
    price: str | None = None
    attributes: tuple[str, ...] = ()
    binned: tuple[str, ...] = ()
    edges: tuple[tuple[float, ...], ...] = ()
    uncertain: tuple[str, ...] = ()
    uncertain_columns: tuple[tuple[str, ...], ...] = ()
    uncertain_values: tuple[tuple[str, ...], ...] = ()
    gold: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    numbered: bool = False
    judge: str | None = None
    others: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    scale: str = ""
    written: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    decimal: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For study.toml: no None, lists for tuples; what few pools have, only where it is."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            key: _to_lists(value)
            for key, value in values.items()
            if value is not None and (value or key not in _OF_FEW)
        }

    @staticmethod
    def from_dict(entries: Mapping[str, Any]) -> "Schema":
        """The inverse of to_dict.

        Raises ChoiceError for a key that no schema has, a value that it cannot have, or one that is
        missing.
        """
        known = {field.name for field in fields(Schema)}
        if unknown := sorted(set(entries) - known):
            raise ChoiceError(
                f"[pool] has an unknown key {unknown[0]!r}",
                hint=f"known keys: {', '.join(sorted(known))}",
            )
        if missing := sorted({"task", "kind", "outputs"} - set(entries)):
            raise ChoiceError(
                f"[pool] lacks the key {missing[0]!r}",
                hint="restore it, or give the pool again: `Study.create(pool)`",
            )
        for key, value in entries.items():
            rule, holds = _find_rule(key)
            if not holds(value):
                raise ChoiceError(f"[pool] {key} is {value!r}", hint=f"it must be {rule}")
        values: dict[str, Any] = {
            key: _to_tuples(value) if isinstance(value, list) else value
            for key, value in entries.items()
        }
        schema = Schema(**values)
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


_OF_FEW = (
    *(*_OF_ATTRIBUTES, "named", "names", "numbered", "others", "shape", "texts", "scale"),
    *("written", "forms", "decimal"),
)
# Without them a pool has its items and what the model says.
_NOT_NEEDED = ("features", "shape", "texts", "groups", *_OF_ATTRIBUTES)


def _to_lists(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    nested = value and isinstance(value[0], tuple)
    return list(map(_to_lists, value)) if nested else list(value)


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


_VALUES = {
    "task": ("classification", "regression"),
    "kind": ("prob-list", "prob-columns", "score", "pred"),
    "scale": tuple(Scale),
    "decimal": DECIMALS,
}


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def is_shape(value: Any) -> bool:
    """Whether it is what the shape of an image can be."""
    return (
        isinstance(value, list | tuple)
        and len(value) in (0, 2, 3)
        and all(type(side) is int and side > 0 for side in value)
    )


def _are_edges(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(edges, list | tuple)
        and len(edges) > 1
        and all(isinstance(edge, int | float) for edge in edges)
        and all(low < high for low, high in pairwise(edges[1:]))
        and edges[0] <= edges[1]
        for edges in value
    )


_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(
        ("id", "weight", "price", "judge"),
        ("the name of a column", lambda value: isinstance(value, str) and value != ""),
    ),
    "outputs": ("a list of texts", lambda value: _are_texts(value) and len(value) > 0),
    **dict.fromkeys(
        (
            *("classes", "features", "groups", "computed", "ignored", "attributes", "binned"),
            *("uncertain", "gold", "named", "others", "texts", "written"),
        ),
        ("a list of texts", _are_texts),
    ),
    **dict.fromkeys(
        ("uncertain_columns", "uncertain_values", "names"),
        (
            "a list of lists of texts",
            lambda value: isinstance(value, list | tuple) and all(map(_are_texts, value)),
        ),
    ),
    "forms": (
        "a list of decimal marks with signs",
        lambda value: isinstance(value, list | tuple) and all(map(is_form, value)),
    ),
    "edges": ("a list of lists of ascending numbers", _are_edges),
    "shape": ("a list of two or three whole numbers above 0", is_shape),
    **dict.fromkeys(
        ("open_classes", "numbered"), ("true or false", lambda value: isinstance(value, bool))
    ),
    "threshold": ("a number", lambda value: isinstance(value, int | float)),
}


def _find_rule(key: str) -> tuple[str, Callable[[Any], bool]]:
    """What the value of a key must be, in words and as a function."""
    if key in _VALUES:
        return f"one of {', '.join(_VALUES[key])}", lambda value: value in _VALUES[key]
    return _RULES.get(key, ("a text", lambda value: isinstance(value, str)))
