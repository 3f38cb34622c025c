"""Cost of surrogates that learn, a label against a loop of one by one, and many rounds.

First, `next --n 10` with forest and ensemble on FOLDER/pool-ROWS-lists.parquet (made unless it is
there; see loop.py), against one scan of its columns and the bare prediction of such a model over
the same rows, in memory: by its own library on all processors, and by this program. Each command is
a process of its own.

Then, on SMALL rows with a forest, processor seconds per label for selecting and estimating: a loop
that fits, predicts, draws and estimates after every label, as reference implementations do, against
rounds of 10, rounds of 1, and rounds of 10 with a surrogate that is refitted when labels doubled.

Third, on INFORMATION rows with mc-dropout and 21 metrics (accuracy, precision and recall of each of
ten classes), seconds for the scores of `metric-information` and of `bald`, beyond those for the
predictions of the 50 networks alone.

Fourth, seconds of a refit of mc-dropout with the augmentation by agreement on 10,000 rows: 500
labels, and as many augmented items as AUGMENTED says, whatever the threshold lets pass. A refit is
the classifier of agreement, its pass over the pool, and the network.

Last, on the sample pool, processor seconds of commands after many rounds of one item against those
after 10 rounds, in turns, each a process of its own; and what a round takes in the ledger.
"""

import argparse
import csv
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import benchmark
import loop
import numpy as np

_KNOWN, _BATCH = 100, 10
_REFIT_ITEMS, _REFIT_LABELS = 10_000, 500
_SAMPLE = Path(__file__).parents[2] / "sample_data"
# Commands that are timed after few rounds and after many.
_FEW = 10
_COMMANDS = ("status", "report --format json", "next --new -n 1")


def main() -> None:
    """Print all tables."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        rows=1_000_000,
        small=10_000,
        rounds=900,
        information=10_000,
        augmented={"default": "1000,7000", "help": "empty for none"},
        repeats=3,
        surrogate="forest,ensemble",
    )
    folder = options.folder.resolve()
    if options.rows:
        million(pool_of(folder, options.rows), folder, options)
    if options.small:
        by_label(pool_of(folder, options.small), folder, options)
    if options.information:
        by_information(pool_of(folder, options.information), folder, options)
    if options.augmented:
        refits(pool_of(folder, _REFIT_ITEMS), folder, options)
    if options.rounds:
        many_rounds(folder, options)


def pool_of(folder: Path, rows: int) -> Path:
    """The pool, made unless it is there."""
    path = folder / f"pool-{rows}-lists.parquet"
    if not path.exists():
        loop.make_pool(path, rows, "lists")
    return path


def million(pool: Path, folder: Path, options: argparse.Namespace) -> None:
    """One row per surrogate: the command, and what it must cost at least."""
    repeats = range(options.repeats)
    scanned = statistics.median(loop.scan(pool) for _ in repeats)
    truth = loop._labels(pool)
    table = benchmark.Table(
        options,
        "surrogate | next --n 10 | scan | library | own prediction | next / (library + scan)",
    )
    for surrogate in options.surrogate.split(","):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            study = Path(place)
            loop.run("init", str(pool), "--surrogate", surrogate, folder=study)
            loop.run("next", "--n", str(_KNOWN), "-o", "batch.csv", folder=study)
            drawn = [line.split(",")[0] for line in (study / "batch.csv").read_text().split()[1:]]
            loop._write_labels(study / "answers.csv", map(int, drawn), truth)
            loop.run("ingest", "answers.csv", folder=study)
            words = ("next", "--new", "--n", "10")
            spent = statistics.median(loop.run(*words, folder=study).seconds for _ in repeats)
            own, library = bare(study, surrogate, options.repeats)
        ratio = spent / (library + scanned)
        numbers = (f"{each:.2f} s" for each in (spent, scanned, library, own))
        table.add(surrogate, *numbers, f"{ratio:.2f}")


def bare(study: Path, surrogate: str, repeats: int) -> tuple[float, float]:
    """Seconds for predicting every row: by this program, and by the library that trains it."""
    from activetest.rounds.fit import get_surrogate
    from activetest.study.stored import StoredStudy
    from activetest.surrogates._inputs import input_columns
    from activetest.system.parallel import map_reduce

    opened = StoredStudy.open(study)
    made = opened.cache()
    learned = get_surrogate(opened.log(made), made, opened.choices, seed=0)

    def own() -> None:
        map_reduce(
            made.chunks(), lambda piece: [learned.members.probs(made.rows(*piece))], lambda a, b: a
        )

    columns = np.concatenate(
        [input_columns(made.rows(*piece), outputs=True) for piece in made.chunks()]
    )
    classes = len(made.classes)
    predict = forest(made, classes) if surrogate == "forest" else networks(columns, classes)
    return _median(own, repeats), _median(lambda: predict(columns), repeats)


def forest(made, classes: int):
    """A forest of scikit-learn, fitted to as much as ours: its prediction on all processors."""
    from sklearn.ensemble import RandomForestClassifier

    from activetest.surrogates._inputs import input_columns
    from activetest.system.parallel import processors

    rows = made.take(np.linspace(0, made.size - 1, 1000 + _KNOWN).astype(int))
    weights = np.append(np.full(1000, 0.02), np.ones(_KNOWN))
    labels = np.minimum(
        (
            rows.outputs.probs.cumsum(axis=1) < np.random.default_rng(0).random((1000 + _KNOWN, 1))
        ).sum(axis=1),
        classes - 1,
    )
    grown = RandomForestClassifier(
        100, min_weight_fraction_leaf=1 / weights.sum(), n_jobs=processors(), random_state=0
    )
    return grown.fit(input_columns(rows, outputs=True), labels, weights).predict_proba


def networks(columns: np.ndarray, classes: int):
    """Five networks of PyTorch, as large as ours: their prediction on all processors."""
    import torch

    from activetest.system.parallel import processors

    torch.set_num_threads(processors())
    sizes = [(columns.shape[1], 128), (128, 128), (128, classes)]
    layers = [[torch.randn(size) / 10 for size in sizes] for _ in range(5)]

    @torch.no_grad()
    def predict(columns: np.ndarray) -> None:
        for start in range(0, len(columns), 65536):
            block = torch.from_numpy(columns[start : start + 65536])
            for first, second, last in layers:
                torch.softmax((block @ first).relu_().matmul(second).relu_() @ last, dim=1)

    return predict


def by_label(pool: Path, folder: Path, options: argparse.Namespace) -> None:
    """One row per way of going through the labels."""
    from activetest.cache import auxiliary, cache
    from activetest.pool.pool import Pool
    from activetest.sampling.choices import check_choices

    truth = loop._labels(pool).astype(float)
    looked = Pool.open(str(pool))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        made = auxiliary.attach_auxiliary(
            cache.build_cache(looked, Path(place) / "cache"), looked, ["forest"]
        )
        roles = looked.schema.to_dict() | {"uri": looked.uri}
        entries = {"metric": "error", "metrics": ("error",), "surrogate": "forest"}
        reference = one_by_one(made, truth, 20)
        header = f"way, {made.size:,} rows | processor seconds per label | reference / this"
        table = benchmark.Table(options, header)
        table.add("reference loop, one by one", f"{reference:.3f}", "1.0")
        for name, batch, refit in (
            ("rounds of 10", _BATCH, "every"),
            ("rounds of 10, refit doubling", _BATCH, "doubling"),
            ("rounds of 1", 1, "every"),
        ):
            choices = check_choices(entries | {"refit": refit}, roles, where="benchmark")
            spent = in_rounds(made, truth, choices, batch)
            table.add(name, f"{spent:.4f}", f"{reference / spent:.1f}")


def refits(pool: Path, folder: Path, options: argparse.Namespace) -> None:
    """One row per number of augmented items: refits with them, each from labels of its own."""
    from activetest.cache import auxiliary, cache
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import LABELLED, Log
    from activetest.pool.pool import Pool
    from activetest.rounds.fit import fit_surrogate, make_generator
    from activetest.wings.neural.augmentations import agreement

    truth, looked = loop._labels(pool).astype(float), Pool.open(str(pool))
    choices = Choices("error", ("error",), "mc-dropout", augment="agreement")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        made = cache.build_cache(looked, Path(place) / "cache")
        made = auxiliary.attach_auxiliary(made, looked, [choices.surrogate])
        table = benchmark.Table(
            options, "augmented items | seconds | processor seconds | slowest | epochs"
        )
        for count in map(int, options.augmented.split(",")):
            free = made.size - _REFIT_LABELS
            agreement.find_threshold = lambda *_, n=count, of=free: (-1e30, n, of)
            seconds, spent, epochs = [], [], []
            # The first one loads PyTorch.
            for repeat in range(options.repeats + 1):
                rows = np.random.default_rng(repeat).permutation(made.size)[:_REFIT_LABELS]
                ones = np.ones(len(rows), int)
                log = replace(
                    Log.empty(),
                    rows=rows,
                    q=ones / made.size,
                    round=ones,
                    status=ones * LABELLED,
                    labels=truth[rows],
                )
                began, processor = time.perf_counter(), time.process_time()
                fitted = fit_surrogate(log, made, choices, rng=make_generator(repeat, 1, "fit"))
                seconds.append(time.perf_counter() - began)
                spent.append(time.process_time() - processor)
                epochs.append(fitted.params()["epochs"])
                assert len(fitted.augmented) == count
            medians = [statistics.median(each[1:]) for each in (seconds, spent, epochs)]
            numbers = f"{medians[0]:.2f} | {medians[1]:.2f} | {max(seconds[1:]):.2f}"
            table.add(f"{count:,}", numbers, f"{medians[2]:.0f}")


def one_by_one(made, truth: np.ndarray, labels: int) -> float:
    """Processor seconds per label of the plain loop, from _KNOWN labels on."""
    from sklearn.ensemble import RandomForestClassifier

    from activetest.surrogates._inputs import input_columns

    rng = np.random.default_rng(0)
    rows = made.rows(0, made.size)
    columns, pred = input_columns(rows, outputs=True), rows.outputs.pred
    probs = rows.outputs.probs
    drawn = list(rng.permutation(made.size)[:_KNOWN])
    chances = [1 / (made.size - place) for place in range(_KNOWN)]
    trained = np.linspace(0, made.size - 1, 1000).astype(int)
    said = np.array([rng.choice(len(each), p=each / each.sum()) for each in probs[trained]])
    began = time.process_time()
    for _ in range(labels):
        fitted = RandomForestClassifier(100, random_state=int(rng.integers(2**31)))
        fitted.fit(
            np.concatenate([columns[trained], columns[drawn]]), np.append(said, truth[drawn])
        )
        left = np.setdiff1d(np.arange(made.size), drawn)
        found = np.zeros((len(left), probs.shape[1]))
        found[:, fitted.classes_.astype(int)] = fitted.predict_proba(columns[left])
        expected = np.maximum(1 - found[np.arange(len(left)), pred[left]], 0.2 / len(left))
        chance = expected / expected.sum()
        place = rng.choice(len(left), p=chance)
        drawn.append(left[place])
        chances.append(chance[place])
        _lure(drawn, chances, truth, pred, made.size)
    return (time.process_time() - began) / labels


def _lure(drawn: list, chances: list, truth: np.ndarray, pred: np.ndarray, size: int) -> float:
    """Active Testing, eq. (3) and (4), term by term."""
    count, total = len(drawn), 0.0
    for place, (item, chance) in enumerate(zip(drawn, chances, strict=True), start=1):
        weight = 1 / ((size - place + 1) * chance) - 1
        weight = 1 + (size - count) / (size - place) * weight
        total += weight * (truth[item] != pred[item])
    return total / count


def in_rounds(made, truth: np.ndarray, choices, batch: int) -> float:
    """Processor seconds per label of rounds with an estimate after each, from _KNOWN labels on."""
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.nouns.log import Log
    from activetest.sampling import plan
    from activetest.simulation.simulate import answered

    metric = specification.find_metric("error", specification.describe_pool(made.roles, None, made))
    log, labels = Log.empty(), max(batch * 5, 10)
    # Rounds of ten before, whatever comes after: only what comes after is timed.
    log = benchmark.buy_labels(log, made, choices, truth, labels=_KNOWN, batch=_BATCH, seed=0)
    began = time.process_time()
    while len(log.rows) < _KNOWN + labels:
        drawn = plan.plan_round(log, made, choices, seed=0, count=batch)
        log = answered(log, drawn, truth)
        view = build_view(log, made, choices, [metric], seed=0, own_view=False)
        view.interval(view.value(metric, "doubly-robust"), choices.level)
    return (time.process_time() - began) / labels


def by_information(pool: Path, folder: Path, options: argparse.Namespace) -> None:
    """One row per acquisition: its scores for 21 metrics, and the networks' predictions in them."""
    from activetest.cache import auxiliary, cache
    from activetest.nouns.log import Log
    from activetest.pool.pool import Pool
    from activetest.rounds import scores
    from activetest.rounds.fit import find_free_items, fit_surrogate, make_generator
    from activetest.rounds.objectives import find_objectives
    from activetest.sampling import plan
    from activetest.sampling.choices import check_choices
    from activetest.simulation.simulate import answered

    truth = loop._labels(pool).astype(float)
    looked = Pool.open(str(pool))
    rates = [f"{rate}[{code}]" for rate in ("precision", "recall") for code in range(loop.CLASSES)]
    entries = {"metric": "accuracy", "also": rates, "metrics": ["accuracy", *rates]}
    entries |= {"surrogate": "mc-dropout", "augment": "none", "acquisition": "metric-information"}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        made = auxiliary.attach_auxiliary(
            cache.build_cache(looked, Path(place) / "cache"), looked, ["mc-dropout"]
        )
        roles = looked.schema.to_dict() | {"uri": looked.uri}
        choices = check_choices(entries, roles, where="benchmark")
        first = plan.plan_round(Log.empty(), made, choices, seed=0, count=_KNOWN)
        log = answered(Log.empty(), first, truth)
        learned = fit_surrogate(log, made, choices, rng=make_generator(0, 2, "fit"))
        free = find_free_items(log, made.size)
        objectives = find_objectives(log, made, learned, choices, free)
        rows = made.rows(0, made.size)
        which = np.unique(learned.draw_members(scores._MEMBERS, make_generator(0, 2, "members")))

        def passes() -> None:
            for strip in scores._cut(rows):
                learned.members.draws(strip, which)

        table = benchmark.Table(
            options, f"{made.size:,} items, {len(objectives)} metrics", "all | passes | beyond them"
        )
        for name in ("metric-information", "bald"):
            chosen = replace(choices, acquisition=name)
            score = scores.make_scorer(learned, chosen, seed=0, number=2)
            bare = _median(passes, options.repeats)
            whole = _median(partial(score, rows, objectives), options.repeats)
            table.add(name, f"{whole:.2f} s", f"{bare:.2f} s", f"{whole - bare:.2f} s")


def many_rounds(folder: Path, options: argparse.Namespace) -> None:
    """One row per command: after few rounds of one item, and after many."""
    import activetest

    with open(_SAMPLE / "digits.labels.csv", newline="", encoding="utf-8") as file:
        key = {row["id"]: row["label"] for row in csv.DictReader(file)}
    table = benchmark.Table(
        options, "command", f"{_FEW} rounds", f"{options.rounds} rounds", "ratio"
    )
    with tempfile.TemporaryDirectory(dir=folder) as place:
        pool = shutil.copy(_SAMPLE / "digits.parquet", place)
        study = activetest.Study.create(pool, Path(place) / "study", seed=1)
        copies, sizes = {}, {}
        for number in range(1, options.rounds + 1):
            study.ingest({id: key[id] for id in study.next(1).ids})
            if number in (_FEW, options.rounds):
                copies[number] = Path(place) / f"study-{number}"
                shutil.copytree(study.folder, copies[number])
                sizes[number] = (study.folder / "ledger.db").stat().st_size
        for command in _COMMANDS:
            spent: dict[int, list[float]] = {number: [] for number in copies}
            # The first time is for the file system.
            for _ in range(options.repeats + 1):
                for number, copy in copies.items():
                    spent[number].append(processor_seconds(command.split(), copy))
            few, many = (statistics.median(each[1:]) for each in spent.values())
            table.add(command, f"{few:.3f} s", f"{many:.3f} s", f"{many / few:.2f}")
    growth = (sizes[options.rounds] - sizes[_FEW]) / (options.rounds - _FEW)
    print(f"\nledger: {growth:,.0f} bytes a round")


def processor_seconds(words: list[str], study: Path) -> float:
    """Of one command, start-up included."""
    command = [sys.executable, "-m", "activetest", *words, "--study", str(study)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _median(work, repeats: int) -> float:
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


if __name__ == "__main__":
    # Threads of matrix products would count twice: passes go over the pool in threads already.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
