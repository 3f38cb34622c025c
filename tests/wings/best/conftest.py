"""Three models over the same items: the second does the same on half of them, the third on most."""

import numpy as np
import pytest

from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.rounds.compared_pool import ComparedPool
from tests.makers import build_table

CHOICES = Choices(
    "error", ("error",), "agreement", acquisition="top-two", question="best", floor=0.1
)


@pytest.fixture
def rivals(pool, tmp_path):
    """{name: pool} of two other models; v3 does the same as v2 on every second item."""
    rows = pool.rows(0, pool.size)
    found, probs = {}, np.array(rows.outputs.probs, float)
    for name, step in (("v2", 2), ("v3", 4)):
        probs = probs.copy()
        probs[step - 1 :: step] = np.roll(probs[step - 1 :: step], 1, axis=1)
        columns = {f"prob_{each}": probs[:, code] for code, each in enumerate(pool.classes)}
        table = {"id": pool.ids(np.arange(pool.size))} | columns
        folder = tmp_path / name
        folder.mkdir()
        found[name] = build_table(folder, table)
    return found


@pytest.fixture
def contest(pool, rivals):
    """The joined pool of the three, for a log."""
    return lambda log=None: ComparedPool("v1", pool, rivals, log or Log.empty())
