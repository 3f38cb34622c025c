"""Slopes of gaps by columns: against plain regressions, and unbiased under unequal draws."""

from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx
from scipy import stats

from activetest.cache.cache import build_cache
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.pool.pool import Pool
from activetest.sampling.plan import plan_round
from activetest.simulation.simulate import answered
from activetest.wings.judges.gap_slopes import (
    CONSTANT,
    TOO_FEW,
    correct_for_many,
    measure_slopes,
    score_ranks,
)

ROWS = 300


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A judge who passes more long answers than people do."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("judge")
    rng = np.random.default_rng(4)
    length = np.exp(rng.normal(5, 1, ROWS))
    people = rng.random(ROWS) < 0.7
    generous = rng.random(ROWS) < np.where(length > np.median(length), 0.6, 0.1)
    said = np.where(people | generous, "pass", "fail")
    ids = [f"item-{row}" for row in range(ROWS)]
    pq.write_table(pa.table({"id": ids, "said": said, "length": length}), folder / "pool.parquet")
    opened = Pool.open(folder / "pool.parquet", judge="said")
    gap = (said == "pass").astype(float) - people
    built = build_cache(opened, folder / "cache")
    return SimpleNamespace(cache=built, length=length, truth=people.astype(float), gap=gap)


def measure(pool, labels: int, *, seed: int = 0, acquisition: str = "optimal", **columns):
    """The slopes of a study with so many labels, for columns (N,) of values."""
    choices = Choices(
        metric="rate[pass]", metrics=("rate[pass]",), surrogate="agreement", acquisition=acquisition
    )
    log = Log.empty()
    while len(log.rows) < labels:
        count = min(100, labels - len(log.rows))
        drawn = plan_round(log, pool.cache, choices, seed=seed, count=count)
        log = answered(log, drawn, pool.truth)
    facts = specification.describe_pool(pool.cache.roles, None, pool.cache)
    rate, bias = (specification.find_metric(f"{name}[pass]", facts) for name in ("rate", "bias"))
    view = build_view(log, pool.cache, choices, [rate, bias], seed=seed, own_view=False)
    values = {name: column[log.rows] for name, column in columns.items()}
    return log, measure_slopes(view.evidence, rate, bias.statistics[0], values, 0.95)


def find_scores(values: np.ndarray) -> np.ndarray:
    scores = stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values))
    return (scores - scores.mean()) / scores.std()


def test_scores_are_normal_quantiles_of_ranks():
    values = np.array([3.0, 1.0, 3.0, 1000.0])
    found = score_ranks(values, np.full(4, 0.25))
    assert found == approx(stats.norm.ppf([0.5, 0.125, 0.5, 0.875]), abs=1e-12)


def test_with_every_label_it_is_the_plain_regression_and_its_score_test(pool):
    _, found = measure(pool, ROWS, length=pool.length)
    slope, scores = found["length"], find_scores(pool.length)
    plain = stats.linregress(scores, pool.gap)
    assert slope.slope == approx(plain.slope, rel=1e-9)
    residual = pool.gap - pool.gap.mean()
    robust = np.sqrt(((scores * residual) ** 2).sum()) / ROWS
    error = max(robust, residual.std() / np.sqrt(ROWS))
    parts = scores * residual
    kurtosis = ROWS * (parts**4).sum() / (parts**2).sum() ** 2
    freedom = min(2 * ROWS / (kurtosis - 1), ROWS - 1)
    assert slope.p_value == approx(2 * stats.t.sf(slope.slope / error, freedom), rel=1e-6)
    reach = stats.t.ppf(0.975, freedom) * error
    ends = slope.slope - reach, slope.slope + reach
    assert (slope.lower, slope.upper) == approx(ends, rel=1e-6)


def test_uniform_draws_weigh_alike(pool):
    log, found = measure(pool, 100, acquisition="uniform", length=pool.length)
    drawn = log.rows
    plain = stats.linregress(find_scores(pool.length[drawn]), pool.gap[drawn])
    # Known items and open ones weigh alike only in expectation: the weights of steps differ.
    assert found["length"].slope == approx(plain.slope, rel=0.15)


def test_unequal_draws_do_not_bend_the_slope(pool):
    truth = float(find_scores(pool.length) @ pool.gap / ROWS)
    slopes = [
        measure(pool, 60, seed=seed, length=pool.length)[1]["length"].slope for seed in range(30)
    ]
    error = np.std(slopes, ddof=1) / np.sqrt(len(slopes))
    assert np.mean(slopes) == approx(truth, abs=3 * error + 0.01)


def test_the_scale_and_the_tail_of_a_column_do_not_matter(pool):
    _, found = measure(pool, 100, length=pool.length, log=np.log(pool.length), down=-pool.length)
    assert found["log"].slope == approx(found["length"].slope)
    assert found["down"].slope == approx(-found["length"].slope)


def test_what_has_no_slope_says_why(pool):
    gaps = np.where(np.arange(ROWS) % 10 == 0, pool.length, np.nan)
    _, found = measure(pool, 100, same=np.ones(ROWS), gaps=gaps, length=pool.length)
    assert (found["same"].reason, found["gaps"].reason) == (CONSTANT, TOO_FEW)
    # Only columns with a p-value count as looked at.
    assert found["length"].p_corrected == found["length"].p_value


def test_holm_corrects_for_the_columns():
    found = correct_for_many(np.array([0.04, 0.01, 0.03, 0.5]))
    assert found == approx([0.09, 0.04, 0.09, 0.5])
    assert correct_for_many(np.array([])).size == 0


@pytest.mark.parametrize("acquisition", ["optimal", "uniform"])
def test_no_dependence_is_rarely_found_where_there_is_none(pool, acquisition):
    rng = np.random.default_rng(1)
    noise = {f"{place}": np.exp(rng.normal(0, 1.5, ROWS)) for place in range(200)}
    _, found = measure(pool, 100, acquisition=acquisition, **noise)
    values = np.array([each.p_value for each in found.values()])
    assert (values <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert values.mean() == approx(0.53, abs=0.1)
