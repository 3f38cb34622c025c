"""Studies of pools whose features are an image."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolChanged
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from tests.makers import init


@pytest.fixture
def images(folder) -> Path:
    """60 images of 4 x 5 pixels between 0 and 255, of which a row is always black."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(256, size=(60, 4, 5)).astype(np.float32)
    pixels[:, 0] = 0
    prob = np.full((60, 2), 0.5)
    table = pa.table(
        {
            "id": [f"i{row}" for row in range(60)],
            "prob": pa.array(prob.tolist(), pa.list_(pa.float32(), 2)),
            "pixels": pa.array(pixels.reshape(60, 20).tolist(), pa.list_(pa.float32(), 20)),
        }
    )
    pq.write_table(table, folder / "images.parquet")
    return folder


def test_the_shape_is_kept_until_it_is_taken_away(images):
    found = init("images.parquet", seed=1, feature_shape="4x5", surrogate="ensemble")
    assert found.schema.shape == (4, 5)
    assert "features: pixels, an image of 4x5" in found.notices
    assert init(metric="error").schema.shape == (4, 5)
    assert StoredStudy.open().pool["shape"] == [4, 5]
    with pytest.raises(ChoiceError, match="the pool 0 features"):
        init(features=())
    assert init(feature_shape="").schema.shape == ()
    assert "shape" not in StoredStudy.open().pool


def test_who_sees_a_list_of_numbers_says_so(images):
    found = init("images.parquet", seed=1, feature_shape="4x5")
    assert any("auto sees the image as a list" in each for each in found.notices)
    found = init(surrogate="ensemble")
    assert not any("as a list" in each for each in found.notices)


def test_pixels_share_one_scale(images):
    pytest.importorskip("torch")
    init("images.parquet", seed=1, feature_shape="4x5", surrogate="ensemble")
    study = StoredStudy.open()
    cache = study.cache()
    features = cache.rows(0, 60).features
    values = np.array(pq.read_table("images.parquet")["pixels"].to_pylist())
    assert features == pytest.approx((values - values.mean()) / values.std(), abs=1e-4)


@pytest.mark.usefixtures("trained_briefly")
def test_a_study_goes_through_and_its_shape_stays_once_it_was_seen(images, label_file):
    pytest.importorskip("torch")
    init("images.parquet", seed=1, feature_shape="4x5", surrogate="ensemble")
    study = StoredStudy.open()
    for _ in range(2):
        ids = [row["id"] for row in next_batch(study, 6).rows]
        ingest(study, label_file(*(f"{item},{int(item[1:]) % 2}" for item in ids)))
    shown = report(study)
    assert shown.estimates[0].estimate is not None
    with pytest.raises(PoolChanged, match="what the features say"):
        init(feature_shape="5x4")
        next_batch(StoredStudy.open(), 2)
