"""Other models as evidence about one: labels saved by its draws, without and with their votes.

FOLDER holds NAME.parquet, NAME.labels.csv and NAME.surrogates.parquet, the outputs of other models;
or, with --files and --key, pools of the same items, one for each model, and their answer key. The
surrogate learns from so many uniform labels; saved is the variance of uniform draws over that of
draws for the error rate at floor .35, exact for doubly robust estimates, as a harmonic mean.
"""

import csv
import tempfile
from dataclasses import replace
from pathlib import Path

import benchmark
import models
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.cache.cache import Cache
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, Log
from activetest.rounds.fit import fit_surrogate
from activetest.study.stored import StoredStudy
from activetest.study.study import Study

_FLOOR, _LEAST = 0.35, 1e-4
_CHOICES = Choices("error", ("error",), "auto")
_MISTAKE = (statistic("zero_one"),)
# Columns that are no inputs begin so.
_OUTPUTS = "prob", "pred", "label"


def write_models(file: Path, folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """{model: its pool} with the outputs of each, and {id: label}."""
    ids, outputs, codes, classes = models.read_outputs(file)
    table = pq.read_table(file)
    # Inputs and features stand in the first one alone.
    kept = {name: table[name] for name in table.column_names if not name.startswith(_OUTPUTS)}
    files = {}
    for number, probs in enumerate(outputs):
        name = f"rival{number}" if number else "own"
        columns = {f"prob_{each}": probs[:, code] for code, each in enumerate(classes)}
        files[name] = folder / f"{name}.parquet"
        pq.write_table(pa.table((kept if not number else {}) | {"id": ids} | columns), files[name])
    return files, {id: classes[code] for id, code in zip(ids, codes, strict=True)}


def measure_saved(cache: Cache, labels: np.ndarray, count: int, runs: int) -> np.ndarray:
    """(runs,) variance of uniform draws over that of draws by a surrogate of so many labels."""
    rows = cache.rows(0, cache.size)
    wrong = (labels != rows.outputs.pred).astype(float)
    found = []
    for run in range(runs):
        rng = np.random.default_rng(run)
        known = rng.choice(cache.size, count, replace=False)
        log = replace(
            Log.empty(),
            supplied_rows=known,
            supplied_status=np.full(count, LABELLED),
            supplied_labels=labels[known],
            supplied_round=np.ones(count, int),
        )
        surrogate = fit_surrogate(log, cache, _CHOICES, rng=rng)
        beliefs = surrogate.expected(rows, _MISTAKE)[0].astype(float).clip(_LEAST, 1 - _LEAST)
        scores = np.sqrt(beliefs * (1 - beliefs))
        q = (1 - _FLOOR) * scores / scores.sum() + _FLOOR / cache.size
        gaps = wrong - beliefs
        found.append(wrong.var() / ((gaps**2 / q).sum() / cache.size**2 - gaps.mean() ** 2))
    return np.array(found)


def main() -> None:
    """Print a row for each model and number of labels."""
    options = benchmark.read_options(
        __doc__, "folder", pools="", files="", key=Path, runs=20, labels="50,200"
    )
    table = benchmark.Table(
        options, "pool | model | error | labels | without votes | with votes | ratio"
    )
    if options.files:
        files = {Path(each).stem: options.folder / each for each in options.files.split(",")}
        with open(options.folder / options.key, newline="", encoding="utf-8") as lines:
            key = {row["id"]: row["label"] for row in csv.DictReader(lines)}
        add_rows(table, options.key.name.partition(".")[0], files, key, options)
        return
    for file in benchmark.find_pools(options.folder, options.pools):
        if file.with_suffix(".surrogates.parquet").exists():
            with tempfile.TemporaryDirectory() as folder:
                add_rows(table, file.stem, *write_models(file, Path(folder)), options)


def add_rows(table, pool: str, files: dict[str, Path], key: dict[str, str], options) -> None:
    """The rows of a pool: all its models in one study."""
    (first, *others), place = files.items(), tempfile.TemporaryDirectory()
    with place as folder:
        further = {name: str(file) for name, file in others}
        Study.create(str(first[1]), folder, task="classification", seed=1, models=further)
        study = StoredStudy.open(folder)
        for name, model in zip(files, study.list_models(), strict=True):
            cache = study.of_model(model.name).cache()
            codes = {each: code for code, each in enumerate(cache.classes)}
            ids = cache.ids(np.arange(cache.size))
            labels = np.array([codes.get(key[id], -1) for id in ids], float)
            error = (labels != cache.rows(0, cache.size).outputs.pred).mean()
            alone = cache.attach([part for part in cache.parts if part != "votes"])
            for count in map(int, options.labels.split(",")):
                runs = options.runs if count else 1
                plain, ours = (measure_saved(each, labels, count, runs) for each in (alone, cache))
                means = [1 / np.mean(1 / each) for each in (plain, ours)]
                spread = (ours / plain).std() / np.sqrt(runs)
                ratio = f"{means[1] / means[0]:.3f} +- {2 * spread:.3f}"
                cells = [f"{each:.2f}" for each in means]
                table.add(pool, name, f"{error:.3f}", count, *cells, ratio)


if __name__ == "__main__":
    main()
