"""Kill a command at every line of the program, and look at what is left. Run by test_crash.py.

usage: crash.py FOLDER COMMAND [STEP|again]
FOLDER holds a pool, label files and perhaps a study, and stays as it is. Each line is the last one
when it is reached for the first time; with `again`, also every other time; with a number, only
every so many lines.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from activetest import catalog
from activetest.cli import app
from activetest.ledger import arrays, chain, entries, ledger
from activetest.ledger.inspection import inspect_ledger
from activetest.nouns.log import PENDING
from activetest.study import (
    add,
    config,
    conversion,
    extend,
    frames,
    imported,
    ingest,
    init,
    models,
    next,
    stored,
)
from activetest.study.folder import LEDGER
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from activetest.system import atomic, locks

# Loaded once here rather than in every child, like the parser below.
for family, method in (
    ("surrogates", "agreement"),
    ("surrogates", "linear"),
    ("acquisition", "optimal"),
    ("acquisition", "thompson"),
    ("metrics", "error"),
):
    catalog.load(family, method)

STEPS = {
    module.__file__
    for module in (
        *(app, atomic, locks, ledger, arrays, entries, chain),
        *(config, stored, conversion, frames, imported, ingest, init, next, add, models, extend),
    )
}
COMMANDS = {
    "init": ["init", "pool.parquet", "--seed", "1"],
    "init of text": ["init", "pool.csv", "--seed", "1"],
    "import": ["import", "draws.csv", "--pool", "pool.parquet", "--seed", "1"],
    "next": ["next", "--n", "3"],
    "next with arrays": ["next", "--n", "3"],
    "next between groups": ["next", "--n", "3"],
    "next --new": ["next", "--n", "3", "--new"],
    "next -o": ["next", "--n", "3", "-o", "batch.csv"],
    "ingest": ["ingest", "labels.csv"],
    "ingest --replace": ["ingest", "other.csv", "--replace"],
    "ingest --undo": ["ingest", "--undo"],
    "add": ["add", "v2=new.parquet", "--trained-on-labels", "no"],
    "extend": ["extend", "more.parquet"],
    "report --require": ["report", "--require", "error<=0.9,accuracy>=0.2"],
    # No commands: calls with the pool as a frame, the second one with a column more.
    "frame": ["frame"],
    "wider frame": ["frame", "size"],
}

# Exit codes of commands that may end with another one than 0: gates may be undecided.
EXPECTED = {"report": (0, 3)}


def main(folder: Path, name: str, which: str = "") -> int:
    """Prints the last line at which the command was killed, and says where a check failed."""
    words = COMMANDS[name]
    with contextlib.redirect_stdout(io.StringIO()):
        app.main(["init" if words[0] == "frame" else words[0], "--help"])
    before = in_child(folder, lambda at: snapshot())
    after = in_child(folder, lambda at: (run(words), snapshot()))[1]
    line, step = 0, int(which) if which.isdecimal() else 1
    while True:
        line += step
        with tempfile.TemporaryDirectory() as room:
            at = Path(room) / "at"
            shutil.copytree(folder, at)
            if not killed(at, line, words, which == "again"):
                print(line - step)
                return 0
            problem = in_child(at, lambda _: check(words, before, after), copy=False)
            if problem:
                print(f"killed at line {line}: {problem}", file=sys.stderr)
                return 1


def run(words: list[str]) -> tuple[int, str]:
    """Exit code and output of a command, or of a call with a frame."""
    if words[0] == "frame":
        frame = pq.read_table("pool.parquet")
        for name in words[1:]:
            frame = frame.append_column(name, pa.array(["a", "b"] * (len(frame) // 2)))
        Study.create(frame, seed=1, groups=words[1:])
        return 0, ""
    with open("output", "w+", encoding="utf-8") as output:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(sys.stderr):
            code = app.main(words)
        output.seek(0)
        return code, output.read()


def snapshot() -> list | None:
    """The record of a study, but for times and hashes; None without a study."""
    if not Path(".activetest/study.toml").exists():
        return None
    at = StoredStudy.open()
    if (at.folder / "pool").exists():
        # A frame's pool is there without its cache.
        shutil.rmtree(at.folder / "cache", ignore_errors=True)
    record = at.ledger.record()
    cache = at.cache()
    log = at.log(cache)
    kept = [
        [round.number, round.imputed_sum.tolist(), sorted(round.params)] for round in log.history
    ]
    groups = list(cache.group_names)
    asked = [gate.requirement for gate in at.ledger.gates()]
    told = list(map(list, record.draws)), list(map(list, record.answers))
    judged = {
        each.name: at.of_model(each.name).cache().fingerprint == each.fingerprint
        for each in at.list_models()
    }
    parts = [asdict(each) for each in at.list_parts()]
    return [*told, kept, groups, asked, judged, parts, asdict(at.ledger.plan())]


def check(words: list[str], before, after) -> str | None:
    """The damage to the folder after the kill, if any."""
    left = snapshot()
    if left not in (before, after):
        return f"half of it happened: {left}"
    batch = Path("batch.csv")
    torn = batch.exists() and batch.read_text().count("\n") != 4
    if problems := [*find_damage(), *([f"a torn batch: {batch.read_text()}"] if torn else [])]:
        return f"what it wrote is damaged: {problems}"
    if words[0] == "next" and left == after and "--new" in words:
        words = ["next"]
    if left == before or words[0] == "next":
        code, _ = run(words)
        found = sorted(Path().rglob("*.tmp")) if left == before else []
        if code not in EXPECTED.get(words[0], (0,)) or found:
            return f"the second time it failed with {code} and left {found}"
    if snapshot() != after:
        return f"the second time it ended elsewhere: {snapshot()}"
    if words[0] == "next" and "-o" not in words:
        return shown_is_pending()
    return None


def find_damage() -> list[str]:
    """Damage to the ledger, its chain of hashes and the files of its rounds."""
    path = Path(".activetest") / LEDGER
    if not path.exists():
        return []
    found = inspect_ledger(path)
    return [*found.problems, *found.files]


def shown_is_pending() -> str | None:
    """Whether the batch on show is what was drawn and has no answer."""
    at = StoredStudy.open()
    log, record = at.log(at.cache()), at.ledger.record()
    pending = [d.id for d, s in zip(record.draws, log.status, strict=True) if s == PENDING]
    _, output = run(["next"])
    shown = [line.split(",")[0] for line in output.splitlines()[1:]]
    return None if shown == pending else f"shown {shown}, pending {pending}"


def killed(at: Path, line: int, words: list[str], again: bool) -> bool:
    """Whether the command came to its line number `line`, and died of it."""
    child = os.fork()
    if not child:
        os.chdir(at)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        reached = set()

        def trace(frame, event, _):
            if frame.f_code.co_filename not in STEPS:
                return None
            if event == "line":
                place = (frame.f_code.co_filename, frame.f_lineno)
                reached.add((len(reached), *place) if again else place)
            if len(reached) == line:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        code, _ = run(words)
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) in EXPECTED.get(words[0], (0,))
        return False
    return True


def in_child(folder: Path, job: Callable, *, copy: bool = True):
    """Result of job, in a process of its own, whose threads end with it, and a copy of folder."""
    with tempfile.TemporaryDirectory() as room:
        at = Path(room) / "at" if copy else folder
        if copy:
            shutil.copytree(folder, at)
        answer = Path(room) / "answer"
        child = os.fork()
        if not child:
            try:
                os.chdir(at)
                answer.write_text(json.dumps(job(at)))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0
        return json.loads(answer.read_text())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
