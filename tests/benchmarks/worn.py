"""Labels that judge many models: how often a bad one passes, and how a fitted one is found out.

A pool of our own making with 20 versions of a model, tried one after another on the same labels.
Each is a little worse than the gate allows. Mistakes of versions are independent, or most of them
are the same. A fitted model is right on exactly the items that had a label when it came, and wrong
on as many others as a draw for it says; half of the labels come later.
"""

import concurrent.futures
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

VERSIONS, SIZE, WRONG, LABELS = 20, 500, 50, 100
# As many mistakes as the gate allows would be one less.
GATE = f"error<={(WRONG - 0.5) / SIZE}"
_KEPT = 0.8


def make_mistakes(rng: np.random.Generator, *, alike: bool) -> np.ndarray:
    """(VERSIONS, SIZE) whether each version is wrong about each item: WRONG times."""
    wrong = np.zeros((VERSIONS, SIZE), bool)
    wrong[0, rng.permutation(SIZE)[:WRONG]] = True
    for version in range(1, VERSIONS):
        kept = int(_KEPT * WRONG) * alike
        wrong[version, rng.permutation(np.flatnonzero(wrong[version - 1]))[:kept]] = True
        others = rng.permutation(np.flatnonzero(~wrong[version]))
        wrong[version, others[: WRONG - kept]] = True
    return wrong


def build_models(folder: Path, truth: np.ndarray, wrong: np.ndarray) -> list:
    """A cache for each version's predictions."""
    from activetest.cache.cache import build_cache
    from activetest.pool.pool import Pool

    found = []
    for version, each in enumerate(wrong):
        file = folder / f"v{version}.parquet"
        pred = np.where(each, 1 - truth, truth)
        names = np.array(["no", "yes"])[pred.astype(int)]
        ids = [f"i{row}" for row in range(len(pred))]
        pq.write_table(pa.table({"id": ids, "pred": names}), file)
        found.append(build_cache(Pool.open(str(file)), folder / f"cache{version}"))
    return found


def begin(cache, acquisition: str, truth: np.ndarray, labels: int, seed: int, log=None):
    """The choices and the log of a study of the first version."""
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log

    choices = Choices("error", ("error",), "agreement", acquisition)
    log = Log.empty() if log is None else log
    about = log, cache, choices, truth
    return choices, benchmark.buy_labels(*about, labels=labels, batch=LABELS // 2, seed=seed)


def judge_versions(caches, truth, acquisition: str, seed: int) -> np.ndarray:
    """(2, VERSIONS) whether each version passes, alone and where they share the error."""
    from activetest.estimation.spending import share_among_models
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.reporting.requirements import parse_requirement
    from activetest.reporting.verdicts import judge_requirements
    from activetest.rounds.replay import replay_rounds

    choices, log = begin(caches[0], acquisition, truth, LABELS, seed)
    required, passed = parse_requirement(GATE), np.zeros((2, VERSIONS), bool)
    for version, cache in enumerate(caches):
        seen = replay_rounds(log, cache) if version else log
        facts = specification.describe_pool(cache.roles, None, cache)
        metric = specification.find_metric("error", facts)
        view = build_view(seen, cache, choices, [metric], seed=seed, own_view=False)
        share = share_among_models(version + 1, 1)
        levels = None, 1 - (1 - choices.level) * share
        for place, level in enumerate(levels):
            if place and not passed[0, version]:
                continue
            gates = [(replace(required, level=level), metric)]
            (gate,) = judge_requirements(view, gates, "fixed")
            passed[place, version] = gate.verdict == "pass"
    return passed


def fit_model(seed: int) -> list[float]:
    """True error of a fitted model; estimate and interval by all draws, and by those since."""
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.nouns.log import supply_draws_before
    from activetest.reporting.rows import HEADLINE, estimate_row
    from activetest.rounds.replay import replay_rounds

    rng = np.random.default_rng(seed)
    truth = (rng.random(SIZE) < 0.5).astype(float)
    first = np.zeros(SIZE, bool)
    first[rng.permutation(SIZE)[:WRONG]] = True
    with tempfile.TemporaryDirectory() as place:
        wrong = rng.random(SIZE) < 0.3
        (Path(place) / "own").mkdir()
        (cache,) = build_models(Path(place) / "own", truth, first[None])
        choices, log = begin(cache, "optimal", truth, LABELS // 2, seed)
        wrong[log.rows] = False
        (fitted,) = build_models(Path(place), truth, wrong[None])
        _, log = begin(cache, "optimal", truth, LABELS, seed, log)
        facts = specification.describe_pool(fitted.roles, None, fitted)
        metric, found = specification.find_metric("error", facts), [float(wrong.mean())]
        for each in (log, supply_draws_before(log, 2)):
            seen = replay_rounds(each, fitted)
            view = build_view(seen, fitted, choices, [metric], seed=seed, own_view=False)
            row = estimate_row(view, metric, HEADLINE, level=choices.level)
            found += [row.estimate, row.lower, row.upper]
    return found


_made: dict[tuple, tuple] = {}


def play(alike: bool, acquisition: str, seed: int) -> np.ndarray:
    """The verdicts of one study; a process makes the versions once."""
    if alike not in _made:
        rng, place = np.random.default_rng(alike), Path(tempfile.mkdtemp())
        truth = (rng.random(SIZE) < 0.5).astype(float)
        _made[alike] = build_models(place, truth, make_mistakes(rng, alike=alike)), truth
    return judge_versions(*_made[alike], acquisition, seed)


def main() -> None:
    """Play all studies and print a row for each way."""
    options = benchmark.read_options(__doc__, runs=1000, workers=2)
    table = benchmark.Table(
        options,
        "mistakes | draws | a version passes | at least one passes"
        " | error shared: a version passes | at least one of them",
    )
    with concurrent.futures.ProcessPoolExecutor(options.workers) as workers:
        for alike in (False, True):
            for acquisition in ("uniform", "optimal"):
                job = partial(play, alike, acquisition)
                found = np.array(list(workers.map(job, range(options.runs), chunksize=5)))
                words = "alike" if alike else "independent"
                rates = (f"{rate:.3f}" for way in (0, 1) for rate in find_rates(found[:, way]))
                table.add(words, acquisition, *rates)
        fits = np.array(list(workers.map(fit_model, range(options.runs), chunksize=5)))
    table = benchmark.Table(options, "fitted model | true error | mean estimate | coverage")
    for place, name in ((1, "all draws"), (4, "draws since it came")):
        estimate, lower, upper = fits[:, place : place + 3].T
        covered = ((lower <= fits[:, 0]) & (fits[:, 0] <= upper)).mean()
        table.add(name, f"{fits[:, 0].mean():.3f}", f"{estimate.mean():.3f}", f"{covered:.3f}")


def find_rates(passed: np.ndarray) -> tuple[float, float]:
    """How often a version passes, and at least one in a study; passed (runs, VERSIONS)."""
    return float(passed.mean()), float(passed.any(axis=1).mean())


if __name__ == "__main__":
    main()
