"""The probabilities as the attribute classifiers state them (Cal:Raw, Piratla 2021, 4.7)."""

import numpy as np

from activetest.nouns.uncertain import JointModel, UncertainAttributes


def fit(data: UncertainAttributes, *, rng: np.random.Generator) -> JointModel:
    """Every temperature 1 and no potential: attributes are independent given the item."""
    del rng
    return JointModel(np.ones(len(data.uncertain)))
