"""The rest of a log when a part of it is left out."""

from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, PENDING, Log, drop_waiting_rounds
from tests.makers import set_status, supply_labels

ERROR = Choices("error", ("error",), "agreement")


def test_rounds_that_wait_for_their_first_answer_are_left_out(pool, truth, play_rounds):
    log = play_rounds(*[(ERROR, 4)] * 4)
    assert drop_waiting_rounds(log).round.tolist() == log.round.tolist()
    # Labels that were supplied after the last round are known to none of them.
    log = supply_labels(log, [row for row in range(40) if row not in log.rows][:3], truth)
    waiting = drop_waiting_rounds(set_status(log, slice(8, None), PENDING))
    assert [each.number for each in waiting.history] == [1, 2]
    assert waiting.status.tolist() == [LABELLED] * 8
    assert waiting.rows.tolist() == log.rows[:8].tolist()
    assert waiting.supplied_rows.tolist() == log.supplied_rows.tolist()


def test_a_round_without_an_answer_stays_where_a_later_one_has_some(play_rounds):
    log = play_rounds(*[(ERROR, 4)] * 4)
    later = drop_waiting_rounds(set_status(log, [4, 5, 6, 7, 8, 10, *range(12, 16)], PENDING))
    assert [each.number for each in later.history] == [1, 2, 3]
    assert later.status.tolist() == [LABELLED] * 4 + [PENDING] * 5 + [LABELLED, PENDING, LABELLED]


def test_where_nothing_has_an_answer_nothing_is_left(play_rounds):
    log = set_status(play_rounds((ERROR, 4)), slice(None), PENDING)
    left = drop_waiting_rounds(log)
    assert (len(left.rows), left.history) == (0, ())
    assert drop_waiting_rounds(Log.empty()).history == ()
