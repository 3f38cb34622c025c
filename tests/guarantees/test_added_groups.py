"""Groups that are added to a study move no number of the whole pool."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.study.study import Study
from tests.makers import copy_written, write_pool

ADDED = {
    "one": ["place"],
    "two": ["place", "ink"],
    "a product": ["place*ink"],
    "another one in its stead": ["ink", "predicted"],
}


@pytest.fixture
def face(folder) -> Study:
    """Seven rounds without a group; the third and the sixth know labels that were supplied."""
    copy_written("added groups", play_rounds, folder)
    return Study.open()


def play_rounds(folder: Path) -> None:
    """The study of `face`, in a working directory."""
    path = write_pool(folder / "pool.parquet", 90, seed=5)
    table = pq.read_table(path)
    ink = pa.array(np.random.default_rng(1).choice(["little", "much"], 90))
    pq.write_table(table.append_column("ink", ink), path)
    face = Study.create("pool.parquet", metric=["error", "f1[dog]"], seed=1)
    names, free = ("cat", "dog", "owl"), {f"item-{row}" for row in range(90)}
    for number in range(1, 8):
        ids = face.next(5).ids
        face.ingest({id: names[int(id[5:]) * number % 3] for id in ids})
        free -= {*ids}
        if number in (2, 5):
            face.ingest(dict.fromkeys(sorted(free)[:2], "cat"))
            free -= {*sorted(free)[:2]}


def of_pool(face: Study, **options) -> list:
    """The estimates of a report for the whole pool."""
    report = face.report(**options)
    return [row for row in report.estimates if row.group is None]


@pytest.mark.parametrize("groups", ADDED.values(), ids=ADDED)
def test_adding_groups_moves_nothing_of_the_whole_pool(face, groups):
    """To the last bit: estimates, intervals, labels saved and gates, also of metrics unrecorded."""
    options = ({}, {"metrics": ["error", "brier"]}, {"interval": "anytime"})
    before = [of_pool(face, **each) for each in options]
    gates = face.report(require="error<=0.5").gates
    face.change(groups=groups)
    assert [of_pool(face, **each) for each in options] == before
    assert face.report(require="error<=0.5").gates == gates
    assert any(row.group for row in face.report().estimates)


def test_a_group_that_was_recorded_stays_when_another_is_added(folder):
    face = Study.create(write_pool(folder / "pool.parquet", 90, seed=5), groups="place", seed=1)
    for _ in range(6):
        face.ingest(dict.fromkeys(face.next(8).ids, "cat"))
    before = [row for row in face.report().estimates if row.group]
    face.change(groups=["predicted", "place"])
    after = [row for row in face.report().estimates if "place" in (row.group or ())]
    assert [row.estimate for row in after] == [row.estimate for row in before]
    assert [row.quantity for row in after] == [row.quantity for row in before]
