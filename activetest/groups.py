"""Group columns and their products, as codes."""

import numpy as np

from activetest.errors import PoolError
from activetest.evidence import Array

# A report has a line per group and metric: beyond this a column is not a group but a measurement
# or an id.
MOST_VALUES = 1000

# Joins the values of a product "A*B" as its name joins the columns.
JOIN = "*"


def product(parts: list[tuple[Array, list[str]]]) -> tuple[Array, list[str]]:
    """Codes and names of the combinations that occur, from (codes (R,), names) of each column."""
    codes, names = parts[0]
    for more, more_names in parts[1:]:
        pairs, codes = np.unique(codes * len(more_names) + more, return_inverse=True)
        names = [
            f"{names[pair // len(more_names)]}{JOIN}{more_names[pair % len(more_names)]}"
            for pair in pairs
        ]
    return codes, names


def local(group: str, parts: dict[str, tuple[Array, list[str]]]) -> tuple[Array, list[str]]:
    """Codes and names of a group ("A" or "A*B") inside a chunk, from those of its columns."""
    return product([parts[column] for column in group.split(JOIN)])


def occurring(codes: Array, names: list[str]) -> set[str]:
    """The names that some row of the chunk has: a dictionary may hold more."""
    return {names[code] for code in np.unique(codes)}


def reject_too_many(group: str, values: set[str]) -> None:
    """Raises PoolError when a column has more values than a report can have lines."""
    if len(values) > MOST_VALUES:
        raise PoolError(
            f"group column {group!r} has more than {MOST_VALUES:,} different values",
            hint="group by a column with few values, for example bands of it",
        )


def place(codes: Array, names: list[str], values: list[str]) -> Array:
    """(R,) int32 codes into values, for codes into names."""
    positions = {value: code for code, value in enumerate(values)}
    # A name that no row of the chunk has may be missing among the values.
    table = np.array([positions.get(name, -1) for name in names], np.int32)
    return table[codes] if len(table) else np.empty(0, np.int32)
