"""Parquet files, with the names of classes that Hugging Face writes beside the schema."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest import Study, simulate
from activetest.errors import LabelError, PoolError
from activetest.formats import find_format
from activetest.nouns.file_head import read_head
from tests import makers

NAMES = ("negative", "neutral", "positive")
ROWS = 60
# Nobody ever predicts the class 1.
PRED = [2 * (k % 2) for k in range(ROWS)]
TRUTH = [k % 3 for k in range(ROWS)]


def write_hub(path, *, pred=PRED, columns=None, named=("label", "pred")):
    """A file as `datasets` writes it: numbers in the columns, names in the metadata."""
    table = pa.table(
        {"id": [f"i{k}" for k in range(ROWS)], "label": TRUTH, "pred": pred, **(columns or {})}
    )
    features = {name: {"names": list(NAMES), "_type": "ClassLabel"} for name in named}
    metadata = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    pq.write_table(table.replace_schema_metadata(metadata if named else None), path)
    return path


def write_key(path, name):
    path.write_text("id,label\n" + "".join(f"i{k},{name(code)}\n" for k, code in enumerate(TRUTH)))
    return path


@pytest.mark.parametrize("name", ["pool.parquet", "pool.csv"])
def test_classes_have_the_names_of_the_file_in_its_order(tmp_path, name):
    path = write_hub(tmp_path / name)
    assert find_format(read_head(path)) == "parquet"
    study = Study.create(path, tmp_path / "study", seed=1)
    assert study.setup.schema.classes == NAMES
    assert any("read as these: label, pred" in notice for notice in study.setup.notices)
    assert not (tmp_path / "study" / "conversion").exists()


def test_labels_are_names_or_numbers_and_init_and_simulate_agree(tmp_path):
    path = write_hub(tmp_path / "pool.parquet")
    keys = [
        write_key(tmp_path / "numbers.csv", int),
        write_key(tmp_path / "names.csv", NAMES.__getitem__),
    ]
    errors = []
    for key in keys:
        study = Study.create(path, tmp_path / key.stem, seed=1)
        study.next(30)
        assert study.ingest(key).outside == ()
        errors.append(study.report().headline.estimate)
        assert study.ingest(keys[0]).unchanged == study.ingest(keys[1]).unchanged == ROWS
    truth = sum(a != b for a, b in zip(PRED, TRUTH, strict=True)) / ROWS
    assert errors == [truth, truth]
    found = [simulate(path, key, budgets=10, runs=3, seed=1, workers=1) for key in keys]
    assert found[0] == found[1]


def test_a_folder_of_parts_has_the_names_too(tmp_path):
    (tmp_path / "data").mkdir()
    write_hub(tmp_path / "data" / "test-00000-of-00002.parquet")
    second = write_hub(tmp_path / "data" / "test-00001-of-00002.parquet")
    table = pq.read_table(second)
    table = table.set_column(0, "id", [pa.array([f"j{k}" for k in range(ROWS)])])
    pq.write_table(table, second)
    study = Study.create(tmp_path / "data", tmp_path / "study", seed=1)
    assert study.setup.rows == 2 * ROWS and study.setup.schema.classes == NAMES


def test_a_list_of_probabilities_has_the_names_of_the_labels(tmp_path):
    probs = pa.array([[0.2, 0.3, 0.5]] * ROWS, pa.list_(pa.float32(), 3))
    path = write_hub(tmp_path / "pool.parquet", columns={"prob": probs}, named=("label",))
    table = pq.read_table(path).drop_columns("pred")
    pq.write_table(table, path)
    assert Study.create(path, tmp_path / "study").setup.schema.classes == NAMES


def test_minus_one_is_no_prediction_and_other_numbers_are_named(tmp_path):
    path = write_hub(tmp_path / "pool.parquet", pred=[-1, *PRED[1:]])
    with pytest.raises(PoolError, match="row 0 .*'pred' is null"):
        Study.create(path, tmp_path / "study")
    path = write_hub(tmp_path / "pool.parquet", pred=[*PRED[1:], 3])
    with pytest.raises(PoolError, match="is 3 in row 59 .* 3 names") as caught:
        Study.create(path, tmp_path / "study")
    assert caught.value.hint and not (tmp_path / "study").exists()


def test_a_study_of_numbers_goes_on_with_numbers(tmp_path):
    """Names that the metadata has since then change nothing of what was recorded."""
    path = write_hub(tmp_path / "pool.parquet", named=())
    key = write_key(tmp_path / "key.csv", int)
    study = Study.create(path, tmp_path / "study", seed=1)
    assert study.setup.schema.classes == ("0", "2")
    study.next(10)
    study.ingest(key)
    before = study.report().to_json()
    write_hub(path)
    shutil.rmtree(tmp_path / "study" / "cache")
    study = Study.open(tmp_path / "study")
    assert study.report().to_json() == before
    study.change(floor=0.5)
    Study.create(path, tmp_path / "study", floor=0.6)
    study = Study.open(tmp_path / "study")
    assert study.setup.schema.classes == ("0", "2")
    study.next(5)
    assert study.report().headline.estimate == pytest.approx(
        sum(a != b for a, b in zip(PRED, TRUTH, strict=True)) / ROWS
    )


def test_training_rows_have_the_names_too(tmp_path):
    numbers = {"x": [k / ROWS for k in range(ROWS)]}
    path = write_hub(tmp_path / "pool.parquet", columns=numbers)
    train = write_hub(tmp_path / "train.parquet", columns=numbers)
    plain = write_hub(tmp_path / "plain.parquet", columns=numbers, named=())
    for source in (train, plain):
        study = Study.create(path, tmp_path / source.stem, train=source, surrogate="linear", seed=1)
        assert any(f"training rows: {ROWS} of" in notice for notice in study.setup.notices)


def test_labels_that_their_footer_counts_and_that_are_not_there_are_damage(tmp_path, folder):
    path = makers.write_pool(folder / "pool.parquet", 200)
    study = Study.create(path, seed=1)
    ids = [f"i{row}" for row in range(200)]
    pq.write_table(pa.table({"id": ids, "label": ["cat"] * 200}), folder / "key.parquet")
    makers.claim_rows(folder / "key.parquet", 210)
    with pytest.raises(LabelError, match="its footer says 210 rows, and 10 lack"):
        study.ingest(folder / "key.parquet")
    assert study.status().counts.labeled == 0
