"""Ids of a file that are not in the pool as they are: the items that they can only mean."""

import math
from collections.abc import Sequence

import numpy as np

from activetest.cache.cache import Cache
from activetest.errors import LabelError
from activetest.labels.files import Label
from activetest.labels.spreadsheets import is_date, is_scientific, list_meant

# Items whose ids tell how long ids are.
_SAMPLE = 10_000
# Digits of a number that spreadsheets keep.
_KEPT = 15


def restore_ids(rows: Sequence[Label], cache: Cache, notes: list[str]) -> list[Label]:
    """The rows with the ids of the items that they name, as far as those can only mean one.

    A spreadsheet may have taken zeros away or added decimals; blanks may stand around an id, and
    Unicode may have other forms of it. An id that is in the pool as it is means that item.

    notes  gets a sentence about ids that were read as others

    Raises LabelError for a number of which a spreadsheet has dropped digits: two rows of one such
    id are of different items.
    """
    ids = list(dict.fromkeys(row.id for row in rows))
    unknown = [id for id, at in zip(ids, cache.find(ids), strict=True) if at < 0]
    if not unknown:
        return list(rows)
    if lossy := next(filter(is_scientific, unknown), None):
        place = next(row.place for row in rows if row.id == lossy)
        raise LabelError(
            f"{place}: id {lossy!r} is a number in scientific notation, as spreadsheets show long "
            "ones: digits are lost, and nobody knows which item it was",
            "take the column of ids from the batch again, as text; the cells of "
            "`study.next(format='xlsx', path='batch.xlsx')` are text",
        )
    found = _find_meant(unknown, cache)
    meant = {id: names[0] for id, names in found.items() if len(names) == 1}
    if meant:
        first = next(iter(meant))
        count = f"{len(meant):,} ids were read as those" if len(meant) > 1 else "An id was read as"
        end = "" if len(meant) > 1 else " one"
        notes.append(
            f"{count}{end} of the pool that {'they' if len(meant) > 1 else 'it'} can only mean, "
            f"such as {first!r} as {meant[first]!r}"
        )
    return [row._replace(id=meant[row.id]) if row.id in meant else row for row in rows]


def explain_unknown(id: str, cache: Cache) -> str:
    """What may have become of an id that is not in the pool; empty where nothing of it is seen."""
    if cache.id_prefix:
        return ""
    names = _find_meant([id], cache)[id]
    if len(names) > 1:
        return (
            f"it may be {' or '.join(map(repr, names[:3]))}: a spreadsheet has changed the ids; "
            "take their column from the batch again, as text"
        )
    if is_date(id):
        return (
            "spreadsheets make dates of ids such as 1-2: take the column of ids from the batch "
            "again, as text"
        )
    if len(id) > _KEPT and id.isdigit() and id.endswith("0"):
        return (
            f"spreadsheets keep {_KEPT} digits of a number: take the column of ids from the batch "
            "again, as text"
        )
    cases = [each for each in (id.lower(), id.upper()) if each != id]
    alike = [each for each, at in zip(cases, cache.find(cases), strict=True) if at >= 0]
    return f"the pool has {alike[0]!r}: capitals matter in ids" if alike else ""


def _find_meant(ids: Sequence[str], cache: Cache) -> dict[str, list[str]]:
    """{id: the ids of the pool that it can mean}."""
    step = max(math.ceil(cache.size / _SAMPLE), 1)
    widths = {len(each) for each in cache.ids(np.arange(0, cache.size, step))}
    # A pool without ids has rows with a number, and no number is one of them.
    names = {id: list_meant(id, () if cache.id_prefix else widths) for id in ids}
    flat = [name for each in names.values() for name in each]
    known = {name for name, at in zip(flat, cache.find(flat), strict=True) if at >= 0}
    return {id: [name for name in each if name in known] for id, each in names.items()}
