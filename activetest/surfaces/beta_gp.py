"""Gaussian processes of the mean and the scale of each arm's Beta (BetaGP, Piratla 2021, 3.1)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData
from activetest.surfaces._gp_fit import GP_OPTIONS, GpMethod, fit_surface

CONTINUES = True
OPTIONS: dict[str, Any] = {**GP_OPTIONS}
METHOD = GpMethod("beta-gp", "mean-scale", OPTIONS)


def fit(
    data: SurfaceData,
    *,
    rng: np.random.Generator,
    earlier: Mapping[str, Array] | None = None,
    **options: Any,
) -> Surface:
    """An arm's accuracy is Beta with mean link(f) and scale softplus(g), eqs. (4) to (6).

    options are those of OPTIONS, with values of their kinds. Raises ChoiceError without torch.
    """
    return fit_surface(METHOD, data, rng, earlier, options)
