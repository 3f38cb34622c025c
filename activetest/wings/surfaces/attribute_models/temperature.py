"""A temperature for each attribute classifier (Cal:Temp, Piratla 2021, 3.5 and 4.7; Guo 2017)."""

import numpy as np
from scipy.optimize import minimize_scalar

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array
from activetest.nouns.uncertain import JointModel, UncertainAttributes, normalise

# Items of which an uncertain attribute is known.
NEEDS_GOLD = 20

# Beyond these a classifier says nothing, or is never wrong.
LOWEST, HIGHEST = 0.02, 50.0
# Weight of the belief that log t is 0, in labels of variance 1: what keeps it finite.
_PRIOR = 1.0


def fit(data: UncertainAttributes, *, rng: np.random.Generator) -> JointModel:
    """The temperatures that make the known values of each attribute most likely.

    Items whose values are unknown play no part: their most probable values, in place of the true
    ones, would make every temperature as large as it can be. Raises ChoiceError for fewer than 20
    items with known values.
    """
    del rng
    return JointModel(fit_temperatures(data, find_gold(data, NEEDS_GOLD)))


def find_gold(data: UncertainAttributes, least: int) -> Array:
    """(n,) items with known values. Raises ChoiceError for fewer than `least`."""
    known = np.flatnonzero(data.gold)
    if len(known) < least:
        names = ", ".join(data.attributes.names[position] for position in data.uncertain)
        raise ChoiceError(
            f"{len(known)} items have known values of {names}, and a model of them is trained on "
            f"at least {least}",
            hint='write more of them into the column of the attribute, or `attribute_model="raw"`',
        )
    return known


def fit_temperatures(data: UncertainAttributes, rows: Array) -> Array:
    """(U,) t that maximises sum log softmax(t log M)[a] - (log t)^2 / 2 over known values."""
    found = []
    for position, logs in zip(data.uncertain, data.read_logs(rows), strict=True):
        known = data.known[rows, position]
        inside = known >= 0
        found.append(_fit_one(logs[inside], known[inside]))
    return np.array(found)


def _fit_one(logs: Array, known: Array) -> float:
    """The temperature of one attribute with known values (n,); 1 without any."""
    if not len(known):
        return 1.0
    place = np.arange(len(known))

    def lose(log_t: float) -> float:
        probs = normalise(np.exp(log_t) * logs)[place, known]
        return float(_PRIOR * log_t**2 / 2 - np.log(np.maximum(probs, 1e-300)).sum())

    bounds = (np.log(LOWEST), np.log(HIGHEST))
    return float(np.exp(minimize_scalar(lose, bounds=bounds, method="bounded").x))
