"""Densities of what is believed about groups, and points of accuracy and calibration."""

import numpy as np
import pytest
from pytest import approx
from scipy.integrate import trapezoid
from scipy.stats import norm

import activetest as at
from activetest.study.report import report
from activetest.wings.groups.group_beliefs import describe_beliefs, estimate_density


def integrate(density) -> float:
    return float(trapezoid(density.heights, density.values))


def test_a_density_is_that_of_the_draws():
    drawn = np.random.default_rng(0).normal(2, 0.5, 20_000)
    density = estimate_density(drawn, step=1e-3)
    assert integrate(density) == approx(1, abs=0.01)
    values = np.array(density.values)
    assert np.allclose(density.heights, norm.pdf(values, 2, 0.5), atol=0.04)
    assert np.allclose(np.diff(values), np.diff(values)[0])


def test_what_the_kernel_puts_beyond_a_limit_is_reflected():
    drawn = np.random.default_rng(0).beta(1, 1, 20_000)
    density = estimate_density(drawn, step=1e-3, limits=(0.0, 1.0))
    assert (density.values[0], density.values[-1]) == (0, 1)
    assert integrate(density) == approx(1, abs=0.01)
    # Without a reflection it would be half as high at either end.
    assert density.heights[0] == approx(1, abs=0.1) == density.heights[-1]


def test_a_number_that_is_known_has_no_density_and_steps_are_smoothed():
    assert estimate_density(np.full(100, 0.3), step=0.1).values == ()
    steps = np.repeat([0.25, 0.5, 0.75], [100, 200, 100])
    density = estimate_density(np.tile(steps, 50), step=0.25, limits=(0.0, 1.0))
    # One hill, and not three.
    rising = np.diff(density.heights) > 0
    assert np.count_nonzero(np.diff(rising)) == 1


def believe(study, **more):
    return report(study, plot="groups.svg", **more)


@pytest.mark.parametrize("acquisition", ["thompson", "optimal"])
def test_groups_have_the_numbers_of_the_answer(begin_study, label_draws, acquisition):
    """By posteriors, and by weighted estimates where draws were not uniform inside groups."""
    study = begin_study(question="identify", groups=("place",), acquisition=acquisition)
    label_draws(study, 40)
    found = believe(study)
    beliefs, answer = found.beliefs, found.assessment
    assert [each.group for each in beliefs.groups] == [each.group for each in answer.groups]
    for each, group in zip(beliefs.groups, answer.groups, strict=True):
        assert each.value.estimate == group.estimate
        assert (each.value.lower, each.value.upper) == (group.lower, group.upper)
        assert each.accuracy == each.value
        values, heights = np.array(each.density.values), np.array(each.density.heights)
        assert integrate(each.density) == approx(1, abs=0.02)
        assert trapezoid(values * heights, values) == approx(group.estimate, abs=0.02)
        assert 0 <= each.ece.lower <= each.ece.estimate <= each.ece.upper <= 1
    assert beliefs.difference is None


def test_two_groups_that_are_compared_have_the_density_of_their_difference(
    begin_study, label_draws
):
    study = begin_study(question="compare", compare="tree,barn", groups=("place",), rope=0.1)
    label_draws(study, 30)
    found = believe(study)
    density, comparison = found.beliefs.difference, found.assessment.comparison
    values, heights = np.array(density.values), np.array(density.heights)
    assert integrate(density) == approx(1, abs=0.01)
    assert trapezoid(values * heights, values) == approx(comparison.estimate, abs=0.01)
    above = values > 0.1
    assert trapezoid(heights[above], values[above]) == approx(comparison.p_above, abs=0.06)


def test_uniform_draws_have_a_density_of_the_calibration_error(begin_study, label_draws):
    study = begin_study(question="estimate", groups=("place",), acquisition="uniform")
    label_draws(study, 40)
    found = believe(study)
    density, ece = found.beliefs.ece, found.assessment.reliability.ece
    assert integrate(density) == approx(1, abs=0.02)
    inside = [value for value in density.values if ece.lower <= value <= ece.upper]
    assert inside
    study = begin_study(question="estimate", groups=("place",), acquisition="optimal")
    label_draws(study, 40)
    assert believe(study).beliefs.ece is None


def test_costs_are_beside_accuracies(begin_study, label_draws, folder):
    (folder / "costs.csv").write_text("predicted,cat,dog,owl\ncat,0,9,1\ndog,1,0,1\nowl,1,1,0\n")
    study = begin_study(question="identify", groups=("place",), metric="cost", costs="costs.csv")
    label_draws(study, 40)
    found = believe(study)
    for each, group in zip(found.beliefs.groups, found.assessment.groups, strict=True):
        assert each.value.estimate == group.estimate
        assert 0 < each.accuracy.estimate < 1 and each.accuracy != each.value
        assert max(each.density.values) <= 9


def test_nothing_is_believed_without_a_question_or_where_nobody_asks(begin_study, label_draws):
    study = begin_study(groups=("place",))
    label_draws(study, 20)
    assert report(study).beliefs is None
    study = begin_study(question="identify", groups=("place",))
    label_draws(study, 20)
    assert report(study).beliefs is None


def test_hard_labels_have_no_calibration(folder):
    rows = {"id": [f"i{row}" for row in range(40)], "pred": ["x", "y"] * 20}
    study = at.Study.create(_frame(rows), "hard", seed=1, question="identify", groups=["predicted"])
    study.ingest(dict.fromkeys(study.next(10).ids, "x"))
    stored = study._current()
    surrogate = None
    cache = stored.cache()
    beliefs = describe_beliefs(
        stored.log(cache), cache, stored.choices, seed=1, surrogate=surrogate
    )
    assert beliefs.ece is None and {each.ece for each in beliefs.groups} == {None}


def _frame(rows: dict):
    return pytest.importorskip("pyarrow").table(rows)
