"""A temperature for each attribute classifier (Cal:Temp, Piratla 2021, 3.5 and 4.7; Guo 2017)."""

import numpy as np

from activetest.attribute_models._temperatures import find_gold, fit_temperatures
from activetest.nouns.uncertain import JointModel, UncertainAttributes

# Items of which an uncertain attribute is known.
NEEDS_GOLD = 20


def fit(data: UncertainAttributes, *, rng: np.random.Generator) -> JointModel:
    """The temperatures that make the known values of each attribute most likely.

    Items whose values are unknown play no part: their most probable values, in place of the true
    ones, would make every temperature as large as it can be. Raises ChoiceError for fewer than 20
    items with known values.
    """
    del rng
    return JointModel(fit_temperatures(data, find_gold(data, NEEDS_GOLD)))
