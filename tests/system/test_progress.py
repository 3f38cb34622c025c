"""Steps of long work, and what they say about the time that is left."""

import threading

import pytest

from activetest.system import parallel, progress
from activetest.system.progress import Watch


@pytest.fixture
def watch():
    seen = Watch()
    with progress.watching(seen):
        yield seen


def test_a_step_is_seen_as_long_as_it_lasts(watch):
    assert watch.step is None
    with progress.step("reading", 10) as step:
        assert watch.step is step and step.title == "reading"
    assert watch.step is None


def test_a_step_that_fails_is_over(watch):
    with pytest.raises(RuntimeError), progress.step("reading"):
        raise RuntimeError
    assert watch.step is None


def test_the_outermost_step_that_counts_is_seen_else_the_innermost(watch):
    with progress.step("fitting") as outer:
        with progress.step("reading", 10) as inner:
            assert watch.step is inner
        assert watch.step is outer
    with progress.step("simulating", 200) as outer, progress.step("reading", 10):
        assert watch.step is outer
    # Two parts say less than what goes on in one of them.
    with progress.step("estimating", 2), progress.step("reading", 10) as inner:
        assert watch.step is inner


def test_nothing_is_seen_of_other_threads(watch):
    def work():
        with progress.watching(watch), progress.step("reading", 10):
            found.append(watch.step)

    found = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None]


def test_nobody_sees_a_step_after_the_watch():
    with progress.watching(Watch()) as _:
        pass
    with progress.step("reading", 10) as step:
        step.advance()
        assert step.done == 1


def test_the_time_that_is_left_follows_from_what_was_done():
    with progress.step("reading", 100) as step:
        assert step.find_time_left(step.begun + 9) is None
        step.advance(4)
        assert step.find_time_left(step.begun + 9) is None
        step.advance(16)
        assert step.find_time_left(step.begun + 5) == pytest.approx(20)
        step.advance(80)
        assert step.find_time_left(step.begun + 30) == 0


def test_what_an_earlier_run_did_says_nothing_about_the_speed():
    with progress.step("simulating", 100, done=80) as step:
        assert step.find_time_left(step.begun + 10) is None
        step.advance(10)
        assert step.find_time_left(step.begun + 10) == pytest.approx(10)


def test_without_a_total_no_time_is_foretold():
    with progress.step("converting") as step:
        step.advance(1000)
        assert step.find_time_left(step.begun + 10) is None


@pytest.mark.parametrize("workers", [1, 3])
def test_a_pass_over_pieces_counts_them(watch, workers):
    seen = []

    def combine(left: int, right: int) -> int:
        seen.append((watch.step.title, watch.step.done, watch.step.total))
        return left + right

    assert parallel.map_reduce(range(5), int, combine, workers=workers, title="adding") == 10
    assert seen == [("adding", done, 5) for done in (1, 2, 3, 4)]


def test_a_pass_over_pieces_that_come_one_by_one_may_know_how_many_there_are(watch):
    def combine(left: int, right: int) -> int:
        seen.append(watch.step.total)
        return left + right

    seen = []
    parallel.map_reduce(iter([1, 2]), int, combine)
    parallel.map_reduce(iter([1, 2]), int, combine, total=2)
    assert seen == [None, 2]


def test_parts_are_counted_as_somebody_goes_through_them():
    watch = progress.Watch()
    with progress.watching(watch):
        parts = progress.go_through("p", "ab")
        seen = [(part, watch.step.title, watch.step.done) for part in parts]
        assert seen == [("a", "p", 0), ("b", "p", 1)] and watch.step is None
    assert list(progress.go_through("p", [])) == []
