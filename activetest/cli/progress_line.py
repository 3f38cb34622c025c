"""Signs of life of a long command: a line that changes in a terminal, or now and then a new one."""

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from activetest.cli import streams
from activetest.system import progress
from activetest.system.progress import Step, Watch

# Seconds: shorter work shows nothing; between two pictures; between two lines.
PATIENCE, _FRAME, _PAUSE = 1.0, 0.2, 10.0
# Columns of the bar, and of a terminal that does not say how wide it is.
_BAR, _WIDTH = 24, 80
_NARROW = 60


@contextmanager
def shown(*, verbose: bool = False) -> Iterator[None]:
    """Shows the steps of the block on standard error, once it has taken about a second.

    On a terminal this is one line, which is gone afterwards. Elsewhere verbose adds a line every
    ten seconds; without it nothing is written.
    """
    line = _can_draw()
    if not (line or verbose):
        yield
        return
    watch = Watch()
    display = _Display(watch, line=line)
    with progress.watching(watch), streams.making_room(display.room):
        display.start()
        try:
            yield
        finally:
            display.stop()


def describe(step: Step, now: float) -> str:
    """A step in words: how much of it is done, since when, and how long it still takes.

    now  seconds of time.monotonic
    """
    facts = _list_facts(step, now)
    return f"{step.title}: {', '.join(facts)}" if facts else step.title


def draw(step: Step, now: float, width: int, *, plain: bool) -> str:
    """A step on a line of at most `width` columns.

    now    seconds of time.monotonic
    plain  ASCII alone
    """
    parts = [step.title, *_list_facts(step, now)]
    if step.total and width >= _NARROW:
        full = round(_BAR * min(step.done / step.total, 1.0))
        done, left = ("#", ".") if plain else ("━", "─")
        parts.insert(1, done * full + left * (_BAR - full))
    while len(parts) > 1 and len("  ".join(parts)) > width:
        # People wait for the last part, the time.
        parts.pop(0)
    return "  ".join(parts)[:width]


def _list_facts(step: Step, now: float) -> list[str]:
    """How much is done, if it counts, and the time: what is left, else what has gone."""
    facts = []
    if step.unit:
        of = "" if step.total is None else f"of {step.total:,} "
        facts.append(f"{step.done:,} {of}{step.unit}")
        if step.size and step.total:
            done = step.size * min(step.done / step.total, 1.0)
            facts.append(f"{done / 1e6:,.0f} of {step.size / 1e6:,.0f} MB")
    elif step.total:
        facts.append(f"{min(step.done / step.total, 1.0):.0%}".replace("%", " %"))
    left, gone = step.find_time_left(now), now - step.begun
    if left is not None:
        return [*facts, f"{_write_time(max(left, 1))} left"]
    return [*facts, *([f"{_write_time(gone)} so far"] if gone >= 1 else ())]


def _write_time(seconds: float) -> str:
    """As 8 s, 1 min 10 s, or 2 h 5 min."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _can_draw() -> bool:
    """Whether somebody sees a line that changes.

    Standard error has to be a terminal that can go back on a line, and no log of a continuous
    integration that looks like one. Whoever reads a pipe may be drawing on the same terminal.
    """
    with suppress(OSError, ValueError):
        if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return False
        if os.environ.get("CI", "").lower() not in ("", "0", "false"):
            return False
        if sys.stdout.isatty():
            return True
        return not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    return False


class _Display:
    """A thread that shows the step of the moment until it is stopped.

    line  on one line of a terminal, written over and over; nothing but returns and spaces does it.
          Elsewhere another line every ten seconds
    """

    def __init__(self, watch: Watch, *, line: bool) -> None:
        self._watch, self._line, self._written = watch, line, 0
        self._ended = threading.Event()
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin, in a thread that nobody has to wait for."""
        self._thread.start()

    def stop(self) -> None:
        """Show nothing from here on."""
        self._ended.set()
        with self._lock:
            self._clear()

    @contextmanager
    def room(self) -> Iterator[None]:
        """In the block other lines are written."""
        with self._lock:
            self._clear()
            yield

    def _run(self) -> None:
        pause = PATIENCE if self._line else _PAUSE
        while not self._ended.wait(pause):
            pause = _FRAME if self._line else _PAUSE
            with self._lock:
                step = self._watch.step
                if step is None or self._ended.is_set():
                    continue
                try:
                    self._show(step)
                except (OSError, ValueError):
                    # Nobody can see it any more.
                    return

    def _show(self, step: Step) -> None:
        if not self._line:
            streams.say(describe(step, time.monotonic()))
            return
        try:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or _WIDTH
        except (OSError, ValueError):
            width = _WIDTH
        plain = not (sys.stderr.encoding or "").lower().startswith("utf")
        # In its last column some terminals begin a new line.
        text = draw(step, time.monotonic(), max(width - 1, 1), plain=plain)
        # A terminal that has become narrower has wrapped what is too long: it stays.
        blank = " " * (min(self._written, width - 1) - len(text))
        sys.stderr.write(f"\r{text}{blank}")
        sys.stderr.flush()
        self._written = len(text)

    def _clear(self) -> None:
        """Leave an empty line."""
        if self._written:
            with suppress(OSError, ValueError):
                sys.stderr.write(f"\r{' ' * self._written}\r")
                sys.stderr.flush()
            self._written = 0
