"""Two installed versions give the same results: the same draws, and the same numbers in reports.

BEFORE_PYTHON and AFTER_PYTHON are interpreters that have one version of activetest each, with the
same versions of everything else; only their command lines are used. DATA_FOLDER holds NAME.parquet,
NAME.labels.csv, the answer key, and where a study wants them NAME.train.parquet and
NAME.surrogates.parquet, for digits, adult, abalone and cifar10.

Each version plays every study from its own empty folder, with the same seed, and gets the same
labels. Draws and their probabilities have to be equal, and numbers in JSON equal to 1e-12 (relative
to the larger one where that is above 1). "continued" is a study that the version before began: the
version after gets a copy with a round pending, and has to go on as the version before does. Prose,
addresses of pools and versions of documents are left out. Exit code 1: something differs.
"""

import argparse
import csv
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TypeGuard

import benchmark

# {key of the version before: key of the version after}: paths from the top of a document with dots
# between the names and no places in lists, such as "estimates.n_eff". The longest that fits counts.
RENAMED: dict[str, str] = {}
# Keys of either version whose values are text for people (or an address): only whether there is
# any is compared, and of notes not even that.
PROSE = {"answer", "next", "pool", "reason", "surrogate_note", "words"}
LEFT_OUT = {"notes", "schema_version", "warnings"}
# The draws, in order: round, id, probability.
DRAWS_BEFORE = "SELECT round, id, q FROM draws ORDER BY position"
DRAWS_AFTER = "SELECT round, id, q FROM draws ORDER BY position"

TOLERANCE = 1e-12
# The round that is pending when a study changes hands.
PENDING = 2
# Differences of one study that are printed.
SHOWN = 8

Labels = dict[str, str]
Rows = list[tuple[str, ...]]
Place = tuple[tuple[str, tuple[int, ...]], ...]


# --- Labels, and files that are made for a study ---


def answer_once(ids: list[str], key: Labels) -> Rows:
    """The key's label for every item."""
    return [("id", "label"), *((item, key[item]) for item in ids)]


def answer_twice(ids: list[str], key: Labels) -> Rows:
    """The key's label by one annotator, and by another who errs on every fourth item or so."""
    rows: Rows = [("id", "label", "annotator")]
    for item in ids:
        errs = zlib.crc32(item.encode()) % 4 == 0
        rows.append((item, key[item], "ann"))
        rows.append((item, pick_other(key[item], key) if errs else key[item], "bob"))
    return rows


def answer_or_decline(ids: list[str], key: Labels) -> Rows:
    """The same two, but both decline every sixth item, and one alone every fifth."""
    header, *rows = answer_twice(ids, key)
    said: Rows = [(*header, "status")]
    for number, (item, label, annotator) in enumerate(rows):
        declined = number // 2 % 6 == 5 or number % 10 == 9
        said.append((item, "", annotator, "declined") if declined else (item, label, annotator, ""))
    return said


def pick_other(label: str, key: Labels) -> str:
    """The class after this one."""
    classes = sorted(set(key.values()))
    return classes[(classes.index(label) + 1) % len(classes)]


def write_rows(path: Path, rows: Rows) -> None:
    """Write a CSV file."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def write_costs(folder: Path, key: Labels) -> None:
    """Write costs.csv: right predictions are free, others cost 1 to 5."""
    classes = sorted(set(key.values()))
    rows: Rows = [("predicted", *classes)]
    for row, said in enumerate(classes):
        costs = (0 if said == true else 1 + (3 * row + col) % 5 for col, true in enumerate(classes))
        rows.append((said, *map(str, costs)))
    write_rows(folder / "costs.csv", rows)


def write_hard_labels(folder: Path, key: Labels) -> None:
    """Write hard.csv, a pool of predicted classes: every ninth or so is wrong."""
    rows: Rows = [("id", "pred", "site")]
    for number, (item, label) in enumerate(key.items()):
        errs = zlib.crc32(item.encode()) % 9 == 0
        rows.append((item, pick_other(label, key) if errs else label, f"site {number % 4}"))
    write_rows(folder / "hard.csv", rows)


def write_scores(folder: Path, key: Labels) -> None:
    """Write score.csv, a pool of scores: half noise, half whether the label is the last class."""
    last = max(key.values())
    rows: Rows = [("id", "score")]
    for item, label in key.items():
        noise = zlib.crc32(item.encode()) % 10_000 / 10_000
        rows.append((item, f"{0.2 + 0.55 * noise + 0.2 * (label == last):.6f}"))
    write_rows(folder / "score.csv", rows)


# --- What is played ---


@dataclass(frozen=True)
class Study:
    """A study of a few rounds.

    name       to be shown
    key        NAME of the answer key
    init       options of init; {data} and {folder} stand for folders, here and below
    reports    options of each report after the last round; the first is also asked for after the
               pending round of studies that are continued
    pool       of init; NAME.parquet of the data unless given
    batch      items per round
    rounds     rounds
    answer     what annotators say about the items of a round
    make       writes files into the folder before init
    change     options of a second init, before the last round
    mended     labels are brought, replaced and taken back after the pending round
    continued  the version after also goes on where the version before stopped
    """

    name: str
    key: str
    init: str = ""
    reports: tuple[str, ...] = ("",)
    pool: str = ""
    batch: int = 20
    rounds: int = 3
    answer: Callable[[list[str], Labels], Rows] = answer_once
    make: Callable[[Path, Labels], None] | None = None
    change: str = ""
    mended: bool = False
    continued: bool = False


@dataclass(frozen=True)
class Simulation:
    """A simulation: its name, the pool's NAME, and options."""

    name: str
    key: str
    options: str


CLASSES = (
    "--metric error,accuracy,log-loss,brier,f1,recall[*],balanced-accuracy,mcc,kappa,auroc,ece,"
    "top-k-error[2],calibration-error-squared"
)
VALUES = "--metric rmse,mse,mae,bias,r2,pinball[0.9],nll,interval-coverage"
GATES = "--require error<=0.2 --require accuracy>=0.99 --require recall[3]>=0.3"
TRAIN = "--train {data}/digits.train.parquet"

STUDIES = (
    Study(
        "digits default",
        "digits",
        reports=("", f"{CLASSES} --estimator doubly-robust,lure,ase --half-width 0.02"),
    ),
    Study(
        "digits uniform, mended, changed",
        "digits",
        "--acquisition uniform",
        ("", "--estimator iid,lure,doubly-robust", "--interval posterior"),
        change="--acquisition expected-loss --floor 0.2 --metric log-loss",
        mended=True,
        continued=True,
    ),
    Study("digits linear", "digits", f"--surrogate linear {TRAIN}", ("", CLASSES), continued=True),
    Study("digits forest", "digits", f"--surrogate forest {TRAIN}", (CLASSES,), continued=True),
    Study(
        "digits gp", "digits", f"--surrogate gp {TRAIN} --metric brier", batch=10, continued=True
    ),
    Study("digits stack", "digits", f"--surrogate stack {TRAIN}", continued=True),
    Study(
        "digits model, entropy, power 2",
        "digits",
        "--surrogate model --acquisition entropy --power 2 --metric f1[macro],accuracy",
    ),
    Study(
        "digits groups",
        "digits",
        "--group predicted --group confidence --group confidence-decile",
        (
            "--metric error,log-loss,f1[macro]",
            "--group predicted --difference predicted --simultaneous",
        ),
        batch=60,
    ),
    Study(
        "digits anytime, gates",
        "digits",
        "--interval anytime --group predicted --budget 200",
        (GATES, f"{GATES} --interval fixed", "--metric brier,log-loss,recall[*] --bound 5"),
        batch=40,
        continued=True,
    ),
    Study(
        "digits top",
        "digits",
        f"--selection top --acquisition xwed --surrogate linear {TRAIN}",
        continued=True,
    ),
    Study(
        "digits doubling, bald",
        "digits",
        f"--refit doubling --surrogate forest --acquisition bald {TRAIN}",
        rounds=4,
    ),
    Study(
        "digits dawid-skene",
        "digits",
        "--annotators dawid-skene",
        ("", f"{GATES} --interval fixed"),
        answer=answer_twice,
        continued=True,
    ),
    Study(
        "digits majority, declined",
        "digits",
        "--group predicted",
        ("", GATES),
        answer=answer_or_decline,
        continued=True,
    ),
    Study(
        "digits costs",
        "digits",
        "--metric cost --costs {folder}/costs.csv",
        ("--metric cost,error", "--interval anytime --require cost<=1"),
        make=write_costs,
    ),
    Study(
        "digits estimate confusion",
        "digits",
        "--question estimate --metric confusion",
        ("", "--metric error,confusion"),
    ),
    Study(
        "digits identify cost",
        "digits",
        "--question identify --metric cost --costs {folder}/costs.csv --prior uniform",
        make=write_costs,
    ),
    Study(
        "hard labels",
        "digits",
        "--group site --metric accuracy",
        ("--metric recall[*],kappa,confusion[*]",),
        pool="{folder}/hard.csv",
        make=write_hard_labels,
    ),
    Study(
        "scores",
        "adult",
        "--threshold 0.6 --metric f1,auroc --group confidence",
        ("--metric f1,auroc,average-precision,ece[10]", "--require precision>=0.2"),
        pool="{folder}/score.csv",
        make=write_scores,
        batch=40,
    ),
    Study(
        "adult groups",
        "adult",
        "--group sex*race --group education_band --metric recall,precision,f1",
        ("--metric recall,precision,f1", "--difference education_band --metric accuracy"),
        batch=80,
        continued=True,
    ),
    Study(
        "adult anytime, gates in groups",
        "adult",
        "--interval anytime --group sex --metric accuracy",
        (
            "--require accuracy@sex=Male>=0.6 --require recall<=0.99",
            "--interval fixed --require recall@sex=Female>=0.9",
        ),
        batch=80,
    ),
    Study(
        "adult compare",
        "adult",
        "--group race --question compare --compare White,Black --rope 0.02",
        ("", "--group race --difference race"),
        continued=True,
    ),
    Study(
        "adult estimate, epsilon-greedy",
        "adult",
        "--group age_band --question estimate --metric error --acquisition epsilon-greedy",
    ),
    Study("abalone residual", "abalone", "--group sex", (VALUES, "--bound 10 --interval anytime")),
    Study(
        "abalone gp",
        "abalone",
        "--surrogate gp --train {data}/abalone.train.parquet --metric mae",
        (VALUES,),
        batch=10,
        continued=True,
    ),
    Study(
        "abalone forest, then linear",
        "abalone",
        "--surrogate forest --train {data}/abalone.train.parquet --metric mse,bias",
        change="--surrogate linear",
    ),
    Study(
        "cifar10 identify",
        "cifar10",
        "--question identify",
        ("", CLASSES),
        batch=40,
        continued=True,
    ),
    Study("cifar10 identify ece", "cifar10", "--question identify --metric ece[10] --worst 3"),
    Study(
        "cifar10 top-two, then bayes-ucb",
        "cifar10",
        "--question identify --acquisition top-two-thompson --floor 0",
        change="--acquisition bayes-ucb --floor 0.1",
    ),
    Study(
        "cifar10 external",
        "cifar10",
        "--surrogate external --other-models {data}/cifar10.surrogates.parquet --metric log-loss",
        ("", "--interval posterior"),
        continued=True,
    ),
)
SIMULATIONS = (
    Simulation(
        "simulate digits",
        "digits",
        "--runs 4 --budget 20 --budget 40 --metric error,log-loss,f1[macro] --power 1 --power 2",
    ),
    Simulation(
        "simulate digits, replacement",
        "digits",
        "--runs 3 --budget 30 --acquisition active-risk,expected-loss --surrogate model "
        "--estimator importance,naive,lure,ase --selection draw,top --metric brier",
    ),
    Simulation("simulate abalone", "abalone", "--runs 3 --budget 30 --interval posterior"),
    Simulation(
        "simulate cifar10 identify",
        "cifar10",
        "--runs 2 --budget 40 --group predicted --question identify --acquisition thompson,uniform",
    ),
)


# --- One version at work ---


class CommandFailed(Exception):
    """A command ended with a code that no command should have here."""


@dataclass(frozen=True)
class Version:
    """An installed version: "before" or "after", its interpreter, and how its draws are read."""

    name: str
    python: str
    draws: str

    def run_command(self, words: list[str], folder: Path) -> tuple[int, str]:
        """Exit code and standard output of an activetest command in the folder."""
        done = self.run_python(["-m", "activetest", *words], folder)
        if done.returncode not in (0, 1, 3) or "Traceback" in done.stderr:
            said = "\n".join(done.stderr.strip().splitlines()[-4:])
            raise CommandFailed(f"{self.name}: activetest {shlex.join(words)}\n{said}")
        return done.returncode, done.stdout

    def run_python(self, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """The interpreter in the folder, with nothing but what is installed."""
        here = {name: value for name, value in os.environ.items() if name not in UNWANTED}
        return subprocess.run(
            [self.python, *words],
            cwd=folder,
            env=here | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    def find_package(self, folder: Path) -> str:
        """Where the installed package is."""
        done = self.run_python(["-c", "import activetest; print(activetest.__path__[0])"], folder)
        if done.returncode:
            raise SystemExit(f"{self.name}: {self.python} cannot import activetest\n{done.stderr}")
        return done.stdout.strip()


UNWANTED = {"ACTIVETEST_STUDY", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}


@dataclass
class Record:
    """Output of a version: {command: (exit code, document)}, and (round, id, probability)."""

    documents: dict[str, tuple[int, object]] = field(default_factory=dict)
    draws: list[tuple] = field(default_factory=list)


@dataclass(frozen=True)
class Player:
    """One version that plays one study in a folder; data is the folder of the pools."""

    version: Version
    study: Study
    folder: Path
    data: Path

    def play_study(self, handed: Path | None = None) -> Record:
        """Play the study from its beginning; handed gets a copy with a round pending."""
        self.folder.mkdir()
        if self.study.make:
            self.study.make(self.folder, read_key(self.data, self.study.key))
        self._init_study(self.study.init)
        record = Record()
        for number in range(1, self.study.rounds + 1):
            self._draw_round(number)
            if number == PENDING and self.study.continued:
                self._keep_document(record, "status, pending", "status")
                if handed:
                    shutil.copytree(self.folder, handed)
            self._finish_round(number, record)
        return self._finish_record(record)

    def continue_study(self) -> Record:
        """Play on with the study in the folder, which has a round pending."""
        record = Record()
        self._keep_document(record, "status, pending", "status")
        self._finish_round(PENDING, record)
        for number in range(PENDING + 1, self.study.rounds + 1):
            self._draw_round(number)
            self._finish_round(number, record)
        return self._finish_record(record)

    def _init_study(self, options: str) -> None:
        pool = self.study.pool or f"{{data}}/{self.study.key}.parquet"
        self._run(f"init {pool} --seed 7 {options}")

    def _draw_round(self, number: int) -> None:
        if number == self.study.rounds and self.study.change:
            self._init_study(self.study.change)
        self._run(f"next --n {self.study.batch} -o batch.csv")

    def _finish_round(self, number: int, record: Record) -> None:
        key = read_key(self.data, self.study.key)
        with open(self.folder / "batch.csv", encoding="utf-8", newline="") as file:
            ids = [row["id"] for row in csv.DictReader(file)]
        self._bring_labels(f"round-{number}.csv", self.study.answer(ids, key))
        if number == PENDING and self.study.mended:
            self._mend_labels(ids, key)
        reports: tuple[str, ...] = ()
        if number == self.study.rounds:
            reports = self.study.reports
        elif number == PENDING and self.study.continued:
            reports = self.study.reports[:1]
        for options in reports:
            self._keep_document(record, f"round {number}: report {options}", f"report {options}")

    def _mend_labels(self, ids: list[str], key: Labels) -> None:
        changed = {item: pick_other(key[item], key) for item in ids[:3]}
        self._bring_labels("changed.csv", answer_once(ids[:3], key | changed), "--replace")
        known = list(key)
        self._bring_labels("brought.csv", answer_once(known[:15], key))
        self._bring_labels("mistake.csv", answer_once(known[-5:], key))
        self._run("ingest --undo")

    def _bring_labels(self, name: str, rows: Rows, options: str = "") -> None:
        write_rows(self.folder / name, rows)
        self._run(f"ingest {name} {options}")

    def _finish_record(self, record: Record) -> Record:
        self._keep_document(record, "status", "status")
        ledger = f"{(self.folder / '.activetest' / 'ledger.db').as_uri()}?mode=ro"
        with closing(sqlite3.connect(ledger, uri=True)) as db:
            record.draws = db.execute(self.version.draws).fetchall()
        return record

    def _keep_document(self, record: Record, name: str, line: str) -> None:
        code, text = self._run(f"{line} --format json")
        record.documents[name] = code, json.loads(text)

    def _run(self, line: str) -> tuple[int, str]:
        return self.version.run_command(fill_words(line, self.data, self.folder), self.folder)


def run_simulation(version: Version, what: Simulation, folder: Path, data: Path) -> Record:
    """Results of a simulation."""
    folder.mkdir()
    stem = f"{{data}}/{what.key}"
    line = f"simulate {stem}.parquet --labels {stem}.labels.csv --seed 7 --workers 1 --format json"
    code, text = version.run_command(fill_words(f"{line} {what.options}", data, folder), folder)
    return Record({"simulate": (code, json.loads(text))})


def fill_words(line: str, data: Path, folder: Path) -> list[str]:
    """The words of a line, with the folders in their places."""
    folders = {"data": str(data), "folder": str(folder)}
    return [word.format(**folders) for word in shlex.split(line)]


@cache
def read_key(data: Path, name: str) -> Labels:
    """{id: label} of an answer key."""
    with open(data / f"{name}.labels.csv", encoding="utf-8", newline="") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file)}


# --- Comparing ---


@dataclass
class Comparison:
    """Agreements and differences of two records.

    rounds, draws   that were compared
    numbers         that were compared; largest is the largest difference
    differences     in words, of values and draws
    alone           {"key only before" or "after": places where that was found}
    """

    name: str
    rounds: int = 0
    draws: int = 0
    draws_equal: bool = True
    numbers: int = 0
    largest: float = 0.0
    differences: list[str] = field(default_factory=list)
    alone: dict[str, list[str]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether anything differs."""
        return bool(self.differences or self.alone)

    def compare_records(self, before: Record, after: Record) -> None:
        """Compare draws, and all documents of the record after with those before."""
        self._compare_draws(before.draws, after.draws)
        for name, (code, document) in after.documents.items():
            code_before, document_before = before.documents[name]
            if code != code_before:
                self.differences.append(f"{name}: exit code {code_before} before, {code} after")
            self._compare_documents(name, drop_metrics(document_before, document), document)

    def _compare_draws(self, before: list[tuple], after: list[tuple]) -> None:
        self.draws = len(before)
        self.rounds = before[-1][0] if before else 0
        self.draws_equal = before == after
        if self.draws_equal:
            return
        pairs = zip(before, after, strict=False)
        unlike = (place for place, (one, two) in enumerate(pairs) if one != two)
        place = next(unlike, min(len(before), len(after)))
        was, now = (draws[place : place + 1] or "no draw" for draws in (before, after))
        self.differences.append(f"draw {place + 1}: {was} before, {now} after")

    def _compare_documents(self, name: str, before: object, after: object) -> None:
        old = {rename_place(place): value for place, value in flatten_document(before)}
        new = dict(flatten_document(after))
        for place, value in old.items():
            if place in new:
                self._compare_values(f"{name}: {show_place(place)}", value, new[place])
        for when, here, there in (("before", old, new), ("after", new, old)):
            for place in here:
                if place not in there:
                    key = f"{show_key(place)} only {when}"
                    self.alone.setdefault(key, []).append(f"{name}: {show_place(place)}")

    def _compare_values(self, where: str, old: object, new: object) -> None:
        same = old == new
        if is_number(old) and is_number(new):
            apart = abs(old - new) / max(1.0, abs(old), abs(new))
            self.numbers += 1
            self.largest = max(self.largest, apart)
            same = apart <= TOLERANCE
        if not same:
            self.differences.append(f"{where}: {old!r} before, {new!r} after")


def drop_metrics(before: object, after: object) -> object:
    """A report without the estimates of metrics that the report of the version after has not.

    Reports of earlier versions hold further metrics, which nobody had named.
    """
    if not (isinstance(before, dict) and isinstance(after, dict) and after.get("estimates")):
        return before
    shown = {(row["metric"], row["class"]) for row in after["estimates"]}
    kept = [row for row in before["estimates"] if (row["metric"], row["class"]) in shown]
    return before | {"estimates": kept}


def flatten_document(value: object, place: Place = ()) -> Iterator[tuple[Place, object]]:
    """Every value of a JSON document with its place; what is empty counts as a value."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            if name in PROSE:
                yield (*place, (name, ())), None if inner is None else "..."
            elif name not in LEFT_OUT:
                yield from flatten_document(inner, (*place, (name, ())))
    elif isinstance(value, list) and value:
        *outer, (name, numbers) = place
        for number, inner in enumerate(value):
            yield from flatten_document(inner, (*outer, (name, (*numbers, number))))
    else:
        yield place, value


def rename_place(place: Place) -> Place:
    """The place in a document of the version after.

    A longer or shorter new name keeps places in lists with the names that both begin with, and for
    the others counts from the last one.
    """
    names = [name for name, _ in place]
    for length in range(len(place), 0, -1):
        new = RENAMED.get(".".join(names[:length]))
        if new is not None:
            break
    else:
        return place
    words, old = new.split("."), list(place[:length])
    made: list[tuple[str, tuple[int, ...]]] = []
    while words and old and words[0] == old[0][0]:
        made.append(old.pop(0))
        words.pop(0)
    numbers = [(), *([()] * len(words)), *(number for _, number in old)][-len(words) :]
    made += zip(words, numbers if words else (), strict=True)
    return (*made, *place[length:])


def show_place(place: Place) -> str:
    """A place as people write it: estimates[3].lower."""
    return ".".join(name + "".join(f"[{one}]" for one in numbers) for name, numbers in place)


def show_key(place: Place) -> str:
    """A place as RENAMED has it: estimates.lower."""
    return ".".join(name for name, _ in place)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


# --- The whole ---


def compare_study(
    study: Study, versions: tuple[Version, Version], room: Path, data: Path
) -> list[Comparison]:
    """Comparisons of a study played by both, and of one that changed hands."""
    before, after = versions
    handed = room / "handed"
    played = Player(before, study, room / "before", data).play_study(handed)
    player = Player(after, study, room / "after", data)
    made = [compare_after(study.name, played, player.play_study)]
    if study.continued:
        player = Player(after, study, handed, data)
        made.append(compare_after(f"{study.name}, continued", played, player.continue_study))
    return made


def compare_simulation(
    what: Simulation, versions: tuple[Version, Version], room: Path, data: Path
) -> list[Comparison]:
    """The comparison of a simulation that both ran."""
    before, after = versions
    found = run_simulation(before, what, room / "before", data)
    rerun = partial(run_simulation, after, what, room / "after", data)
    return [compare_after(what.name, found, rerun)]


def compare_after(name: str, before: Record, play: Callable[[], Record]) -> Comparison:
    """The comparison with what the version after says when it plays."""
    comparison = Comparison(name)
    try:
        comparison.compare_records(before, play())
    except CommandFailed as failure:
        comparison.differences.append(str(failure))
    return comparison


def compare_one(
    what: Study | Simulation, versions: tuple[Version, Version], data: Path
) -> list[Comparison]:
    """All comparisons of a study or a simulation, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="activetest-same-") as folder:
        room = Path(folder).resolve()
        try:
            if isinstance(what, Study):
                return compare_study(what, versions, room, data)
            return compare_simulation(what, versions, room, data)
        except CommandFailed as failure:
            return [Comparison(what.name, differences=[str(failure)])]
        except Exception:
            return [Comparison(what.name, differences=[traceback.format_exc()])]


def print_comparison(comparison: Comparison) -> None:
    """Print a row of the table, and below it what differs."""
    if comparison.draws_equal:
        draws = f"{comparison.draws} equal" if comparison.draws else "-"
    else:
        draws = "DIFFER"
    verdict = "FAIL" if comparison.failed else "ok"
    print(
        f"{comparison.name:<42}{comparison.rounds or '-':>6}{draws:>12}"
        f"{comparison.numbers:>9}{comparison.largest:>10.1e}  {verdict}",
        flush=True,
    )
    for difference in comparison.differences[:SHOWN]:
        print("    " + difference.replace("\n", "\n    "), flush=True)
    if len(comparison.differences) > SHOWN:
        print(f"    and {len(comparison.differences) - SHOWN} more", flush=True)
    for key, places in comparison.alone.items():
        print(f"    {key}, {len(places)} times, first in {places[0]}", flush=True)


def read_options() -> argparse.Namespace:
    """The command line."""
    return benchmark.read_options(
        __doc__,
        ("before", {"help": "interpreter with the version before"}),
        ("after", {"help": "interpreter with the version after"}),
        ("folder", {"type": Path, "help": "folder of the pools"}),
        only={"default": "", "help": "names that hold this text"},
        workers={"type": int, "default": os.cpu_count()},
    )


def main() -> None:
    """Print one line per study; exit with 1 if any failed."""
    options = read_options()
    before, after = (
        os.path.abspath(found) if (found := shutil.which(given)) else sys.exit(f"no {given}")
        for given in (options.before, options.after)
    )
    versions = Version("before", before, DRAWS_BEFORE), Version("after", after, DRAWS_AFTER)
    data = options.folder.resolve()
    with tempfile.TemporaryDirectory() as elsewhere:
        for version in versions:
            print(f"{version.name}: {version.find_package(Path(elsewhere))}")
    wanted = [one for one in (*STUDIES, *SIMULATIONS) if options.only in one.name]
    print(f"{'study':<42}{'rounds':>6}{'draws':>12}{'numbers':>9}{'largest':>10}")
    done: list[Comparison] = []
    with ThreadPoolExecutor(options.workers) as pool:
        for made in pool.map(lambda what: compare_one(what, versions, data), wanted):
            done += made
            for comparison in made:
                print_comparison(comparison)
    failed = sum(one.failed for one in done)
    numbers, draws = sum(one.numbers for one in done), sum(one.draws for one in done)
    largest = max((one.largest for one in done), default=0.0)
    print(f"{len(done)} rows, {draws} draws, {numbers} numbers, largest difference {largest:.1e}")
    for key in sorted({key for one in done for key in one.alone}):
        print(f"  {key}")
    print(f"{failed} FAIL" if failed else "ok")
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
