"""BetaGP whose scales learn from the arms' counts (BetaGP-SL, Piratla 2021, section 3.2)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData
from activetest.surfaces._gp_fit import GP_OPTIONS, SUPERVISION_OPTIONS, GpMethod, fit_surface

CONTINUES = True
OPTIONS: dict[str, Any] = {**GP_OPTIONS, **SUPERVISION_OPTIONS}
METHOD = GpMethod("beta-gp-sl", "mean-scale", OPTIONS)


def fit(
    data: SurfaceData,
    *,
    rng: np.random.Generator,
    earlier: Mapping[str, Array] | None = None,
    **options: Any,
) -> Surface:
    """As beta-gp, with the likelihood of the arms' counts given their scales, eq. (11).

    options are those of OPTIONS, with values of their kinds. Raises ChoiceError without torch.
    """
    return fit_surface(METHOD, data, rng, earlier, options)
