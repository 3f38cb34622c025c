"""Labels saved as reports claim them, against the truth.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. Draws aim at each metric in turn.

truth      uniform labels that reach the mean squared error of the studies, over their labels, and
           its Monte-Carlo standard error
claimed    mean over the studies of what their reports say, and the share of them above the truth
early      share of the studies whose reports say that it is too early
held up    share of the studies whose variance is held up, and the share of these above the truth:
           how often "at least" would be false
"""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import benchmark
import numpy as np

_COLUMNS = ["pool", "metric", "floor", "labels", "runs", "truth", "claimed", "early", "held_up"]
_BATCH = 25


def main() -> None:
    """Print a row per pool, metric and number of labels."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools={"required": True},
        metric={"action": "append"},
        floor=0.35,
        runs=200,
        budget="50,100,200",
    )
    budgets = tuple(map(int, options.budget.split(",")))
    table = benchmark.Table(options, *(name.replace("_", " ") for name in _COLUMNS))
    for name in options.pools.split(","):
        with tempfile.TemporaryDirectory() as folder:
            pool = open_pool(options.folder, name, Path(folder) / "cache")
            for title in options.metric or ["rmse" if pool.regression else "error"]:
                for cells in measure(pool, title, options.floor, options.runs, budgets):
                    row = name, title, f"{options.floor:g}", *cells
                    table.add(*row)


def open_pool(folder: Path, name: str, where: Path) -> SimpleNamespace:
    """The cache of a pool, its true labels and what metrics need to know."""
    from activetest.cache.cache import build_cache
    from activetest.item_statistics import specification
    from activetest.pool.pool import Pool
    from activetest.simulation.answer_key import read_answer_key

    pool = Pool.open(str(folder / f"{name}.parquet"))
    built = build_cache(pool, where)
    regression = pool.schema.task == "regression"
    unmatched = not regression and pool.schema.open_classes
    truth = read_answer_key(built, folder / f"{name}.labels.csv", unmatched=unmatched)
    facts = specification.describe_pool(built.roles, None, built)
    return SimpleNamespace(cache=built, truth=truth, facts=facts, regression=regression)


def measure(
    pool: SimpleNamespace, title: str, floor: float, runs: int, budgets: tuple[int, ...]
) -> list[list[str]]:
    """The cells of a row per number of labels."""
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.simulation.baseline import compute_baseline

    metric = specification.find_metric(title, pool.facts)
    choices = Choices(
        metric=title,
        metrics=(title,),
        surrogate="residual" if pool.regression else "agreement",
        floor=floor,
    )
    found: dict[int, list] = {budget: [] for budget in budgets}
    for seed in range(runs):
        for budget, row in play(pool, metric, choices, seed, budgets):
            found[budget].append(row)
    outputs = pool.cache.rows(0, pool.cache.size).outputs
    uniform = compute_baseline(metric, outputs, pool.truth, budgets, np.random.default_rng(1))
    return [[str(budget), *summarise(found[budget], uniform, budget)] for budget in budgets]


def play(pool: SimpleNamespace, metric, choices, seed: int, budgets: tuple[int, ...]):
    """(labels, row of the report) of one study, at each number of labels with an estimate."""
    from activetest.estimation.view import build_view
    from activetest.nouns.log import Log
    from activetest.reporting.rows import HEADLINE, estimate_row
    from activetest.rounds.fit import get_surrogate
    from activetest.sampling.plan import plan_round
    from activetest.simulation.simulate import answered

    log, surrogate = Log.empty(), None
    for budget in budgets:
        while len(log.rows) < budget:
            count = min(_BATCH, budget - len(log.rows))
            drawn = plan_round(
                log, pool.cache, choices, seed=seed, count=count, surrogate=surrogate
            )
            log, surrogate = answered(log, drawn, pool.truth), None
        surrogate = get_surrogate(log, pool.cache, choices, seed=seed)
        view = build_view(
            log, pool.cache, choices, [metric], seed=seed, own_view=False, surrogate=surrogate
        )
        row = estimate_row(view, metric, HEADLINE, level=choices.level)
        if row.estimate is not None:
            yield budget, row


def summarise(rows: list, uniform, budget: int) -> list[str]:
    """Number of studies, the truth, what was claimed, too early, and held up."""
    errors = (np.array([row.estimate for row in rows]) - uniform.truth) ** 2
    truth = uniform.labels(errors.mean()) / budget
    doubt = truth * errors.std() / errors.mean() / len(rows) ** 0.5
    saved = np.array([np.nan if (one := row.quantity.saved) is None else one for row in rows])
    said = np.isfinite(saved)
    above = saved > truth
    inflated = said & np.array([row.variance_inflated for row in rows])
    cell = "-"
    if said.any():
        cell = f"{saved[said].mean():.2f}, {100 * above[said].mean():.0f} %"
    held = f"{100 * inflated.mean():.0f} %"
    if inflated.any():
        held += f", {100 * above[inflated].mean():.0f} %"
    return [
        f"{len(rows)}",
        f"{truth:.2f} ± {doubt:.2f}",
        cell,
        f"{100 * (1 - said.mean()):.0f} %",
        held,
    ]


if __name__ == "__main__":
    main()
