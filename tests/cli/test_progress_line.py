"""Signs of life: a line in a terminal, lines of a log, or nothing."""

import os
import re
import sys
import threading
import time

import pytest

from activetest.cli import progress_line, streams
from activetest.system import progress
from activetest.system.progress import Step


class Talk:
    """Standard error that keeps what is written, and may call itself a terminal."""

    encoding = "utf-8"

    def __init__(self, *, terminal: bool) -> None:
        self.terminal, self.text = terminal, ""
        self.written = threading.Event()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.terminal

    def fileno(self) -> int:
        """Of nothing."""
        raise OSError

    def write(self, text: str) -> None:
        """Keep the text."""
        self.text += text
        self.written.set()

    def flush(self) -> None:
        """Nothing is left to do."""


@pytest.fixture
def quick(monkeypatch):
    """Signs come at once; no variable of the environment forbids them."""
    monkeypatch.setattr(progress_line, "PATIENCE", 0.001)
    monkeypatch.setattr(progress_line, "_FRAME", 0.001)
    monkeypatch.setattr(progress_line, "_PAUSE", 0.001)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def set_streams(monkeypatch, quick):
    """set_streams(output=..., talk=...): which of both are terminals; returns standard error."""

    def set_both(*, output: bool, talk: bool) -> Talk:
        monkeypatch.setattr(sys, "stdout", Talk(terminal=output))
        monkeypatch.setattr(sys, "stderr", Talk(terminal=talk))
        return sys.stderr

    return set_both


def work(talk: Talk, *, verbose: bool = False, until: bool = True) -> None:
    """A step that lasts until something is written, or a moment."""
    with progress_line.shown(verbose=verbose), progress.step("reading the pool", 10) as step:
        step.advance(5)
        if until:
            assert talk.written.wait(30)
        else:
            time.sleep(0.05)


def test_a_terminal_sees_one_line_that_is_gone_afterwards(set_streams):
    talk = set_streams(output=True, talk=True)
    work(talk)
    assert "reading the pool  " in talk.text and "50 %" in talk.text
    assert "\n" not in talk.text and "\x1b" not in talk.text
    assert re.search(r"\r +\r$", talk.text)
    assert sys.stdout.text == ""


@pytest.mark.parametrize("name, value", [("TERM", "dumb"), ("CI", "true"), ("CI", "1")])
def test_a_log_that_looks_like_a_terminal_gets_nothing(set_streams, monkeypatch, name, value):
    talk = set_streams(output=True, talk=True)
    monkeypatch.setenv(name, value)
    work(talk, until=False)
    assert talk.text == ""


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR"])
def test_variables_about_colour_change_nothing(set_streams, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    talk = set_streams(output=False, talk=False)
    work(talk, until=False)
    assert talk.text == ""
    talk = set_streams(output=True, talk=True)
    work(talk)
    assert "\x1b" not in talk.text and "50 %" in talk.text


@pytest.mark.skipif(os.name != "posix", reason="pipes of Windows have another type")
def test_nothing_is_drawn_while_the_reader_of_a_pipe_may_use_the_terminal(set_streams, tmp_path):
    talk = set_streams(output=False, talk=True)
    reader, writer = os.pipe()
    sys.stdout.fileno = lambda: writer
    work(talk, until=False)
    os.close(reader)
    os.close(writer)
    assert talk.text == ""
    with open(tmp_path / "batch.csv", "w") as file:
        sys.stdout.fileno = file.fileno
        work(talk)
    assert "50 %" in talk.text


def test_a_pipe_gets_lines_if_they_are_wanted(set_streams):
    talk = set_streams(output=False, talk=False)
    work(talk, until=False)
    assert talk.text == ""
    work(talk, verbose=True)
    assert talk.text.splitlines()[0] == "reading the pool: 50 %, 1 s left"


def test_short_work_shows_nothing(set_streams, monkeypatch):
    monkeypatch.setattr(progress_line, "PATIENCE", 60)
    talk = set_streams(output=True, talk=True)
    work(talk, until=False)
    assert talk.text == ""


def test_a_message_stands_on_a_line_of_its_own(set_streams):
    talk = set_streams(output=True, talk=True)
    with progress_line.shown(), progress.step("reading the pool", 10):
        assert talk.written.wait(30)
        streams.say("note: the cache was built again")
    line = next(line for line in talk.text.split("\n") if "note" in line)
    assert re.search(r"\r +\rnote: the cache was built again$", line)


def test_an_interrupt_leaves_an_empty_line(set_streams):
    talk = set_streams(output=True, talk=True)
    with pytest.raises(KeyboardInterrupt), progress_line.shown(), progress.step("reading", 10):
        assert talk.written.wait(30)
        raise KeyboardInterrupt
    assert re.search(r"\r +\r$", talk.text)


def test_a_terminal_that_is_gone_stops_nothing(set_streams, monkeypatch):
    talk = set_streams(output=True, talk=True)

    def fail(text: str) -> None:
        talk.written.set()
        raise OSError("gone")

    monkeypatch.setattr(talk, "write", fail)
    work(talk)


def make_step(total: int | None, done: int, unit: str = "") -> Step:
    step = Step("scoring the pool", total, unit, 0)
    step.advance(done)
    return step


@pytest.mark.parametrize(
    "step, seconds, line",
    [
        (make_step(None, 0), 0.5, "scoring the pool"),
        (make_step(None, 0), 3, "scoring the pool: 3 s so far"),
        (make_step(100, 1), 3, "scoring the pool: 1 %, 3 s so far"),
        (make_step(100, 50), 70, "scoring the pool: 50 %, 1 min 10 s left"),
        (make_step(100, 1, "runs"), 3, "scoring the pool: 1 of 100 runs, 3 s so far"),
        (make_step(4000, 400, "runs"), 800, "scoring the pool: 400 of 4,000 runs, 2 h 0 min left"),
        (make_step(None, 131072, "rows"), 9, "scoring the pool: 131,072 rows, 9 s so far"),
    ],
)
def test_a_step_in_words(step, seconds, line):
    assert progress_line.describe(step, step.begun + seconds) == line


@pytest.mark.parametrize(
    "width, line",
    [
        (79, "scoring the pool  ━━━━━━━━━━━━────────────  50 %  8 s left"),
        (59, "scoring the pool  50 %  8 s left"),
        (31, "50 %  8 s left"),
        (13, "8 s left"),
        (3, "8 s"),
    ],
)
def test_a_narrow_terminal_gets_what_has_room(width, line):
    step = make_step(100, 50)
    assert progress_line.draw(step, step.begun + 8, width, plain=False) == line


def test_a_terminal_without_unicode_gets_ascii():
    step = make_step(100, 50)
    assert progress_line.draw(step, step.begun + 8, 79, plain=True).isascii()
