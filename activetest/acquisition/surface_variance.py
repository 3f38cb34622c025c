"""Surface variance: the arms of a surface where least is known (Piratla 2021, section 3.4).

Arms without a label come first, once each, then those whose value is most uncertain. An item is
then drawn in proportion to P(arm | item), where the paper takes the largest.
"""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface

CHOOSES_ARMS = True

# Arms that a batch is spread over, and after how many labels it is planned again.
ARMS = 12
# A batch is planned this often at most.
_MOST_PARTS = 100
# An arm with less of a label than this has not been explored.
_EXPLORED = 0.5


@dataclass(frozen=True)
class ArmCounts:
    """What is known of A arms; whole numbers where attributes are known.

    support  (A,) items that can be answered
    known    (A,) labels among them
    free     (A,) items that can be drawn
    """

    support: Array
    known: Array
    free: Array


def rank_arms(
    surface: Surface, counts: ArmCounts, least: int, draws: int, rng: np.random.Generator
) -> Array:
    """(A,) share of a batch of so many draws that each arm is given; 0 everywhere without arms.

    Of arms with at least `least` items: 12 at a time, and after each 12 draws the next, as if
    their labels had come. A label changes the variance v of its arm alone, to v r / (r + v), where
    r is the variance of a label. What is known of an arm leaves only the rest of its items to be
    uncertain about: v is that of the rest's mean, times the square of their share.
    """
    rest = np.maximum(counts.support - counts.known, 0) / np.maximum(counts.support, 1e-12)
    variance = surface.variance * rest**2
    noise = np.maximum(surface.mean * (1 - surface.mean), 1e-6) * rest**2
    free, known = counts.free.astype(float), counts.known.astype(float)
    can_be_drawn = (free > 0) & (counts.support >= least)
    share, ties = np.zeros(len(free)), rng.random(len(free))
    parts = max(1, min(-(-draws // ARMS), _MOST_PARTS))
    for _ in range(parts):
        candidates = np.flatnonzero(can_be_drawn & (free > _EXPLORED))
        if not len(candidates):
            candidates = np.flatnonzero(can_be_drawn)
        order = np.lexsort((ties, -variance, known >= _EXPLORED), axis=0)
        place = np.empty(len(order), np.intp)
        place[order] = np.arange(len(order))
        chosen = candidates[np.argsort(place[candidates])[:ARMS]]
        if not len(chosen):
            return share
        labels = draws / parts / len(chosen)
        share[chosen] += 1 / parts / len(chosen)
        variance[chosen] *= noise[chosen] / (noise[chosen] + labels * variance[chosen])
        known[chosen] += max(labels, _EXPLORED)
        free[chosen] -= labels
    return share
