"""The level of intervals that hold together."""

from types import SimpleNamespace

import numpy as np
import pytest

from activetest.estimation.simultaneous import _weigh_errors, find_joint_level

DRAWS = 200


def make_value(terms, *, exact: bool = False, few: bool = False):
    terms = np.asarray(terms, float)
    estimate = SimpleNamespace(
        terms=terms[:, None], weights=np.full(len(terms), 1 / len(terms)), exact=exact
    )
    value = SimpleNamespace(estimate=estimate, few=few)
    value.of_pool = value
    return value


def find_level(*families, level: float = 0.95, seed: int = 0) -> float:
    pairs = [[(value, value.few) for value in family] for family in families]
    return find_joint_level(pairs, level, np.random.default_rng(seed))


def test_estimates_that_err_together_need_no_more_than_one_of_them():
    terms = np.random.default_rng(1).normal(size=DRAWS)
    values = [make_value(scale * terms + 3) for scale in (1, -2, 5, 100)]
    assert find_level(values) == pytest.approx(0.95, abs=0.012)
    assert find_level(values) >= 0.95
    assert find_level(values[:2], values[2:]) == find_level(values)


def test_independent_estimates_need_sidaks_level_and_never_more_than_bonferronis():
    rng = np.random.default_rng(2)
    columns, _ = np.linalg.qr(rng.normal(size=(DRAWS, 11)) - 0.0)
    columns -= columns.mean(axis=0)
    values = [make_value(column) for column in columns.T[:10]]
    assert find_level(values) == pytest.approx(0.95 ** (1 / 10), abs=0.003)
    assert find_level(values) <= 1 - 0.05 / 10
    # Draws of the largest error miss Sidak's level by more than Bonferroni's is away from it.
    levels = [find_level(values[:2], seed=seed) for seed in range(8)]
    assert min(levels) < max(levels) == 1 - 0.05 / 2
    assert find_level(values, level=0.8) == pytest.approx(0.8 ** (1 / 10), abs=0.006)


def test_what_is_known_cannot_err():
    terms = np.random.default_rng(3).normal(size=DRAWS)
    known = [
        make_value(np.random.default_rng(seed).normal(size=DRAWS), exact=True) for seed in (4, 5)
    ]
    assert find_level([make_value(terms), *known]) == find_level([make_value(terms)])
    assert find_level(known) == 0.95 and find_level([], []) == 0.95


def test_values_without_any_label_of_the_rarer_kind_err_as_one_in_each_family():
    flat = [make_value(np.full(DRAWS, 0.1 * place)) for place in range(5)]
    one, two = find_level(flat), find_level(flat, flat)
    few = [make_value(np.arange(DRAWS) * place, few=True) for place in range(1, 5)]
    assert (find_level(few), find_level(few, flat)) == (one, two)
    assert one == pytest.approx(0.95, abs=0.012)
    assert two == pytest.approx(0.95**0.5, abs=0.008)


def test_values_from_different_draws_share_the_error_of_bonferroni():
    rng = np.random.default_rng(6)
    values = [make_value(rng.normal(size=size)) for size in (50, 60)]
    assert find_level(values) == pytest.approx(1 - 0.05 / 2)


def test_the_same_seed_gives_the_same_level():
    rng = np.random.default_rng(7)
    values = [make_value(rng.normal(size=DRAWS)) for _ in range(4)]
    assert find_level(values, seed=3) == find_level(values, seed=3)


def test_values_without_draws_have_no_errors():
    nothing = SimpleNamespace(terms=np.empty((0, 1)), weights=np.empty(0))
    assert _weigh_errors(SimpleNamespace(estimate=nothing)).shape == (0,)
