"""Weights of items: what an item counts in every mean, for predictions, labels and draws.

A weighted mean is the plain mean of w h, where w is 1 on average. So an item's statistics, and what
is expected of them, are multiplied by its weight wherever they enter a mean. Surrogates learn from
labels as they are, and their scores are those of the item itself: draws are in proportion to the
score, floor included, times the weight. Uniform draws are then draws in proportion to the weights,
such as a random sample of the traffic.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from activetest import catalog
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.choices import Choices, Interval, Selection, find_lowest_share
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds import race

# Levels of weights, for each power of two, whose rows members are summed over at once.
_LEVELS = 8


@dataclass(frozen=True)
class WeightedSurrogate:
    """A surrogate of a pool with weights: its statistics are weight times statistic."""

    surrogate: Surrogate

    @property
    def note(self) -> str | None:
        """A short remark about the surrogate for the report, if it has one."""
        return getattr(self.surrogate, "note", None)

    @property
    def auxiliary_outputs(self) -> tuple[str, ...]:
        """The evidence that the surrogate learns from, for the report, if it says so."""
        return tuple(getattr(self.surrogate, "auxiliary_outputs", ()))

    @property
    def augmented(self) -> Array | None:
        """(n,) pool positions of the items whose predicted label it learned; None for nothing."""
        return getattr(self.surrogate, "augmented", None)

    def params(self) -> dict[str, Any]:
        """The parameters of the surrogate."""
        return self.surrogate.params()

    def beliefs(self, rows: Rows, statistics: tuple[Any, ...], members: Any = None) -> Beliefs:
        """Beliefs about weight times statistic; about statistics where rows have no weights."""
        beliefs = self.surrogate.beliefs(rows, statistics, members)
        if rows.weight is None:
            return beliefs
        weight = rows.weight[:, None]
        variance = beliefs.outcome_variance
        return replace(
            beliefs,
            outcome_values=beliefs.outcome_values * weight,
            outcome_variance=None if variance is None else variance * weight**2,
        )

    def expected(self, rows: Rows, statistics: tuple[Any, ...]) -> Array:
        """(T, R) expectation of weight times statistic, or of each statistic."""
        mean = self.surrogate.expected(rows, statistics)
        return mean if rows.weight is None else mean * rows.weight

    def draw_members(self, count: int, rng: np.random.Generator) -> Any:
        """Members of the surrogate."""
        return self.surrogate.draw_members(count, rng)

    def totals(self, rows: Rows, members: Any, statistics: tuple[Any, ...]) -> tuple[Array, Array]:
        """(K, T) sums over rows of members' expectations of weight times statistic, and variances.

        Rows of about the same weight are summed at once and take its mean: members differ by a sum
        that is right to about 4 %.
        """
        weight = rows.weight
        if weight is None:
            return self.surrogate.totals(rows, members, statistics)
        counted = np.flatnonzero(weight > 0)
        _, place = np.unique(np.rint(_LEVELS * np.log2(weight[counted])), return_inverse=True)
        parts = []
        for level in range(int(place.max(initial=-1)) + 1):
            same = counted[place == level]
            mean, variance = self.surrogate.totals(rows[same], members, statistics)
            about = weight[same].mean()
            parts.append((about * mean, about**2 * variance))
        if not parts:
            return self.surrogate.totals(rows[counted], members, statistics)
        return sum(each[0] for each in parts), sum(each[1] for each in parts)


def weigh_surrogate(surrogate: Surrogate, cache: PoolView) -> Surrogate:
    """The surrogate, with the weights of the pool's items where they have any."""
    return WeightedSurrogate(surrogate) if cache.roles.get("weight") else surrogate


def find_counted(cache: PoolView) -> Array | None:
    """(N,) True where an item has a weight above 0; None where all items count alike."""
    return _read_once(cache, "weight", "counted", lambda rows: rows.mass > 0)


def find_rates(cache: PoolView) -> Array | None:
    """(N,) what draws are in proportion to besides scores: weights; None where all count alike."""
    return _read_once(cache, "weight", "rates", lambda rows: rows.mass)


def find_prices(cache: PoolView) -> Array | None:
    """(N,) price of each item's label; None where all cost alike."""
    return _read_once(cache, "price", "prices", lambda rows: np.asarray(rows.price))


def describe_floor_cost(cache: PoolView, choices: Choices) -> tuple[str, ...]:
    """A notice about the money that the floor takes; none without prices or a floor of its own.

    A draw is with probability f a random one, f the floor. The rest follows scores over the root of
    the price: of equal scores here, as nothing else is known before the first draw.
    """
    prices, share = find_prices(cache), find_lowest_share(asdict(choices))
    alike = catalog.fact("acquisition", choices.acquisition, "ALIKE")
    fixed = choices.selection == Selection.DRAW and choices.interval != Interval.ANYTIME
    if prices is None or alike or not fixed or not 0 < share < 1:
        return ()
    counted, rates = find_counted(cache), find_rates(cache)
    free = np.ones(cache.size, bool) if counted is None else counted
    scores = 1 / np.sqrt(prices)[None]
    q, _ = race.mix_scores(scores, free, choices.floor, rates, choices.floor_rule)
    part = share * np.average(prices, weights=rates) / (q @ prices)
    return (
        f"prices: the floor of {choices.floor:g} makes every item, however dear, at least "
        f"{share:.2g} times as likely as a random draw does. That takes about {100 * part:.0f} % "
        "of the money; a lower `floor` takes less, and learns less about dear items",
    )


def _read_once(
    cache: PoolView, role: str, name: str, read: Callable[[Rows], Array]
) -> Array | None:
    """(N,) what read gives for every row; None where the pool has no column of this role."""

    def read_all() -> Array:
        return np.concatenate([read(cache.rows(*piece)) for piece in cache.chunks()])

    return cache.compute_once(("weights", name), read_all) if cache.roles.get(role) else None
