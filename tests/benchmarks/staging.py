"""Shared by several benchmarks: a pool ready to be played, and runs that are kept."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path

import numpy as np

from activetest.cache import auxiliary, cache
from activetest.cache.parts import find_surrogates_using
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.pool.pool import Pool
from activetest.sampling.choices import check_choices
from activetest.simulation.answer_key import read_answer_key
from activetest.simulation.baseline import Baseline, compute_baseline
from activetest.simulation.workers import run_tasks
from activetest.system.parallel import processors


@dataclass(frozen=True)
class Stage:
    """Everything that studies of one kind need; it can be sent to another process.

    folder, parts   of the cache, with what the surrogate wants
    truth           (N,) class codes or values
    choices         what is drawn, and how; draws aim at choices.metric
    """

    folder: str
    parts: tuple[str, ...]
    truth: np.ndarray
    choices: Choices

    @cached_property
    def made(self):
        """The cache."""
        return cache.open_cache(Path(self.folder), self.parts)

    @cached_property
    def metric(self):
        """The metric that draws aim at."""
        return specification.find_metric(
            self.choices.metric, specification.describe_pool(self.made.roles, None, self.made)
        )

    @cached_property
    def stats(self) -> np.ndarray:
        """(N,) the statistic that the metric is the mean of; the first of several."""
        return self.values[0]

    @cached_property
    def values(self) -> np.ndarray:
        """(d, N) the statistics that the metric is made of."""
        outputs = self.made.rows(0, self.made.size).outputs
        if outputs.probs is not None:
            outputs = replace(outputs, probs=outputs.probs.astype(float))
        found = [each.value(outputs, self.truth[:, None])[:, 0] for each in self.metric.statistics]
        return np.array(found, float)

    def uniform(self, budgets: tuple[int, ...], seed: int = 0) -> Baseline:
        """The baseline of uniform draws."""
        outputs = self.made.rows(0, self.made.size).outputs
        rng = np.random.default_rng([seed, 1])
        return compute_baseline(self.metric, outputs, self.truth, budgets, rng)


@contextmanager
def staged(
    file: Path,
    *,
    train: bool = False,
    features: tuple[str, ...] | None = None,
    feature_shape: str = "",
    outputs: str = "",
    **choices,
) -> Iterator[Stage | None]:
    """A stage in a folder that lives as long as the block; None where there is nothing to play.

    file is NAME.parquet, beside it NAME.labels.csv and, where they are wanted, NAME.train.parquet
    and NAME.surrogates.parquet. features are columns, all that there are by default, and
    feature_shape that of the image they are; outputs is the column of a judge's scores, for
    regression. choices are those of Choices; some have their defaults.
    """
    columns: dict = {"features": features} if features else {}
    columns |= {"feature_shape": feature_shape} if feature_shape else {}
    columns |= {"task": "regression", "outputs": outputs} if outputs else {}
    pool = Pool.open(str(file), **columns)
    files = {
        what: file.with_name(f"{file.stem}.{what}.parquet") for what in ("train", "surrogates")
    }
    other_models = str(files["surrogates"]) if files["surrogates"].exists() else None
    name = choices["surrogate"]
    regression = pool.schema.task == "regression"
    if (name == "external" and other_models is None) or (
        name in ("agreement", "residual") and (name == "residual") != regression
    ):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="activetest-benchmark-") as folder:
        made = cache.build_cache(pool, Path(folder) / "cache")
        key = file.with_name(f"{file.stem}.labels.csv")
        truth = read_answer_key(made, key, unmatched=pool.schema.open_classes)
        rows = str(files["train"]) if train and find_surrogates_using("train", [name]) else None
        made = auxiliary.attach_auxiliary(made, pool, [name], train=rows, other_models=other_models)
        chosen = {key: value for key, value in choices.items() if value is not None}
        chosen.setdefault("metrics", (chosen["metric"],))
        facts = pool.schema.to_dict() | {"uri": pool.uri}
        yield Stage(
            str(made.folder), made.parts, truth, check_choices(chosen, facts, where="benchmark")
        )


def played(
    play: Callable,
    scene: tuple,
    runs: int,
    *,
    what: dict,
    file: Path | None = None,
    workers: int | None = None,
) -> list:
    """Results of play(scene, run) for runs 0, 1, ...: made in parallel, in order of their numbers.

    With a file every result, which is then JSON-ready, is written as soon as it is there, and what
    the file holds already is not made again; `what` says what all runs have in common.
    """
    found = {} if file is None else _kept(file, json.loads(json.dumps(what)))
    play = _import_again(play)
    missing = [run for run in range(runs) if run not in found]
    for run, result in run_tasks(_scene, scene, play, missing, workers or processors()):
        found[run] = result
        if file is not None:
            with open(file, "a", encoding="utf-8") as kept:
                kept.write(json.dumps({"run": run, "found": result}) + "\n")
    return [found[run] for run in range(runs)]


def _import_again(play: Callable) -> Callable:
    """The function of a module: other processes know nothing of a script's own."""
    if play.__module__ != "__main__":
        return play
    script = Path(play.__code__.co_filename)
    return getattr(import_module(script.stem), play.__name__)


def _kept(file: Path, what: dict) -> dict[int, object]:
    """{run: found} of the file, which is begun where there is none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(json.dumps(what) + "\n", encoding="utf-8")
    complete, _, torn = file.read_text(encoding="utf-8").rpartition("\n")
    if torn:
        file.write_text(f"{complete}\n", encoding="utf-8")
    first, *lines = map(json.loads, complete.splitlines())
    if first != what:
        raise SystemExit(f"{file} holds runs of {first}, not of {what}: --save elsewhere")
    return {line["run"]: line["found"] for line in lines}


def _scene(*scene) -> tuple:
    return scene
