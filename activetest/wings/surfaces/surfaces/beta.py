"""A Beta for every arm by itself (Beta-I, Piratla 2021, sections 3 and 4.4; Ji 2021)."""

from collections.abc import Mapping

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData

# Labels that the prior counts as (lambda in section 4.4).
STRENGTH = 0.1


def fit(
    data: SurfaceData, *, rng: np.random.Generator, earlier: Mapping[str, Array] | None = None
) -> Surface:
    """Each arm's counts, and the mean of all labels with the weight of a tenth of a label."""
    del rng, earlier
    prior = data.mean
    psi = STRENGTH + data.counts.sum(axis=1)
    phi = (STRENGTH * prior + data.counts[:, 0]) / psi

    def predict(codes: Array) -> tuple[Array, Array]:
        return np.full((1, len(codes)), prior), np.full((1, len(codes)), STRENGTH)

    return Surface("beta", phi, phi[None], psi[None], predict)
