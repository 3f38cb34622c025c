"""How much error each look of a sequential gate may spend, and the level of its interval.

Lan and DeMets 1983: by the time t of a look, from 0 to 1, a test may have rejected wrongly with a
probability of a(t), whatever the looks before were. The rest for each look follows by the
recursion of Armitage, McPherson and Rowe 1969: the density of a sum with independent increments,
among the paths that no earlier look has stopped.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from activetest.estimation.looks import LookPlan
from activetest.nouns.choices import Spending
from activetest.nouns.rows import Array

# {name: the share of the error that is spent by time t}. The cube (Kim and DeMets 1987) is close to
# the limits of O'Brien and Fleming 1979, the logarithm (Lan and DeMets 1983) to those of Pocock
# 1977.
_SPENT: Mapping[str, Callable[[float], float]] = {
    Spending.CUBIC: lambda time: time**3,
    Spending.POCOCK: lambda time: float(np.log1p((np.e - 1) * time)),
}
# Integration: the lowest sum in standard deviations, the fewest and most panels, each about as wide
# as an increment's standard deviation, and the nodes of one.
_LOWEST, _FEWEST, _MOST = -9.0, 12, 250
_PLACES, _PANEL_SHARES = np.polynomial.legendre.leggauss(8)


def find_look_levels(
    plan: LookPlan, draws: Sequence[int], *, gates: int = 1, population: bool = False
) -> Array:
    """(K,) one-sided nominal level of looks after these draws (K,), increasing.

    gates        each has its share of the error
    population   values are of the population that the pool is a sample of

    A look at every item has the whole error: its value is exact.
    """
    alpha = (1 - plan.level) / gates
    times = [
        plan.find_time(each, population=population)
        for each in draws
        if not plan.is_exact(each, population=population)
    ]
    levels = _find_levels_once(tuple(times), alpha, plan.spending) if times else ()
    return np.append(levels, [alpha] * (len(draws) - len(times)))


@lru_cache(maxsize=32)
def _find_levels_once(times: tuple[float, ...], alpha: float, spending: str) -> tuple[float, ...]:
    """As find_nominal_levels: gates of one report ask for the same, and many looks take seconds."""
    return tuple(find_nominal_levels(times, alpha, spending).tolist())


def find_nominal_levels(times: Sequence[float], alpha: float, spending: str) -> Array:
    """(K,) one-sided level of the test at each look; 0 where a look has nothing to spend.

    times      (K,) of the looks, increasing, above 0 and at most 1
    alpha      error of all looks together, on one side

    A test that rejects at the first look at which its p-value is at most that look's level does so
    wrongly with probability a(t_K) at most: a look that was skipped leaves its error to the next.
    Raises ValueError for times that do not increase or leave (0, 1].
    """
    _check_times(times)
    spent = alpha * np.array([_SPENT[spending](time) for time in times])
    limits: list[float] = []
    paths = None
    for place, time in enumerate(times):
        new = float(spent[place] - (spent[place - 1] if place else 0.0))
        earlier = times[place - 1] if place else 0.0
        limit = _find_limit(paths, earlier, time, new)
        limits.append(limit)
        if place + 1 < len(times):
            paths = _continue_paths(paths, earlier, time, times[place + 1], limit)
    levels: Array = ndtr(-np.array(limits))
    return levels


def share_among_models(place: int, declared: int) -> float:
    """The share of the error that gates on one of the models of a study have.

    place      of the model, from 1, in the order in which they came
    declared   K, the number of models that share alike

    The first K have 1 / (K + 1) each, number k after them has 1 / (k (k + 1)). All shares together
    are at most 1: those of later ones are 1 / k - 1 / (k + 1), and come to 1 / (K + 1).
    """
    return 1 / (declared + 1) if place <= declared else 1 / (place * (place + 1))


def find_conditional_power(statistic: float, time: float, level: float) -> float:
    """Probability that the look at time 1 rejects at this level, if the trend until now goes on.

    statistic   the standardised sum at this time, below 1

    Lan and Wittes 1988: at time 1 the sum is normal around its trend, with variance 1 - time.
    """
    expected = statistic / time**0.5
    return float(ndtr((expected + ndtri(level)) / (1 - time) ** 0.5))


# Nodes (J,) of the sum at the last look, and the probability (J,) that each stands for, among the
# paths that no look has stopped; None before the first look, where the sum is 0.
_Paths = tuple[Array, Array] | None


def _check_times(times: Sequence[float]) -> None:
    if not len(times) or np.any(np.diff([0.0, *times]) <= 0) or times[-1] > 1:
        raise ValueError(f"times of looks increase from above 0 to at most 1, not {list(times)}")


def _find_crossing(paths: _Paths, earlier: float, time: float, limit: float) -> float:
    """The probability that the sum reaches the limit now, and did not before."""
    if paths is None:
        return float(ndtr(-limit))
    nodes, weights = paths
    return float(weights @ ndtr((nodes - limit * time**0.5) / (time - earlier) ** 0.5))


def _find_limit(paths: _Paths, earlier: float, time: float, error: float) -> float:
    """The limit that is reached now with this probability; infinite for none."""
    if error <= 0:
        return np.inf
    if paths is None:
        return float(-ndtri(error))
    # The error at this look alone is at least that of paths that go on, and at most all of it.
    low, high = _LOWEST, float(-ndtri(error))
    for _ in range(80):
        middle = (low + high) / 2
        if _find_crossing(paths, earlier, time, middle) > error:
            low = middle
        else:
            high = middle
    return high


def _continue_paths(
    paths: _Paths, earlier: float, time: float, later: float, limit: float
) -> _Paths:
    """The paths that the look at this time does not stop; the next look is at `later`."""
    top = min(limit, -_LOWEST) * time**0.5
    bottom = _LOWEST * time**0.5
    steps = [later - time] + ([time - earlier] if paths is not None else [])
    panels = int(np.clip((top - bottom) / min(steps) ** 0.5, _FEWEST, _MOST))
    edges = np.linspace(bottom, top, panels + 1)
    half = (edges[1] - edges[0]) / 2
    nodes = (edges[:-1, None] + half * (_PLACES + 1)).ravel()
    shares = np.tile(half * _PANEL_SHARES, panels)
    if paths is None:
        density = _density(nodes, time)
    else:
        density = _density(nodes[:, None] - paths[0], time - earlier) @ paths[1]
    return nodes, shares * density


def _density(values: Array, variance: float) -> Array:
    """The density of a normal variable with mean 0."""
    result: Array = np.exp(-(values**2) / (2 * variance)) / (2 * np.pi * variance) ** 0.5
    return result
