"""Completions, requested as a shell does: by environment variables."""

import os
import subprocess
import sys

import pytest

from activetest import catalog
from activetest.cli.app import main
from tests.cli.programs import ROOT


@pytest.fixture
def pool(folder, write_pool) -> list[str]:
    """The columns of a pool in the working directory."""
    import pyarrow.parquet as pq

    write_pool(folder / "pool.parquet", 20)
    return pq.read_schema(folder / "pool.parquet").names


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["init", "pool", "--metric", ""], catalog.names("metrics")),
        (["init", "pool", "--surrogate", "r"], ["radial-bnn", "residual"]),
        (["init", "pool", "--acquisition", "top-two-"], ["top-two-thompson"]),
        (["init", "pool", "--interval", ""], ["fixed", "anytime", "sequential"]),
        (["init", "pool", "--question", ""], catalog.names("questions")),
        (["init", "pool", "--prior", "u"], ["uniform"]),
        (["report", "--interval", "p"], ["posterior"]),
        (["report", "--estimator", "l"], ["lure"]),
        (["report", "--format", "j"], ["json", "junit"]),
        (["next", "--format", ""], ["csv", "jsonl", "label-studio", "argilla", "xlsx"]),
        (["simulate", "pool", "--acquisition", "optimal,uni"], ["optimal,uniform"]),
        (["simulate", "pool", "--aim", "rec"], ["recall", "recall-at-fpr"]),
        (["init", "pool", "--metric", "error,f1"], ["error,f1"]),
    ],
)
def test_values_are_completed(complete, words, offered):
    assert complete(*words) == offered


@pytest.mark.parametrize("flag", ["--group", "--features", "--id", "--outputs"])
@pytest.mark.parametrize("command", ["init", "simulate"])
def test_columns_of_the_pool_on_the_line_are_completed(complete, pool, command, flag):
    assert complete(command, "pool.parquet", flag, "") == pool
    assert complete(command, "pool.parquet", flag, "pl") == ["place"]


def test_columns_of_a_text_file_are_completed(complete, folder):
    (folder / "pool.csv").write_text("id,score,place\n1,0.5,barn\n")
    (folder / "pool.jsonl").write_text('{"id": 1, "score": 0.5}\n')
    assert complete("init", "pool.csv", "--group", "") == ["id", "score", "place"]
    assert complete("init", "pool.jsonl", "--id", "s") == ["score"]


def test_columns_of_the_study_at_hand_are_completed(complete, pool, folder, monkeypatch, capsys):
    assert main(["init", "pool.parquet"]) == 0
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    for words in (["next", "--show"], ["report", "--group"], ["init", "--group"]):
        assert complete(*words, "pl") == ["place"]
        assert complete(*words, "id,pl") == ["id,place"]
    assert complete("report", "--study", str(folder), "--difference", "pl") == ["place"]


@pytest.mark.parametrize("address", ["nowhere.parquet", "s3://bucket/pool.parquet", "bad.parquet"])
def test_nothing_is_completed_where_columns_cannot_be_read(complete, folder, address):
    (folder / "bad.parquet").write_text("no parquet")
    assert complete("init", address, "--group", "") == []
    assert complete("next", "--show", "") == []


def test_completion_loads_nothing_heavy_unless_a_column_is_wanted():
    asked = {
        "_ACTIVETEST_COMPLETE": "complete_bash",
        "COMP_WORDS": "activetest init pool --surrogate a",
        "COMP_CWORD": "4",
    }
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules))\n"
        "from activetest.cli.app import main; main([])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("agreement\n")
    heavy = {"numpy", "pyarrow", "scipy", "sklearn", "torch", "sqlite3"}
    assert not set(done.stdout.split()) & heavy


def test_a_name_that_a_shell_would_run_or_obey_is_not_offered(complete, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ["plain", "x\\$(touch pwned)", "x`id`", "x$HOME", "x'y", 'x"y', "x\x1b[2J", "x\ny"]
    table = pa.table({name: [1.0] for name in names})
    pq.write_table(table, folder / "pool.parquet")
    assert complete("init", "pool.parquet", "--group", "") == ["plain"]
