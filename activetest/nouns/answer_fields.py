"""The fields of an answer, and which columns of a file hold them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from activetest.errors import ChoiceError, ColumnsUnclear, LabelError
from activetest.nouns.canonical import make_canonical
from activetest.nouns.name_lists import find_repeated, shorten_list

# Fields of an answer; a file has at least the first two.
FIELDS = ("id", "label", "annotator", "status")
# Fields that a file may lack: with an empty name for its column, a field is not looked for.
_OPTIONAL = FIELDS[2:]
# Where a pair of a field and its column ends and another begins: columns may hold commas.
BETWEEN_PAIRS = re.compile(rf",(?=\s*(?:{'|'.join((*FIELDS, 'round', 'probability'))})\s*=)")
# Values of a column that tell what it holds.
SAMPLE = 1000
# Keys in tasks for other tools, which may have an `id` of their own: the id of the item, and its
# place in the order of drawing.
ID, ORDER = "activetest_id", "activetest_order"
# Formats of a batch, all but the first two file formats with tasks; those that are no text; the
# endings of files that say another than CSV; and how many items are drawn where nobody names a
# number.
BATCH_FORMATS, BINARY_FORMATS = ("csv", "jsonl", "label-studio", "argilla", "xlsx"), ("xlsx",)
BATCH_ENDINGS = {".jsonl": "jsonl", ".xlsx": "xlsx"}
USUAL_COUNT = 10
# Characters that not every tool allows in a name: some put it into formulas and addresses.
_OTHER = re.compile(r"[^A-Za-z0-9_]+")
_UNNAMED = "column"


def check_columns(
    columns: Mapping[str, str], fields: Sequence[str] = FIELDS, what: str = "an answer"
) -> dict[str, str]:
    """{field: column} as the user gave it. Raises ChoiceError for another field, or no column.

    fields  those that there are
    what    they belong to, in messages
    """
    if not isinstance(columns, Mapping):
        raise ChoiceError(f"`columns` is of type {type(columns).__name__}", _say("image"))
    for field, column in columns.items():
        if field not in fields:
            raise ChoiceError(
                f"`columns` names {field!r}, which is no field of {what}",
                f"the fields are {', '.join(fields)}",
            )
        if not isinstance(column, str) or not (column or field in _OPTIONAL):
            raise ChoiceError(f"`columns` has no column for {field!r}", _say("image"))
    return dict(columns)


def find_columns(present: Collection[str], columns: Mapping[str, str], name: str) -> dict[str, str]:
    """{field: column} of the columns that are there.

    columns  {field: column} where a column is not called like its field; without a column, a
             field of an answer is not looked for, and one of another sort is under its own name,
             and may be missing
    name     of the file in messages

    The id of our own tasks goes before a column `id`, which other tools use for themselves. Case
    does not matter where a single column is so called. Raises LabelError where a column of
    `columns` is not there.
    """
    named = {}
    for field, column in columns.items():
        if not column:
            continue
        known = column if column in present else _find_single(present, column, make_canonical)
        if known is None:
            raise LabelError(
                f"{name} has no column {column!r}; it has {shorten_list(present)}",
                "check `columns`",
            )
        named[field] = known
    off = {field for field in FIELDS if columns.get(field) == ""}
    usual = {}
    for field in dict.fromkeys((*FIELDS, *columns)):
        own = ID if field == "id" and ID in present else field
        found = own if own in present else _find_single(present, own, _fold)
        if found is not None and found not in named.values() and field not in off:
            usual[field] = found
    return usual | named


def require_columns(
    present: Sequence[str],
    columns: Mapping[str, str],
    name: str,
    sample: Callable[[], Mapping[str, Sequence[str]]],
    expected: str = "",
) -> dict[str, str]:
    """find_columns, of a file that has a column of ids and one of labels.

    sample    gives the first values of each column, as text
    expected  the hint where one of them is missing

    Raises ColumnsUnclear where one is missing, LabelError where two have one name.
    """
    found = find_columns(present, columns, name)
    for column in find_repeated(present):
        if column in found.values():
            raise LabelError(f"{name}: two columns are called {column!r}", "remove one of them")
    missing = [field for field in ("id", "label") if field not in found]
    if not missing:
        return found
    others = [each for each in present if each and each not in (*FIELDS, *found.values())]
    hints = [expected] if expected else []
    if others:
        # Ids come first as a rule, and labels last.
        hints.append(hint_column(missing[0], others[0 if missing[0] == "id" else -1]))
    values = sample()
    raise ColumnsUnclear(
        f"{name} has no column {missing[0]!r}; it has {shorten_list(present)}",
        ", or ".join(hints),
        found,
        {column: values[column][:SAMPLE] for column in others if column in values}
        | {column: values[column][:SAMPLE] for column in found.values() if column in values},
    )


def find_keys(columns: Sequence[str], *, lower: bool = False) -> dict[str, str]:
    """{column: key} of the columns that are shown, in order; no two keys are alike.

    lower  keys are in lower case
    """
    keys: dict[str, str] = {}
    for column in columns:
        if column in FIELDS:
            continue
        key = _OTHER.sub("_", column).strip("_") or _UNNAMED
        key = base = key.lower() if lower else key
        number = 1
        while key in (*keys.values(), *FIELDS, ID, ORDER):
            number += 1
            key = f"{base}_{number}"
        keys[column] = key
    return keys


def hint_column(field: str, example: str) -> str:
    """How to say which column holds a field."""
    return f"say which one it is: `columns={ {field: example}!r}`"


def _find_single(present: Collection[str], name: str, fold: Callable[[str], str]) -> str | None:
    """The only column that is called so after both names are folded."""
    alike = [column for column in present if fold(column) == fold(name)]
    return alike[0] if len(alike) == 1 else None


def _fold(name: str) -> str:
    return name.strip().casefold()


def _say(example: str) -> str:
    return f"give the name of a column for a field, as in `columns={ {'id': example}!r}`"
