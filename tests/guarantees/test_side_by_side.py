"""Runs that are played side by side are the studies that each of them would be alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import activetest as at
from activetest.pool.pool import Pool
from activetest.simulation import simulate as simulations
from activetest.simulation.simulate import simulate

SAMPLES = Path(__file__).parents[2] / "sample_data"
DIGITS, KEY = SAMPLES / "digits.parquet", SAMPLES / "digits.labels.csv"
WAYS = {"metrics": ("error", "f1[3]"), "budgets": (20, 30), "runs": 4, "workers": 1}


@pytest.fixture
def watched(monkeypatch):
    """Results of every run, by the seed and the acquisition of its study."""
    found = {}
    play = simulations.run_together

    def watch(built, truth, plan, choices, seeds):
        runs = play(built, truth, plan, choices, seeds)
        found.update(
            {(seed, choices.acquisition): run for seed, run in zip(seeds, runs, strict=True)}
        )
        return runs

    monkeypatch.setattr(simulations, "run_together", watch)
    return found


def digits(**options):
    return simulate(Pool.open(str(DIGITS)), KEY, **(WAYS | options))


@pytest.mark.parametrize("surrogate", ["agreement", "model"])
def test_a_run_is_the_study_that_a_user_would_have_played(folder, watched, surrogate):
    both = ["doubly-robust", "lure"]
    digits(surrogate=surrogate, estimators=both, metrics=("error",))
    key = dict(line.split(",") for line in KEY.read_text().splitlines()[1:])
    for (seed, acquisition), run in watched.items():
        study = at.Study.create(
            str(DIGITS),
            folder / f"{seed}-{acquisition}",
            seed=seed,
            metric="error",
            acquisition=acquisition,
            surrogate=surrogate,
        )
        for _ in range(3):
            study.ingest({name: key[name] for name in study.next(10).ids})
        rows = study.report(estimators=both, interval="fixed").estimates
        assert [row.estimator for row in rows] == both
        for row in rows:
            numbers = run[row.estimator, "error", 30]
            assert numbers[:3] == approx((row.estimate, row.lower, row.upper), rel=1e-9)
    assert len(watched) == 8


def test_how_many_are_played_at_a_time_changes_no_number(watched, monkeypatch):
    whole = digits(acquisition=("optimal",))
    together = dict(watched)
    for size in (1, 3):
        monkeypatch.setattr(simulations, "_TOGETHER", size)
        watched.clear()
        digits(acquisition=("optimal",))
        assert watched.keys() == together.keys()
        for study, run in watched.items():
            assert run.keys() == together[study].keys()
            for what, numbers in run.items():
                assert numbers == approx(together[study][what], rel=1e-9, abs=1e-12)
    assert whole


def test_a_block_of_which_a_part_is_kept_is_played_as_a_whole(folder):
    """An interrupted simulation finds to the last digit what it would have found."""
    path = folder / "runs.jsonl"
    whole = digits(save=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3]))
    assert digits(save=path) == whole
    kept = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert sorted((each["strategy"], each["run"]) for each in kept) == [
        (strategy, run) for strategy in range(2) for run in range(4)
    ]
    assert sorted(path.read_text().splitlines()) == sorted("".join(lines).splitlines())


def test_studies_that_are_asked_about_groups_are_played_together_too(watched, monkeypatch):
    ways = {"question": "identify", "metrics": (), "budgets": 20, "runs": 3}

    def digits(**options):
        pool = Pool.open(str(DIGITS), groups=("predicted",))
        return simulate(pool, KEY, **(WAYS | options))

    digits(**ways)
    together = {study: dict(run) for study, run in watched.items()}
    monkeypatch.setattr(simulations, "_TOGETHER", 1)
    watched.clear()
    digits(**ways)
    assert watched.keys() == together.keys()
    for study, run in watched.items():
        for what, numbers in run.items():
            assert np.array(numbers) == approx(
                np.array(together[study][what]), rel=1e-9, nan_ok=True
            )
