"""Group columns, their products, and groups that follow from the outputs, as codes."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from activetest.errors import PoolError
from activetest.nouns.rounding import MARGIN, level_ties
from activetest.nouns.rows import Array, Outputs

# A report has a line per group and metric: a column with more values than this is rather a
# measurement or an id.
MOST_VALUES = 1000

# Joins the values of a product "A*B" as its name joins the columns.
JOIN = "*"

# Groups that every classifier has, where the pool has no column of the name.
PREDICTED, CONFIDENCE, DECILE = COMPUTED = ("predicted", "confidence", "confidence-decile")
# The attribute that is the unknown label itself, where the pool has no column of the name.
LABEL = "label"

# Ten bins of equal width. The edges are in the precision of the cache, so that a probability of
# 0.9 lies in the bin that begins with it.
_EDGES = np.linspace(0, 1, 11).astype(np.float32)
BINS = [f"{low:.1f}-{high:.1f}" for low, high in pairwise(_EDGES)]


# Bins of equal counts, and the digits that may tell their edges apart.
_DECILES, _DIGITS = 10, range(2, 10)
# Whole numbers up to here are written out.
_PRECISE = 1e15
# The value of items without one.
NULL = "null"


def columns_of(group: str) -> list[str]:
    """The columns that a group ("A" or "A*B") is made of."""
    return group.split(JOIN)


def name_of(column: str, value: str) -> str:
    """The name of a group in rounds and reports: column=value.

    Equals signs of the column are escaped: no two groups have one name.
    """
    return f"{_escape(column, '=')}={value}"


def compute_group(
    column: str, outputs: Outputs, classes: Sequence[str], edges: Array | None = None
) -> tuple[Array, list[str]]:
    """Codes (R,) and names of one of COMPUTED, or of LABEL.

    predicted           the predicted class
    label               likewise: as a group, an item is in its most likely one
    confidence          in which of ten bins the predicted class's probability is; an edge belongs
                        to the bin above it, and 1 to the last
    confidence-decile   in which of the bins between edges (B + 1,) it is, see deciles; an edge
                        belongs to the bin below it
    """
    if column in (PREDICTED, LABEL):
        return outputs.pred.astype(np.int64), list(classes)
    if column == DECILE:
        if edges is None:
            raise ValueError(f"the group {DECILE} needs the edges of its bins")
        return np.searchsorted(edges[1:-1], outputs.confidence.astype(np.float32)), name_bins(edges)
    bins = np.searchsorted(_EDGES, outputs.confidence.astype(np.float32), side="right") - 1
    return np.minimum(bins, len(BINS) - 1), BINS


def compute_deciles(confidence: Array) -> Array:
    """(B + 1,) edges of ten bins of equal counts of the confidences (N,) of a whole pool.

    In the precision of the cache, from 0 to 1; those inside are values of the pool (Hyndman and Fan
    1996, definition 1). Equal values stay together, so there may be fewer bins.
    """
    shares = np.arange(1, _DECILES) / _DECILES
    inner = np.quantile(confidence.astype(np.float32), shares, method="inverted_cdf")
    return np.unique(np.concatenate([[0], inner, [1]]).astype(np.float32))


def compute_bins(values: Array, count: int) -> Array:
    """(B + 1,) edges of bins of equal counts of finite numbers (N,), from smallest to largest.

    Those inside are values, as those of compute_deciles: there may be fewer bins, but at least two
    unless all values are the same. The first bin may hold the smallest value alone. Values that
    differ by rounding alone are the same.
    """
    values = level_ties(values)
    smallest, largest = float(values.min()), float(values.max())
    shares = np.arange(1, count) / count
    inner = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    inner = inner[inner < largest]
    if not len(inner):
        inner = values[values < largest].max(keepdims=True) if smallest < largest else inner
    return np.concatenate([[smallest], inner, [largest]]).astype(float)


def assign_bins(values: Array, edges: Array) -> tuple[Array, list[str]]:
    """Codes (R,) and names of the bins between edges (B + 1,) of numbers (R,); null where NaN.

    An edge belongs to the bin below it; the first and the last bin hold what is beyond, too.
    """
    names = name_number_bins(edges)
    codes = np.searchsorted(edges[1:-1] + MARGIN * np.abs(edges[1:-1]), values)
    return np.where(np.isnan(values), len(names), codes), [*names, NULL]


def name_number_bins(edges: Array) -> list[str]:
    """The bins between edges of any size, such as 17-28, 0.071-12.5, or 0 for that value alone."""
    written: list[str] = []
    for digits in (3, 6, 9, 12, 15, 17):
        written = [
            f"{edge:.0f}"
            if edge == np.rint(edge) and abs(edge) < _PRECISE
            else f"{edge:.{digits}g}"
            for edge in edges.tolist()
        ]
        if len(set(written)) == len(np.unique(edges)):
            break
    joined = " to " if any("-" in edge for edge in written) else "-"
    return [low if low == high else f"{low}{joined}{high}" for low, high in pairwise(written)]


def name_bins(edges: Array) -> list[str]:
    """The bins between edges, such as 0.71-0.88, with digits enough to tell all edges apart."""
    written: list[str] = []
    for digits in _DIGITS:
        written = [f"{edge:.{digits}f}" for edge in edges]
        if len(set(written)) == len(edges):
            break
    return [f"{low}-{high}" for low, high in pairwise(written)]


def cross_columns(parts: list[tuple[Array, list[str]]]) -> tuple[Array, list[str]]:
    """Codes (R,) and names of the combinations that occur, from codes and names of each column."""
    codes, names = parts[0]
    if len(parts) > 1:
        parts = [(codes, [_escape(name, JOIN) for name in names]) for codes, names in parts]
        codes, names = parts[0]
    for more, more_names in parts[1:]:
        pairs, codes = np.unique(codes * len(more_names) + more, return_inverse=True)
        names = [
            f"{names[pair // len(more_names)]}{JOIN}{more_names[pair % len(more_names)]}"
            for pair in pairs
        ]
    return codes, names


def encode_group(group: str, parts: dict[str, tuple[Array, list[str]]]) -> tuple[Array, list[str]]:
    """Codes and names of a group ("A" or "A*B") inside a chunk, from those of its columns."""
    return cross_columns([parts[column] for column in columns_of(group)])


def find_occurring(codes: Array, names: list[str]) -> set[str]:
    """The names that some row of the chunk has: a dictionary may hold more."""
    return {names[code] for code in np.unique(codes)}


def reject_too_many(group: str, values: set[str]) -> None:
    """Raises PoolError when a column has more values than a report can have lines."""
    if len(values) > MOST_VALUES:
        raise PoolError(
            f"group column {group!r} has more than {MOST_VALUES:,} different values",
            hint="group by a column with few values, for example bands of it",
        )


def recode(codes: Array, names: list[str], values: list[str]) -> Array:
    """(R,) int32 codes into values, for codes (R,) into names."""
    positions = {value: code for code, value in enumerate(values)}
    # A name that no row of the chunk has may be missing among the values.
    table = np.array([positions.get(name, -1) for name in names], np.int32)
    return table[codes] if len(table) else np.empty(0, np.int32)


def sort_names(names: Iterable[str], order: Sequence[str] = ()) -> list[str]:
    """Names sorted, whole numbers by size; those in `order` come first, in that order."""
    places = {name: place for place, name in enumerate(order)}

    def rank(name: str) -> list[tuple]:
        if name in places:
            return [(-1, places[name], name)]
        parts = name.split(JOIN)
        return [
            (0, int(part), part) if part.removeprefix("-").isdecimal() else (1, 0, part)
            for part in parts
        ]

    return sorted(names, key=rank)


def _escape(text: str, character: str) -> str:
    """The text with backslashes before backslashes and before the character."""
    return text.replace("\\", "\\\\").replace(character, f"\\{character}")
