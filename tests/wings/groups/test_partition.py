"""The pool cut into cells, whatever the chunks it is read in."""

import numpy as np
import pytest
from pytest import approx

from activetest.wings.groups.partition import EDGES, Partition, _scan_pool
from tests.makers import build_table

BINS = (EDGES, 0.0, 0.5, 0.75, 1.0)


@pytest.mark.parametrize("group", ["", "place"])
@pytest.mark.parametrize("strata", [(), ("predicted",), BINS])
@pytest.mark.parametrize("classes", [True, False])
def test_totals_are_those_of_a_walk_through_all_chunks(pool, monkeypatch, group, strata, classes):
    partition = Partition(group, strata)
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 7), (7, 20), (20, 60)])
    rows = pool.rows(0, 60)
    strata_count = {0: 1, 1: 3, 5: 3}[len(strata)]
    probs = rows.outputs.probs.astype(float)
    confidence = probs.max(axis=1)
    stratum = {
        0: np.zeros(60, int),
        1: rows.outputs.pred,
        5: (confidence > 0.5).astype(int) + (confidence > 0.75),
    }[len(strata)]
    place = rows.codes[:, pool.group_names.index("place")] if group else np.zeros(60, int)
    cells = place * strata_count + stratum
    count = (2 if group else 1) * strata_count
    assert partition.count_strata(pool) == strata_count
    assert partition.group_of_cell(pool).tolist() == sorted(
        [*range(2 if group else 1)] * strata_count
    )
    totals = _scan_pool(pool, partition, classes, 3 if classes else 2)
    assert totals.cells.tolist() == cells.tolist()
    assert totals.size.tolist() == np.bincount(cells, minlength=count).tolist()
    given = probs if classes else np.stack([confidence, 1 - confidence], axis=1)
    expected = np.zeros((count, given.shape[1]))
    np.add.at(expected, cells, given)
    assert totals.prob_sums == approx(expected)


def test_hard_labels_have_no_sums_of_probabilities(tmp_path, monkeypatch):
    pool = build_table(tmp_path, {"id": range(9), "pred": ["cat", "dog", "dog"] * 3})
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 4), (4, 9)])
    totals = _scan_pool(pool, Partition("", ("predicted",)), True, 2)
    assert totals.prob_sums is None and totals.size.tolist() == [3, 6]


def test_a_confidence_at_an_edge_is_in_the_bin_below(tmp_path):
    confident = np.array([0.5, 0.75, 0.7501, 1.0])
    columns = {"id": range(4), "prob_no": 1 - confident, "prob_yes": confident}
    pool = build_table(tmp_path, columns)
    cells = Partition("", BINS).assign_cells(pool.rows(0, 4), pool)
    assert cells.tolist() == [0, 1, 2, 2]
