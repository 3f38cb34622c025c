"""How wide anytime-valid intervals are, beside fixed ones: bets on pools of our own making.

The surrogate is the model itself and learns nothing, so that only the bets matter: a thousand
studies take a minute. Pools are those of hard_pools.py and sharp, whose model knows well which 6 %
of its predictions are wrong. --code takes the bets of another checkout, on the same draws.

width    mean width of the 95 % interval after so many draws, valid at every look
ratio    that width over 3.92 standard deviations of the doubly robust estimate
missed   share of studies whose interval, at some draw up to the last, had left out the truth
"""

import argparse
import sys
from pathlib import Path

import benchmark
import numpy as np
from hard_pools import POOLS

LEVEL = 0.95


def sharp(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Most predictions are nearly sure to be right, and the model knows which."""
    chance = rng.beta(0.15, 2.2, size)
    return 1 - np.clip(chance, 0.004, 0.9), chance


def main() -> None:
    """Print a row per pool and size, and the geometric means of the widths."""
    options = benchmark.read_options(
        __doc__,
        runs=200,
        size="600,1000,3000",
        floor=0.5,
        budget="50,100,200,400",
        seed=0,
        code=Path(__file__).parents[2],
    )
    sys.path.insert(0, str(options.code))
    budgets = tuple(map(int, options.budget.split(",")))
    heads = [f"M = {budget}: width, ratio" for budget in budgets]
    table = benchmark.Table(options, "items | pool", *heads, "missed")
    for size in map(int, options.size.split(",")):
        widths = []
        for name, make in (POOLS | {"sharp": sharp}).items():
            found = play(make, size, budgets, options)
            widths.append(found[0])
            cells = [f"{width:.4f}, {ratio:.2f}" for width, ratio in zip(*found[:2], strict=True)]
            table.add(f"{size:,}", name, *cells, f"{found[2]:.3f}")
        means = [f"{width:.4f}" for width in np.exp(np.log(widths).mean(axis=0))]
        table.add(f"{size:,}", "geometric mean", *means, "")


def play(make, size: int, budgets: tuple[int, ...], options: argparse.Namespace) -> tuple:
    """(B,) mean widths and their ratios, and the share of studies that missed, of one pool."""
    from activetest.intervals import betting

    rng = np.random.default_rng([options.seed, size])
    confidence, chance = make(rng, size)
    wrong = (rng.random(size) < chance) * 1.0
    truth, limit = wrong.mean(), np.log(2 / (1 - LEVEL))
    widths, estimates, missed = [], [], 0
    for _ in range(options.runs):
        increments = draw(rng, 1 - confidence, wrong, options.floor, max(budgets))
        ends = [
            betting.interval(increments.until(budget), LEVEL, low=0.0, high=1.0)
            for budget in budgets
        ]
        widths.append([end.upper - end.lower for end in ends])
        estimates.append([estimate(increments, size, budget) for budget in budgets])
        capital = betting.log_e_values(increments, truth)
        missed += max(side.max() for side in capital) >= limit
    width = np.mean(widths, axis=0)
    return width, width / (3.92 * np.std(estimates, axis=0)), missed / options.runs


def draw(rng: np.random.Generator, guess: np.ndarray, wrong: np.ndarray, floor: float, count: int):
    """The increments of so many draws, with the guess as surrogate."""
    from activetest.nouns.estimate import Increments
    from activetest.rounds import race

    size, free = len(guess), np.ones(len(guess), bool)
    weight, _ = race.mix_scores(np.sqrt(guess * (1 - guess))[None], free, floor)
    order = np.argsort(rng.exponential(size=size) / weight)
    rows = order[:count]
    left = weight[rows] / race.draw_probabilities(weight, rows)
    rest = guess.sum() - (np.cumsum(guess[rows]) - guess[rows])
    # Items later in the order could be drawn.
    lowest, highest = (
        pick.accumulate(((end - guess) / weight)[order[::-1]])[::-1][:count]
        for pick, end in ((np.minimum, 0.0), (np.maximum, 1.0))
    )
    known = np.cumsum(wrong[rows]) - wrong[rows]
    fields = [(wrong - guess)[rows] / weight[rows] * left + rest]
    fields += [lowest * left + rest, highest * left + rest, known, 0.0 * known]
    return Increments(*np.array([*fields, size - np.arange(count)]) / size)


def estimate(increments, size: int, draws: int) -> float:
    """The doubly robust estimate after so many draws: weights as LURE's."""
    place = np.arange(1, draws + 1)
    weights = 1 / ((size - place) * (size - place + 1.0))
    terms = (increments.offset + increments.value)[:draws]
    return float(weights @ terms / weights.sum())


if __name__ == "__main__":
    main()
