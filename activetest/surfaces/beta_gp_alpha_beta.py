"""Gaussian processes of alpha and beta of each arm's Beta (Piratla 2021, appendix B)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData
from activetest.surfaces._gp_fit import GP_OPTIONS, GpMethod, fit_surface

CONTINUES = True
OPTIONS: dict[str, Any] = {name: each for name, each in GP_OPTIONS.items() if name != "link"}
METHOD = GpMethod("beta-gp-alpha-beta", "alpha-beta", OPTIONS)


def fit(
    data: SurfaceData,
    *,
    rng: np.random.Generator,
    earlier: Mapping[str, Array] | None = None,
    **options: Any,
) -> Surface:
    """An arm's accuracy is Beta(softplus(f), softplus(g)).

    options are those of OPTIONS, with values of their kinds. Raises ChoiceError without torch.
    """
    return fit_surface(METHOD, data, rng, earlier, options)
