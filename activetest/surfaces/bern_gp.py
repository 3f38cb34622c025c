"""A Gaussian process of each arm's accuracy (BernGP, Piratla 2021, eq. 3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData
from activetest.surfaces._gp_fit import GP_OPTIONS, GpMethod, fit_surface

CONTINUES = True
OPTIONS: dict[str, Any] = {**GP_OPTIONS}
METHOD = GpMethod("bern-gp", "bernoulli", OPTIONS)


def fit(
    data: SurfaceData,
    *,
    rng: np.random.Generator,
    earlier: Mapping[str, Array] | None = None,
    **options: Any,
) -> Surface:
    """Labels of an arm are right with probability link(f), where f is a Gaussian process.

    options are those of OPTIONS, with values of their kinds. Raises ChoiceError without torch.
    """
    return fit_surface(METHOD, data, rng, earlier, options)
