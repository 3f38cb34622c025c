"""Ctrl-C: one line, the exit code of the signal, no process and no file left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activetest.cli import interrupts
from activetest.cli.interrupts import Interrupts
from tests.cli.programs import PROGRAM, ROOT

SENTENCE = "interrupted: nothing is half done; the same command can be run again\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere no exit code names a signal")


@pytest.fixture
def handler():
    """Handles the interrupts of this process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    stop = Interrupts()
    stop.install()
    yield stop
    stop.restore()
    assert all(signal.getsignal(number) == signal.SIG_DFL for number in before)
    for number, earlier in before.items():
        signal.signal(number, earlier)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_a_command_and_the_second_changes_nothing(handler, number):
    assert not interrupts.is_interrupted()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert handler.number == number and interrupts.is_interrupted()
    signal.raise_signal(number)


def test_after_the_command_nothing_is_raised(handler):
    handler.close()
    signal.raise_signal(signal.SIGINT)
    assert handler.number is None


def test_an_ignored_signal_stays_ignored():
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop = Interrupts()
    stop.install()
    ignored = signal.getsignal(signal.SIGINT)
    stop.restore()
    signal.signal(signal.SIGINT, earlier)
    assert ignored == signal.SIG_IGN


def run_code(code: str) -> subprocess.CompletedProcess:
    """Run code that is interrupted inside of the program."""
    begin = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    whole = f"{begin}import activetest.cli.app as c\n{code}\nc.run()"
    return subprocess.run(
        [sys.executable, "-c", whole], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_an_interrupt_waits_for_imports_that_would_swallow_it(tmp_path):
    (tmp_path / "swallows.py").write_text(
        "import signal\n"
        "try:\n    signal.raise_signal(signal.SIGINT)\n"
        "except BaseException:\n    pass\n"
    )
    done = run_code(
        f"import sys, time; sys.path.insert(0, {str(tmp_path)!r})\n"
        "def main():\n    import swallows\n    time.sleep(60)\nc.main = main"
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", SENTENCE)


def test_an_interrupt_that_python_could_only_print_arrives_again():
    done = run_code(
        "import time\n"
        "class Item:\n    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "def main():\n    item = Item()\n    del item\n    time.sleep(60)\nc.main = main"
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", SENTENCE)


def test_an_interrupt_that_a_library_took_for_a_problem_is_one():
    done = run_code(
        "import activetest.errors as e\n"
        "def app(**_):\n"
        "    try:\n        signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n        raise e.StudyError('the ledger is damaged')\n"
        "c.app = app"
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", SENTENCE)


def test_a_bug_after_no_interrupt_is_still_one():
    done = run_code("def main():\n    raise ZeroDivisionError\nc.main = main")
    assert done.returncode == 70 and "ZeroDivisionError" in done.stderr


def interrupt_simulation(folder: Path, wait: float, *, all: bool, number: int) -> None:
    """Interrupt a simulation after some seconds, alone or with its workers, and look around."""
    place = folder / "temporary"
    place.mkdir(exist_ok=True)
    sample = ROOT / "sample_data"
    words = ["simulate", f"{sample}/digits.parquet", "--labels", f"{sample}/digits.labels.csv"]
    process = subprocess.Popen(
        [*PROGRAM, *words, "--runs", "5000", "--budget", "50", "--workers", "2"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(place)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    time.sleep(wait)
    for _ in range(2):
        (os.killpg if all else os.kill)(process.pid, number)
    out, err = process.communicate()
    assert (process.returncode, out) == (-number, "")
    # It may not have begun.
    assert err in ("", SENTENCE)
    assert list(place.iterdir()) == []
    for _ in range(100):
        # One that has been ended is still being taken down.
        if not list_processes(process.pid):
            break
        time.sleep(0.02)
    assert list_processes(process.pid) == []


def list_processes(group: int) -> list[str]:
    """Processes of a group that run."""
    found = subprocess.run(
        ["ps", "-eo", "pgid,stat,args"], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in found.stdout.splitlines()[1:]]
    return [args for number, state, args in rows if int(number) == group and state[0] != "Z"]


@pytest.mark.slow
@pytest.mark.parametrize("all, number", [(True, 2), (False, 2), (False, 15)])
@pytest.mark.parametrize("wait", [0.3, 1, 1.5, 2, 2.5, 3, 4, 6, 8, 12])
def test_an_interrupted_simulation_leaves_no_worker_and_no_file(tmp_path, wait, all, number):
    interrupt_simulation(tmp_path, wait, all=all, number=number)
