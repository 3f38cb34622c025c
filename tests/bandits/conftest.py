"""A small pool with groups."""

import pytest

from activetest.cache import cache
from activetest.pool.pool import Pool

_SIZE = 60


@pytest.fixture
def pool(tmp_path, write_pool):
    path = write_pool(tmp_path / "pool.parquet", _SIZE, seed=3)
    groups = ("place", "predicted", "predicted*place")
    return cache.build(Pool.open(str(path), groups=groups), tmp_path / "cache")
