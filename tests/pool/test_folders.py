"""Several files of one table, or of one run, are one pool; other folders are refused."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.errors import PoolError
from activetest.formats import read_file_notes
from activetest.pool import convert, folders
from activetest.pool.parts import describe_parts
from tests.formats import logs


def write(folder, **files: str):
    """Files with these contents; two underscores in a name stand for a point."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".").replace("--", "/")).write_bytes(content.encode("latin-1"))
    return folder


def read(folder, **options) -> tuple[dict[str, list], tuple[str, ...]]:
    """(columns, notes) of the pool in a folder."""
    target = folder.parent / "out.parquet"
    convert.to_parquet(str(folder), str(target), **options)
    table = pq.read_table(target)
    return table.to_pydict(), read_file_notes(table.schema.metadata).notes


def test_parts_of_a_table_are_one_pool(tmp_path):
    folder = write(
        tmp_path / "run",
        part_00000_ab__csv="id,pred,x\n01,a,1\n",
        part_00001_ab__csv="x,id,pred\n0.5,02,b\n",
        _SUCCESS="",
        README__md="about",
        __hidden__csv="id,pred,x\n03,c,1\n",
    )
    assert convert.needs_conversion(str(folder))
    assert read(folder) == (
        {"id": ["01", "02"], "pred": ["a", "b"], "x": [1.0, 0.5]},
        (
            "2 files of the folder: part_00000_ab.csv, part_00001_ab.csv; not read: README.md; "
            "left out, as hidden or of a study: .hidden.csv",
        ),
    )


def test_a_column_that_is_text_in_one_part_is_text(tmp_path):
    folder = write(tmp_path / "run", p1__csv="pred,k\n1,1\n", p2__csv="pred,k\nnone,\n")
    assert read(folder)[0] == {"pred": ["1", "none"], "k": [1, None]}


def test_shards_of_arrow_are_one_pool_and_one_shard_says_that_it_is_one(tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    for number in range(2):
        table = pa.table({"id": [f"{number}a", f"{number}b"], "pred": ["x", "y"]})
        with pa.ipc.new_stream(folder / f"data-0000{number}-of-00002.arrow", table.schema) as sink:
            sink.write_table(table)
    write(folder, state__json='{"a": [{"b": 1}]}', dataset_info__json="{}")
    assert read(folder)[0]["id"] == ["0a", "0b", "1a", "1b"]
    second = folder / "data-00001-of-00002.arrow"
    found = at.inspect(second)
    assert any("one of 2 parts" in line and "saved" in line for line in found.summary)
    assert not any("one of" in line for line in at.inspect(folder).summary)
    second.unlink()
    assert "1 of 2 parts are there" in at.inspect(folder).summary[2]


def test_a_shard_of_parquet_says_that_it_is_one(tmp_path):
    path = tmp_path / "train-00000-of-00003.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "pred": ["x", "y"]}), path)
    assert "one of 3 parts" in at.inspect(path).summary[1]
    path.rename(tmp_path / "train-00000-of-00001.parquet")
    assert not describe_parts(str(tmp_path / "train-00000-of-00001.parquet"))


def test_a_folder_of_parquet_is_read_as_it_is(tmp_path):
    folder = write(tmp_path / "run", notes__csv="a,b\n")
    pq.write_table(pa.table({"pred": ["a", "b"]}), folder / "a.parquet")
    assert not convert.needs_conversion(str(folder))
    assert not convert.needs_conversion(str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    assert not convert.needs_conversion(str(tmp_path / "empty"))


def test_earlier_studies_and_hidden_folders_are_no_parts(tmp_path):
    folder = write(tmp_path / "run", p1__csv="pred\na\n")
    write(folder / ".cache", p2__csv="pred\nb\n")
    write(folder / "_temporary", p3__csv="pred\nb\n")
    write(folder / "old", study__toml="", p4__csv="pred\nb\n")
    assert [file.name for file in folders.list_files(folder)] == ["p1.csv"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"pool__csv": "id,pred\n1,a\n", "labels__csv": "id,pred\n1,a\n"}, "not named as parts"),
        ({"p1__csv": "id,pred\n1,a\n", "p2__csv": "id,label\n1,a\n"}, "has no column 'label'"),
        ({"p1__csv": "id,pred\n1,a\n", "p2__jsonl": '{"pred": "a"}'}, "several formats: 1 of CSV"),
        ({"p1__bin": "", "README__md": "x"}, "no file to read"),
        ({"p1__csv": "pred\na\n", "p2__csv__gz": "\x1f\x8b"}, "p2.csv.gz is compressed with gzip"),
        ({"p1__orc": "ORC"}, "p1.orc is ORC"),
        ({"p1__jsonl": '{"x": [1]}', "p2__jsonl": '{"x": {"a": 1}}'}, "'x' is struct"),
        ({"p1__csv": "pred\na\n", "more--p2__csv": "pred\na\n"}, "lie in several folders"),
        ({"dataset_dict__json": "{}", "more--p2__csv": "pred\na\n"}, "parts of a whole: more"),
    ],
)
def test_folders_that_may_be_no_pool_are_refused(tmp_path, files, problem):
    (tmp_path / "run" / "more").mkdir(parents=True)
    folder = write(tmp_path / "run", **files)
    with pytest.raises(PoolError, match=problem) as caught:
        read(folder)
    assert caught.value.hint and not (tmp_path / "out.parquet").exists()


def test_names_of_folders_are_columns_of_other_formats_too(tmp_path):
    for place, number in (("c=DE", 1), ("c=FR", 2)):
        write(tmp_path / "run" / place, part_0__csv=f"id,pred\n{number},a\n")
    assert read(tmp_path / "run")[0] == {"id": ["1", "2"], "pred": ["a"] * 2, "c": ["DE", "FR"]}
    write(tmp_path / "run" / "d=1", part_0__csv="id,pred\n3,a\n")
    with pytest.raises(PoolError, match="lie in several folders"):
        read(tmp_path / "run")


def test_names_for_numbers_are_those_of_all_parts(tmp_path):
    for number, names in enumerate((["a", "b"], ["b", "a"])):
        features = {"pred": {"names": names, "_type": "ClassLabel"}}
        metadata = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
        table = pa.table({"pred": [0, 1]}).replace_schema_metadata(metadata)
        (tmp_path / "run").mkdir(exist_ok=True)
        with pa.ipc.new_file(tmp_path / "run" / f"{number}.arrow", table.schema) as sink:
            sink.write_table(table)
    with pytest.raises(PoolError, match="other names for the numbers"):
        read(tmp_path / "run")


def test_files_of_one_run_are_one_pool_whose_ids_name_the_task(tmp_path):
    folder = tmp_path / "run" / "model"
    folder.mkdir(parents=True)
    for task in ("birds", "rivers"):
        lines = [logs.lm_eval_line(k, f1=float(k)) | {"doc_hash": f"{task}{k}"} for k in range(2)]
        logs.write_lines(folder / f"samples_mmlu_{task}_2025-05-01T10-00-00.123.jsonl", lines)
    results = {"results": {"mmlu": {"acc": 1}}, "group_subtasks": {}, "configs": {}}
    (folder / "results_2025-05-01T10-00-00.123.json").write_text(json.dumps(results))
    found, notes = read(tmp_path / "run")
    assert found["id"] == ["mmlu_birds/0", "mmlu_birds/1", "mmlu_rivers/0", "mmlu_rivers/1"]
    assert found["task"] == ["mmlu_birds"] * 2 + ["mmlu_rivers"] * 2
    assert found["score"] == [0, 1, 0, 1]
    assert notes[0].startswith("2 files of the folder") and "results_2025" in notes[0]
    assert at.inspect(tmp_path / "run").format == "lm-eval"
    logs.write_lines(folder / "samples_mmlu_birds_2025-05-02T10-00-00.123.jsonl", lines)
    with pytest.raises(PoolError, match="both of the task 'mmlu_birds'"):
        read(tmp_path / "run")


def test_logs_of_one_name_are_told_by_their_folders(tmp_path):
    for task in ("a", "b"):
        folder = tmp_path / "run" / f"{task}:x=1"
        folder.mkdir(parents=True)
        predictions = [logs.helm_prediction(f"id{number}") for number in range(2)]
        logs.write_json(folder / "display_predictions.json", predictions)
        logs.write_json(folder / "instances.json", [{"id": "id0"}])
    assert read(tmp_path / "run")[0]["id"][::2] == ["a:x=1/id0", "b:x=1/id0"]


def test_a_study_of_a_folder_notices_when_a_file_changes(tmp_path):
    rows = "".join(f"{number},{'ab'[number % 2]}\n" for number in range(20))
    folder = write(tmp_path / "run", p1__csv=f"id,pred\n{rows}", p2__csv="id,pred\nx,a\n")
    study = at.Study.create(folder, tmp_path / "study", seed=1)
    batch = study.next(3)
    os.utime(folder / "p2.csv")
    assert study.next(3).to_frame("pyarrow") == batch.to_frame("pyarrow")
    write(folder, p2__csv="id,pred\nx,b\n")
    with pytest.raises(at.errors.PoolChanged):
        study.next(3, new=True)
