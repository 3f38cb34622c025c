"""Space of a cache on the disk, said before it is written: a small file may hold many rows."""

import shutil
import warnings
from pathlib import Path

from activetest.errors import LargeCache, StorageError
from activetest.pool.pool import Pool

# A cache of so many bytes is announced, and so is a smaller one that is many times the pool's size.
LARGE, NOTABLE, _TIMES = 10**9, 10**8, 100


def check_space(folder: Path, needed: int, pool: Pool) -> None:
    """Make sure that so many bytes, which will be written to a folder, fit on the disk.

    Warns with LargeCache where they are many, or many more than the pool has. Raises StorageError
    where the disk has less space.
    """
    free = shutil.disk_usage(folder).free
    takes = f"the cache of {pool.rows:,} items takes about {_write_size(needed)} of disk"
    if needed > free:
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
