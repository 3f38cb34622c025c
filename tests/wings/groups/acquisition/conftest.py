"""Groups to choose between."""

import numpy as np
import pytest

from activetest.wings.groups.arms import Arms


@pytest.fixture
def accuracies():
    """accuracies(known) are groups of a pool so large that it is the population, if not of a size.

    known (..., L, 2) are right and wrong labels; prior goes to right and wrong alike unless given.
    """

    def make_arms(known, size=10**7, *, kind="accuracy", prior=1.0) -> Arms:
        known = np.asarray(known, float)
        cells = known.shape[-2]
        return Arms(
            kind=kind,
            groups=tuple({"group": str(number)} for number in range(cells)),
            arm_of_cell=np.arange(cells),
            size=np.broadcast_to(size, cells),
            value=np.tile([0.0, 1.0] if kind == "error" else [1.0, 0.0], (cells, 1)),
            mean_confidence=np.zeros(cells),
            known_counts=known,
            exchangeable_counts=known,
            prior=np.broadcast_to(prior, (cells, 2)),
        )

    return make_arms
