"""Makers of small pools, their labels and their logs, for every room."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.cache import cache
from activetest.cache.answers import Answers, learn_answers
from activetest.cache.learners import Features
from activetest.cache.store import HEADER
from activetest.item_statistics.metric import Facts
from activetest.ledger.ledger import Ledger
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.rows import Outputs
from activetest.nouns.study_lists import Part
from activetest.pool.pool import Pool
from activetest.rounds.fit import find_free_items
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from activetest.study import init as creation
from activetest.study.results import Setup

NAMES = ("cat", "dog", "owl", "fox", "bee", "ant", "elk", "cow", "hen", "pig")
COSTS = {2: ((0.0, 5.0), (1.0, -0.5))}

# {what was learned from: what was found}, in this process.
_learned: dict[tuple, Answers] = {}
# {what was written: the folder that holds it}; each process has its own, and removes it at its end.
_written: dict[Hashable, tempfile.TemporaryDirectory] = {}


def init(pool: object = None, folder: object = None, *, dry_run: bool = False, **given) -> Setup:
    """Create a study, or change one, with these settings."""
    return creation.init(pool, folder, given, dry_run=dry_run)


def copy_written(key: Hashable, write: Callable[[Path], object], folder: Path) -> None:
    """Copy into the folder what write(working directory) writes: done once for each key.

    Times of files are copied as well. Where `tests.mutate` records the lines that tests run, each
    test writes its own.
    """
    key = key, os.environ.get("MUTATE_TEST")
    if key not in _written:
        place = tempfile.TemporaryDirectory(prefix="activetest-")
        with contextlib.chdir(place.name):
            write(Path(place.name))
        _written[key] = place
    shutil.copytree(_written[key].name, folder, dirs_exist_ok=True)


def learn_answers_once(sources, codes, confidence, hashes, first=None) -> Answers:
    """Results of `learn_answers` for features: the same features and answers are learned once."""
    if os.environ.get("MUTATE_TEST") or not all(type(each) is Features for each in sources):
        return learn_answers(sources, codes, confidence, hashes, first)
    inputs = [each.read(np.arange(len(codes))) for each in sources]
    given = [codes, hashes, *inputs, *([] if confidence is None else [confidence])]
    given.append(np.array(len(codes) if first is None else first))
    key = (*(each._exact for each in sources), *((each.shape, each.tobytes()) for each in given))
    if key not in _learned:
        _learned[key] = learn_answers(sources, codes, confidence, hashes, first)
    return replace(_learned[key], columns=_learned[key].columns.copy())


def new_ledger(path: Path, *, seed: int = 7, fingerprint: str = "abc", rows: int = 100) -> Ledger:
    """The ledger of a study that has just begun."""
    return Ledger.create(path, seed=seed, part=Part("pool", "pool.csv", "csv", fingerprint, rows))


def write_older_ledger(path: Path) -> Path:
    """An empty ledger with the tables of version 0.2."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE meta (seed INTEGER, fingerprint TEXT, rows INTEGER)")
        db.execute("CREATE TABLE ingests (number INTEGER PRIMARY KEY, source TEXT)")
        db.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, id TEXT, label TEXT)")
        db.execute("PRAGMA user_version = 6")
    return path


def labelled_classes(
    classes: int, *, rows: int = 400, seed: int = 0, ties: bool = False, absent=()
):
    """Facts, outputs and labels; with ties probabilities are eighths. Absent codes never occur."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(classes, 0.6), rows)
    if ties:
        probs = np.array([rng.multinomial(8, row) / 8 for row in probs])
    labels = (probs.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    labels = np.where(rng.random(rows) < 0.2, rng.integers(classes, size=rows), labels)
    pred = probs.argmax(axis=1)
    for code in absent:
        labels[labels == code] = code - 1
        pred[pred == code] = code - 1
    facts = Facts(
        "classification",
        NAMES[:classes],
        1 if classes == 2 else None,
        probabilities=True,
        costs=COSTS.get(classes),
        scores=lambda code: probs[np.arange(rows), pred if code is None else code],
    )
    return facts, Outputs(pred, probs), labels.astype(float)


def labelled_values(*, rows: int = 400, seed: int = 0):
    """Facts, outputs and labels of a regression pool with standard deviations."""
    rng = np.random.default_rng(seed)
    pred, std = rng.normal(10, 3, rows), rng.uniform(0.5, 2, rows)
    facts = Facts("regression", deviation=True, center=9.5)
    return facts, Outputs(pred, std=std), pred + std * rng.normal(0.2, 1.1, rows)


def write_pool(path: Path, rows: int, *, seed: int = 0) -> Path:
    """Three classes, two features, a group; ids item-0, item-1, ..."""
    rng = np.random.default_rng(seed)
    columns = {"id": [f"item-{row}" for row in range(rows)]}
    probs = rng.dirichlet([1, 1, 1], rows)
    columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(("cat", "dog", "owl"))}
    columns |= {f"x{number}": rng.normal(size=rows) for number in (1, 2)}
    columns["place"] = rng.choice(["barn", "tree"], rows)
    pq.write_table(pa.table(columns), path)
    return path


def build_cache(path: Path, folder: Path, **choices) -> cache.Cache:
    """The cache, in the folder, of the pool in a file; choices are those of `Pool.open`."""
    return cache.build_cache(Pool.open(str(path), **choices), folder)


def build_pool(folder: Path, rows: int, *, seed: int = 0, groups=()) -> cache.Cache:
    """The cache of a pool that `write_pool` makes in the folder."""

    def write(place: Path) -> None:
        path = write_pool(place / "pool.parquet", rows, seed=seed)
        build_cache(path, place / "cache", groups=tuple(groups))

    copy_written(("pool", rows, seed, tuple(groups)), write, folder)
    return cache.Cache(folder / "cache")


def build_table(folder: Path, columns: dict, *, name: str = "pool", **choices) -> cache.Cache:
    """The cache of a pool of these columns."""
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table(columns), path)
    return build_cache(path, folder / f"{name}-cache", **choices)


def build_farm(folder: Path, size: int, groups: tuple[str, ...]) -> tuple[cache.Cache, np.ndarray]:
    """A pool of yes and no in four places and two shifts, and (N,) labels: a quarter is wrong."""
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([1, 1], size)
    columns = {"id": range(size), "prob_no": probs[:, 0], "prob_yes": probs[:, 1]}
    columns["place"] = [("barn", "tree", "pond", "nest")[row % 4] for row in range(size)]
    columns["shift"] = [("day", "night")[row // 2 % 2] for row in range(size)]
    pool = build_table(folder, columns, groups=groups)
    pred = pool.rows(0, size).outputs.pred
    return pool, np.where(rng.random(size) < 0.25, 1 - pred, pred).astype(float)


def label_items(pool: cache.Cache, *, wrong: int = 3, classes: int = 3) -> np.ndarray:
    """(N,) labels: the predicted class, and the next class for every third (or `wrong`-th) item."""
    pred = pool.rows(0, pool.size).outputs.pred.astype(float)
    return np.where(np.arange(pool.size) % wrong == 0, (pred + 1) % classes, pred)


def play_rounds(
    pool: cache.Cache, truth: np.ndarray, *rounds: tuple[Choices, int], log=None, seed: int = 1
) -> Log:
    """The log after rounds of (choices, count), every draw of which got its true label."""
    log = Log.empty() if log is None else log
    for choices, count in rounds:
        log = answered(log, plan.plan_round(log, pool, choices, seed=seed, count=count), truth)
    return log


def set_status(log: Log, places, status: int) -> Log:
    """The log with the draws at these places in a state in which they have no label."""
    log = replace(log, status=log.status.copy(), labels=log.labels.copy())
    log.status[places], log.labels[places] = status, np.nan
    return log


def supply_labels(
    log: Log, rows, truth: np.ndarray, *, round: int | None = None, status: int = LABELLED
) -> Log:
    """The log after the user labelled rows without a draw, before its next round or that round.

    Rows that have another status than LABELLED have no label.
    """
    rows = np.asarray(rows, np.int64)
    number = len(log.history) + 1 if round is None else round
    labels = truth[rows] if status == LABELLED else np.full(len(rows), np.nan)
    return replace(
        log,
        supplied_rows=np.append(log.supplied_rows, rows),
        supplied_status=np.append(log.supplied_status, np.full(len(rows), status)),
        supplied_labels=np.append(log.supplied_labels, labels),
        supplied_round=np.append(log.supplied_round, np.full(len(rows), number)),
    )


def supply_first(log: Log, pool: cache.Cache, truth: np.ndarray, count: int) -> Log:
    """The log after the user labelled the first `count` rows that have no label yet."""
    return supply_labels(log, np.flatnonzero(find_free_items(log, pool.size))[:count], truth)


def change_array(folder: Path, name: str, part: float = 0.5) -> None:
    """Change a bit in an array of a cache, or of a part of one; by default in its middle."""
    path = folder / f"{name}.npy"
    content = bytearray(path.read_bytes())
    assert len(content) > HEADER
    content[HEADER + int(part * (len(content) - HEADER))] ^= 4
    path.write_bytes(content)


def claim_rows(path: Path, rows: int, *, file: bool = True) -> None:
    """Let the footer of a Parquet file of one row group claim that this has so many rows.

    file  the whole file, too

    Both numbers take as many bytes as before, as they do between 64 and 8,191.
    """
    content = bytearray(path.read_bytes())
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    stated, claimed = (
        bytes([2 * count % 128 + 128, count // 64])
        for count in (pq.read_metadata(path).num_rows, rows)
    )
    # The number of the file stands before, that of its last row group after those of columns.
    places = [content.rindex(stated, start)] + [content.index(stated, start)] * file
    for place in places:
        content[place : place + 2] = claimed
    path.write_bytes(content)
    found = pq.read_metadata(path)
    assert found.row_group(0).num_rows == rows
    assert (found.num_rows == rows) == file
