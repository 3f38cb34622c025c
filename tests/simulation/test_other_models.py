"""Further models of a simulation are read like those of studies."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.pool.pool import Pool
from activetest.simulation.other_models import build_models
from tests.makers import build_cache, write_pool


@pytest.fixture
def opened(tmp_path):
    """A pool of 40 items and its cache."""
    path = write_pool(tmp_path / "pool.parquet", 40)
    return build_cache(path, tmp_path / "cache"), Pool.open(str(path))


def test_rows_are_joined_by_their_ids_from_files_and_frames(opened, tmp_path):
    table = pq.read_table(write_pool(tmp_path / "v2.parquet", 40, seed=1))
    order = np.random.default_rng(0).permutation(40)
    frame = table.take(order).to_pandas()
    frame.to_csv(tmp_path / "v3.csv", index=False)
    models = {"v2": frame, "v3": tmp_path / "v3.csv"}
    found = build_models(*opened, models, tmp_path)
    expected = table["prob_cat"].to_numpy()
    for cache, _ in found.values():
        probs = cache.rows(0, 40).outputs.probs[:, cache.classes.index("cat")]
        assert probs == pytest.approx(expected, abs=1e-6)


def test_a_file_that_lacks_items_is_refused(opened, tmp_path):
    frame = pq.read_table(write_pool(tmp_path / "v2.parquet", 40, seed=1)).to_pandas()
    with pytest.raises(PoolError, match="lacks 2 of the pool's items, the first of which is"):
        build_models(*opened, {"v2": frame[2:]}, tmp_path)
