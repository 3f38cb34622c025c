"""The fields of an answer, and which columns of a file hold them."""

import re
from collections.abc import Collection, Mapping, Sequence

from activetest.errors import ChoiceError, LabelError
from activetest.nouns.name_lists import shorten_list

# What an answer consists of; a file has at least the first two.
FIELDS = ("id", "label", "annotator", "status")
# Keys in tasks for other tools, which may have an `id` of their own: the id of the item, and its
# place in the order of drawing.
ID, ORDER = "activetest_id", "activetest_order"
# What a name may consist of in every tool: some put it into formulas and addresses.
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
        if not isinstance(column, str) or not column:
            raise ChoiceError(f"`columns` has no column for {field!r}", _say("image"))
    return dict(columns)


def find_columns(present: Collection[str], columns: Mapping[str, str], name: str) -> dict[str, str]:
    """{field: column} of the columns that are there.

    columns  {field: column} where a column is not called like its field; a field of another sort
             with an empty column is looked for under its own name, and may be missing
    name     of the file in messages

    The id of our own tasks goes before a column `id`, which other tools use for themselves. Raises
    LabelError where a column of `columns` is not there.
    """
    named = {field: column for field, column in columns.items() if column}
    for column in named.values():
        if column not in present:
            raise LabelError(
                f"{name} has no column {column!r}; it has {shorten_list(present)}",
                "check `columns`",
            )
    usual = {field: field for field in dict.fromkeys((*FIELDS, *columns))}
    usual |= {"id": ID} if ID in present else {}
    usual = {
        field: column
        for field, column in usual.items()
        if column in present and column not in named.values()
    }
    return usual | named


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


def _say(example: str) -> str:
    return f"give the name of a column for a field, as in `columns={ {'id': example}!r}`"
