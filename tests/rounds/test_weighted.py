"""Weights of items multiply what is expected of them, and decide who can be drawn."""

from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.rounds import weighted
from activetest.rounds.fit import fit_surrogate, make_generator
from activetest.rounds.group_sums import measure_groups, measure_levels, sum_by_group
from tests.makers import build_table

SIZE = 40
ZERO_ONE = (statistic("zero_one"), statistic("brier"))
WEIGHT = np.where(np.arange(SIZE) % 5 == 0, 0.0, 1.5 ** (np.arange(SIZE) % 7))
MASS = WEIGHT / WEIGHT.mean()


def build(folder, **roles):
    probs = np.random.default_rng(0).dirichlet([1, 1], SIZE)
    columns = {"id": range(SIZE), "prob_no": probs[:, 0], "prob_yes": probs[:, 1]}
    columns |= {"visits": WEIGHT, "cents": 4.0 + np.arange(SIZE) % 3}
    columns["place"] = [("barn", "nest", "tree")[row % 3] for row in range(SIZE)]
    return build_table(folder, columns, groups=("place",), features=(), **roles)


@pytest.fixture
def pool(tmp_path):
    return build(tmp_path, weight="visits", price="cents")


def fit(pool):
    choices = Choices("error", ("error",), "agreement")
    return fit_surrogate(Log.empty(), pool, choices, rng=make_generator(1, 1, "fit"))


def test_what_is_expected_of_an_item_is_multiplied_by_its_weight(pool):
    found = fit(pool)
    assert isinstance(found, weighted.WeightedSurrogate)
    rows = pool.rows(0, SIZE)
    plain = moments(found.surrogate.beliefs(rows, ZERO_ONE))
    mean, variance = moments(found.beliefs(rows, ZERO_ONE))
    assert mean == approx(plain[0] * MASS, rel=1e-6)
    assert variance == approx(plain[1] * MASS**2, rel=1e-6)
    assert found.expected(rows, ZERO_ONE) == approx(plain[0] * MASS, rel=1e-5)
    # Rows without weights are as they are.
    alone = rows.unweighted
    assert moments(found.beliefs(alone, ZERO_ONE))[0] == approx(plain[0])
    assert found.expected(alone, ZERO_ONE) == approx(plain[0], rel=1e-5)
    assert found.params() == found.surrogate.params()
    assert found.note == getattr(found.surrogate, "note", None)


def test_a_surrogate_with_weights_says_what_it_learned_of_the_model():
    augmented = np.array([3, 5])
    found = weighted.WeightedSurrogate(SimpleNamespace(augmented=augmented))
    assert found.augmented is augmented
    assert weighted.WeightedSurrogate(SimpleNamespace()).augmented is None


class Totals:
    """A surrogate that counts rows: the sums of 1 and of positions, and their variances."""

    note = "counts"

    def totals(self, rows, members, statistics):
        sums = np.array([[len(rows.index), rows.index.sum()]], float)
        return sums, 3 * sums


def test_totals_are_those_of_rows_of_about_the_same_weight(pool):
    """Weights are powers of 1.5 here, and so each a level of its own: nothing is rounded."""
    found, rows = weighted.WeightedSurrogate(Totals()), pool.rows(0, SIZE)
    sums, variances = found.totals(rows, None, ())
    assert sums == approx(np.array([[MASS.sum(), MASS @ np.arange(SIZE)]]))
    assert variances == approx(3 * np.array([[MASS @ MASS, MASS**2 @ np.arange(SIZE)]]))
    near = rows[[1, 1, 1]].unweighted
    assert found.totals(near, None, ())[0].tolist() == [[3, 3]]
    # Of rows without any weight nothing is left.
    assert found.totals(rows[[0, 5]], None, ())[0].tolist() == [[0, 0]]
    assert found.note == "counts"


def test_weights_that_are_nearly_the_same_are_summed_at_their_mean():
    close = SimpleNamespace(weight=np.array([1.0, 1.01, 4.0]), index=np.arange(3))
    parts = []

    class Rows(SimpleNamespace):
        def __getitem__(self, at):
            parts.append(at.tolist())
            return SimpleNamespace(index=self.index[at])

    sums, variances = weighted.WeightedSurrogate(Totals()).totals(Rows(**vars(close)), None, ())
    assert parts == [[0, 1], [2]]
    assert sums == approx(np.array([[2 * 1.005 + 4, 1.005 + 8]]))
    assert variances == approx(3 * np.array([[2 * 1.005**2 + 16, 1.005**2 + 32]]))


def test_items_without_weight_do_not_count_and_prices_change_no_weight(tmp_path, pool, monkeypatch):
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 9), (9, SIZE)])
    assert (weighted.find_counted(pool) == (WEIGHT > 0)).all()
    assert weighted.find_rates(pool) == approx(MASS)
    prices = 4 + np.arange(SIZE) % 3
    assert weighted.find_prices(pool) == approx(prices)
    priced = build(_folder(tmp_path, "priced"), price="cents")
    assert weighted.find_counted(priced) is None and weighted.find_rates(priced) is None
    assert weighted.find_prices(priced) == approx(prices)
    heavy = build(_folder(tmp_path, "heavy"), weight="visits")
    assert weighted.find_rates(heavy) == approx(MASS) and weighted.find_prices(heavy) is None
    plain = build(_folder(tmp_path, "plain"))
    assert weighted.find_counted(plain) is None and weighted.find_rates(plain) is None
    assert not isinstance(fit(plain), weighted.WeightedSurrogate)


def _folder(path, name):
    (path / name).mkdir()
    return path / name


def test_groups_weigh_what_their_items_weigh(pool, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 9), (9, 20), (20, SIZE)])
    codes = np.arange(SIZE) % 3
    inside = [np.ones(SIZE, bool), *(codes == code for code in range(3))]
    expected = [[MASS[each].sum(), (WEIGHT[each] > 0).sum()] for each in inside]
    assert measure_groups(pool) == approx(np.array(expected))
    levels = measure_levels(pool)
    for place, each in enumerate(inside):
        kinds = np.unique(MASS[each & (MASS > 0)])
        counts, masses = levels[:, place]
        assert counts[counts > 0].tolist() == [(MASS[each] == kind).sum() for kind in kinds]
        assert masses[counts > 0] == approx([MASS[each][MASS[each] == k].sum() for k in kinds])
    terms = [MASS, np.arange(SIZE) / 7]
    found = sum_by_group(pool, pool.rows(0, SIZE).codes, terms)
    assert found == approx(np.array([[term[each].sum() for term in terms] for each in inside]))
    assert measure_groups(build(_folder(tmp_path, "plain"))) is None
