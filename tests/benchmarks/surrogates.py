"""Every surrogate on every pool: labels saved and coverage, as a Markdown table.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key; with --train also
NAME.train.parquet, and NAME.surrogates.parquet for those surrogates that want it. With --save
every run is kept, and only missing ones are made.

Saved needs few runs: since the key is known, so is the conditional variance of every doubly robust
step a_m, (1/N^2) [sum over R_m of (h - g)^2 / q - (sum over R_m of h - g)^2], R_m what could be
drawn. The steps are martingale differences, so the mean squared error of the estimate is the mean
over runs of sum_m w_m^2 Var_m. Uniform draws have theirs in closed form, and saved is the ratio.
Coverage and the mean squared error itself come from the runs' estimates. Runs of all surrogates
have the same seeds: the last number of a cell is how many times less variance than the first
surrogate's it is, over the same runs.
"""

import argparse
import time
from dataclasses import asdict
from pathlib import Path

import benchmark
import numpy as np
from staging import Stage, played, staged

# Runs by cost.
RUNS = {"forest": 100, "linear": 100, "gp": 20, "external": 200, "stack": 100, "auto": 20}
RUNS |= dict.fromkeys(("ensemble", "mc-dropout", "radial-bnn"), 20)
MANY = 2000
# Refitted each round, unless --refit says otherwise; others when labels doubled.
EVERY = ("agreement", "residual", "model", "auto")


def main() -> None:
    """Print a row per pool, metric and surrogate; then a row per pool and metric."""
    options = arguments()
    first = options.surrogate[0]
    header = [f"M = {n}: saved, by runs, coverage, over {first}" for n in options.budget]
    table = benchmark.Table(
        options, "pool | metric | surrogate | runs", *header, "processor s per run"
    )
    summary = []
    for file in benchmark.find_pools(options.folder, options.pools):
        for metric in options.metric:
            floor = f"{0.35 if options.floor is None else options.floor:g}"
            summary.append({"pool": file.stem, "metric": metric, "floor": floor})
            summary[-1] |= dict.fromkeys(options.surrogate, "-")
            first = None
            for surrogate in options.surrogate:
                cells, variances = row(file, metric, surrogate, options, first)
                if cells:
                    first = variances if first is None else first
                    table.add(file.stem, metric, surrogate, *cells)
                    saved = [cell.partition(",")[0].partition(" +-") for cell in cells[1:-1]]
                    means, runs = " / ".join(mean for mean, *_ in saved), cells[0]
                    summary[-1][surrogate] = f"{means} ±{saved[-1][2]} ({runs})"
    table = benchmark.Table(options, "pool | metric | floor", *options.surrogate)
    for cells in summary:
        table.add(*cells.values())


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas, budgets and metrics repeat the option."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        surrogate="model,agreement",
        pools="",
        metric={"action": "append"},
        budget={"type": int, "action": "append"},
        train=False,
        outputs={"default": "", "help": "the column of scores, for regression"},
        runs=int,
        refit="",
        floor=float,
        acquisition="optimal",
        batch=10,
        seed=0,
        save=Path,
        workers=int,
    )
    options.surrogate = options.surrogate.split(",")
    options.metric = options.metric or ["error", "log-loss"]
    options.budget = tuple(sorted(options.budget or (50, 100, 200)))
    return options


def row(
    file: Path,
    metric: str,
    surrogate: str,
    options: argparse.Namespace,
    first: np.ndarray | None = None,
) -> tuple[list[str], np.ndarray | None]:
    """The cells after the names, and (runs, budgets) variances; empty where there is nothing.

    first are the variances of the surrogate that this one is compared with.
    """
    refit = "every" if surrogate in EVERY else "doubling"
    wishes = {"metric": metric, "surrogate": surrogate, "acquisition": options.acquisition}
    wishes |= {"floor": options.floor, "refit": options.refit or refit}
    with staged(file, train=options.train, outputs=options.outputs, **wishes) as stage:
        if stage is None:
            return [], None
        runs = options.runs or RUNS.get(surrogate, MANY)
        kept = options.save and options.save / f"{file.stem}-{metric}-{surrogate}.jsonl"
        scene = (stage, options.budget, options.batch, options.seed)
        what = {"choices": asdict(stage.choices), "budgets": options.budget, "seed": options.seed}
        what |= {"batch": options.batch, "train": options.train}
        found = played(_play, scene, runs, what=what, file=kept, workers=options.workers)
        uniform = stage.uniform(options.budget)
    table = np.array([one[0] for one in found])
    cells = []
    for place, budget in enumerate(options.budget):
        estimate, lower, upper, variance = table[:, place].T
        errors = (estimate - uniform.truth) ** 2
        saved = uniform.error(budget) / np.array([variance.mean(), errors.mean()])
        spread = [each.std(ddof=1) / each.mean() for each in (variance, errors)]
        noise = saved * spread / np.sqrt(runs)
        inside = (lower - 1e-12 <= uniform.truth) & (uniform.truth <= upper + 1e-12)
        by_key, by_runs = (f"{a:.2f} +- {b:.2f}" for a, b in zip(saved, noise, strict=True))
        over = compare(variance if first is None else first[:, place], variance)
        cells.append(f"{by_key}, {by_runs}, {inside.mean():.3f}, {over}")
    return [str(runs), *cells, f"{np.mean([one[1] for one in found]):.2f}"], table[..., 3]


def compare(first: np.ndarray, second: np.ndarray) -> str:
    """The ratio of two mean variances (runs,), with its standard error over the runs of both."""
    runs = min(len(first), len(second))
    first, second = first[:runs], second[:runs]
    ratio = first.mean() / second.mean()
    spread = (first / first.mean() - second / second.mean()).std(ddof=1)
    return f"{ratio:.3f} +- {ratio * spread / np.sqrt(runs):.3f}"


def _play(scene: tuple, number: int) -> tuple[list, float]:
    stage, budgets, batch, seed = scene
    began = time.process_time()
    numbers = play(stage, budgets, batch, seed * 1_000_003 + number)
    return numbers.tolist(), time.process_time() - began


def play(stage: Stage, budgets: tuple[int, ...], batch: int, seed: int) -> np.ndarray:
    """(budgets, 4) estimate, lower, upper and exact conditional variance of one study."""
    from activetest.estimation.view import build_view
    from activetest.nouns.log import Log
    from activetest.rounds import race
    from activetest.sampling import plan
    from activetest.simulation.simulate import answered

    made, choices, metric = stage.made, stage.choices, stage.metric
    log, steps, rows = Log.empty(), [], []
    for budget in budgets:
        while len(log.rows) < budget:
            frozen = plan.prepare_round(log, made, choices, seed=seed)
            count = min(batch, budget - len(log.rows))
            drawn = race.draw_by_race(
                made.hashes, frozen.q, count, seed=seed, stream=frozen.round.number
            )
            steps += step_sums(frozen, drawn, stage)
            log = answered(log, plan.record_round(frozen, drawn, made), stage.truth)
        view = build_view(log, made, choices, [metric], seed=seed, own_view=False)
        value = view.value(metric, "doubly-robust")
        interval = view.interval(value, choices.level)
        rows.append([value.value, interval.lower, interval.upper, exact(steps, view, stage)])
    return np.array(rows)


def step_sums(frozen, drawn: np.ndarray, stage: Stage) -> list[np.ndarray]:
    """The sums of a round's draws, see sum_steps, over h, 1 and the surrogate's guesses g.

    Of a metric of d statistics there are d of h and of g.
    """
    expected = [
        frozen.surrogate.expected(stage.made.rows(*piece), stage.metric.statistics)
        for piece in stage.made.chunks()
    ]
    ones = np.ones((1, stage.made.size))
    columns = np.vstack([stage.values, ones, np.hstack(expected)])
    return sum_steps(columns, frozen.q, drawn)


def sum_steps(columns: np.ndarray, weight: np.ndarray, drawn: np.ndarray) -> list[np.ndarray]:
    """One (K, K) matrix above a (K,) vector, as (K + 1, K), for every draw of a round.

    With columns c (K, N) over what could be drawn and weight s (N,): the matrix is
    sum(s) sum(c c' / s), the vector sum(c). Whatever the level and slope of a guess turn out to
    be, the variance of the step is a form of these.
    """
    left = weight > 0
    strength = np.where(left, weight, 1.0)
    weighted = (columns * (left / strength)) @ columns.T
    sums, total = columns @ left, weight.sum()
    found = []
    for row in drawn:
        found.append(np.vstack([total * weighted, sums]))
        one = columns[:, row]
        weighted = weighted - np.outer(one, one) / strength[row]
        sums, total = sums - one, total - strength[row]
    return found


def exact(steps: list[np.ndarray], view, stage: Stage) -> float:
    """Sum of w_m^2 Var_m, by the guess that the doubly robust estimate made before each draw."""
    from activetest.estimation import samples
    from activetest.estimators.doubly_robust import _calibration

    sample = samples.build_sample(view.evidence, stage.metric, view.evidence.groups[0])
    center = sample.imputed_sum / sample.left[:, None]
    level, slope, _ = _calibration(sample, center)
    # How far a metric of several means, or a root of one, moves with each.
    gradient = np.asarray(stage.metric.gradient(stage.values.mean(axis=1)), float).reshape(-1)
    # The sum over statistics of h - guess = h - (level - slope center) - slope g.
    moved = (slope * center - level) @ gradient
    forms = np.column_stack([np.tile(gradient, (len(level), 1)), moved, -slope * gradient])
    sums = np.array(steps)
    squares = np.einsum("mi,mij,mj->m", forms, sums[:, :-1], forms)
    means = np.einsum("mi,mi->m", forms, sums[:, -1])
    variances = (squares - means**2) / sample.size**2
    return float((sample.weights**2 * variances).sum())


if __name__ == "__main__":
    main()
