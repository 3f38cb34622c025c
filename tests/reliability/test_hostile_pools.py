"""Whatever a pool holds, it is refused with a problem and a hint, or a whole round can be done."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from activetest.cli.app import main
from activetest.study.stored import StoredStudy
from tests.reliability.hostile_pools import make_pool

# Pools of one test: a crash is told with the number of its pool.
PART, PARTS, FEW = 100, 22, 12
# Pools that the others of a test do not hold: names in the footers of row groups that are no UTF-8.
FOUND = (1872,)


@pytest.fixture
def run(capsys):
    """run(words, may_refuse=) is the exit code of a command, which never ends otherwise."""

    def run(*words: str, may_refuse: bool = False) -> int:
        capsys.readouterr()
        code = main(words)
        errors = capsys.readouterr().err
        assert code in ((0, 2) if may_refuse else (0,)), errors
        # Problems of a file are all that inspect has to say, and so they are no error.
        if code == 2 and words[0] != "inspect":
            assert "error: " in errors and "hint:  " in errors, errors
        return code

    return run


def write_labels(study: StoredStudy) -> int:
    """Label every item of batch.csv in labels.csv; how many there are."""
    regression = study.pool["task"] == "regression"
    label = "0.5" if regression else next(filter(str.strip, study.cache().classes))
    with open("batch.csv", encoding="utf-8", newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    with open("labels.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *((id, label) for id in ids)])
    return len(ids)


def play(seed: int, folder: Path, run, capsys) -> bool:
    """Start a study of the pool of this number and do a round; whether the pool was accepted."""
    pool = make_pool(folder, seed)
    if not seed % 4:
        run(
            "inspect",
            "--format",
            ("text", "json")[seed % 8 == 0],
            "--",
            pool.address,
            may_refuse=True,
        )
    if run("init", *pool.options, "--", pool.address, may_refuse=True):
        assert not (folder / ".activetest" / "study.toml").exists()
        return False
    rng = np.random.default_rng(seed)
    show = [word for name in pool.show if rng.random() < 0.5 for word in ("--show", name)]
    words = ("next", "-n", "5", "-o", "batch.csv")
    if run(*words, *show, may_refuse=True):
        run(*words)
    labelled = write_labels(StoredStudy.open())
    run("ingest", "labels.csv")
    run("next", "-n", "3")
    run("report", "-v", "--format", ("text", "json", "markdown")[seed % 3])
    run("status", "--format", "json")
    main(["status", "--format", "json"])
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["labeled"] == labelled > 0
    return True


def play_all(seeds: Sequence[int], folder: Path, monkeypatch, run, capsys, count_trials) -> None:
    """Play every pool in a folder of its own."""
    accepted = 0
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        monkeypatch.chdir(place)
        try:
            accepted += play(seed, place, run, capsys)
        except BaseException as error:
            error.add_note(f"pool {seed}")
            raise
        count_trials("hostile pools")
    assert 0.1 < accepted / len(seeds) < 0.9


def test_a_hostile_pool_is_refused_or_serves(folder, monkeypatch, run, capsys, count_trials):
    play_all((*range(FEW), *FOUND), folder, monkeypatch, run, capsys, count_trials)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_hostile_pools(folder, monkeypatch, run, capsys, count_trials, part):
    seeds = range(FEW + part * PART, FEW + (part + 1) * PART)
    play_all(seeds, folder, monkeypatch, run, capsys, count_trials)


@pytest.mark.slow
def test_ten_thousand_columns_are_a_pool(folder, run):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"id": ["a", "b", "c"], "score": [0.1, 0.5, 0.9]}
    columns |= {f"note {number}": ["x", "y", "z"] for number in range(10_000)}
    pq.write_table(pa.table(columns), "pool.parquet")
    run("init", "pool.parquet", "--seed", "1")
    run("next", "-n", "2", "-o", "batch.csv")
    assert write_labels(StoredStudy.open()) == 2
    run("ingest", "labels.csv")
    run("report")
