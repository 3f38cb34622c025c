"""Ids of a file that are not in the pool as they are: the items that they can only mean."""

import math
from collections.abc import Sequence

import numpy as np

from activetest.cache.cache import Cache
from activetest.errors import LabelError
from activetest.labels.files import Label
from activetest.labels.spreadsheets import KEPT, is_date, is_rounded, is_scientific, list_meant
from activetest.nouns.canonical import make_canonical

# Items whose ids tell how long ids are.
_SAMPLE = 10_000


def restore_ids(rows: Sequence[Label], cache: Cache, source: str, notes: list[str]) -> list[Label]:
    """The rows with the ids of the items that they name, as far as those can only mean one.

    A spreadsheet may have taken zeros away or added decimals; blanks may stand around an id, and
    Unicode may have other forms of it. An id that is in the pool as it is means that item.

    source  name of the file in messages
    notes   gets a sentence about ids that were read as others

    Raises LabelError for a number of which a spreadsheet has dropped digits: two rows of one such
    id are of different items.
    """
    ids = list(dict.fromkeys(row.id for row in rows))
    unknown = [id for id, at in zip(ids, cache.find(ids), strict=True) if at < 0]
    long = [id for id in ids if len(id) > KEPT and id.isdecimal()]
    if not unknown and not (long and all(map(is_rounded, long))):
        return list(rows)
    sample = _sample_ids(cache)
    lossy = next(filter(is_scientific, unknown), None)
    if lossy is None and long and all(map(is_rounded, long)):
        whole = [each for each in sample if len(each) > KEPT]
        # Of two items with one id after rounding, that id may be in the pool.
        several = len(rows) > len(ids) or set(long) & set(unknown)
        lossy = long[0] if several and not all(map(is_rounded, whole)) else None
    if lossy is not None:
        how = "in scientific notation" if is_scientific(lossy) else f"with {KEPT} digits and zeros"
        place = next(row.place for row in rows if row.id == lossy)
        raise LabelError(
            f"{source}, {place}: id {lossy!r} is a number {how}, as spreadsheets write long ones: "
            "digits are lost, and nobody knows which item it was",
            "take the column of ids from the batch again, as text; the cells of "
            "`study.next(format='xlsx', path='batch.xlsx')` are text",
        )
    found = _find_meant(unknown, sample, cache)
    meant = {id: names[0] for id, names in found.items() if len(names) == 1}
    # Texts that Unicode calls equal are.
    others = [id for id in meant if make_canonical(id) != make_canonical(meant[id])]
    if others:
        ids_were = "1 id was" if len(others) == 1 else f"{len(others):,} ids were"
        notes.append(
            f"{ids_were} read as the only one of the pool that can be meant, such as "
            f"{others[0]!r} as {meant[others[0]]!r}"
        )
    return [row._replace(id=meant[row.id]) if row.id in meant else row for row in rows]


def explain_unknown(id: str, cache: Cache) -> str:
    """Reasons for an id that is not in the pool; empty where nothing of it is seen."""
    if cache.id_prefix:
        return ""
    names = _find_meant([id], _sample_ids(cache), cache)[id]
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
    cases = [each for each in (id.lower(), id.upper()) if each != id]
    alike = [each for each, at in zip(cases, cache.find(cases), strict=True) if at >= 0]
    if alike:
        return f"the pool has {alike[0]!r}: capitals matter in ids"
    return "" if id.isascii() else "letters may be of another encoding: save the file as UTF-8 CSV"


def _sample_ids(cache: Cache) -> list[str]:
    """Ids of the pool."""
    step = max(math.ceil(cache.size / _SAMPLE), 1)
    return cache.ids(np.arange(0, cache.size, step))


def _find_meant(ids: Sequence[str], sample: Sequence[str], cache: Cache) -> dict[str, list[str]]:
    """{id: the ids of the pool that it can mean}; sample has some of them."""
    widths = set(map(len, sample))
    # A pool without ids has rows with a number, and no number is one of them.
    names = {id: list_meant(id, () if cache.id_prefix else widths) for id in ids}
    flat = [name for each in names.values() for name in each]
    known = {name for name, at in zip(flat, cache.find(flat), strict=True) if at >= 0}
    return {id: [name for name in each if name in known] for id, each in names.items()}
