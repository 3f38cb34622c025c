"""Two models on one set of labels: their difference, and the numbers of the one that came later.

FOLDER holds NAME.parquet, NAME.labels.csv and NAME.surrogates.parquet, from which the model with
the fewest errors is the rival of the pool's own; or, at any depth, answers to open questions of two
solvers, and verdicts of two judges on the same pairs; or the pool's own model with another
threshold. Draws are made for the error of the own
model, as by default, or for the difference, with its usual floor or none. A difference is compared
with that of so many uniform draws on which both models are looked at, and the rival's error with
that of so many uniform draws.

With --several, all models of NAME.surrogates.parquet, the first of which is the reference, and the
pool's own: draws are made for all differences at every round, or for those alone whose interval by
the labels so far holds 0, and these are compared in the same seeds.
"""

import argparse
import concurrent.futures
import csv
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.errors import NotEstimable
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.compared import bind_metric, subtract_models
from activetest.labels.files import make_label_encoder
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.reporting.rows import HEADLINE
from activetest.rounds.compared_pool import ComparedPool
from activetest.study.stored import StoredStudy
from activetest.study.study import Study

_APART = "error(rival)-error(model)"
# How draws are made: for the own model's error, or for the difference with a floor.
_WAYS = {
    "difference, floor 0.1": Choices("error", ("error",), floor=0.1, draw_for=(_APART,)),
    "difference, floor 0": Choices("error", ("error",), floor=0.0, draw_for=(_APART,)),
    "own error": Choices("error", ("error",)),
}
_LEVEL = 0.95


def read_probs(table: pa.Table, name: str) -> np.ndarray:
    """(N, C) probabilities in a column of lists, or in columns that begin so."""
    if name in table.column_names:
        return np.array(table[name].to_pylist(), np.float32)
    names = [each for each in table.column_names if each.startswith(f"{name}_")]
    return np.column_stack([table[each].to_numpy() for each in names]).astype(np.float32)


def read_outputs(file: Path) -> tuple[list[str], list[np.ndarray], np.ndarray, list[str]]:
    """Ids, probabilities (N, C) of the own model and its rivals, labels (N,), names of classes."""
    table = pq.read_table(file)
    others = pq.read_table(file.with_suffix(".surrogates.parquet"))
    with open(file.with_suffix(".labels.csv"), newline="", encoding="utf-8") as lines:
        key = {row["id"]: row["label"] for row in csv.DictReader(lines)}
    ids = list(map(str, table["id"].to_pylist()))
    place = {str(id): row for row, id in enumerate(others["id"].to_pylist())}
    order = [place[id] for id in ids]
    own = read_probs(table, "prob")
    named = (re.match(r"surrogate_prob_\d+", each) for each in others.column_names)
    names = sorted({each[0] for each in named if each})
    rivals = [read_probs(others, each)[order] for each in names]
    classes = sorted(set(key.values()), key=lambda name: (len(name), name))
    return ids, [own, *rivals], np.array([classes.index(key[id]) for id in ids]), classes


# {pool: the file of the own model, its column, the file or the columns of the rival, answer key and
# the files of further models}
_ELSEWHERE = {
    "gsm8k": (
        "gsm8k_6b_verification.parquet",
        "pred",
        "gsm8k_175b_finetuning.parquet",
        "gsm8k_solvers.labels.csv",
    ),
    "gsm8k_four": (
        "gsm8k_6b_verification.parquet",
        "pred",
        "gsm8k_175b_finetuning.parquet",
        "gsm8k_solvers.labels.csv",
        "gsm8k_175b_verification.parquet",
        "gsm8k_6b_finetuning.parquet",
    ),
    "pandalm": (
        "pandalm.parquet",
        "pred_gpt35",
        "pred_pandalm7b",
        "pandalm.majority.labels.csv",
    ),
}
# {pool: threshold of the rival, which is the own model of two classes otherwise}
_THRESHOLDS = {"adult": 0.3, "mammography": 0.2}


def list_pools(folder: Path, names: str) -> list[str]:
    """The pools that are there, or those of them that are named."""
    files = benchmark.find_pools(folder)
    found = [each.stem for each in files if each.with_suffix(".surrogates.parquet").exists()]
    found += [name for name, (own, *_) in _ELSEWHERE.items() if [*folder.rglob(own)]]
    found += [name for name in _THRESHOLDS if (folder / f"{name}.parquet").exists()]
    return [name for name in found if not names or name in names.split(",")]


def build_study(folder: Path, name: str, place: Path, *, several: bool = False) -> None:
    """A study of a pool's own model and its best rival, or of several models."""
    if name in _ELSEWHERE:
        own, column, rival, key, *further = _ELSEWHERE[name]
        (own, *_), (key, *_) = folder.rglob(own), folder.rglob(key)
        models = {"rival": str(next(folder.rglob(rival), rival))}
        models |= {f"other{at}": str(next(folder.rglob(each))) for at, each in enumerate(further)}
        given = {"outputs": column, "task": "classification"}
        Study.create(str(own), place, seed=0, models=models, **given)
        shutil.copy(key, place / "key.csv")
        return
    file = folder / f"{name}.parquet"
    if name in _THRESHOLDS:
        models = {"rival": f"model@threshold:{_THRESHOLDS[name]}"}
        Study.create(str(file), place, seed=0, models=models)
        shutil.copy(file.with_suffix(".labels.csv"), place / "key.csv")
        return
    ids, (own, *rivals), codes, classes = read_outputs(file)
    if several:
        own, *rivals = rivals[0], own, *rivals[1:]
    else:
        rivals = [min(rivals, key=lambda probs: (probs.argmax(axis=1) != codes).mean())]
    paths = []
    for number, probs in enumerate([own, *rivals]):
        paths.append(place.parent / f"{number}.parquet")
        columns = {f"prob_{each}": probs[:, code] for code, each in enumerate(classes)}
        pq.write_table(pa.table({"id": ids, **columns}), paths[-1])
    named = [f"v{number}" for number in range(2, len(paths) + 1)] if several else ["rival"]
    models = dict(zip(named, map(str, paths[1:]), strict=True))
    Study.create(str(paths[0]), place, seed=0, models=models)
    shutil.copy(file.with_suffix(".labels.csv"), place / "key.csv")


def run_study(place: str, way: str, labels: int, batch: int, seed: int) -> list[float]:
    """Estimate and interval of the difference, and of the rival's error, in one study."""
    opened, choices = _open(place), _WAYS[way]
    log = benchmark.buy_labels(
        *(Log.empty(), opened.join() if "difference" in way else opened.own, choices),
        opened.truth,
        labels=labels,
        batch=batch,
        seed=seed,
    )
    metric = opened.metric
    about = [subtract_models(metric, "rival", "model"), bind_metric(metric, "rival")]
    return [end for each in opened.estimate(log, choices, about, seed) for end in each]


def run_several(place: str, labels: int, batch: int, seed: int) -> list[list[list[float]]]:
    """Estimate and interval of each difference to the first model, by draws for all and for some.

    Of those that are told apart by their interval already, unless all are, the second draws none.
    """
    opened, log = _open(place), Log.empty()
    aims = tuple(f"error({name})-error(model)" for name in opened.others)
    choices = Choices("error", ("error", *aims), floor=0.1, draw_for=aims)
    about = [subtract_models(opened.metric, name, "model") for name in opened.others]
    found = []
    for every in (True, False):
        log = Log.empty()
        while len(log.rows) < labels:
            now = choices
            if len(log.rows) and not every:
                seen = opened.estimate(log, choices, about, seed)
                pairs = zip(aims, seen, strict=True)
                open_aims = tuple(aim for aim, (_, low, high) in pairs if low <= 0 <= high)
                now = replace(choices, draw_for=open_aims or aims)
            count = min(batch, labels - len(log.rows))
            log = benchmark.buy_labels(
                *(log, opened.join(log), now, opened.truth),
                labels=len(log.rows) + count,
                batch=count,
                seed=seed,
            )
        found.append(opened.estimate(log, choices, about, seed))
    return found


class _Opened:
    """A study's pool, the outputs of its further models, and the label (N,) of each item."""

    def __init__(self, place: Path) -> None:
        self.study = StoredStudy.open(place)
        names = [each.name for each in self.study.list_models()[1:]]
        self.own = self.study.cache()
        self.others = {name: self.study.of_model(name).cache() for name in names}
        encode = make_label_encoder(self.own.classes, self.study.further_classes)
        with open(place / "key.csv", newline="", encoding="utf-8") as lines:
            key = {row["id"]: encode(row["label"]) for row in csv.DictReader(lines)}
        self.truth = np.array([key[id] for id in self.own.ids(np.arange(self.own.size))], float)
        facts = specification.describe_pool(self.own.roles, None, self.own)
        self.metric = specification.find_metric("error", facts)

    def join(self, log: Log | None = None) -> ComparedPool:
        """The pool with the outputs of all models."""
        log = Log.empty() if log is None else log
        return ComparedPool("model", self.own, self.others, log, self.study.further_classes)

    def find_mistakes(self, name: str) -> np.ndarray:
        """(N,) 1.0 where a model is wrong."""
        outputs = self.join().rows(0, self.own.size).outputs.others[name]
        return (outputs.pred != self.truth).astype(float)

    def estimate(self, log: Log, choices: Choices, about: list, seed: int) -> list[list[float]]:
        """Estimate and interval of each metric; NaN where there is none."""
        view = build_view(log, self.join(log), choices, about, seed=seed, own_view=False)
        found = []
        for each in about:
            try:
                value = view.value(each, HEADLINE)
            except NotEstimable:
                # Without a floor, draws say nothing about one model alone.
                found.append([np.nan] * 3)
                continue
            found.append([value.value, *view.interval(value, _LEVEL).find_ends()])
        return found


_opened: dict[str, _Opened] = {}


def _open(place: str) -> _Opened:
    """What is in the folder of a study, once a process."""
    if place not in _opened:
        _opened[place] = _Opened(Path(place))
    return _opened[place]


def main() -> None:
    """Play all studies and print a row for each pool and way."""
    options = benchmark.read_options(
        __doc__, "folder", pools="", runs=1000, labels=200, batch=50, workers=2, several=False
    )
    pools = list_pools(options.folder, options.pools)
    if options.several:
        print_several(options, pools)
        return
    table = benchmark.Table(
        options,
        "pool | draws for | differ | difference: uniform labels, coverage, width"
        " | of the variance | of two studies | rival: uniform labels, coverage",
    )
    for name in pools:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "study"
            build_study(options.folder, name, place)
            opened = _open(str(place))
            own, rival = map(opened.find_mistakes, ("model", "rival"))
            seen = opened.join().rows(0, opened.own.size).outputs.others
            differ = (seen["model"].pred != seen["rival"].pred).mean()
            # Without a floor, labels are of items on which the models differ, and these may be few.
            enough = differ * opened.own.size >= options.labels
            for way in (each for each in _WAYS if enough or _WAYS[each].floor):
                began = time.perf_counter()
                play = partial(run_study, str(place), way, options.labels, options.batch)
                found = np.array(play_all(play, options))
                cells = [
                    describe(found[:, 3 * at : 3 * at + 3], values, width=not at)
                    for at, values in enumerate((rival - own, rival))
                ]
                gaps = found[:, 0] - (rival - own).mean()
                shares = [
                    compare_variance(gaps, [rival - own], options.labels),
                    compare_variance(gaps, [rival, own], options.labels / 2),
                ]
                table.add(name, way, f"{differ:.3f}", cells[0], *shares, cells[1])
                print(f"{(time.perf_counter() - began) / 60:.1f} minutes")


def play_all(play: Callable[[int], list], options: argparse.Namespace) -> list:
    """What every run returned."""
    with concurrent.futures.ProcessPoolExecutor(options.workers) as workers:
        return list(workers.map(play, range(options.runs), chunksize=5))


def print_several(options: argparse.Namespace, pools: list[str]) -> None:
    """Widths of intervals of differences, by draws for all of them and for those undecided."""
    table = benchmark.Table(
        options, "pool | model | difference | width, all | width, undecided | change of width"
    )
    for name in (each for each in pools if each not in _ELSEWHERE):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "study"
            build_study(options.folder, name, place, several=True)
            opened = _open(str(place))
            play = partial(run_several, str(place), options.labels, options.batch)
            found = np.array(play_all(play, options))
            width = found[..., 2] - found[..., 1]
            own = opened.find_mistakes("model").mean()
            for number, model in enumerate(opened.others):
                change = width[:, 1, number] - width[:, 0, number]
                error = change.std(ddof=1) / np.sqrt(len(change))
                every, some = width[:, :, number].mean(axis=0)
                apart = opened.find_mistakes(model).mean() - own
                cells = f"{every:.4f} | {some:.4f} | {change.mean():+.4f} +- {2 * error:.4f}"
                table.add(name, model, f"{apart:+.4f}", cells)


def compare_variance(gaps: np.ndarray, parts: list[np.ndarray], labels: float) -> str:
    """How many times the mean squared gap (runs,) uniform draws have, so many for each part."""
    squares = gaps**2
    error = squares.std(ddof=1) / np.sqrt(len(squares)) / squares.mean()
    each = sum(part.var(ddof=1) * (1 / labels - 1 / len(part)) for part in parts)
    share = each / squares.mean()
    return f"{share:.2f} +- {2 * error * share:.2f}"


def describe(found: np.ndarray, values: np.ndarray, *, width: bool) -> str:
    """Uniform labels that would be as good as found (runs, 3), with two standard errors."""
    if np.isnan(found).any():
        return "-"
    truth, size = values.mean(), len(values)
    squares = (found[:, 0] - truth) ** 2
    error = squares.std(ddof=1) / np.sqrt(len(squares)) / squares.mean()
    # Of n uniform draws without replacement the variance is s^2 (1 - n / N) / n.
    variance = values.var(ddof=1)
    labels = variance / (squares.mean() + variance / size)
    covered = ((found[:, 1] <= truth) & (truth <= found[:, 2])).mean()
    cells = [f"{labels:.0f} +- {2 * error * labels:.0f}", f"{covered:.3f}"]
    return ", ".join(cells + [f"{(found[:, 2] - found[:, 1]).mean():.3f}"] * width)


if __name__ == "__main__":
    main()
