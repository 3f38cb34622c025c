"""Active Testing (Kossen 2021), Fig. 7: what do more and larger networks in an ensemble save?

An ensemble learns the training rows of FOLDER/NAME.train.parquet once and never a label. Draws are
by the expected log-loss, clipped at 0.2, and read by LURE. Every fit is drawn with as many times as
--runs says; uniform draws are simulated as often. Cells: median squared error over that of uniform
draws, both averaged over 100, 110 ... 200 labels (as in the figure), smallest and largest of the
fits in brackets, and the log-loss of the ensemble itself on the pool.
"""

import argparse
from pathlib import Path

import benchmark
import numpy as np
from paired import follow_lure
from staging import Stage, played, staged

COUNTS = list(range(100, 201, 10))


def main() -> None:
    """Print one row per network and one column per number of members."""
    options = arguments()
    members = [int(each) for each in options.members.split(",")]
    table = benchmark.Table(options, "hidden layers", *(f"{count} members" for count in members))
    for network in options.networks.split(","):
        layers, width = map(int, network.split("x"))
        cells = [
            measure(options, f"ensemble[members={count};layers={layers};width={width}]")
            for count in members
        ]
        table.add(f"{layers} of {width} units", *cells)


def arguments() -> argparse.Namespace:
    """The command line; numbers of members and networks are separated by commas."""
    return benchmark.read_options(
        __doc__,
        "folder",
        pool="digits",
        members="1,2,5,10",
        networks="1x8,1x32,2x64,3x128",
        fits=3,
        runs=50,
        save=Path,
        workers=int,
    )


def measure(options: argparse.Namespace, surrogate: str) -> str:
    """One cell of the table."""
    wishes = {"surrogate": surrogate, "acquisition": "expected-loss", "metric": "log-loss"}
    wishes |= {"floor": 0.2, "floor_rule": "clip", "refit": "never"}
    with staged(options.folder / f"{options.pool}.parquet", train=True, **wishes) as stage:
        assert stage is not None
        what = {"pool": options.pool, "surrogate": surrogate, "runs": options.runs}
        kept = options.save and options.save / f"{options.pool}-{surrogate}.jsonl"
        scene = (stage, options.runs)
        found = played(play, scene, options.fits, what=what, file=kept, workers=options.workers)
    ratios = [fit["active"] / fit["uniform"] for fit in found]
    loss = np.mean([fit["loss"] for fit in found])
    return f"{np.mean(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}); {loss:.2f}"


def play(scene: tuple, number: int) -> dict:
    """Medians of squared errors, averaged over COUNTS, and the surrogate's log-loss, of one fit."""
    from activetest.nouns.log import Log
    from activetest.rounds.fit import get_surrogate
    from activetest.sampling.plan import plan_round

    stage, runs = scene
    made, choices, nothing = stage.made, stage.choices, Log.empty()
    surrogate = get_surrogate(nothing, made, choices, seed=number)
    size, last, truth = made.size, COUNTS[-1], stage.stats.mean()
    errors: dict[str, list] = {"active": [], "uniform": []}
    for run in range(runs):
        # It learns nothing, so that all draws may be one round.
        seed = 1000 * number + run
        drawn = plan_round(nothing, made, choices, seed=seed, count=last, surrogate=surrogate)
        errors["active"].append(follow_lure(stage.stats[drawn.rows], drawn.q, size, COUNTS))
        order = np.random.default_rng([1, seed]).permutation(size)
        even = 1 / (size - np.arange(last))
        errors["uniform"].append(follow_lure(stage.stats[order[:last]], even, size, COUNTS))
    medians = {
        way: float(np.median((np.array(found) - truth) ** 2, axis=0).mean())
        for way, found in errors.items()
    }
    return medians | {"loss": score(stage, surrogate)}


def score(stage: Stage, surrogate) -> float:
    """The log-loss of the surrogate itself on the pool."""
    probs = surrogate.members.probs(stage.made.rows(0, stage.made.size)).astype(float)
    return float(-np.log(probs[np.arange(len(probs)), stage.truth.astype(int)] + 1e-12).mean())


if __name__ == "__main__":
    main()
