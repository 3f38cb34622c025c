"""Other packages in the same simulation as this one: labels saved, and coverage of their intervals.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. Saved is the mean squared error of
uniform draws, in closed form, over that of the method. A package that is not installed is left out,
and said so: `pip install ppi-python`, `pip install ssepy` (numpy 1.26), `pip install glide-py`
(Python 3.12), `pip install oasis` (numpy 1.26, scipy 1.10; f1 of two classes only). Peers may need
an environment each: run this once in every one.

ours     what this program does by default
lure     Active Testing with the model as its own surrogate: expected loss, floor 0.2, LURE
ppi      PPI++ on uniform draws
ssepy    five strata of the expected loss, Neyman allocation, difference estimator
glide    active statistical inference; the model's standard deviation of the loss, mixed half and
         half with its mean
oasis    adaptive importance sampling from strata, for f1
"""

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import benchmark
import numpy as np

# Half of a 95 % normal interval, in standard errors.
_HALF = 1.959964


@dataclass(frozen=True)
class Scene:
    """A pool, one metric, and what the labels would say.

    loss       (N,) of every item; a peer may look only at what it drew. None for a metric of
               several means
    guess      (N,) the loss that the model expects
    doubt      (N,) its standard deviation of the loss
    pred       (N,) class codes
    truth      (N,) class codes
    score      (N,) probability of the second class
    """

    loss: np.ndarray | None
    guess: np.ndarray
    doubt: np.ndarray
    pred: np.ndarray
    truth: np.ndarray
    score: np.ndarray


def ppi(scene: Scene, budget: int) -> Callable:
    """PPI++ (Angelopoulos 2023), tuned by the labels."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    def once(seed: int):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(scene.loss))
        drawn, rest = order[:budget], order[budget:]
        told = scene.loss[drawn], scene.guess[drawn], scene.guess[rest]
        lower, upper = ppi_mean_ci(*told, alpha=0.05)
        return np.ravel([ppi_mean_pointestimate(*told), lower, upper])

    return once


def ssepy(scene: Scene, budget: int) -> Callable:
    """Stratified, Neyman, difference estimator (Fogliato 2024)."""
    from sklearn.cluster import KMeans
    from ssepy import ModelPerformanceEvaluator

    evaluator = ModelPerformanceEvaluator(Yh=scene.guess, budget=budget)
    evaluator.stratify_data(KMeans(n_clusters=5, random_state=0, n_init="auto"), X=scene.guess)
    strata = evaluator.strata_labels
    spread = np.array([(scene.doubt[strata == one] ** 2).mean() for one in np.unique(strata)])

    def once(seed: int):
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 (the package draws from it)
        evaluator.allocate_budget("neyman", variances=spread)
        drawn = evaluator.sample("ssrs")
        value, variance = evaluator.compute_estimate(scene.loss[drawn], estimator="df")
        half = _HALF * np.sqrt(variance[0])
        return np.array([value[0], value[0] - half, value[0] + half])

    return once


def glide(scene: Scene, budget: int) -> Callable:
    """Active statistical inference (Zrnic and Candes 2024)."""
    from glide.estimators import ASIMeanEstimator
    from glide.samplers import ActiveSampler

    doubt = 0.5 * scene.doubt + 0.5 * scene.doubt.mean()

    def once(seed: int):
        shares, drawn = ActiveSampler().sample(doubt, n_samples=budget, random_seed=seed)
        known = np.where(drawn == 1, scene.loss, np.nan)
        try:
            found = ASIMeanEstimator().estimate(known, scene.guess, shares).confidence_interval
        except ValueError:
            # Where all losses are alike it fails to say what they are worth: its mean, no interval.
            off = np.divide(scene.loss - scene.guess, shares, out=0.0 * shares, where=drawn == 1)
            return np.array([(scene.guess + off).mean(), np.nan, np.nan])
        return np.array([found.mean, found.lower_bound, found.upper_bound])

    return once


def oasis(scene: Scene, budget: int) -> Callable:
    """OASIS (Marchant and Rubinstein 2017); it gives no interval."""
    from oasis import OASISSampler

    def once(seed: int):
        np.random.seed(seed % 2**32)  # noqa: NPY002 (the package draws from it)
        # It prints what it chose by itself.
        with contextlib.redirect_stdout(sys.stderr):
            sampler = OASISSampler(
                0.5,
                scene.pred,
                scene.score,
                lambda item: scene.truth[item],
                proba=True,
                max_iter=len(scene.pred),
            )
            sampler.sample_distinct(budget)
        return np.array([np.ravel(sampler.estimate_)[-1], -np.inf, np.inf])

    return once


PEERS = {"ppi": ("ppi_py", ppi), "ssepy": ("ssepy", ssepy), "glide": ("glide", glide)}
PEERS |= {"oasis": ("oasis", oasis)}
OURS = {
    "ours": {},
    "lure": {
        "surrogate": ("model",),
        "acquisition": ("expected-loss",),
        "estimators": ("lure",),
        "floor": 0.2,
    },
}


def main() -> None:
    """Print one row per pool, metric and method."""
    options = arguments()
    header = [f"M = {budget}: saved, coverage" for budget in options.budget]
    present = [name for name in options.peers if name in OURS or installed(name)]
    table = benchmark.Table(None, "pool | metric | method", *header, "ms per label")
    summary = []
    for file in benchmark.find_pools(options.folder, options.pools):
        for metric in options.metric:
            summary.append({"pool": file.stem, "metric": metric})
            for name in present:
                cells = row(name, file, metric, options)
                if cells:
                    table.add(file.stem, metric, name, *cells)
                    saved = " / ".join(cell.partition(" ")[0] for cell in cells[:-1])
                    summary[-1][name] = f"{saved}, {cells[-2].rpartition(', ')[2]}"
    table = benchmark.Table(options, "pool | metric", *present)
    for cells in summary:
        table.add(*(cells.get(name, "-") for name in ("pool", "metric", *present)))


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas, budgets and metrics repeat the option."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        peers=",".join([*OURS, *PEERS]),
        pools="",
        runs=1000,
        budget={"type": int, "action": "append"},
        metric={"action": "append"},
        seed=0,
    )
    options.budget = tuple(options.budget or (50, 100, 200))
    options.metric = options.metric or ["error", "log-loss"]
    options.peers = options.peers.split(",")
    return options


def installed(name: str) -> bool:
    """Whether a peer can be imported here; if not, the reason goes to standard error."""
    try:
        import_module(PEERS[name][0])
    except ImportError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return False
    return True


def row(name: str, file: Path, metric: str, options: argparse.Namespace) -> list[str]:
    """A cell per budget and the time; empty where the method has nothing to say."""
    from activetest.pool.pool import Pool

    pool = Pool.open(str(file))
    if pool.schema.task == "regression" or (metric == "f1" and len(pool.schema.classes) != 2):
        return []
    if name in OURS:
        return replayed(name, pool, file, metric, options)
    if (name == "oasis") != (metric == "f1"):
        return []
    scene, yardstick = look(pool, file, metric, options)
    cells, seconds = [], 0.0
    for budget in options.budget:
        began = time.perf_counter()
        once = PEERS[name][1](scene, budget)
        found = np.array([once(options.seed * 1_000_003 + run) for run in range(options.runs)])
        seconds += time.perf_counter() - began
        cells.append(cell(found, yardstick, budget))
    labels = options.runs * sum(options.budget)
    return [*cells, f"{1000 * seconds / labels:.3f}"]


def replayed(name: str, pool, file: Path, metric: str, options: argparse.Namespace) -> list[str]:
    """The cells of this program's own strategies."""
    from activetest.simulation.simulate import simulate
    from activetest.system.parallel import processors

    wishes = {"acquisition": ("optimal",), "estimators": ("doubly-robust",)} | OURS[name]
    began = time.perf_counter()
    results = simulate(
        pool,
        file.with_name(f"{file.stem}.labels.csv"),
        budgets=options.budget,
        runs=options.runs,
        seed=options.seed,
        metrics=(metric,),
        **wishes,
    )
    seconds = (time.perf_counter() - began) * processors()
    cells = [
        f"{one.mse_ratio:.2f} +- {one.mse_ratio_se:.2f}, {one.coverage:.3f}" for one in results
    ]
    return [*cells, f"{1000 * seconds / (options.runs * max(options.budget)):.3f}"]


def look(pool, file: Path, metric: str, options: argparse.Namespace):
    """The scene, and what uniform draws would have done."""
    from activetest.cache import cache
    from activetest.item_statistics import specification
    from activetest.simulation.answer_key import read_answer_key
    from activetest.simulation.baseline import compute_baseline

    with tempfile.TemporaryDirectory() as folder:
        made = cache.build_cache(pool, Path(folder) / "cache")
        key = file.with_name(f"{file.stem}.labels.csv")
        truth = read_answer_key(made, key, unmatched=pool.schema.open_classes)
        chosen = specification.find_metric(
            metric, specification.describe_pool(made.roles, None, made)
        )
        outputs = made.rows(0, made.size).outputs
        rng = np.random.default_rng([options.seed, 1])
        yardstick = compute_baseline(chosen, outputs, truth, options.budget, rng)
    probs = np.clip(outputs.probs.astype(float), 1e-12, 1)
    cost = -np.log(probs) if metric == "log-loss" else 1.0 - np.eye(probs.shape[1])[outputs.pred]
    guess = (probs * cost).sum(axis=1)
    doubt = np.sqrt(np.maximum((probs * cost**2).sum(axis=1) - guess**2, 1e-12))
    losses = (
        chosen.statistics[0].value(outputs, truth[:, None])[:, 0].astype(float)
        if len(chosen.statistics) == 1
        else None
    )
    scene = Scene(losses, guess, doubt, outputs.pred, truth.astype(int), probs[:, 1])
    return scene, yardstick


def cell(found: np.ndarray, yardstick, budget: int) -> str:
    """Labels saved and coverage; found (runs, 3): estimate, lower, upper."""
    errors = (found[:, 0] - yardstick.truth) ** 2
    saved = yardstick.error(budget) / errors.mean()
    noise = saved * errors.std(ddof=1) / errors.mean() / np.sqrt(len(errors))
    if np.isinf(found[:, 1:]).any():
        return f"{saved:.2f} +- {noise:.2f}, no interval"
    inside = (found[:, 1] <= yardstick.truth) & (yardstick.truth <= found[:, 2])
    return f"{saved:.2f} +- {noise:.2f}, {inside.mean():.3f}"


if __name__ == "__main__":
    main()
