"""The floor for bets: as even as the item that is least likely to be drawn needs it."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from pytest import approx

from activetest.intervals.betting import expected_width
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.rounds.fit import fit_surrogate, make_generator
from activetest.sampling import floor, plan
from tests.makers import build_table, play_rounds

BETS = Choices("error", ("error",), "agreement", interval="anytime", budget=200)

pytestmark = pytest.mark.pool(rows=60, seed=4)


def confident(folder, confidence: np.ndarray):
    """A pool whose black box is this sure of each of its items."""
    columns = {"id": range(len(confidence)), "prob_no": 1 - confidence, "prob_yes": confidence}
    return build_table(folder, columns)


def chosen(pool, choices: Choices) -> float:
    return plan.prepare_round(Log.empty(), pool, choices, seed=1).round.choices["floor"]


# --- in rounds


@pytest.mark.parametrize("metric", ["error", "accuracy"])
def test_a_round_for_bets_records_the_floor_it_chose(pool, metric):
    choices = replace(BETS, metric=metric, floor=0.2)
    one = plan.plan_round(Log.empty(), pool, choices, seed=1, count=5)
    assert one.choices["floor"] >= 0.35
    fixed = replace(choices, interval="fixed", floor=one.choices["floor"])
    same = plan.plan_round(Log.empty(), pool, fixed, seed=1, count=5)
    assert (one.rows == same.rows).all()
    assert one.q == approx(same.q)


def test_a_metric_of_several_means_keeps_the_floor_of_the_user(pool):
    """Bets on it are on another sum at every value: no single one says which floor is best."""
    assert chosen(pool, replace(BETS, metric="f1[dog]", floor=0.2)) == 0.2


def test_without_bounds_on_a_loss_there_are_no_bets_and_the_floor_stays(pool):
    assert chosen(pool, replace(BETS, metric="log-loss", floor=0.2)) == 0.2


def test_a_round_for_fixed_intervals_keeps_the_floor_of_the_user(pool):
    choices = replace(BETS, interval="fixed", floor=0.2)
    frozen = plan.prepare_round(Log.empty(), pool, choices, seed=1)
    assert frozen.round.choices == asdict(choices)
    assert frozen.q.min() >= 0.2 / 60


def test_the_rarer_errors_are_the_more_even_the_draws(tmp_path):
    """Nearly every item is nearly certain: one of them, wrong after all, would cost a bettor most.

    Where errors are as frequent as right answers the scores may have their way.
    """
    rng = np.random.default_rng(3)
    (tmp_path / "rare").mkdir()
    rare = confident(tmp_path / "rare", np.minimum(rng.beta(40, 0.4, size=1000), 0.9999))
    often = confident(tmp_path, np.where(rng.random(1000) < 0.5, 0.999, 0.55))
    assert chosen(rare, BETS) > chosen(often, BETS)


@pytest.mark.parametrize(
    ("budget", "drawn", "ends"),
    [
        (40, 0, (20, 40)),
        (1000, 0, (500, 1000)),
        (1, 0, (1, 1)),
        (None, 30, (100, 200)),
        (None, 150, (150, 300)),
        (4000, 150, (2000, 4000)),
    ],
)
def test_widths_are_compared_halfway_and_at_the_end_of_the_budget(
    tmp_path, monkeypatch, budget, drawn, ends
):
    """Without a budget at 200 draws, or at twice those there are; the choice is the smallest ratio.

    Of the larger of two ratios to the width of uniform draws.
    """
    rng = np.random.default_rng(3)
    pool = confident(tmp_path, np.minimum(rng.beta(4, 0.9, size=600), 0.9999))
    choices = replace(BETS, budget=budget, surrogate="model")
    log = play_rounds(pool, np.ones(600), (replace(choices, interval="fixed"), drawn))
    looked, widths = set(), {}

    def watch(*beliefs, draws: int, level: float) -> float:
        looked.add(draws)
        found = expected_width(*beliefs, draws=draws, level=level)
        # Uniform weights have no largest one.
        widths.setdefault(float(beliefs[3].max() / beliefs[3].min()), {})[draws] = found
        return found

    monkeypatch.setattr("activetest.sampling.floor.expected_width", watch)
    state = plan.prepare_round(log, pool, choices, seed=1)
    assert looked == set(ends)
    even = widths[min(widths)]
    ratios = [max(each[draws] / even[draws] for draws in ends) for each in widths.values()]
    assert len(ratios) == 4
    first = state.q[state.q > 0]
    assert list(widths)[int(np.argmin(ratios))] == approx(first.max() / first.min(), rel=1e-5)


@pytest.fixture
def choose(monkeypatch):
    """choose(pool, {floor: (halfway, end)}, ...) of expected widths, and what these were asked."""

    def found(pool, widths, *, drawn=0, **fields):
        asked = []

        def look_up(mean, variance, ends, weight, *, draws, level):
            asked.append((ends, draws, level))
            return widths[weight[0]][draws == max(asked_draws)]

        choices = replace(BETS, **fields)
        asked_draws = {choices.budget or 200, 200}
        if pool.roles.get("price"):
            asked_draws = {200}
        monkeypatch.setattr("activetest.sampling.floor.expected_width", look_up)
        monkeypatch.setattr(
            "activetest.rounds.race.mix_scores",
            lambda scores, free, share, rates: (np.full(pool.size, share), None),
        )
        surrogate = fit_surrogate(Log.empty(), pool, choices, rng=make_generator(1, 1, "fit"))
        free = np.ones(pool.size, bool)
        scores = np.ones((1, pool.size))
        chosen = floor.choose_floor(
            pool, surrogate, statistic("zero_one"), scores, free, choices, drawn=drawn
        )
        return chosen, asked

    return found


def test_the_floor_is_that_with_the_smallest_larger_ratio_to_even_draws(pool, choose):
    """Not that with the smallest width, nor the best of one look: even ones are wide at first."""
    widths = {1.0: (0.8, 0.1), 0.9: (0.7, 0.11), 0.75: (0.72, 0.095), 0.5: (0.5, 0.12)}
    assert choose(pool, widths)[0] == 0.75
    # Of equals the most even.
    assert choose(pool, dict.fromkeys(widths, (0.8, 0.1)))[0] == 1.0
    # Nothing is narrower than no width at all.
    assert choose(pool, {**widths, 1.0: (0.0, 0.0), 0.5: (0.0, 0.0)})[0] == 1.0
    _, asked = choose(pool, widths, level=0.8)
    assert {each[1:] for each in asked} == {(100, 0.8), (200, 0.8)}
    assert all(ends.tolist() == [[0.0] * 60, [1.0] * 60] for ends, *_ in asked)


def test_a_loss_is_worth_the_weight_of_its_item_and_money_is_no_number_of_draws(tmp_path, choose):
    columns = {"id": range(4), "prob_no": [0.9] * 4, "prob_yes": [0.1] * 4}
    columns |= {"visits": [1.0, 2.0, 3.0, 4.0], "cents": [5.0] * 4}
    widths = dict.fromkeys((1.0, 0.9, 0.75, 0.5), (0.5, 0.5))
    pool = build_table(tmp_path, columns, weight="visits")
    _, asked = choose(pool, widths, budget=40)
    # In weights whose mean is 1.
    assert asked[0][0].tolist() == [[0.0] * 4, approx([0.4, 0.8, 1.2, 1.6])]
    assert {draws for _, draws, _ in asked} == {20, 40}
    pool = build_table(tmp_path, columns, name="priced", price="cents")
    _, asked = choose(pool, widths, budget=40)
    assert {draws for _, draws, _ in asked} == {100, 200}
    # Without a number of its own, twice what is drawn.
    _, asked = choose(pool, widths, budget=40, drawn=130)
    assert {draws for _, draws, _ in asked} == {130, 260}


def test_the_choice_does_not_depend_on_how_the_pool_was_cut_into_chunks(pool, monkeypatch):
    one = chosen(pool, BETS)
    monkeypatch.setattr(pool, "chunks", lambda: [(at, min(at + 7, 60)) for at in range(0, 60, 7)])
    assert chosen(pool, BETS) == one


# --- what bets are expected to be worth


def width(
    wrong: np.ndarray, floor: float = 0.35, *, draws: int = 200, level: float = 0.95
) -> float:
    """Of items that are wrong with these chances, drawn where that is in doubt."""
    score = np.sqrt(wrong * (1 - wrong))
    probs = (1 - floor) * score / score.sum() + floor / len(wrong)
    ends = np.array([[0.0], [1.0]]) * np.ones(len(wrong))
    return expected_width(wrong, wrong * (1 - wrong), ends, probs, draws=draws, level=level)


def test_more_draws_and_a_lower_level_promise_a_narrower_interval():
    wrong = np.random.default_rng(1).beta(1, 4, size=1000)
    by_draws = [width(wrong, draws=draws) for draws in (20, 50, 200, 1000)]
    by_level = [width(wrong, level=level) for level in (0.99, 0.9, 0.5)]
    for widths in (by_draws, by_level):
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < 0.8 * widths[0]


def test_no_more_than_what_is_possible_is_ever_expected():
    assert width(np.full(1000, 0.3), draws=1) == approx(1)
    assert width(np.full(1000, 0.5), draws=10**7) < 0.01


def test_error_and_accuracy_promise_the_same():
    wrong = np.random.default_rng(2).beta(1, 9, size=1000)
    assert width(wrong) == approx(width(1 - wrong))
