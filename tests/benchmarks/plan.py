"""Plans: labels that a half-width takes, over those that were planned for it.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. The goals are the half-widths that a
plan before the first label expects after the given numbers of labels, at the geometric mean of its
range. Studies draw in batches until the interval is as narrow, at most to so many labels.

planned   labels of that plan: the range for this goal
realised  median labels of the studies; a study that does not get there has the most
ratio     realised over the geometric mean of the range that was planned
within    share of looks, from 100 labels on and before the goal, at which the labels that are then
          realised are in the range of 20 to 80 % that the report names, in whole batches
below     share of looks at which fewer are; the rest are above
"""

import benchmark
import numpy as np
from staging import Stage, staged

from activetest.estimation.planning import plan_half_width
from activetest.estimation.view import build_view
from activetest.estimation.worlds import Worlds, count_labels, expect_half_width, imagine_worlds
from activetest.nouns.log import Log
from activetest.nouns.plan import HIGH, LOW
from activetest.reporting.rows import HEADLINE

_LOOKS = (100, 150, 200, 300)


def main() -> None:
    """Print a row per pool and goal."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools="",
        metric="error",
        runs=20,
        labels="200,400",
        most=800,
        batch=25,
        doubt=2.0,
        seed=0,
    )
    table = benchmark.Table(
        options,
        "pool | metric | half-width | studies",
        "planned",
        "realised",
        "ratio",
        "within",
        "below",
    )
    for file in benchmark.find_pools(options.folder, options.pools):
        with staged(file, metric=options.metric, surrogate="auto") as stage:
            worlds = imagine_worlds(
                stage.made, stage.metric, floor=stage.choices.floor, doubt=options.doubt
            )
            counts = np.array([int(each) for each in options.labels.split(",")])
            goals = np.sqrt(np.prod(find_ends(worlds, counts), axis=0)).tolist()
            seeds = range(options.seed, options.seed + options.runs)
            paths = [follow(stage, seed, min(goals), options) for seed in seeds]
            for goal in goals:
                table.add(
                    file.stem, options.metric, *summarise(stage, worlds, paths, goal, options)
                )


def find_ends(worlds: Worlds, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K,) both ends of the half-widths planned after so many labels."""
    pairs = [pair for each in worlds.single for pair in worlds.list_likely(each)]
    found = [
        expect_half_width(*pair, counts, size=worlds.size, level=0.95, bounds=worlds.bounds)
        for pair in pairs
    ]
    return np.min(found, axis=0), np.max(found, axis=0)


def follow(stage: Stage, seed: int, goal: float, options) -> list[tuple]:
    """(labels, half-width, slope, estimate) of a study until its interval is as narrow."""
    log, path = Log.empty(), []
    for count in range(2 * options.batch, options.most + 1, options.batch):
        log = benchmark.buy_labels(
            *(log, stage.made, stage.choices, stage.truth),
            labels=count,
            batch=options.batch,
            seed=seed,
        )
        view = build_view(
            *(log, stage.made, stage.choices, [stage.metric]), seed=seed, own_view=False
        )
        value = view.value(stage.metric, HEADLINE)
        low, high = view.interval(value, stage.choices.level).find_ends()
        kept = value.estimate if count in _LOOKS else None
        path.append((count, (high - low) / 2, abs(value.slope), kept))
        if (high - low) / 2 <= goal:
            break
    return path


def summarise(stage: Stage, worlds: Worlds, paths: list, goal: float, options) -> tuple:
    """The cells of a goal."""
    pairs = [pair for each in worlds.single for pair in worlds.list_likely(each)]
    about = {"size": worlds.size, "level": 0.95, "bounds": worlds.bounds}
    planned = [count_labels(*pair, half_width=goal, **about) for pair in pairs]
    reached, inside = [], []
    for path in paths:
        first = next((count for count, half, _, _ in path if half <= goal), None)
        reached.append(options.most if first is None else first)
        for count, half, slope, kept in path:
            if kept is None or count >= reached[-1] or half <= goal:
                continue
            low, high = (
                count
                + plan_half_width(
                    kept,
                    half_width=half / slope,
                    goal=goal / slope,
                    size=worlds.size,
                    level=0.95,
                    quantile=each,
                )
                for each in (LOW, HIGH)
            )
            low, high = (-(-each // options.batch) * options.batch for each in (low, high))
            # Of a study that ends before, more is not known than that it needs more.
            if first is None and high <= options.most:
                inside.append((False, False))
            elif first is not None:
                inside.append((low <= first <= high, first < low))
    share = np.mean(inside, axis=0) if inside else ()
    middle = (min(planned) * max(planned)) ** 0.5
    return (
        f"{goal:.4f}",
        len(paths),
        f"{min(planned):,} to {max(planned):,}",
        f"{np.median(reached):,.0f}",
        f"{np.median(reached) / middle:.2f}",
        f"{share[0]:.2f} of {len(inside)}" if inside else "",
        f"{share[1]:.2f}" if inside else "",
    )


if __name__ == "__main__":
    main()
