"""One value for every arm: the mean of all labels (CPredictor, Piratla 2021, section 4.3)."""

from collections.abc import Mapping

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData


def fit(
    data: SurfaceData, *, rng: np.random.Generator, earlier: Mapping[str, Array] | None = None
) -> Surface:
    """The mean of the labels, as sure as their number makes it.

    Uncertain by Jeffreys's posterior of the mean; arms are taken to have the same value.
    """
    del rng, earlier
    total = float(data.weights.sum())
    mean, scale = data.mean, total + 1

    def predict(codes: Array) -> tuple[Array, Array]:
        return np.full((1, len(codes)), mean), np.full((1, len(codes)), scale)

    phi, psi = predict(data.arms.codes)
    return Surface("constant", phi[0], phi, psi, predict)
