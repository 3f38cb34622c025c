"""What a cache takes on the disk, said before it is written: a small file may hold many rows."""

import shutil
import warnings

from activetest.cache.arrays import Arrays
from activetest.errors import LargeCache, StorageError
from activetest.pool.pool import Pool

# A cache of so many bytes is announced, and so is a smaller one that is many times the pool's size.
LARGE, NOTABLE, _TIMES = 10**9, 10**8, 100


def check_space(arrays: Arrays, pool: Pool) -> None:
    """Make sure that arrays which have been created, but not written, fit on the disk.

    Warns with LargeCache where they are large, or far larger than the pool. Raises StorageError
    where the disk has less space.
    """
    needed, free = measure_arrays(arrays, pool), shutil.disk_usage(arrays.folder).free
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


def measure_arrays(arrays: Arrays, pool: Pool) -> int:
    """Bytes that arrays will take: their shapes, and ids as long as the pool's footers say."""
    needed = arrays.count_bytes()
    if "id_letters" in arrays.shapes:
        # An offset each, and the letters.
        needed += 8 * pool.rows
        id = pool.schema.id
        needed += pool.files.measure_column(id) if id else pool.rows * len(str(pool.rows))
    return needed


def _write_size(count: int) -> str:
    """A number of bytes, as 1.6 GB or 23 MB."""
    if count >= LARGE:
        return f"{count / 1e9:,.1f} GB"
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e6:.1f} MB"
