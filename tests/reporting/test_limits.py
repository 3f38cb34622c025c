"""Where sentences and numbers of reports change: each limit from both of its sides."""

from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.nouns.choices import Choices
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import FAIL, PASS, UNDECIDED
from activetest.nouns.rounding import MARGIN
from activetest.reporting import notes, verdicts
from activetest.reporting.history import _choose_rounds, _find_wilson_limits
from activetest.reporting.requirements import decide_by_interval, parse_requirement
from activetest.reporting.sampled_shares import _list_shares
from activetest.wings.curves import curves
from activetest.wings.surfaces import surface_notes
from activetest.wings.surfaces.surface_answer import _make_whole, _write_cell
from activetest.wings.surfaces.surface_cells import find_codes, suggest_map
from activetest.wings.surfaces.surface_values import SurfaceValues

# --- gates


@pytest.mark.parametrize(("lower", "upper"), [(None, None), (None, 0.9), (0.1, None)])
def test_half_an_interval_decides_nothing(lower, upper):
    for text in ("error<=0.5", "error>=0.5"):
        assert decide_by_interval(parse_requirement(text), lower, upper) == UNDECIDED


def test_an_end_that_misses_the_threshold_by_a_rounding_error_meets_it():
    """Either side of the last number that counts as the threshold, for ends below and above it."""
    for text, sign in (("error>=0.5", 1), ("error<=0.5", -1)):
        required, last = parse_requirement(text), 0.5 - sign * MARGIN
        short = np.nextafter(last, 0.5 - sign)
        assert decide_by_interval(required, last, last) == PASS
        assert decide_by_interval(required, short, short) == FAIL
        assert decide_by_interval(required, *sorted((last, short))) == UNDECIDED


@pytest.mark.parametrize(("count", "listed"), [(12, 12), (13, 12)])
def test_twelve_values_of_a_group_are_listed(count, listed):
    groups = [SimpleNamespace(meaning=None)]
    groups += [SimpleNamespace(meaning={"g": f"v{place}"}) for place in range(count)]
    view = SimpleNamespace(
        evidence=SimpleNamespace(groups=groups), cache=SimpleNamespace(group_names=("g",))
    )

    def find(view, required):
        return verdicts.find_subject(view, required).group

    assert find(view, parse_requirement("error<=0.5")) is groups[0]
    assert find(view, parse_requirement("error@g=v3<=0.5")) is groups[4]
    with pytest.raises(ChoiceError, match="no item has g=w") as error:
        find(view, parse_requirement("error@g=w<=0.5"))
    names = ", ".join(f"v{place}" for place in range(listed)) + ", ..." * (count > listed)
    assert error.value.hint == f"the values of g are {names}"
    with pytest.raises(ChoiceError, match="'h' is not a group of this study"):
        find(view, parse_requirement("error@h=w<=0.5"))


# --- surfaces


@pytest.mark.parametrize(
    ("value", "whole"),
    [(3.0000009, 3), (2.9999991, 3), (2.999998, 2.999998), (3.1, 3.1), (2.6, 2.6), (0.0, 0)],
)
def test_what_is_whole_but_for_rounding_is_a_whole_number(value, whole):
    assert _make_whole(value) == whole and type(_make_whole(value)) is type(whole)


def write_cell(mean, support, known, arms=1):
    fields = (mean, mean - 0.1, mean + 0.1, 0.01, support, known)
    return _write_cell(
        {"g": "a"}, SurfaceValues(*(np.array([each]) for each in fields)), 0, arms, 0.9
    )


def test_a_cell_is_exact_where_every_item_has_a_label_and_has_a_reason_where_it_has_no_value():
    cell = write_cell(0.5, 4.0, 4.0)
    assert (cell.method, cell.lower, cell.n_pool, cell.n_labeled) == ("exact", approx(0.4), 4, 4)
    cell = write_cell(0.5, 4.0, 2.6)
    assert (cell.method, cell.n_labeled, cell.quantity.saving.bought) == ("surface", 2.6, 3)
    assert write_cell(0.5, 0.0, 0.0).method == "surface"
    for arms, reason in (
        (0, "no item of the pool has it"),
        (1, "none of its items can be labelled"),
    ):
        cell = write_cell(np.nan, 0.0, 0.0, arms)
        assert (cell.method, cell.estimate, cell.reason) == ("none", None, reason)


def write_surface_notes(supplied=0, doubt=0.0, small=0, known=(2.0, 5.0)):
    values = SimpleNamespace(support=np.array([4.0, 5.0]), known=np.array(known))
    data = SimpleNamespace(supplied=supplied, doubt=doubt, items=np.arange(1200))
    fitted = SimpleNamespace(
        arms=range(5), order=range(5 - small), values=values, data=data, min_support=3
    )
    return [note.text for note in surface_notes.write_notes(fitted)]


def test_notes_about_a_surface_count_one_and_several():
    model, supplied, doubt, small = write_surface_notes(1, 0.06, 1)
    assert model.startswith("Numbers of combinations come from a model")
    assert supplied.startswith("The surface counts the 1 label that you supplied")
    assert "about 0.1 of 1,200 labels are expected to be wrong" in doubt
    assert small.startswith("Not ranked: 1 combination that has fewer than 3 items")
    _, supplied, small = write_surface_notes(1200, 0.04, 2)
    assert supplied.startswith("The surface counts the 1,200 labels that you supplied")
    assert small.startswith("Not ranked: 2 combinations that have fewer than 3 items")
    # Of a pool that is wholly known nothing comes from a model.
    assert write_surface_notes(7, known=(4.0, 5.0)) == []


def test_twelve_values_of_an_attribute_are_listed_and_a_map_names_two():
    for count, end in ((12, "v11"), (13, "v11, ...")):
        values = tuple(f"v{place}" for place in range(count))
        attributes = SimpleNamespace(names=("g", "h"), values=(values, ("x",)))
        assert find_codes(attributes, {"g": "v3", "h": "x"}) == {"g": 3, "h": 0}
        with pytest.raises(ChoiceError, match="no item has g=none of them") as error:
            find_codes(attributes, {"g": "none of them"})
        assert error.value.hint.endswith(f"v10, {end}")
    assert suggest_map(["g", "h", "i"]) == "write it like g*h"
    assert suggest_map(["g"]) == suggest_map([]) == "write it like first*second"


def describe_picks(estimator: str, drawn: int, selection: str = "top"):
    choices = Choices("error", ("error",), "agreement", selection=selection)
    view = SimpleNamespace(choices=choices)
    return notes._describe_picks(view, SimpleNamespace(estimator=estimator), 7, drawn).text


def test_largest_scores_are_described_by_who_uses_them_beside_two_draws_or_more():
    start = "Items chosen by the largest score, not drawn: 7. The surrogate learns from them"
    assert describe_picks("ase", 2) == f"{start}, and their labels count as known."
    said = describe_picks("lure", 2)
    assert said.startswith(f"{start}. The lure estimate rests on the 2 drawn items, and hardly")
    for estimator in ("ase", "lure"):
        few = describe_picks(estimator, 1)
        assert few.startswith(start) and "estimates need at least 2 drawn items" in few
    assert "the estimates use the 2 drawn items" in describe_picks("lure", 2, "draw")


# --- history, shares and curves


def test_a_share_without_doubt_has_no_wilson_interval():
    assert _find_wilson_limits(0.0, 0.01, 2.0) == (0.0, 0.0)
    assert _find_wilson_limits(1.0, 0.01, 2.0) == (1.0, 1.0)
    assert _find_wilson_limits(0.3, 0.0, 2.0) == (0.3, 0.3)
    # 0.2 of 16 draws, 2 deviations: (0.2 + 4/32 -+ 2 sqrt(0.01 + 4/1024)) / (1 + 4/16)
    assert _find_wilson_limits(0.2, 0.01, 2.0) == approx((0.26 - 0.18868, 0.26 + 0.18868), abs=1e-5)


def test_rounds_of_a_history_are_evenly_spaced_and_have_answers():
    log = SimpleNamespace(round=np.repeat(np.arange(1, 8), 2), status=np.ones(14, int))
    assert _choose_rounds(log, 3) == [1, 4, 7]
    assert _choose_rounds(log, 7) == _choose_rounds(log, 9) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(("count", "rest"), [(12, None), (13, "1 others"), (15, "3 others")])
def test_the_twelve_largest_parts_are_listed_and_the_others_together(count, rest):
    names = [f"v{place}" for place in range(count + 1)]
    sizes = np.array([*range(count, 0, -1), 0])
    found = _list_shares("g", names, sizes, np.array([2] * count + [0]))
    parts = [(each.name, each.n_pool, each.n_labeled) for each in found]
    expected = [(f"v{place}", count - place, 2) for place in range(12)]
    if rest is not None:
        others = range(1, count - 11)
        expected.append((rest, sum(others), 2 * len(others)))
    assert parts == expected
    assert found[0].share_of_pool == approx(count / sum(sizes))
    assert found[0].share_of_labels == approx(1 / count)
    assert _list_shares("g", ["a"], np.array([3]), np.array([0]))[0].share_of_labels == 0.0


def test_an_interval_of_a_ratio_is_widened_by_what_both_shares_leave(monkeypatch):
    def widen(*shares, **quantity):
        bounds = iter(shares)
        monkeypatch.setattr(curves, "_bound_share", lambda *_: next(bounds))
        given = {"lower": 0.5, "upper": 0.6, "method": "delta-beta"} | quantity
        found = Quantity(0.55, given["lower"], given["upper"], 0.95, given["method"])
        found = curves.widen_interval(None, found, (None, None), 0.95)
        return found.lower, found.upper

    assert widen((0.2, 0.6), (0.2, 0.3)) == approx((0.2 / 0.5, 0.6 / 0.8))
    assert widen((0.4, 0.4), (0.3, 0.3)) == approx((0.5, 0.6))
    assert widen((0.0, 0.0), (0.0, 0.0)) == (0.0, 1.0)
    assert widen(lower=None) == (None, 0.6) and widen(upper=None) == (0.5, None)
