"""Small pools and studies of them."""

import os
from pathlib import Path

# As many processes as processors run the tests: one thread each. Read when numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.study.ingest import ingest
from activetest.study.init import init
from activetest.study.next import choose
from activetest.study.study import Study


def _write_pool(path: Path, rows: int, *, seed: int = 0) -> Path:
    """Three classes, two features, a group; ids item-0, item-1, ..."""
    rng = np.random.default_rng(seed)
    columns = {"id": [f"item-{row}" for row in range(rows)]}
    probs = rng.dirichlet([1, 1, 1], rows)
    columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(("cat", "dog", "owl"))}
    columns |= {f"x{number}": rng.normal(size=rows) for number in (1, 2)}
    columns["place"] = rng.choice(["barn", "tree"], rows)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def write_pool():
    """write_pool(path, rows, seed=0) writes a Parquet file of that many items."""
    return _write_pool


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty working directory, with no study in sight."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(folder) -> Study:
    """A study of 40 items with seed 1."""
    _write_pool(folder / "pool.parquet", 40)
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
