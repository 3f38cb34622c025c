"""Space of a cache on the disk, said before it is written: a small file may hold many rows."""

import shutil
import warnings
from pathlib import Path

from activetest.cache.pieces import ID_ENDS, choose_id_arrays
from activetest.errors import LargeCache, StorageError
from activetest.pool.pool import Pool

# A cache of so many bytes is announced, and so is a smaller one that is many times the pool's size.
LARGE, NOTABLE, _TIMES = 10**9, 10**8, 100


# Seconds of one processor that a build takes for each item, and for each number and each letter of
# an id that it reads; bytes of memory for each item, and for all. Measured on pools of 1e7 rows.
_ITEM, _NUMBER, _LETTER = 3e-7, 2e-8, 1.5e-8
_ITEM_MEMORY, _MEMORY = 30, 13 * 10**7
# A build that takes so many seconds is announced.
LONG = 30.0


def estimate_seconds(pool: Pool) -> float:
    """About how many seconds of one processor the cache of a pool takes, without the network's."""
    schema = pool.schema
    outputs = len(schema.classes) if schema.kind != "pred" else 1
    numbers = outputs + 2 * len(pool.feature_names()) + 2 * len(schema.groups)
    return (_ITEM + _NUMBER * numbers) * pool.rows + _LETTER * measure_ids(
        pool, lettered=ID_ENDS in choose_id_arrays(pool)
    )


def estimate_memory(pool: Pool) -> int:
    """About how many bytes of memory a build of the cache of a pool takes."""
    return _ITEM_MEMORY * pool.rows + _MEMORY


def announce_cost(pool: Pool, seconds: float) -> None:
    """Warn with LargeCache of the cache of a pool that takes so long; its disk comes later."""
    if seconds >= LONG:
        minutes = max(round(seconds / 60), 1)
        warnings.warn(
            f"the cache of {pool.rows:,} items takes about {minutes:,} min of one processor, and "
            f"{_write_size(estimate_memory(pool))} of memory; if it is interrupted, the same "
            "command goes on from there",
            LargeCache,
            stacklevel=2,
        )


def check_space(folder: Path, needed: int, pool: Pool, *, there: int = 0) -> None:
    """Make sure that so many bytes, which will be written to a folder, fit on the disk.

    there  bytes of them that are there already

    Warns with LargeCache where they are many, or many more than the pool has. Raises StorageError
    where the disk has less space.
    """
    free = shutil.disk_usage(folder).free
    takes = f"the cache of {pool.rows:,} items takes about {_write_size(needed)} of disk"
    if needed - there > free:
        raise StorageError(
            f"{takes}, and {_write_size(free)} are free",
            "free some space, or choose another `folder`, on another disk",
        )
    if needed >= LARGE or (needed >= NOTABLE and needed >= _TIMES * pool.files.size):
        origin = f"{_write_size(pool.files.size)} of pool"
        text = f"{takes}, made from {origin}; {_write_size(free)} are free"
        warnings.warn(text, LargeCache, stacklevel=2)


def measure_ids(pool: Pool, *, lettered: bool) -> int:
    """Bytes of the letters of ids, as long as the pool's footers say, and of their index."""
    id = pool.schema.id
    return (pool.files.measure_column(id) if lettered and id else 0) + 8 * pool.rows


def _write_size(count: int) -> str:
    """A number of bytes, as 1.6 GB or 23 MB."""
    if count >= LARGE:
        return f"{count / 1e9:,.1f} GB"
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e6:.1f} MB"
