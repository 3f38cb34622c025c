"""Fewer rows to learn from, where a method's cost grows too fast with their number."""

from dataclasses import replace

import numpy as np

from activetest.evidence import Array
from activetest.surrogates._inputs import Lesson


def thinned(lesson: Lesson, observed: int, most: int) -> Lesson:
    """At most that many rows: evenly spaced ones of those before the last `observed`, then those.

    Only where the observed ones alone are too many are they thinned, too.
    """
    size = len(lesson.labels)
    if size <= most:
        return lesson
    before = size - observed
    first = spaced(before, max(most - observed, 0))
    kept = np.concatenate([first, before + spaced(observed, most)])
    return replace(
        lesson,
        inputs=lesson.inputs[kept],
        labels=lesson.labels[kept],
        weights=lesson.weights[kept],
    )


def spaced(size: int, most: int) -> Array:
    """Positions of at most that many of `size` rows, evenly spaced."""
    count = min(size, most)
    return np.arange(count) * size // max(count, 1)
