"""Probabilities of a log that can be those of a sequence of draws: by hand, at every boundary."""

import numpy as np
import pytest

from activetest.errors import ChoiceError, LabelError
from activetest.estimation.accounting import Accounted
from activetest.labels.files import Label
from activetest.pool.hashing import uniforms
from activetest.sampling.draw_log import LoggedLabel
from activetest.study.imported import (
    Meaning,
    _describe,
    _share_plan,
    _shuffle,
    check_ends,
    check_meaning,
    check_probabilities,
    check_uniform,
    find_classes,
    find_draws,
)
from tests import makers


def draw_batches(*batches):
    """Draws of rounds with these probabilities, called a, b, c ... in lines 2, 3, 4 ..."""
    names, lines = iter("abcdefghijklmnopqrstuvwxyz"), iter(range(2, 99))
    return find_draws(
        [
            LoggedLabel(Label(f"line {next(lines)}", next(names), "", 0, ""), number, q)
            for number, batch in enumerate(batches, 1)
            for q in batch
        ],
        "log",
    )


def refuse(check, *arguments) -> str:
    with pytest.raises(LabelError) as error:
        check(*arguments)
    return error.value.problem


# --- the design that probabilities speak of


def check_shares(shares, left, rounds=1):
    """Check draws whose 1 / (q n) are these shares, in so many rounds of the same size."""
    shares, left = np.asarray(shares, float), np.asarray(left, float)
    prob = 1 / (shares * left)
    size = len(shares) // rounds
    batches = draw_batches(*(prob[start : start + size] for start in range(0, len(prob), size)))
    check_meaning(batches, left, "log")


def test_four_draws_say_nothing_about_the_design_and_five_do():
    check_shares([1e6] * 4, [40, 39, 38, 37])
    problem = refuse(check_shares, [1e6] * 5, [40, 39, 38, 37, 36])
    assert problem.endswith("would sum to about 1e-06, and not to 1")


def test_probabilities_may_be_a_hundred_times_too_small_on_average_and_no_more():
    left = 2.0 ** np.arange(6, 0, -1)
    check_shares([64.0] * 6, left)
    check_shares([100.0] * 6, left)
    assert "too small" in refuse(check_shares, [101.0] * 6, left)


def test_probabilities_of_being_in_the_sample_sum_to_the_pool():
    """A quarter of 40 items: the sum of 1 / q over the sample is 40."""
    left = np.arange(40, 30, -1)
    problem = refuse(check_shares, 1 / (0.25 * left), left)
    assert "of being in the sample" in problem and problem.endswith("would sum to about 8.8")
    # In two rounds each is such a sample, and so is the log.
    assert "of being in the sample" in refuse(check_shares, 1 / (0.25 * left), left, 2)


# --- what each probability must be


def test_the_first_item_without_a_probability_is_named_where_others_have_one():
    batches = draw_batches([0.1, 0.2], [0.2, None, None, 0.3])
    problem = refuse(check_probabilities, batches, np.full(6, 9.0), Meaning("sequential"), "log")
    assert problem.startswith("log, line 5: id 'd' has no probability")


def test_rounds_without_any_probability_were_chosen_and_a_log_of_them_is_no_sample():
    batches = draw_batches([0.1, 0.2], [None, None])
    check_probabilities(batches, np.full(4, 9.0), Meaning("sequential"), "log")
    assert batches.q.tolist()[:2] == [0.1, 0.2] and np.isnan(batches.q[2:]).all()
    chosen = draw_batches([None, None])
    problem = refuse(check_probabilities, chosen, np.full(2, 9.0), Meaning("sequential"), "log")
    assert problem == "log has no probabilities"


def test_a_floor_counts_from_the_items_left_when_the_round_began():
    """Half of a uniform draw's among 10 is 1/20; in a second round among 8 it is 1/16."""
    left = np.array([10.0, 9.0, 8.0, 7.0])
    meaning = Meaning("sequential", floor=0.5)
    batches = draw_batches([0.05, 0.3], [0.0625, 0.3])
    check_probabilities(batches, left, meaning, "log")
    batches = draw_batches([0.05, 0.3], [0.3, 0.0624])
    problem = refuse(check_probabilities, batches, left, meaning, "log")
    assert problem.startswith("log, line 5: the probability of id 'd' is below the floor of 0.5")


def test_only_the_last_item_is_drawn_for_certain():
    batches = draw_batches([0.5, 0.5, 1.0])
    check_ends(batches, np.array([3.0, 2.0, 1.0]), "log")
    problem = refuse(check_ends, batches, np.array([4.0, 3.0, 2.0]), "log")
    assert problem == "log, line 4: the probability of id 'c' is 1, and 2 items were left"
    batches = draw_batches([0.4, 0.4, 0.9])
    problem = refuse(check_ends, batches, np.array([3.0, 2.0, 1.0]), "log")
    assert problem == "log, line 4: the probability of id 'c' is 0.9, and only this item was left"


def test_uniform_draws_have_equal_probabilities_in_a_round_or_those_of_what_was_left():
    left = np.array([10.0, 9.0, 8.0, 7.0, 6.0])
    check_uniform(draw_batches([0.2, 0.2], [0.3, 0.3, 0.3]), left, "log")
    check_uniform(draw_batches([None, None], [1 / 6, 1 / 8, 1 / 7]), left, "log")
    for batches in ([[1 / 10, 1 / 9], [1 / 6, 1 / 8, 1 / 6.9]], [[0.2, 0.2], [0.3, None, 0.3]]):
        problem = refuse(check_uniform, draw_batches(*batches), left, "log")
        assert problem.startswith("log: the probabilities of round 2 differ")


# --- rounds, classes and sentences


def test_rounds_are_in_the_order_of_their_numbers_and_keep_that_of_their_draws():
    rows = [
        LoggedLabel(Label("", name, "", 0, ""), number, 0.1)
        for name, number in zip("abcd", (7, 2, 7, 2), strict=True)
    ]
    draws = find_draws(rows, "log")
    assert draws.ids == ["b", "d", "a", "c"] and draws.numbers == [2, 7]
    assert draws.round.tolist() == [1, 1, 2, 2]


def test_uniform_rounds_are_shuffled_each_by_keys_of_its_own(tmp_path):
    pool = makers.build_pool(tmp_path, 12)
    rows = [
        LoggedLabel(Label("", f"item-{row}", "", 0, ""), 1 + row // 6, None) for row in range(12)
    ]
    found = _shuffle(find_draws(rows, "log"), pool, 3)
    assert found.round.tolist() == [1] * 6 + [2] * 6
    expected = []
    for number in (1, 2):
        items = np.arange(6 * number - 6, 6 * number)
        keys = uniforms(pool.hashes[items], 3, number)
        expected += [f"item-{row}" for row in items[np.argsort(keys)]]
    assert found.ids == expected


def test_classes_that_items_were_drawn_from_have_codes_and_weights_allow_none(tmp_path):
    pool = makers.build_pool(tmp_path, 12)
    assert find_classes((), pool) is None
    assert find_classes(("owl", "cat", "owl"), pool) == (0, 2)
    with pytest.raises(ChoiceError, match="cow"):
        find_classes(("cat", "cow"), pool)
    score = {"id": ["a", "b", "c"], "score": [0.2, 0.5, 0.9], "uses": [1.0, 2.0, 3.0]}
    weighted = makers.build_table(tmp_path, score, weight="uses")
    values = makers.build_table(tmp_path, {"id": ["a", "b"], "pred": [0.5, 1.25]}, name="values")
    for other, reason in ((weighted, "weights"), (values, "values for predictions")):
        with pytest.raises(ChoiceError, match=reason):
            find_classes(("1",), other)


@pytest.mark.parametrize(("count", "said"), [(4, False), (5, True)])
def test_what_a_log_accounts_for_is_said_of_five_draws_or_more(tmp_path, count, said):
    pool = makers.build_pool(tmp_path, 12)
    truth = makers.label_items(pool)
    log = makers.play_rounds(pool, truth, (makers.Choices("error", ("error",), "model"), count))
    lines = _describe(log, "log", np.full(count, 2.0), Accounted(0.5, 1.0))
    assert lines[0] == f"{count} draws of log in 1 round: {count} labelled"
    assert [line.startswith("their probabilities account for 50 %") for line in lines[1:]] == (
        [True] if said else []
    )
    assert len(_describe(log, "log", np.full(count, 1.0), Accounted(1.0, 1.0))) == 1


def test_probabilities_in_a_plan_are_among_the_items_that_were_left(tmp_path):
    pool = makers.build_pool(tmp_path, 12)
    truth = makers.label_items(pool)
    log = makers.play_rounds(pool, truth, (makers.Choices("error", ("error",), "model"), 3))
    plan = np.arange(1.0, 13)
    free = [row for row in range(12) if row not in log.rows]
    found = _share_plan(plan[free], plan, log)
    left = plan[free]
    assert found == pytest.approx([each / left[place:].sum() for place, each in enumerate(left)])
    # The last item is certain, whatever rounding leaves of the others.
    assert found[-1] == pytest.approx(1)
