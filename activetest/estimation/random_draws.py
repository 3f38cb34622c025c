"""How many random draws would be as good: the variance that n of them leave.

Of N items that count alike, n draws leave s^2 (1/n - 1/N), with s^2 the variance over the items. It
is a mean over the draws of their variances, each by LURE's weights. Where items have weights,
random draws are in proportion to them, and heavy items are drawn first: the m-th draw is one of the
(N - m) items that are left, which weigh less than others, r_m times as much on average. So its
variance is r_m^2 times what it would be, and n draws leave s^2 (1/n - 1/N) times the mean of r^2.

Draws in proportion to weights are exponential races: an item of weight w is left at time t with
probability exp(-w t) (Efraimidis and Spirakis 2006), which gives r for the expected number of draws
until t.
"""

from dataclasses import dataclass

import numpy as np

from activetest.estimation.evidence import Group
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.rounds.group_sums import list_group_names, measure_levels, sum_by_group
from activetest.system.parallel import map_reduce

# Points in time, over what the lightest and the heaviest items take, and halvings of an interval.
_TIMES, _HALVINGS = 400, 60


@dataclass(frozen=True)
class RandomDraws:
    """Random draws from `size` items.

    drawn, shrunk   (P,) increasing numbers of draws, and the mean of r^2 until then; None where all
                    items count alike
    """

    size: float
    drawn: Array | None = None
    shrunk: Array | None = None

    def leave_variance(self, single: float, count: float, doubt: float = 0.0) -> float:
        """The variance that so many draws leave; single is that of one, count is above 0.

        doubt is that of the label of one, which also remains where every item is drawn.
        """
        left = single * max(1 / count - 1 / self.size, 0.0)
        if self.drawn is not None and self.shrunk is not None:
            left *= float(np.interp(count, self.drawn, self.shrunk))
        return left + doubt / count

    def find_count(self, single: float, variance: float, doubt: float = 0.0) -> float:
        """The number that leaves a variance; single is that of one draw, both above 0."""
        if self.drawn is None or self.shrunk is None:
            return (single + doubt) / (variance + single / self.size)
        low, high = 0.0, self.size
        for _ in range(_HALVINGS):
            count = (low + high) / 2
            if self.leave_variance(single, count, doubt) > variance:
                low = count
            else:
                high = count
        return (low + high) / 2


def find_random_price(cache: PoolView, group: Group) -> float | None:
    """Mean price of the label of a random draw from a group; None where labels have no prices."""
    if not cache.roles.get("price"):
        return None

    def sum_piece(piece: tuple[int, int]) -> Array:
        rows = cache.rows(*piece)
        return sum_by_group(cache, rows.codes, [rows.mass * rows.price, rows.mass])

    sums = cache.compute_once(
        "random prices", lambda: map_reduce(cache.chunks(), sum_piece, np.add)
    )
    paid, mass = sums[list_group_names(cache).index(group.name)]
    return float(paid / mass) if mass > 0 else None


def expect_random_draws(cache: PoolView, group: Group) -> RandomDraws:
    """Random draws from the items of a group."""
    levels = measure_levels(cache)
    if levels is None:
        return RandomDraws(group.items)
    count, mass = levels[:, list_group_names(cache).index(group.name)]
    weight = mass[count > 0] / count[count > 0]
    count = count[count > 0]
    if len(count) < 2:
        return RandomDraws(group.items)
    times = np.geomspace(1e-3 / (group.items * weight.max()), 50 / weight.min(), _TIMES)
    left = np.exp(-np.outer(times, weight)) * count
    items = np.maximum(left.sum(axis=1), 1e-300)
    ratio = (left @ weight) / items / (count @ weight / count.sum())
    # LURE's weight of the m-th draw times its variance, but for r^2, sums to 1 / (N - m) - 1 / N.
    until = items >= 1
    drawn = group.items - items[until]
    weights = 1 / items[until] - 1 / group.items
    steps = np.diff(weights, prepend=0.0)
    shrunk = np.cumsum(steps * ratio[until] ** 2) / weights
    return RandomDraws(group.items, drawn, shrunk)
