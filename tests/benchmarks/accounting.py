"""Logs of draws whose probabilities do not account for a pool: how often they are found out.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. A study draws from the pool, or from
a random part of it, in rounds of 25; its log is then imported as draws from the whole pool, which
has grown since by a share. With --frozen, so many logs of one round each are drawn by a surrogate
that learned from 50 to 200 labels, and are compared with the plan of another one, of other labels.

refused   share of the logs that `activetest import` refuses, after so many draws
doubted   share that it takes, and marks
"""

import csv
import tempfile
from dataclasses import replace
from pathlib import Path

import benchmark
import numpy as np
import pyarrow.parquet as pq
from staging import Stage, staged

from activetest.errors import LabelError
from activetest.estimation.accounting import measure_accounted
from activetest.labels.files import Label
from activetest.nouns.log import LABELLED, Log
from activetest.sampling.draw_log import LoggedLabel
from activetest.sampling.plan import prepare_round
from activetest.study.imported import Meaning, plan_log

_SETTINGS = {"metric": "error", "surrogate": "auto"}


def main() -> None:
    """Print a row per floor and growth, over all pools."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools="",
        runs=20,
        seed=0,
        floors="0,0.1,0.35,0.7,1",
        growths="0,0.05,0.1,0.43",
        draws="30,50,100,200,400",
        frozen=0,
    )
    draws = [int(each) for each in options.draws.split(",")]
    floors = [float(each) for each in options.floors.split(",")]
    table = benchmark.Table(
        options, "grown by | floor | logs", *(f"{count} draws" for count in draws), "doubted"
    )
    for growth in map(float, options.growths.split(",")):
        found: dict[float, list[np.ndarray]] = {floor: [] for floor in floors}
        for file in benchmark.find_pools(options.folder, options.pools):
            if options.frozen:
                played = play_frozen(file, floors, draws, options)
            else:
                played = play_pool(file, growth, floors, draws, options)
            for floor, results in played.items():
                found[floor] += results
        for floor, results in found.items():
            share = np.mean(results, axis=0)
            cells = " | ".join(f"{each:.3f}" for each in share)
            table.add(f"{growth:g}", f"{floor:g}", len(results), cells)


def play_pool(file: Path, growth: float, floors, draws, options) -> dict[float, list[np.ndarray]]:
    """{floor: of each log whether it was refused after so many draws, and doubted at last}."""
    with tempfile.TemporaryDirectory() as folder, staged(file, **_SETTINGS, floor=0.35) as whole:
        part = file if growth == 0 else cut_pool(file, Path(folder), growth, options.seed)
        with staged(part, **_SETTINGS, floor=0.35) as stage:
            seeds = range(options.seed, options.seed + options.runs)
            return {
                floor: [check_log(stage, whole, floor, draws, seed) for seed in seeds]
                for floor in floors
            }


def cut_pool(file: Path, folder: Path, growth: float, seed: int) -> Path:
    """A random part of a pool, which has since grown to the whole."""
    table = pq.read_table(file)
    kept = np.random.default_rng(seed).random(len(table)) < 1 / (1 + growth)
    part = folder / file.name
    pq.write_table(table.filter(kept), part)
    ids = set(map(str, table.filter(kept)["id"].to_pylist()))
    key = file.with_name(f"{file.stem}.labels.csv")
    with open(key, newline="", encoding="utf-8") as source:
        rows = [row for row in csv.DictReader(source) if row["id"] in ids]
    with open(folder / key.name, "w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return part


def check_log(stage: Stage, whole: Stage, floor: float, draws: list[int], seed: int) -> np.ndarray:
    """Whether a log of a stage is refused as one of the whole pool after so many draws."""
    choices = replace(stage.choices, floor=floor)
    log = benchmark.buy_labels(
        Log.empty(), stage.made, choices, stage.truth, labels=draws[-1], batch=25, seed=seed
    )
    found, doubted = [False] * len(draws), False
    classes, rows = stage.made.classes, []
    for place, id in enumerate(stage.made.ids(log.rows)):
        label = Label(f"line {place + 2}", id, "", LABELLED, classes[int(log.labels[place])])
        rows.append(LoggedLabel(label, int(log.round[place]), float(log.q[place])))
    for place, count in enumerate(draws):
        try:
            made = plan_log(rows[:count], "log", Meaning(), whole.made, whole.choices, seed + 1000)
            doubted = made.log.doubtful_share is not None
        except LabelError:
            found[place], doubted = True, False
    return np.array([*found, doubted], float)


def play_frozen(file: Path, floors, draws, options) -> dict[float, list[np.ndarray]]:
    """As play_pool, of logs of one round each, without growth."""
    results: dict[float, list[np.ndarray]] = {floor: [] for floor in floors}
    with staged(file, **_SETTINGS, floor=0.35) as stage:
        for floor in floors:
            # Four pairs of surrogates serve all logs.
            plans = [
                (weigh(stage, each, 50 + 50 * each, floor), weigh(stage, each + 100, 100, 0.02))
                for each in range(4)
            ]
            for number in range(options.frozen):
                rng = np.random.default_rng([options.seed, number, int(100 * floor)])
                ratios = compare_plans(*plans[number % 4], draws[-1], rng)
                cut = [measure_accounted(*ratios[:, :count]) for count in draws]
                row = [*(each.refuted for each in cut), cut[-1].doubted and not cut[-1].refuted]
                results[floor].append(np.array(row, float))
    return results


def weigh(stage: Stage, seed: int, labels: int, floor: float) -> np.ndarray:
    """(N,) probabilities of the next draw of a study with so many labels, if all were free."""
    log = benchmark.buy_labels(
        Log.empty(), stage.made, stage.choices, stage.truth, labels=labels, batch=25, seed=seed
    )
    q = prepare_round(log, stage.made, replace(stage.choices, floor=floor), seed=seed).q.copy()
    q[q == 0] = np.median(q[q > 0])
    return q / q.sum()


def compare_plans(q: np.ndarray, plan: np.ndarray, count: int, rng) -> np.ndarray:
    """(2, count) 1 / (q n) and g / q of draws by q without replacement, g those of the plan."""
    times = rng.exponential(size=len(q)) / q
    drawn = np.argsort(times)[:count]
    own, other = (each[drawn] / (1 - np.cumsum(each[drawn]) + each[drawn]) for each in (q, plan))
    return np.stack([1 / (own * (len(q) - np.arange(count))), other / own])


if __name__ == "__main__":
    main()
