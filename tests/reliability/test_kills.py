"""Processes are killed at random moments: nothing that they said is done is lost or done twice.

A second study gets the same commands and is never disturbed. After every kill the first one holds
what the second one held before the command or holds after it; the command is then repeated, and
both are alike. tests/guarantees/test_crash.py kills at every line instead.
"""

import contextlib
import hashlib
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests import makers
from tests.reliability.programs import (
    STUDY,
    Started,
    find_leftovers,
    run_here,
    take_snapshot,
)

# Seconds that each kind of command took when it was not killed, and before that is known.
_TAKES: dict[str, float] = {}
_USUAL = 0.3
# How a process ends that was killed, or interrupted.
KILL = (signal.SIGKILL,)
INTERRUPTS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM)
# All that an interrupted command says.
_SENTENCE = "interrupted: nothing is half done; the same command can be run again\n"
# Messages of `next` when it is done.
_DONE = (
    "3 items still waiting for labels (--new draws others), written to batch.csv\n",
    "3 items still waiting for labels (--new draws others)\n",
)


def run_and_kill(
    start: Callable,
    folder: Path,
    kind: str,
    words: list[str],
    chance: random.Random,
    sent: Sequence[int] = KILL,
) -> tuple[bool, int, str, str]:
    """Whether a process that gets one of these signals at some moment died of it, and its end.

    Half of the processes get it when they write, the others at any time; some get it twice. One
    that is interrupted tidies up and says a line.
    """
    begin = time.monotonic()
    limit = begin + chance.uniform(0, 1.1) * _TAKES.get(kind, _USUAL)
    process = start(folder, *words)
    if chance.random() < 0.5:
        before = _list_files(folder)
        while process.poll() is None and _list_files(folder) == before:
            time.sleep(0.0002)
        limit = time.monotonic() + chance.choice([0, 0.001, 0.004, 0.02]) * chance.random()
    while process.poll() is None and time.monotonic() < limit:
        time.sleep(0.0002)
    number = chance.choice(sent)
    for _ in range(chance.choice([1, 1, 2])):
        process.send(number)
    code, out, err = process.communicate()
    died = code == -number
    if not died:
        _TAKES[kind] = time.monotonic() - begin
    elif number != signal.SIGKILL:
        # The command may have said before what it had done.
        earlier = err.removesuffix(_SENTENCE)
        assert earlier in ("", *_DONE) or earlier.startswith("round "), err
        assert "Traceback" not in err and "ignored" not in err, err
        assert find_leftovers(folder) == []
    return died, code, out, err


def _list_files(folder: Path) -> list[tuple[str, int]]:
    """Name and time of what lies in a folder and its study."""
    found = []
    for place in (folder, folder / STUDY):
        # A listed file may be gone already.
        with contextlib.suppress(FileNotFoundError), os.scandir(place) as entries:
            found += [
                (entry.name, entry.stat(follow_symlinks=False).st_mtime_ns) for entry in entries
            ]
    return found


def choose_command(chance: random.Random, record, number: int) -> tuple[str, list[str]]:
    """A kind of command that has something to do, and its words."""
    known = {answer.id for answer in record.answers}
    pending = [draw.id for draw in record.draws if draw.id not in known]
    if pending:
        kinds = ["ingest", "ingest", "ingest", "next --new", "next -o", "report"]
    else:
        kinds = ["next", "next -o", "report", "init"]
        kinds += ["undo"] * bool(record.answers)
    kind = chance.choice(kinds)
    return kind, {
        "next": ["next", "--n", "3"],
        "next -o": ["next", "--n", "3", "-o", "batch.csv"],
        "next --new": ["next", "--n", "2", "--new"],
        "ingest": ["ingest", f"labels-{number}.csv"],
        "undo": ["ingest", "--undo"],
        "report": ["report", "--format", "json"],
        "init": ["init", "--floor", f"0.{chance.randrange(1, 9)}"],
    }[kind]


def write_labels(folder: Path, record, number: int) -> None:
    """A label for every item that was drawn; a third of them differ from the prediction."""
    rows = [f"{draw.id},{label_of(draw.id)}" for draw in record.draws]
    text = "\n".join(["id,label", *rows]) + "\n"
    (folder / f"labels-{number}.csv").write_text(text)


def label_of(id: str) -> str:
    """The label of an item, always the same."""
    return ("cat", "dog", "owl")[hashlib.sha256(id.encode()).digest()[0] % 3]


@pytest.fixture(autouse=True)
def no_other_study(monkeypatch) -> None:
    """The environment names no study."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)


def begin_pair(tmp_path: Path, surrogate: str) -> tuple[Path, Path]:
    """Two folders with the same pool and the same study."""
    folders = tmp_path / "killed", tmp_path / "undisturbed"
    words = ["init", "pool.parquet", "--seed", "1", "--group", "place", "--surrogate", surrogate]
    for folder in folders:
        folder.mkdir()
        makers.write_pool(folder / "pool.parquet", 400)
        assert run_here(folder, *words) == 0
    return folders


def kill_commands(
    start: Callable, pair: tuple[Path, Path], kills: int, seed: int, sent: Sequence[int] = KILL
) -> int:
    """Give commands until so many were killed, and compare; the number of those killed."""
    folder, undisturbed = pair
    chance = random.Random(seed)
    killed = number = 0
    while killed < kills:
        number += 1
        before = take_snapshot(folder)
        kind, words = choose_command(chance, before[0], number)
        for each in pair:
            write_labels(each, before[0], number)
        assert run_here(undisturbed, *words) == 0
        after = take_snapshot(undisturbed)
        died, code, out, err = run_and_kill(start, folder, kind, words, chance, sent)
        left = take_snapshot(folder)
        assert died or code == 0, err
        killed += died
        assert left in (before, after), f"half of {words} happened"
        assert died or left == after, f"{words} was done, and is not there"
        if kind.startswith("next"):
            drawn = {draw.id for draw in left[0].draws}
            shown = out.splitlines(keepends=True)[1:]
            whole = {line.split(",")[0] for line in shown if line.endswith("\n")}
            assert whole - {""} <= drawn, "items were shown that are not recorded"
        # Again, unless it would be done twice.
        if left == before or kind in ("next", "next -o", "ingest", "report", "init"):
            assert run_here(folder, *words) == 0
        assert take_snapshot(folder) == after, f"{words} came to another end the second time"
        if kind == "next -o":
            assert (folder / "batch.csv").read_text() == (undisturbed / "batch.csv").read_text()
        if kind != "report":
            assert find_leftovers(folder) == []
    return killed


def compare_reports(pair: tuple[Path, Path], capsys) -> None:
    """Both studies report the same."""
    texts = []
    for folder in pair:
        capsys.readouterr()
        assert run_here(folder, "report", "--format", "json") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and '"n_labeled"' in texts[0]


def test_kills_lose_nothing(tmp_path, forks, count_trials, capsys):
    pair = begin_pair(tmp_path, "agreement")
    count_trials("kills of commands", kill_commands(forks.start, pair, 4, seed=0))
    compare_reports(pair, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 13))
def test_many_kills_lose_nothing(tmp_path, forks, seed, count_trials, capsys):
    """Some of the processes start from nothing, as those of users do; some rounds have arrays."""
    pair = begin_pair(tmp_path, "agreement" if seed % 4 else "linear")
    starting = Started if seed % 6 == 0 else forks.start
    count_trials("kills of commands", kill_commands(starting, pair, 30, seed=seed))
    compare_reports(pair, capsys)


def kill_inits(
    start: Callable, folder: Path, kills: int, seed: int, sent: Sequence[int] = KILL
) -> int:
    """Begin studies of a CSV file until so many were killed; the number of those killed."""
    chance = random.Random(seed)
    pool = folder / "pool.csv"
    rows = [f"item-{row},{chance.choice(['cat', 'dog'])},{chance.random()}" for row in range(3000)]
    pool.write_text("\n".join(["id,pred,confidence", *rows]) + "\n")
    words = ["init", "pool.csv", "--seed", "1"]
    undisturbed = folder / "undisturbed"
    killed = number = 0
    while killed < kills:
        number += 1
        work = folder / f"work-{number}"
        for each in (work, undisturbed):
            if not each.exists():
                each.mkdir()
                (each / "pool.csv").write_bytes(pool.read_bytes())
        if number == 1:
            assert run_here(undisturbed, *words) == 0
            begun = take_snapshot(undisturbed)
            assert run_here(undisturbed, "next", "--n", "3") == 0
            drawn = take_snapshot(undisturbed)
        died, code, _, err = run_and_kill(start, work, "init", words, chance, sent)
        assert died or code == 0, err
        killed += died
        left = take_snapshot(work)
        assert left in ((), begun)
        assert died or left
        assert run_here(work, *words) == 0
        assert take_snapshot(work) == begun
        assert run_here(work, "next", "--n", "3") == 0
        assert take_snapshot(work) == drawn
        assert find_leftovers(work) == []
    return killed


def test_a_killed_init_is_repeated(tmp_path, forks, count_trials):
    count_trials("kills of init", kill_inits(forks.start, tmp_path, 2, seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_killed_inits_are_repeated(tmp_path, forks, seed, count_trials):
    starting = Started if seed == 4 else forks.start
    count_trials("kills of init", kill_inits(starting, tmp_path, 20, seed=seed))


def test_interrupts_leave_everything_as_it_was(tmp_path, forks, count_trials, capsys):
    pair = begin_pair(tmp_path, "agreement")
    interrupted = kill_commands(forks.start, pair, 4, 0, INTERRUPTS)
    count_trials("interrupts of commands", interrupted)
    compare_reports(pair, capsys)


def test_an_interrupted_init_leaves_nothing(tmp_path, forks, count_trials):
    interrupted = kill_inits(forks.start, tmp_path, 2, 0, INTERRUPTS)
    count_trials("interrupts of init", interrupted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 13))
def test_many_interrupts_leave_everything_as_it_was(tmp_path, forks, seed, count_trials, capsys):
    pair = begin_pair(tmp_path, "agreement" if seed % 4 else "linear")
    # Processes that have Python running: what that itself says and does at its start is not ours.
    interrupted = kill_commands(forks.start, pair, 30, seed, INTERRUPTS)
    count_trials("interrupts of commands", interrupted)
    compare_reports(pair, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_interrupted_inits_leave_nothing(tmp_path, forks, seed, count_trials):
    interrupted = kill_inits(forks.start, tmp_path, 20, seed, INTERRUPTS)
    count_trials("interrupts of init", interrupted)
