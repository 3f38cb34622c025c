"""Small pools with logs of every kind of round."""

from dataclasses import replace

import numpy as np
import pytest

from activetest.cache import cache
from activetest.nouns.evidence import LABELLED, Log
from activetest.pool.pool import Pool
from activetest.sampling import plan
from activetest.simulation.simulate import answered

_SIZE = 60


@pytest.fixture
def pool(tmp_path, write_pool):
    path = write_pool(tmp_path / "pool.parquet", _SIZE, seed=3)
    groups = ("place", "predicted", "predicted*place")
    return cache.build(Pool.open(str(path), groups=groups), tmp_path / "cache")


@pytest.fixture
def truth(pool):
    """Labels of which every third is wrong."""
    pred = pool.rows(0, _SIZE).outputs.pred.astype(float)
    return np.where(np.arange(_SIZE) % 3 == 0, (pred + 1) % 3, pred)


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
def brought():
    """brought(log, rows, truth, round=1) is the log with these labels, known from a round on."""

    def made(log: Log, rows, truth, round: int = 1) -> Log:
        return replace(
            log,
            brought_rows=rows,
            brought_status=np.full(len(rows), LABELLED),
            brought_labels=truth[rows],
            brought_round=np.full(len(rows), round),
        )

    return made
