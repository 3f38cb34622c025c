"""The floor: fixed ones, and floors that follow the evidence of the draws so far.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. A rule is a floor, or seen-K or
raised-K: before every round after the first it takes the floor of FLOORS with which the variance
of the next draw is smallest: the sum over the pool of E[(h - g)^2] / q, estimated from the
residuals of the draws so far, each over its own probability, and from K imaginary draws for which
the usual floor would be the best. Residuals were predicted before their labels were known, and the
floor is known before the round: estimates stay unbiased. raised-K never goes below the usual floor.

gain      of the exact conditional variance over that of the usual floor, a logarithm, on the same
          seeds (see surrogates.py), +- its Monte-Carlo error; of a metric of several means that of
          its linear part at the truth
saved     the squared error of uniform draws over that of the studies
coverage  of the 95 % interval, and its mean width; floor: its mean in the last round
"""

from collections.abc import Callable
from dataclasses import replace

import benchmark
import numpy as np
from staging import Stage, staged
from surrogates import sum_steps

FLOORS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.42, 0.5, 0.6, 0.75)
USUAL, BUDGETS, BATCH = 0.35, (50, 100, 200), 25


def main() -> None:
    """Print a row per pool and rule."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools="",
        runs=20,
        metric="error",
        rule="0.2,0.5,seen-100,seen-300,raised-50",
        seed=0,
    )
    heads = [f"M = {budget}: gain, saved, coverage, width, floor" for budget in BUDGETS]
    table = benchmark.Table(options, "pool | metric | floor", *heads)
    for file in benchmark.find_pools(options.folder, options.pools):
        with staged(file, metric=options.metric, surrogate="agreement", floor=USUAL) as stage:
            seeds = range(options.seed, options.seed + options.runs)
            uniform, usual = stage.uniform(BUDGETS), None
            for rule in (f"{USUAL}", *options.rule.split(",")):
                found = np.array([play(stage, seed, read_rule(rule)) for seed in seeds])
                usual = found if usual is None else usual
                cells = " | ".join(summarise(found, usual, uniform))
                table.add(file.stem, options.metric, rule, cells)


def read_rule(rule: str) -> Callable:
    """The floor of a round by (log, stage, surrogate)."""
    kind, _, pseudo = rule.partition("-")
    if not pseudo:
        return lambda log, stage, surrogate: float(rule)
    return follow_evidence(float(pseudo), {"seen": FLOORS[0], "raised": USUAL}[kind])


def follow_evidence(pseudo: float, lowest: float) -> Callable:
    """The rule that learns from draws; of metrics of one mean."""

    def choose(log, stage: Stage, surrogate) -> float:
        from activetest.nouns.beliefs import moments
        from activetest.rounds.fit import find_drawable_items

        if not len(log.rows):
            return USUAL
        (statistic,) = stage.metric.statistics
        beliefs = surrogate.beliefs(stage.made.rows(0, stage.made.size), (statistic,))
        variance = moments(beliefs)[1][0].astype(float)
        free = find_drawable_items(log, stage.made)
        guess = [each.imputed[:, each.statistics.index(statistic.name)] for each in log.history]
        residual = (stage.stats[log.rows] - np.concatenate(guess)) ** 2 / log.q
        scaled = variance / variance[free].mean()
        expected = (1 - USUAL**2) * variance[free] + USUAL**2 * variance[free].mean()
        loss = {}
        for floor in FLOORS:
            weight = np.sqrt((1 - floor**2) * scaled + floor**2)
            believed = (expected / weight[free]).sum()
            seen = (residual / weight[log.rows]).sum()
            loss[floor] = weight[free].sum() * (pseudo * believed + seen)
        return min((floor for floor in FLOORS if floor >= lowest), key=loss.__getitem__)

    return choose


def play(stage: Stage, seed: int, choose: Callable) -> np.ndarray:
    """(budgets, 5) variance, value, ends of the interval and last floor of a study."""
    from activetest.estimation.view import build_view
    from activetest.nouns.log import Log
    from activetest.rounds import race
    from activetest.rounds.fit import get_surrogate
    from activetest.sampling import plan
    from activetest.simulation.simulate import answered

    made, choices, metric = stage.made, stage.choices, stage.metric
    outputs = made.rows(0, made.size).outputs
    stats = [each.value(outputs, stage.truth[:, None])[:, 0] for each in metric.statistics]
    stats = np.array(stats, float)
    slope = metric.gradient(stats.mean(axis=1)) if len(stats) > 1 else np.ones(1)
    log, steps, rows = Log.empty(), [], []
    for budget in BUDGETS:
        while len(log.rows) < budget:
            surrogate = get_surrogate(log, made, choices, seed=seed)
            choices = replace(choices, floor=choose(log, stage, surrogate))
            frozen = plan.prepare_round(log, made, choices, seed=seed, surrogate=surrogate)
            drawn = race.draw_by_race(
                made.hashes, frozen.q, BATCH, seed=seed, stream=frozen.round.number
            )
            guess = np.hstack(
                [surrogate.expected(made.rows(*each), metric.statistics) for each in made.chunks()]
            )
            columns = np.vstack([slope @ stats, np.ones(made.size), guess])
            steps += sum_steps(columns, frozen.q, drawn)
            log = answered(log, plan.record_round(frozen, drawn, made), stage.truth)
        view = build_view(log, made, choices, [metric], seed=seed, own_view=False)
        value = view.value(metric, "doubly-robust")
        interval = view.interval(value, choices.level)
        found = find_variance(np.array(steps), view, metric, slope)
        rows.append([found, value.value, interval.lower, interval.upper, choices.floor])
    return np.array(rows)


def find_variance(steps: np.ndarray, view, metric, slope: np.ndarray) -> float:
    """Sum of w_m^2 Var_m of the linear part, by the guesses that were made before each draw."""
    from activetest.estimation import samples
    from activetest.estimators.doubly_robust import _calibration

    sample = samples.build_sample(view.evidence, metric, view.evidence.groups[0])
    center = sample.imputed_sum / sample.left[:, None]
    level, along, _ = _calibration(sample, center)
    forms = np.column_stack([np.ones(len(level)), (along * center - level) @ slope, -along * slope])
    squares = np.einsum("mi,mij,mj->m", forms, steps[:, :-1], forms)
    means = np.einsum("mi,mi->m", forms, steps[:, -1])
    return float((sample.weights**2 * (squares - means**2)).sum() / sample.size**2)


def summarise(found: np.ndarray, usual: np.ndarray, uniform) -> list[str]:
    """A cell per budget, from what play gave for every seed."""
    cells = []
    for place, budget in enumerate(BUDGETS):
        variance, value, lower, upper, floor = found[:, place].T
        before = usual[:, place, 0]
        gain = np.log(before.mean() / variance.mean())
        apart = variance / variance.mean() - before / before.mean()
        noise = apart.std(ddof=1) / np.sqrt(len(apart))
        saved = uniform.error(budget) / ((value - uniform.truth) ** 2).mean()
        held = (lower - 1e-12 <= uniform.truth) & (uniform.truth <= upper + 1e-12)
        text = f"{gain:+.1%} ± {noise:.1%}, {saved:.2f}, {held.mean():.3f}, "
        cells.append(f"{text}{(upper - lower).mean():.4f}, {floor.mean():.2f}")
    return cells


if __name__ == "__main__":
    main()
