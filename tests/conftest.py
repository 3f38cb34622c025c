"""Small pools and studies of them."""

import os
from dataclasses import replace
from pathlib import Path

# As many processes as processors run the tests: one thread each. Read when numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import pytest

from activetest.nouns.log import LABELLED, Log
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from activetest.study.ingest import ingest
from activetest.study.init import init
from activetest.study.next import choose
from activetest.study.study import Study
from tests import makers


@pytest.fixture
def write_pool():
    """write_pool(path, rows, seed=0) writes a Parquet file of that many items."""
    return makers.write_pool


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty working directory, with no study in sight."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(folder) -> Study:
    """A study of 40 items with seed 1."""
    makers.write_pool(folder / "pool.parquet", 40)
    init("pool.parquet", seed=1, groups=("place",))
    return Study.open()


@pytest.fixture
def label_file(folder):
    """Writes lines to labels.csv below the header id,label and returns the path."""

    def write(*lines: str, header: str = "id,label", name: str = "labels.csv") -> Path:
        path = folder / name
        path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def begin(folder, write_pool):
    """begin(**wishes) is a study of 90 items with these choices; the prior of a task is uniform."""

    def made(**wishes) -> Study:
        write_pool(folder / "pool.parquet", 90, seed=5)
        prior = {"prior": "uniform"} if "task" in wishes else {}
        init("pool.parquet", seed=1, **(prior | wishes))
        return Study.open()

    return made


@pytest.fixture
def answers(label_file):
    """answers(study, count, answer) draws and labels by answer(row, predicted class)."""

    def made(study, count, answer=None) -> None:
        ids = [each["id"] for each in choose(study, count).rows]
        cache = study.cache()
        rows = cache.find(ids)
        pred = cache.take(rows).outputs.pred
        names = study.cache().classes
        answer = answer or (lambda row, said: (said + (row % 3 == 0)) % 3)
        labels = [names[answer(row, said)] for row, said in zip(rows, pred, strict=True)]
        ingest(study, label_file(*map(",".join, zip(ids, labels, strict=True))))

    return made


@pytest.fixture
def classes():
    """classes(C, rows=, seed=, ties=, absent=) -> facts, outputs, labels."""
    return makers.labelled_classes


@pytest.fixture
def values():
    """values(rows=, seed=) -> facts, outputs, labels."""
    return makers.labelled_values


@pytest.fixture
def truth(pool):
    """Labels of which every third is wrong."""
    pred = pool.rows(0, pool.size).outputs.pred.astype(float)
    return np.where(np.arange(pool.size) % 3 == 0, (pred + 1) % 3, pred)


@pytest.fixture
def after(pool, truth):
    """after((choices, 5), ...) is the log after these rounds, all answered."""

    def made(*batches) -> Log:
        log = Log.empty()
        for choices, count in batches:
            log = answered(log, plan.plan(log, pool, choices, seed=1, count=count), truth)
        return log

    return made


@pytest.fixture
def with_status():
    """with_status(log, place, status) is the log with one draw in that state."""

    def made(log: Log, place: int, status: int) -> Log:
        log = replace(log, status=log.status.copy(), labels=log.labels.copy())
        log.status[place], log.labels[place] = status, np.nan
        return log

    return made


@pytest.fixture
def supplied():
    """brought(log, rows, truth, round=1) is the log with these labels, known from a round on."""

    def made(log: Log, rows, truth, round: int = 1) -> Log:
        return replace(
            log,
            supplied_rows=rows,
            supplied_status=np.full(len(rows), LABELLED),
            supplied_labels=truth[rows],
            supplied_round=np.full(len(rows), round),
        )

    return made
