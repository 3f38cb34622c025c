"""A subset of the training rows, for methods whose cost grows fast with their number."""

import numpy as np

from activetest.nouns.rows import Array


def thin_training_rows(background: Array, labelled: Array, most: int) -> tuple[Array, Array]:
    """At most `most` positions in all: evenly spaced background rows and all labelled ones.

    Labelled rows are thinned only if they alone are too many.
    """
    return background[evenly_spaced(len(background), max(most - len(labelled), 0))], labelled[
        evenly_spaced(len(labelled), most)
    ]


def evenly_spaced(size: int, most: int) -> Array:
    """Positions of at most `most` of `size` rows, evenly spaced."""
    count = min(size, most)
    return np.arange(count) * size // max(count, 1)
