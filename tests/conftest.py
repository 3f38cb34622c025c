"""Small pools and studies of them."""

import gc
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

# As many processes as processors run the tests: one thread each. Read when numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
# Modules of programs that tests start are compiled once, and not by each of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from activetest import catalog
from activetest.cache import evidence
from activetest.cache.cache import Cache
from activetest.ledger import ledger
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests import makers
from tests.makers import init

pytest_plugins = ["tests.report_fixtures"]

# Rooms and files whose tests ask how features are learned from, how writing reaches the disk, and
# what is kept of networks' outputs.
LEARNING, WRITING = {"cache", "test_determinism"}, {"ledger", "system"}
KEEPING = {"test_kept_outputs", "test_network_members"}

# A busy machine is no reason for a test to fail.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_collection_modifyitems(items) -> None:
    """Style goes first: one process checks the types while the others test."""
    items.sort(key=lambda item: item.path.name != "test_style.py")


def pytest_collection_finish() -> None:
    """Tests stay until the end: whoever collects garbage need not look at thousands of them."""
    gc.freeze()


def pool_options(request) -> dict:
    """Options of the nearest mark `pool(rows=, seed=, groups=, wrong=)` of a test."""
    mark = request.node.get_closest_marker("pool")
    return dict(mark.kwargs) if mark else {}


@pytest.fixture(scope="module", autouse=True)
def quick(request) -> Iterator[None]:
    """Features are learned from once, and nobody waits for the disk: this process has no power cut.

    Networks keep 64 kB of their outputs in place of 64 MB. But for tests that are about this.
    """

    def restrict(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA synchronous = OFF")
        plain(db)

    names, plain = {request.path.parent.name, request.path.stem}, ledger.restrict
    with pytest.MonkeyPatch.context() as patch:
        if not names & LEARNING:
            patch.setattr(evidence, "learn_answers", makers.learn_answers_once)
        if not names & WRITING:
            patch.setattr(os, "fsync", lambda handle: None)
            patch.setattr(ledger, "restrict", restrict)
        for name, module in list(sys.modules.items()):
            if name.endswith("._kept_outputs") and not names & KEEPING:
                patch.setattr(module, "_MOST_BYTES", 1 << 16)
        yield


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
def pool_file(folder) -> str:
    """The address of a pool of 40 items in the working directory."""
    makers.write_pool(folder / "pool.parquet", 40)
    return "pool.parquet"


@pytest.fixture
def study(folder) -> StoredStudy:
    """A study of 40 items with seed 1, of pool.parquet in the working directory."""

    def write(place: Path) -> None:
        makers.write_pool(place / "pool.parquet", 40)
        init("pool.parquet", seed=1, groups=("place",))

    makers.copy_written("study", write, folder)
    return StoredStudy.open()


@pytest.fixture
def label_file(folder):
    """Writes lines to labels.csv below the header id,label and returns the path."""

    def write(*lines: str, header: str = "id,label", name: str = "labels.csv") -> Path:
        path = folder / name
        path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def begin_study(folder, write_pool):
    """begin_study(**choices) is a study of 90 items; the prior of a question is uniform."""

    def begin(**choices) -> StoredStudy:
        write_pool(folder / "pool.parquet", 90, seed=5)
        prior = {"prior": "uniform"} if choices.get("question", "surface") != "surface" else {}
        init("pool.parquet", seed=1, **(prior | choices))
        return StoredStudy.open()

    return begin


@pytest.fixture
def label_draws(label_file):
    """label_draws(study, count, answer) draws and labels by answer(row, predicted class)."""

    def draw_and_label(study, count, answer=None) -> None:
        ids = [each["id"] for each in next_batch(study, count).rows]
        cache = study.cache()
        rows = cache.find(ids)
        pred = cache.take(rows).outputs.pred
        names = study.cache().classes
        answer = answer or (lambda row, code: (code + (row % 3 == 0)) % 3)
        labels = [names[answer(row, code)] for row, code in zip(rows, pred, strict=True)]
        ingest(study, label_file(*map(",".join, zip(ids, labels, strict=True))))

    return draw_and_label


@pytest.fixture
def classes():
    """classes(C, rows=, seed=, ties=, absent=) -> facts, outputs, labels."""
    return makers.labelled_classes


@pytest.fixture
def values():
    """values(rows=, seed=) -> facts, outputs, labels."""
    return makers.labelled_values


@pytest.fixture
def pool(request, tmp_path) -> Cache:
    """A pool on disk as its cache; the mark `pool` says how many rows, the seed and the groups."""
    options = pool_options(request)
    options.pop("wrong", None)
    return makers.build_pool(tmp_path, options.pop("rows", 40), **options)


@pytest.fixture
def truth(request, pool) -> np.ndarray:
    """Labels of which every third is wrong, or every `wrong`-th as the mark `pool` says."""
    return makers.label_items(pool, wrong=pool_options(request).get("wrong", 3))


@pytest.fixture
def play_rounds(pool, truth):
    """play_rounds((choices, 5), ..., log=) is the log after these rounds, all answered."""
    return partial(makers.play_rounds, pool, truth)


@pytest.fixture
def trained_briefly(monkeypatch) -> None:
    """Networks learn for three epochs: enough to see what is computed with their weights."""
    training = sys.modules[catalog.load("surrogates", "ensemble").load_torch.__module__]
    monkeypatch.setattr(training, "_MOST_EPOCHS", 3)


@pytest.fixture
def synced(monkeypatch) -> Callable[[Path], bool]:
    """synced(path): whether the file or folder there was written to the disk since."""
    found: set[int] = set()
    sync = os.fsync

    def note(handle: int) -> None:
        found.add(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", note)
    return lambda path: path.stat().st_ino in found
