"""The same study gives the same bytes with any number of threads and any row groups of its pool."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

from activetest.study.study import Study
from activetest.system import parallel
from activetest.system.parallel import BLAS_THREADS

ROOT = Path(__file__).parents[2]

# The program that gets the words: threads, pool, key, folder for studies, names of surrogates.
PROGRAM = """
import json, os, sys
from pathlib import Path

threads, pool, key, folder, *surrogates = sys.argv[1:]
os.sched_getaffinity = lambda _: set(range(int(threads)))
import activetest as at

key, found = json.loads(Path(key).read_text()), {}
for name in surrogates:
    study = at.Study.create(pool, Path(folder) / name, groups="place", surrogate=name, seed=3)
    texts = []
    for _ in range(2):
        batch = study.next(15)
        texts.append(batch.to_csv())
        study.ingest({id: key[id] for id in batch.ids})
    texts.append(study.report(metrics=list(study.choices.metrics)[:2] or None).to_json())
    ledger = study._stored.ledger.record()
    texts.append(repr([(draw.id, draw.q) for draw in ledger.draws]))
    found[name] = texts
print(json.dumps(found))
"""


def make_columns(kind: str, rows: int) -> tuple[dict, list]:
    """The columns of a pool of ten classes, as digits have, or of values; and the labels."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(rows, 10)) * np.linspace(0.1, 30, 10) + 5
    if kind == "classes":
        logits = inputs / 8 + rng.normal(size=(rows, 10))
        probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        probs = (probs / probs.sum(axis=1, keepdims=True)).astype(np.float32)
        # Some do not sum to one: their neighbours are none of their business.
        probs[:: rows // 7] *= np.float32(1.0004)
        columns = {f"prob_{code}": probs[:, code] for code in range(10)}
        columns["surrogate_prob_one"] = list(rng.dirichlet(np.ones(10), rows).astype(np.float32))
        guesses = rng.integers(10, size=rows)
        labels = np.where(rng.random(rows) < 0.2, guesses, probs.argmax(axis=1)).astype(str)
    else:
        pred = 3 * inputs[:, 0] + rng.normal(size=rows)
        columns = {"pred": pred, "pred_std": np.exp(rng.normal(size=rows))}
        columns["surrogate_pred_one"] = pred + rng.normal(size=rows)
        labels = pred + rng.normal(size=rows)
    columns |= {f"x{number}": inputs[:, number] for number in range(10)}
    columns["place"] = rng.choice(["barn", "tree", "pond"], rows)
    return columns, labels.tolist()


def play(folder: Path, kind: str, rows: int, threads: int, groups: int, names: list[str]) -> dict:
    """{surrogate: what the verbs say} of studies that a process of its own plays.

    Libraries of linear algebra look at their number of threads when they are loaded.
    """
    columns, labels = make_columns(kind, rows)
    ids = [f"item-{row}" for row in range(rows)]
    place = folder / f"{threads}-{groups}"
    place.mkdir()
    pool, key = folder / "pool.parquet", folder / "key.json"
    pq.write_table(pa.table({"id": ids, **columns}), pool, row_group_size=groups)
    # The time of the file is part of nothing that is compared.
    key.write_text(json.dumps(dict(zip(ids, labels, strict=True))))
    limits = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")}
    words = [str(threads), str(pool), str(key), str(place), *names]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env={**os.environ, **limits, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check_trials(folder: Path, kind: str, rows: int, trials: list, names: list[str]) -> None:
    """Every trial (threads, rows of a row group) gives the bytes of the first."""
    expected = play(folder, kind, rows, *trials[0], names)
    for threads, groups in trials[1:]:
        found = play(folder, kind, rows, threads, groups, names)
        for name, texts in expected.items():
            assert found[name] == texts, f"{name}, {threads} threads, row groups of {groups}"


CLASSES = ["agreement", "model", "linear", "forest", "gp", "external", "stack"]
VALUES = ["residual", "model", "linear", "forest", "gp", "external", "stack"]
NETWORKS = ["ensemble", "mc-dropout", "radial-bnn"]


def play_here(pool: Path, key: dict, folder: Path, names: list[str]) -> list[str]:
    """Results of the verbs for studies with each of the surrogates, in this process."""
    texts = []
    for name in names:
        study = Study.create(pool, folder / name, groups="place", surrogate=name, seed=3)
        batch = study.next(15)
        study.ingest({id: key[id] for id in batch.ids})
        report = study.report().to_json()
        draws = study._stored.ledger.record().draws
        texts.append(f"{name} {report} {batch.to_csv()} {[draw.q for draw in draws]}")
    return texts


@pytest.mark.parametrize(("kind", "names"), [("classes", CLASSES[:-1]), ("values", VALUES[:3])])
def test_bytes_depend_neither_on_threads_nor_on_row_groups(kind, names, tmp_path, monkeypatch):
    """Also where a program has given linear algebra several threads."""
    for library in BLAS_THREADS:
        monkeypatch.delenv(library, raising=False)
    rows = 1500
    columns, labels = make_columns(kind, rows)
    ids = [f"item-{row}" for row in range(rows)]
    key, pool = dict(zip(ids, labels, strict=True)), tmp_path / "pool.parquet"
    said = []
    for threads, groups in [(1, rows), (4, 100)]:
        pq.write_table(pa.table({"id": ids, **columns}), pool, row_group_size=groups)
        monkeypatch.setattr(parallel, "processors", lambda threads=threads: threads)
        with threadpool_limits(threads, user_api="blas"):
            said.append(play_here(pool, key, tmp_path / f"{threads}", names))
    for first, *others in zip(*said, strict=True):
        assert [first] * len(others) == others


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "names"), [("classes", CLASSES), ("values", VALUES)])
def test_bytes_of_every_surrogate_depend_on_neither(kind, names, tmp_path):
    trials = list(product((1, 2, 4), (5000, 1000, 100)))
    check_trials(tmp_path, kind, 5000, trials, names)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "names"), [("classes", CLASSES[:4]), ("values", VALUES[:4])])
def test_bytes_of_a_pool_of_many_blocks_depend_on_neither(kind, names, tmp_path):
    rows = 300_000
    trials = [(1, rows), (2, rows), (4, 100_000), (2, 65_536), (4, 1000)]
    check_trials(tmp_path, kind, rows, trials, names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "values"])
def test_bytes_of_networks_depend_on_neither(kind, tmp_path):
    pytest.importorskip("torch")
    trials = [(1, 2000), (2, 2000), (4, 100), (2, 1000)]
    check_trials(tmp_path, kind, 2000, trials, NETWORKS)
