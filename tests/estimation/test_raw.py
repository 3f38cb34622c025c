"""A rate and a mean if the model's outputs were the labels."""

import numpy as np
import pytest
from pytest import approx

from activetest.estimation.evidence import list_groups
from activetest.estimation.raw import measure_raw
from activetest.item_statistics import specification
from tests.makers import build_table

ROWS = 60


def find_metric(pool, name):
    return specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))


@pytest.fixture
def columns():
    rng = np.random.default_rng(4)
    return {
        "id": range(ROWS),
        "pred": rng.choice(["fail", "pass"], ROWS, p=[0.3, 0.7]),
        "place": [("barn", "tree", "pond")[row % 3] for row in range(ROWS)],
        "size": rng.integers(0, 4, ROWS),
    }


@pytest.mark.parametrize("weight", [None, "size"])
def test_the_raw_rate_is_the_share_that_is_predicted_in_every_group(tmp_path, columns, weight):
    named = {"weight": weight} if weight else {}
    pool = build_table(tmp_path, columns, groups=("place",), **named)
    metric = find_metric(pool, "rate[pass]")
    hits, places = columns["pred"] == "pass", np.array(columns["place"])
    weights = columns["size"] if weight else np.ones(ROWS)
    for group in list_groups(pool):
        inside = places == group.meaning["place"] if group.meaning else np.ones(ROWS, bool)
        expected = np.average(hits[inside], weights=weights[inside])
        assert measure_raw(pool, metric, group) == approx(expected, rel=1e-12)


def test_a_piece_of_the_pool_may_lack_a_group(tmp_path, columns, monkeypatch):
    columns |= {"place": sorted(columns["place"])}
    pool = build_table(tmp_path, columns, groups=("place",))
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 20), (20, 40), (40, 60)])
    hits = columns["pred"] == "pass"
    found = [measure_raw(pool, find_metric(pool, "rate[pass]"), each) for each in list_groups(pool)]
    assert found == approx([hits.mean(), hits[:20].mean(), hits[20:40].mean(), hits[40:].mean()])


@pytest.mark.parametrize("metric", ["mean", "mean[0,1]"])
def test_the_raw_mean_is_that_of_predictions_whatever_the_scale_of_labels(tmp_path, metric):
    values = np.random.default_rng(4).normal(size=ROWS)
    pool = build_table(tmp_path, {"id": range(ROWS), "pred": values})
    whole = list_groups(pool)[0]
    assert measure_raw(pool, find_metric(pool, metric), whole) == approx(values.mean(), rel=1e-12)


def test_other_metrics_have_no_raw_value_and_nor_has_a_group_without_weight(tmp_path, columns):
    columns["size"] = [0 if place == "pond" else 1 for place in columns["place"]]
    pool = build_table(tmp_path, columns, groups=("place",), weight="size")
    whole, *groups = list_groups(pool)
    assert measure_raw(pool, find_metric(pool, "error"), whole) is None
    without = [
        measure_raw(pool, find_metric(pool, "rate[pass]"), group) is None for group in groups
    ]
    assert without == [group.meaning == {"place": "pond"} for group in groups]
