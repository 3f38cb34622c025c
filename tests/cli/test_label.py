"""`label` in a terminal and from a pipe: every key, and what is stored when it is cut short."""

import errno
import io
import os
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cli import label
from activetest.cli.app import main

ROOT = Path(__file__).parents[2]
CLASSES = ("cat", "dog", "owl")
TAKE = """
import os, signal, sys
os.open(os.ttyname(0), os.O_RDWR)
# Ignored under nohup and in the background.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def begin(folder):
    """begin(n, **columns) draws n items of a study with a text; the columns take others' places."""

    def create(n: int = 3, task: str | None = None, **columns) -> at.Study:
        rows = 30
        usual = {f"prob_{name}": [1 / 3] * rows for name in CLASSES}
        text = [f"text number {row}" for row in range(rows)]
        ids = [f"item-{row}" for row in range(rows)]
        table = {"id": ids, "text": text} | (columns or usual)
        pq.write_table(pa.table(table), "pool.parquet")
        study = at.Study.create("pool.parquet", seed=1, task=task)
        study.next(n)
        return study

    return create


def answers(study: at.Study) -> dict[str, str]:
    record = study._current().ledger.record()
    return {each.id: each.label or "declined" for each in record.answers}


class Script:
    """A terminal in which these keys are pressed; `screens` has what was shown before each."""

    size = (80, 24)

    def __init__(self, keys) -> None:
        self.keys, self.screens = list(keys), []

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        pass

    def draw(self, lines) -> None:
        self.screens.append("\n".join(lines))

    def read_key(self) -> str:
        return self.keys.pop(0)


def press(study: at.Study, keys, monkeypatch, **settings) -> list[str]:
    """The screens of a session in which these keys are pressed, one for each and the last."""
    script = Script(keys)
    monkeypatch.setattr("activetest.cli.terminal.Terminal", lambda: script)
    monkeypatch.setenv("NO_COLOR", "1")
    label._Conversation(study.label(**settings)).run()
    assert not script.keys
    return script.screens


def test_a_key_for_each_class_and_each_command(begin, monkeypatch):
    study = begin(5)
    ids = study.next().ids
    screens = press(study, ["1", "s", "2", "u", "3", "d", "!", "backspace", "x", "q"], monkeypatch)
    assert answers(study) == {ids[0]: "cat", ids[2]: "owl", ids[3]: "declined"}
    assert screens[0].startswith(f"1 of 5\nid {ids[0]}\n")
    assert "[1] cat   [2] dog   [3] owl" in screens[0]
    assert "saved: cat" in screens[1] and "2 of 5" in screens[1]
    assert "1 skipped" in screens[2]
    assert "taken back" in screens[4] and ids[2] in screens[4]


def test_the_text_is_shown_and_no_prediction(begin, monkeypatch):
    study = begin(2)
    (screen,) = press(study, ["q"], monkeypatch)
    assert "text number" in screen
    assert "0.3" not in screen and "prob" not in screen


def test_the_last_answer_can_be_taken_back(begin, monkeypatch):
    study = begin(2)
    screens = press(study, ["1", "1", "u", "2", "enter"], monkeypatch)
    assert "2 of 2 items answered" in screens[2]
    assert list(answers(study).values()) == ["cat", "dog"]


def test_long_texts_have_pages(begin, monkeypatch):
    text = ["\n".join(f"line {n}" for n in range(40))] * 30
    study = begin(2, text=text, pred=["no", "yes"] * 15)
    screens = press(study, ["m", "page down", "b", "+", "q"], monkeypatch)
    firsts = [screen.splitlines()[3] for screen in screens]
    rooms = [int(first.removeprefix("line ")) for first in firsts]
    assert rooms[0] == 0 and rooms[1] == rooms[3] and rooms[2] == rooms[4] == 2 * rooms[1]
    assert "page 1 of 3" in screens[0] and "[m] more text" in screens[0]


def test_classes_are_typed_where_there_are_many(begin, monkeypatch):
    names = [f"kind {number:02}" for number in range(30)]
    study = begin(3, pred=names, task="classification")
    keys = [*"kind 2", "tab", "enter", *":u", "enter", *"07x", "backspace", "enter"]
    screens = press(
        study, [*keys, "clear", *"zebra", "enter", "enter", "clear", "end"], monkeypatch
    )
    assert "kind 20   kind 21" in "\n".join(screens)
    assert list(answers(study).values()) == ["zebra"]
    assert "never predicts '07'" in "\n".join(screens)


def test_a_part_of_a_name_is_completed_before_it_is_taken(begin, monkeypatch):
    study = begin(1)
    screens = press(study, ["/", *"ow", "enter", "enter", "q"], monkeypatch)
    assert "Enter takes it" in screens[4]
    assert list(answers(study).values()) == ["owl"]


def test_numbers_are_checked(begin, monkeypatch):
    study = begin(1, pred=[row + 0.5 for row in range(30)])
    screens = press(study, [*"3,5", "enter", "clear", *"-2.5", "enter", "q"], monkeypatch)
    assert "'3,5' of id" in screens[4] and "not a number" in screens[4]
    assert list(answers(study).values()) == ["-2.5"]


def test_help_goes_away_with_any_key(begin, monkeypatch):
    screens = press(begin(1), ["?", "1", "q"], monkeypatch)
    assert "any key goes back" in screens[1] and screens[2] == screens[0]


def test_words_for_no_label_need_a_second_look(begin, monkeypatch):
    study = begin(1, pred=["yes", "no"] * 15)
    press(study, ["/", *"n/a", "enter", "escape", "q"], monkeypatch)
    assert answers(study) == {}
    press(study, ["/", *"n/a", "enter", "enter", "q"], monkeypatch)
    assert list(answers(study).values()) == ["n/a"]


# --- lines


def read_lines(monkeypatch, text: str | bytes, *words: str) -> int:
    """The exit code where standard input is no terminal."""
    content = text.encode() if isinstance(text, str) else text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    return main(["label", *words])


def test_a_line_is_an_answer(begin, monkeypatch, capsys):
    study = begin(5)
    ids = study.next().ids
    assert read_lines(monkeypatch, "cat\n\nd\nu\n:d\n  dog \n", "--annotator", "ann") == 0
    assert answers(study) == {ids[0]: "cat", ids[2]: "declined", ids[3]: "dog"}
    printed = capsys.readouterr()
    assert printed.out == "3 of 5 items answered, 1 skipped; the same command goes on\n"
    assert "1 of 5   ann   id item-" in printed.err and "text number" in printed.err
    assert {row.annotator for row in study._current().ledger.list_log() if row.label} == {"ann"}


def test_a_wrong_line_ends_it_and_the_lines_before_it_count(begin, monkeypatch, capsys):
    study = begin(3)
    assert read_lines(monkeypatch, "cat\ncow\ndog\n") == 2
    assert "line 2: label 'cow' of id" in capsys.readouterr().err
    assert list(answers(study).values()) == ["cat"]
    assert read_lines(monkeypatch, b"d\xff\n") == 2
    assert "line 1: it is not UTF-8" in capsys.readouterr().err
    assert read_lines(monkeypatch, "dog\ndog\ndog\n") == 2
    assert "too many" in capsys.readouterr().err
    assert list(answers(study).values()) == ["cat", "dog", "dog"]


def test_keys_are_no_names_where_no_legend_is_shown(begin, monkeypatch):
    study = begin(3)
    assert read_lines(monkeypatch, "1\n") == 2
    assert answers(study) == {}


def test_nothing_pending_is_said_and_nothing_is_drawn(begin, monkeypatch, capsys):
    study = begin(1)
    assert read_lines(monkeypatch, "cat\n") == 0
    assert capsys.readouterr().out.startswith("1 of 1 items answered; activetest report")
    assert read_lines(monkeypatch, "") == 0
    assert capsys.readouterr().out == (
        "nothing is pending; activetest label --n 20 draws 20 items\n"
    )
    assert read_lines(monkeypatch, "cat\nq\n", "--n", "2") == 0
    assert study.status().counts.drawn == 3


# --- a real terminal


class Pty:
    """The program in a terminal of its own."""

    def __init__(self, *words: str, columns: int = 80, lines: int = 24, **variables: str) -> None:
        import fcntl
        import pty
        import termios

        self.master, worker = pty.openpty()
        fcntl.ioctl(worker, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environment = os.environ | {"TERM": "xterm", "PYTHONPATH": str(ROOT)} | variables
        environment.pop("COLUMNS", None)
        self.before = termios.tcgetattr(worker)
        self.worker = worker
        self.process = subprocess.Popen(
            # The first terminal that the leader of a session opens is the one that controls it.
            [sys.executable, "-ISc", TAKE, sys.executable, "-m", "activetest", "label", *words],
            **dict.fromkeys(("stdin", "stdout", "stderr"), worker),
            env=environment,
            start_new_session=True,
        )
        self.printed, self.place = "", 0

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.worker)

    def expect(self, text: str) -> str:
        """The output from the last expected text to this one, which must come."""
        start = self.place
        while (found := self.printed.find(text, start)) < 0:
            ready, _, _ = select.select([self.master], [], [], 60)
            assert ready, f"{text!r} did not come: {self.printed[start:]!r}"
            self.printed += os.read(self.master, 65536).decode(errors="replace")
        self.place = found + len(text)
        return self.printed[start:found]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait(self) -> int:
        """The exit code; what is printed meanwhile is read."""
        while self.process.poll() is None:
            if select.select([self.master], [], [], 0.02)[0]:
                try:
                    self.printed += os.read(self.master, 65536).decode(errors="replace")
                except OSError as error:
                    assert error.errno == errno.EIO
        while select.select([self.master], [], [], 0)[0]:
            self.printed += os.read(self.master, 65536).decode(errors="replace")
        return self.process.returncode

    def is_as_before(self) -> bool:
        """Whether the terminal is in the mode in which it was."""
        import termios

        return termios.tcgetattr(self.worker) == self.before


needs_pty = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")


@needs_pty
def test_a_batch_in_a_terminal_with_every_sort_of_letter(begin, folder):
    texts = ["Очень плохо 😡", "这家餐厅很好吃" * 20, "\x1b[2Jevil", "x" * 100_000, "می‌خواهم"] * 6
    study = begin(6, text=texts, pred=["да", "нет"] * 15)
    with Pty(columns=50, lines=20) as terminal:
        for number in range(1, 7):
            terminal.expect(f"{number} of 6")
            terminal.press("1" if number % 2 else "2")
        terminal.expect("6 of 6 items answered")
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.is_as_before()
        assert "\x1b[2Jevil" not in terminal.printed
        assert terminal.printed.rstrip().endswith("report says how good the model is")
    assert list(answers(study).values()) == ["да", "нет"] * 3


@needs_pty
def test_the_terminal_is_given_back_after_an_interrupt(begin, folder):
    study = begin(4)
    with Pty() as terminal:
        terminal.expect("1 of 4")
        terminal.press("1\x1b[A\x1b[5~")
        terminal.expect("2 of 4")
        terminal.press("\x03")
        assert terminal.wait() == -signal.SIGINT
        assert terminal.is_as_before()
        assert "1 of 4 items answered" in terminal.printed
    assert len(answers(study)) == 1


@needs_pty
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_given_back_after_a_signal(begin, folder, number):
    begin(4)
    with Pty() as terminal:
        terminal.expect("1 of 4")
        terminal.process.send_signal(number)
        assert terminal.wait() == -number
        assert terminal.is_as_before()


@needs_pty
@pytest.mark.slow
def test_stopped_and_resized_it_is_drawn_again(begin, folder):
    import fcntl
    import termios

    begin(4)
    with Pty() as terminal:
        terminal.expect("1 of 4")
        terminal.process.send_signal(signal.SIGTSTP)
        terminal.expect("\x1b[?1049l")
        # Without a shell above it, the system lets it go on at once.
        terminal.expect("1 of 4")
        fcntl.ioctl(terminal.worker, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.expect("1 of 4")
        shown = terminal.expect("quit")
        assert "-" * 40 not in shown
        terminal.press("q")
        assert terminal.wait() == 0


@needs_pty
@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02])
def test_a_kill_after_a_key_loses_no_earlier_answer(begin, folder, delay):
    study = begin(6)
    ids = study.next().ids
    given = 0
    while given < len(ids):
        with Pty() as terminal:
            terminal.expect(f"{given + 1} of 6")
            terminal.press("2")
            time.sleep(delay)
            terminal.process.kill()
            terminal.process.wait()
        found = len(answers(at.Study.open()))
        # The key that was pressed may be lost, and none before it.
        assert found in (given, given + 1)
        if found == given:
            with Pty() as terminal:
                terminal.expect(f"{given + 1} of 6")
                terminal.press("2")
                terminal.expect(f"{given + 2} of 6" if given < 5 else "6 of 6 items")
                terminal.process.kill()
        given += 1
        assert list(answers(at.Study.open())) == ids[:given]
    assert at.Study.open().verify().passed


@needs_pty
@pytest.mark.slow
def test_undo_reaches_over_a_kill(begin, folder):
    study = begin(4)
    ids = study.next().ids
    with Pty() as terminal:
        terminal.expect("1 of 4")
        terminal.press("11")
        terminal.expect("3 of 4")
        terminal.process.kill()
        terminal.process.wait()
    with Pty() as terminal:
        terminal.expect("3 of 4")
        terminal.press("u")
        terminal.expect("2 of 4")
        terminal.press("3q")
        assert terminal.wait() == 0
    assert answers(study) == {ids[0]: "cat", ids[1]: "owl"}


@needs_pty
@pytest.mark.slow
def test_a_terminal_without_a_screen_is_asked_by_lines(begin, folder):
    study = begin(3)
    with Pty(TERM="dumb") as terminal:
        terminal.expect(":q quit")
        terminal.press("cow\n")
        terminal.expect("not a class")
        terminal.press("cat\nq\n")
        assert terminal.wait() == 0
        assert "\x1b" not in terminal.printed
    assert list(answers(study).values()) == ["cat"]
