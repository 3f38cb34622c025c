"""Files below a folder that are the pool's, and what their names say."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest import inspect
from activetest.errors import PoolError
from activetest.pool.files import Files
from activetest.pool.pool import Pool


def write(path, first: int = 0, rows: int = 4, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = range(first, first + rows)
    columns = {"id": [f"i{k}" for k in numbers], "score": [k / 99 for k in numbers], **more}
    pq.write_table(pa.table(columns), path)


def test_hidden_files_and_studies_are_no_parts_and_are_named(tmp_path):
    write(tmp_path / "part-0.parquet")
    write(tmp_path / "deep" / "part-1.parquet", first=4)
    for place in (".ipynb_checkpoints", "_temporary/0", "trial/conversion", "deep/_old"):
        write(tmp_path / place / "x.parquet", first=50)
    write(tmp_path / "_x.parquet")
    (tmp_path / "trial" / "study.toml").write_text("")
    pool = Pool.open(tmp_path)
    assert pool.rows == 8
    (sentence,) = [each for each in pool.notices if each.startswith("left out")]
    for name in (".ipynb_checkpoints", "_temporary", "trial", "deep/_old", "_x.parquet"):
        assert name in sentence
    (tmp_path / "part-0.parquet").unlink()
    (tmp_path / "deep" / "part-1.parquet").unlink()
    with pytest.raises(PoolError, match=r"no \.parquet file; left out, as hidden or of a study"):
        Pool.open(tmp_path)


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake"),
        (".hoodie/hoodie.properties", "Hudi"),
        ("metadata/v1.metadata.json", "Iceberg"),
    ],
)
@pytest.mark.parametrize("part", ["part-0.parquet", "part-0.csv"])
def test_tables_whose_files_hold_removed_rows_are_refused(tmp_path, log, kind, part):
    table = tmp_path / "pools" / "answers"
    write(table / "part-0.parquet")
    if part.endswith("csv"):
        (table / "part-0.parquet").unlink()
        (table / part).write_text("id,pred\n1,a\n")
    (table / log).parent.mkdir()
    (table / log).write_text("{}")
    partition = table / "day=1" / "hour=2"
    write(partition / "part-0.parquet")
    for pool in (table, tmp_path / "pools", partition, partition.parent):
        with pytest.raises(PoolError, match=f"answers is a table of {kind}") as caught:
            inspect(pool)
        assert f".load('{table}').write.parquet('answers-rows')" in caught.value.hint


def test_a_folder_called_metadata_is_no_table_of_iceberg(tmp_path):
    write(tmp_path / "metadata" / "part-0.parquet")
    assert Pool.open(tmp_path).rows == 4


def test_a_study_is_a_pool_where_it_is_named_itself(tmp_path):
    write(tmp_path / "study" / "x.parquet")
    (tmp_path / "study" / "study.toml").write_text("")
    assert Files(str(tmp_path / "study")).rows == 4


def test_names_of_folders_are_columns(tmp_path):
    for number, place in enumerate(
        ("c=D%20E/day=1", "c=FR/day=2", "c=__HIVE_DEFAULT_PARTITION__/day=1")
    ):
        write(tmp_path / place / "a.parquet", first=4 * number)
    pool = Pool.open(tmp_path, groups=["c*day"])
    assert pool.files.schema.names == ["id", "score", "c", "day"]
    assert pool.show([0, 11, 4], ["day", "c"]) == {
        "day": ["1", "1", "2"],
        "c": ["D E", None, "FR"],
    }
    (strip,) = pool.strips()
    ((codes, names),) = pool.read_block(strip).groups
    assert [names[code] for code in codes[[0, 4, 8]]] == ["D E*1", "FR*2", "null*1"]
    assert next(pool.files.batches(["c"], pool.pieces[2])).to_pydict() == {"c": [None] * 4}


def test_a_column_of_the_files_comes_before_that_of_the_folders(tmp_path):
    write(tmp_path / "c=DE" / "a.parquet", c=["x"] * 4)
    assert Pool.open(tmp_path).show([0], ["c"]) == {"c": ["x"]}


def test_folders_that_name_different_columns_are_refused(tmp_path):
    write(tmp_path / "c=DE" / "a.parquet")
    write(tmp_path / "d=1" / "a.parquet", first=4)
    with pytest.raises(PoolError, match="name other columns"):
        Pool.open(tmp_path)


def test_a_shard_of_several_is_called_so(tmp_path):
    shards = [tmp_path / f"train-0000{k}-of-00002.parquet" for k in range(2)]
    write(shards[0])
    (sentence,) = [each for each in Pool.open(shards[0]).notices if "2 parts" in each]
    assert sentence.startswith("train-00000-of-00002.parquet is one of 2 parts by its name")
    assert "1 of 2 parts are there" in " ".join(Pool.open(tmp_path).notices)
    write(shards[1], first=4)
    assert "parts" not in " ".join(Pool.open(tmp_path).notices)
    spark = [tmp_path / "spark" / f"part-0000{k}-c000.parquet" for k in range(3)]
    for number, path in enumerate(spark):
        write(path, first=4 * number)
    assert "one of 3 such files in its folder" in Pool.open(spark[0]).notices[1]
    assert "such files" not in " ".join(Pool.open(tmp_path / "spark").notices)
