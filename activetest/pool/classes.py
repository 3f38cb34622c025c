"""The classes of a classification pool: from its columns, its values, or the user."""

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from activetest.errors import ChoiceError, PoolError
from activetest.nouns import class_sets
from activetest.nouns.canonical import make_canonical
from activetest.nouns.choices import ColumnChoices, Scale
from activetest.nouns.rows import Array
from activetest.pool import columns
from activetest.pool import groups as grouping
from activetest.pool.files import Piece
from activetest.pool.roles import is_amount
from activetest.pool.schema import Schema
from activetest.pool.unclear import MOST_CLASSES, check_classes
from activetest.system.parallel import map_reduce

if TYPE_CHECKING:
    from activetest.pool.pool import Pool


# Columns of labels, which are none of the pool's outputs.
_LABELS = ("label", "labels", "target", "y", "truth")
# Characters of a value that a message shows.
_LONGEST = 80


def resolve_classes(pool: "Pool", choices: ColumnChoices) -> Schema:
    """The schema with its classes.

    Raises ChoiceError when the names given do not fit the outputs.
    """
    schema = pool.schema
    count, classes, open_classes = None, choices.classes, False
    named = _find_class_names(schema)
    if schema.kind == "prob-list":
        count = _count_list_classes(pool, schema.outputs[0])
        numbers = tuple(str(code) for code in range(count))
        classes = classes or (named if len(named) == count else numbers)
    elif schema.kind == "prob-columns":
        count = len(schema.outputs)
        spelled = tuple(name.removeprefix("prob_").strip() for name in schema.outputs)
        numbered = len(named) == count and spelled == tuple(map(str, range(count)))
        classes = classes or (named if numbered else spelled)
    elif schema.kind == "score":
        count = 2
        classes = classes or (named if len(named) == count else _name_two_classes(pool))
    elif classes is None:
        # Names in the file are those of all classes.
        inferred = choices.task is None and not choices.judge
        classes = named or find_predicted(pool, MOST_CLASSES if inferred else None)
        open_classes = not named
        if inferred and not named:
            column = schema.prediction
            check_classes(
                column,
                classes,
                pool.rows,
                example=_find_example(pool, column) if classes else "",
                numeric=is_amount(pool.files.schema.field(column).type),
            )
        if found := next(filter(class_sets.read_list, classes), None):
            raise PoolError(
                f"column {schema.prediction!r} holds lists of classes: {found[:_LONGEST]}",
                class_sets.describe_remedy(),
            )
    if len({*map(make_canonical, classes)}) != len(classes):
        raise ChoiceError(
            f"`classes` names a class twice: {', '.join(classes)}", hint="give every class once"
        )
    if count is not None and len(classes) != count:
        raise ChoiceError(
            f"`classes` names {len(classes)} classes, the outputs have {count}",
            hint="give them in the order of the outputs",
        )
    positive = schema.positive
    if positive is not None and positive not in classes:
        positive = positive.strip()
    if positive is not None and positive not in classes:
        raise ChoiceError(
            f"`positive` {positive!r} is none of the classes {', '.join(classes[:12])}",
            hint="name the classes with `classes`",
        )
    if schema.kind == "score":
        positive = positive or classes[1]
        if not 0 < schema.threshold < 1:
            raise ChoiceError(
                f"`threshold={schema.threshold}` is not between 0 and 1", hint="the default is 0.5"
            )
    return replace(
        schema,
        classes=classes,
        open_classes=open_classes,
        positive=positive,
        numbered=bool(named) and classes == named,
    )


def _find_class_names(schema: Schema) -> tuple[str, ...]:
    """The names of the classes, by the metadata of the file: of the predictions, or of the labels.

    Empty where there are none.
    """
    if schema.pred is not None:
        return schema.class_names.get(schema.pred, ())
    return next((names for name, names in schema.class_names.items() if name in _LABELS), ())


def find_codes(names: Sequence[str], classes: Sequence[str]) -> Array:
    """(K,) int64 code of the class that each name is, -1 for none.

    Both are spelled alike, or after stripping, or are canonically equal in Unicode.
    """
    exact, equal = _number(tuple(classes))
    found = (exact.get(name, equal.get(make_canonical(name.strip()), -1)) for name in names)
    return np.array(list(found), np.int64)


@lru_cache(maxsize=4)
def _number(classes: tuple[str, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """{name: code} of classes, as they are, and stripped and composed as well."""
    exact = {name: code for code, name in enumerate(classes)}
    stripped = {name.strip(): code for name, code in exact.items()} | exact
    return exact, {make_canonical(name): code for name, code in stripped.items()} | stripped


def find_list_length(pool: "Pool", column: str) -> int:
    """Length of the lists in a column, as in the first rows."""
    fixed = list_width(pool.files.schema.field(column).type)
    if fixed is not None:
        return fixed
    lists = pool.files.sample([column]).column(column).drop_null()
    return len(lists[0]) if len(lists) else 0


def list_width(kind: pa.DataType) -> int | None:
    """Length that the lists of a column are declared to have; None where they may differ."""
    return getattr(kind, "list_size", None)


def _count_list_classes(pool: "Pool", column: str) -> int:
    """Number of classes in a list column. Raises PoolError for fewer than two."""
    length = find_list_length(pool, column)
    if length < 2:
        raise PoolError(
            f"column {column!r} holds lists of {length}: a classifier has at least two classes",
            hint="for one probability per row, make it a number and call it score",
        )
    return length


def _name_two_classes(pool: "Pool") -> tuple[str, ...]:
    """Names of the classes of a score: those in its column of predictions, else 0 and 1.

    Raises ChoiceError where it is the confidence in other than two predicted classes.
    """
    pred = pool.schema.pred
    found = () if pred is None else find_predicted(pool)
    if len(found) == 2:
        return found
    if pool.schema.scale == Scale.CONFIDENCE:
        raise ChoiceError(
            f'`scale="confidence"` needs two classes, and {pred!r} has {len(found)}: of more, it '
            "says nothing of those that are not predicted",
            hint=f"`outputs={pred!r}` without `scale` reads the predicted classes; of two of which "
            "one is predicted throughout, `classes` names both",
        )
    return ("0", "1")


def find_predicted(pool: "Pool", most: int | None = None) -> tuple[str, ...]:
    """The distinct predicted classes, stripped, numbers in order of size; an empty text is none.

    most  look no further where there are more of them

    Of names that are canonically equal in Unicode, there is one.
    """
    column = pool.schema.prediction
    found: set[str] = set()

    def find_in_piece(piece: Piece) -> set[str]:
        # Values become names once: of many classes that takes far longer than to find them.
        inside: pa.Array | None = None
        enough = most is not None and len(found) > most
        for batch in () if enough else pool.files.batches([column], piece):
            values = columns.decode(batch.column(column)).drop_null().unique()
            inside = pa.concat_arrays([inside, values]).unique() if inside is not None else values
            if most is not None and len(inside) > most:
                break
        written = [] if inside is None else columns.class_names(inside)
        names = {make_canonical(name.strip()) for name in written} - {""}
        # Other threads look no further.
        found.update(names)
        return names

    found |= map_reduce(pool.pieces, find_in_piece, operator.or_)
    return tuple(grouping.sort_names(found))


def _find_example(pool: "Pool", column: str) -> str:
    """The first value of a column, as a name; empty where the first rows have none."""
    values = columns.decode(pool.files.sample([column]).column(column)).drop_null()
    return next(iter(columns.class_names(values[:1])), "")
