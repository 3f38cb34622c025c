"""Columns of a file that hold ids and labels, by what they hold: as a hint, never silently."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, product

from activetest.cache.cache import Cache
from activetest.errors import ColumnsUnclear, LabelError
from activetest.labels.files import Label
from activetest.labels.matching import ClassMatcher, guess_mapping
from activetest.labels.spreadsheets import is_date
from activetest.labels.written_numbers import may_be_number
from activetest.nouns.answer_fields import find_keys
from activetest.nouns.name_lists import shorten_list
from activetest.sampling.item_ids import restore_ids

# Shares of the values of a column that must be ids or labels.
_MOST = 0.5
# Names of columns that people answer in.
_ANSWER = re.compile(
    r"label|answer|result|choice|verdict|rating|class|categor|annot|judg|truth", re.IGNORECASE
)
# Names of columns that say when and by whom.
_OTHER = re.compile(
    r"time|date|mail|worker|annotator|user|\bname\b|respon[ds]|duration|status|\bip\b|hit",
    re.IGNORECASE,
)
# Ways to read a file that are shown.
_WAYS = 8
# Values of which so few differ may be classes in other words.
_FEW = 20


def describe_columns(
    error: ColumnsUnclear, cache: Cache, known: Collection[str], columns: Mapping[str, str]
) -> tuple[ColumnsUnclear, str | None]:
    """The error with a hint that names columns by their values, and the only question, if any.

    known    columns of the pool: what is shown to annotators is no answer
    columns  {field: column} that the user named

    The question is the only one of a labelling tool's whose answers are labels of this pool. Rows
    hold what annotators were shown, too: there, answers are classes, and no other column may be.
    """
    found = {
        field: column
        for field, column in (*error.found.items(), *columns.items())
        # A field of a column that is not among these is settled.
        if column and (field in columns or column not in error.columns)
    }
    ids = [] if error.questions or "id" in found else find_ids(error.columns, cache)
    if ids and not columns and (cache.find(ids[:1]) >= 0).all():
        # Whoever names these columns loses the first row.
        return ColumnsUnclear(
            f"{error.problem.partition(';')[0]}: its first line is no header, as {ids[0]!r} is an "
            "item of the pool",
            "write a line with the names of the columns above it, such as id,label",
            error.found,
            error.columns,
        ), None
    taken = {*found.values(), *ids[:1]}
    # Tools have them under names that are keys.
    shown = {*known, *find_keys(list(known)).values()}
    values = {
        column: each
        for column, each in error.columns.items()
        if column not in taken and column not in shown
    }
    sure = [column for column, each in values.items() if _share_labels(each, cache) > _MOST]
    labels = sure or [column for column, each in values.items() if _is_guessed(each, cache)]
    labels = labels or [column for column, each in values.items() if _is_few(column, each, cache)]
    labels.sort(
        key=lambda column: (
            column != error.found.get("label"),
            not _ANSWER.search(column),
            -_share_labels(values[column], cache),
        )
    )
    sole = error.questions and len(sure) == 1 and (cache.classes or not error.found)
    only = sure[0] if sole else None
    rivals = [column for column in values if column != only] if only and error.found else []
    if any(
        _is_guessed(values[each], cache) or _is_few(each, values[each], cache) for each in rivals
    ):
        only = None
    hint, ways = _write_hint(
        error,
        None if error.questions or "id" in found else ids,
        None if "label" in found else labels,
        cache,
    )
    return ColumnsUnclear(error.problem, hint, error.found, error.columns, ways=ways), only


def _write_hint(
    error: ColumnsUnclear, ids: Sequence[str] | None, labels: Sequence[str] | None, cache: Cache
) -> tuple[str, list[dict[str, dict[str, str]]]]:
    """Columns to name, and the ways to do so where there are several.

    None stands for a field that is settled.
    """
    if ids is not None and not ids:
        return (
            f"none of its columns holds ids of the pool, which look like {cache.ids([0])[0]!r}: "
            "add them from the batch",
            [],
        )
    if labels is not None and not labels:
        kind = "classes" if cache.classes else "numbers"
        classes = f": {shorten_list(cache.classes)}" if cache.classes else ""
        return f"none of its other columns holds {kind} of the pool{classes}", []
    found = {"id": ids or [], "label": labels or []}
    # A column that is called like its field need not be named where there is no other.
    doubtful = {
        field: names
        for field, names in found.items()
        if names and names != [error.found.get(field)]
    }
    ways = [
        {"columns": dict(zip(doubtful, names, strict=True))}
        for names in islice(product(*doubtful.values()), _WAYS)
    ]
    which = "ones they are" if len(doubtful) > 1 else "one it is"
    return f"say which {which}" + ", the likeliest first" * (len(ways) > 1), ways


def find_ids(columns: Mapping[str, Sequence[str]], cache: Cache) -> list[str]:
    """The columns of which most values are ids of the pool, the best first."""
    shares = {}
    for column, values in columns.items():
        given = [value for value in values if value.strip()]
        rows = [Label("", value, "", 0, "") for value in given]
        try:
            rows = restore_ids(rows, cache, "", [])
        except LabelError:
            # Rounded numbers, which may be anything.
            continue
        found = cache.find([row.id for row in rows]) >= 0
        # Ids differ from row to row; numbers of classes may be ids as well.
        distinct = len(set(given)) / max(len(given), 1)
        if given and found.mean() > _MOST and distinct > _MOST:
            shares[column] = found.mean()
    return sorted(shares, key=lambda column: -shares[column])


def _share_labels(values: Sequence[str], cache: Cache) -> float:
    """The share of the values, blank ones aside, that are classes or numbers."""
    given = [value for value in values if value.strip()]
    if not cache.classes:
        return sum(map(may_be_number, given)) / max(len(given), 1)
    find = ClassMatcher(cache.classes, numbered=cache.numbered).find
    return sum(find(value) is not None for value in given) / max(len(given), 1)


def _is_guessed(values: Sequence[str], cache: Cache) -> bool:
    """Whether values are classes in other words."""
    distinct = {value for value in values if value.strip()}
    return bool(distinct and cache.classes and guess_mapping(list(distinct), cache.classes))


def _is_few(column: str, values: Sequence[str], cache: Cache) -> bool:
    """Whether values may be classes of any names: few that come again, and no dates or persons."""
    given = [value for value in values if value.strip()]
    distinct = set(given)
    few = len(distinct) <= _FEW and 2 * len(distinct) <= len(given)
    other = _OTHER.search(column) or any(is_date(value.split(" ")[0]) for value in distinct)
    return bool(cache.classes) and few and not other
