"""Items that were picked, not drawn: known to the draws after them, and no draw of their own."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimation import estimate, samples
from activetest.estimation.evidence import Evidence
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from activetest.rounds.fit import observe_statistics
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from tests.makers import set_status

SIZE = 40
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))
ERROR = specification.find_metric("error", Facts("classification", ("cat", "dog", "owl")))
DRAWN, PICKED = "drawn", "picked"

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))


@pytest.fixture
def after(pool, truth):
    """after((DRAWN, 5), (PICKED, 2), ...) is the log after these rounds, all answered."""

    def play(*batches, **chosen) -> Log:
        log = Log.empty()
        for kind, count in batches:
            one = plan.plan_round(log, pool, replace(CHOICES, **chosen), seed=1, count=count)
            if kind == PICKED:
                one = replace(one, q=np.full(count, np.nan))
            log = answered(log, one, truth)
        return log

    return play


def gathered(log: Log, pool) -> Evidence:
    return samples.collect_evidence(log, pool, CHOICES, [ERROR], seed=1)


@pytest.mark.parametrize("group", [0, 1, 2])
@pytest.mark.parametrize("declined", [None, 2, 8], ids=["all answered", "a pick", "a draw"])
def test_before_each_draw_earlier_picks_are_known(pool, truth, after, group, declined):
    """Against a walk through the log; the picks stand at 0 to 3 and 7 to 10."""
    log = after((PICKED, 4), (DRAWN, 3), (PICKED, 4), (DRAWN, 5), (PICKED, 2))
    log = log if declined is None else set_status(log, declined, DECLINED)
    evidence = gathered(log, pool)
    one = samples.build_sample(evidence, ERROR, evidence.groups[group])
    member = evidence.groups[group].membership(pool.rows(0, SIZE).codes)
    wrong = (truth != pool.rows(0, SIZE).outputs.pred) * member
    if declined is not None:
        wrong[log.rows[declined]] = 0
    places = [4, 5, 6, 11, 12, 13, 14, 15]
    assert len(one.stats) == len(one.counted) == len(one.weights) == 8
    for step, place in enumerate(places):
        seen = log.rows[:place]
        assert one.stats[step, 0] == wrong[log.rows[place]]
        assert one.q[step] == log.q[place]
        assert one.known_sum[step, 0] == wrong[seen].sum()
        assert one.left[step] == member.sum() - member[seen].sum()
        round = log.history[log.round[place] - 1]
        earlier = log.rows[place] != round.rows
        before = np.cumsum(earlier) == np.arange(1, len(earlier) + 1)
        guessed = round.imputed[before, 0] @ member[round.rows[before]]
        assert one.imputed_sum[step, 0] == approx(round.imputed_sum[group, 0] - guessed)
    assert one.total[0] == wrong[log.rows].sum()
    assert one.unknown == member.sum() - member[log.rows].sum()
    ahead = SIZE - np.arange(8)
    assert one.weights == approx(1 / (ahead * (ahead - 1)) / (1 / (ahead * (ahead - 1))).sum())


@pytest.mark.parametrize(
    ("batches", "place", "used", "steps", "whole"),
    [
        (((DRAWN, 3), (PICKED, 2), (DRAWN, 3)), 4, 3, 3, True),
        (((DRAWN, 3), (PICKED, 2), (DRAWN, 3)), 6, 5, 3, True),
        (((PICKED, 2), (DRAWN, 4)), 5, 5, 3, False),
        (((PICKED, 2), (DRAWN, 4)), 2, 2, 0, True),
        (((PICKED, 2), (DRAWN, 4)), 1, 0, 0, True),
        (((PICKED, 4),), 2, 0, 0, True),
    ],
)
def test_steps_need_every_earlier_pick(pool, after, batches, place, used, steps, whole):
    """Only the first round of draws may be used in part: picks alone make no step."""
    evidence = gathered(set_status(after(*batches), place, PENDING), pool)
    assert (evidence.used, len(evidence.steps), evidence.whole) == (used, steps, whole)


def test_top_scores_weigh_what_they_weigh_in_lure(pool, after):
    log = after((PICKED, 4), (DRAWN, 3), (PICKED, 4), (DRAWN, 5), (PICKED, 2))
    evidence = gathered(log, pool)
    rows, labels, weights = samples.known_weights(
        log, SIZE, evidence.groups[0], evidence.drawn, evidence.supplied
    )
    wrong = observe_statistics(pool.take(rows), labels, ERROR.statistics)[:, 0]
    result = estimate.estimate_metric(
        samples.build_sample(gathered(log, pool), ERROR), ERROR, "lure"
    )
    assert weights @ wrong / SIZE == approx(result.value)
    # The first draws know nothing of later picks, and no draw knows of the last two.
    assert weights[:4] == approx(1)
    assert (weights[7:11] < 1).all()
    assert (weights[-2:] == 0).all()


def test_draws_beside_picks_can_be_uniform(pool, after):
    """As likely as any other item that is left."""
    batches = ((PICKED, 10), (DRAWN, 12), (PICKED, 3))
    uniform = samples.build_sample(gathered(after(*batches, acquisition="uniform"), pool), ERROR)
    assert uniform.uniform
    assert uniform.q == approx(1 / (30 - np.arange(12)))
    result = [estimate.estimate_metric(uniform, ERROR, name).value for name in ("iid", "lure")]
    assert result[0] == result[1]
    assert not samples.build_sample(gathered(after(*batches), pool), ERROR).uniform


@pytest.mark.parametrize("estimator", ["lure", "doubly-robust"])
def test_with_fewer_than_two_draws_there_is_no_estimate_until_all_is_known(
    pool, truth, after, estimator
):
    for batches in (((PICKED, 20),), ((PICKED, 20), (DRAWN, 1), (PICKED, 5))):
        with pytest.raises(NotEstimable):
            sample = samples.build_sample(gathered(after(*batches), pool), ERROR)
            estimate.estimate_metric(sample, ERROR, estimator)
    every = samples.build_sample(gathered(after((PICKED, SIZE)), pool), ERROR)
    result = estimate.estimate_metric(every, ERROR, estimator)
    assert result.estimate.exact
    assert result.value == np.mean(truth != pool.rows(0, SIZE).outputs.pred)


def test_doubt_about_the_labels_of_picks_counts_as_far_as_they_weigh(pool, truth, after):
    log = after((PICKED, 4), (DRAWN, 6), (PICKED, 2))
    soft = np.full((12, 3), np.nan)
    soft[:] = np.eye(3)[log.labels.astype(int)]
    soft[[1, 11]] = [0.5, 0.25, 0.25]
    one = samples.build_sample(
        gathered(replace(log, soft=soft, supplied_soft=np.empty((0, 3))), pool), ERROR
    )
    right = soft[1, int(pool.take(log.rows[[1]]).outputs.pred[0])]
    # The second doubtful pick came after the last draw: no estimate knows it.
    assert one.label_variance(np.ones(1)) == approx(right * (1 - right) / SIZE**2)


def test_the_status_of_all_draws_and_picks_is_answered(after):
    log = after((PICKED, 2), (DRAWN, 2))
    assert (log.status == LABELLED).all()
    assert log.deterministic.tolist() == [True, True, False, False]
    assert [each.deterministic for each in log.history] == [True, False]
