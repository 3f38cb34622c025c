"""Active Testing (Kossen 2021), Fig. 3, A.1, 8 (a) and D.1: is LURE unbiased, and how noisy is it?

Every run is another data set, split and fitted anew (toys.py). Numbers are in percent of the mean
loss: bias +- its standard error, then the standard deviation of estimate minus truth over the runs,
then the number of uniform labels with that standard deviation. Uniform draws have it in closed
form, on the same data sets. With --save runs are kept, and only missing ones are made.

uniform      plain mean of uniform draws
lure         expected loss of the surrogate, eq. (8) and (12); LURE
             doubly-robust: this tool's own estimate from the same draws
             naive: their plain mean (Fig. 8)
model        expected loss of the black box itself; LURE
are          active risk estimation, with replacement (D.1); M counts draws, not different labels
are-surrogate  the same, with the surrogate

The surrogate is a Gaussian process, or a forest for two-moons; it learns the training rows and all
labels so far, after every label (forest: after every fifth). The paper's published settings for
these data sets have no floor under the draws' probabilities and give the Gaussian process the very
kernel that the data are drawn from, without noise; here the floor is small, and kernel and noise
are learned.
"""

import argparse
import tempfile
from pathlib import Path

import benchmark
import numpy as np
from staging import played
from toys import TOYS

# Surrogates of the draws, in the order printed; "" stands for the surrogate.
WAYS = {
    "lure": ("", "expected-loss", ("lure", "doubly-robust", "naive")),
    "model": ("model", "expected-loss", ("lure",)),
    "are": ("model", "active-risk", ("importance",)),
    "are-surrogate": ("", "active-risk", ("importance",)),
}
# A line has no idea how wrong it is.
SPEECHLESS = ("quadratic-linear",)


def main() -> None:
    """Print one row per toy and way."""
    options = arguments()
    header = " | ".join(f"M = {budget}: bias, s.d., as uniform" for budget in options.budget)
    table = benchmark.Table(options, "data | way | runs", header)
    for toy in options.toy.split(","):
        scene = (toy, options.ways, options.budget, options.floor, options.seed)
        what = dict(zip(("toy", "ways", "budgets", "floor", "seed"), scene, strict=True))
        kept = options.save and options.save / f"{toy}-{options.floor}.jsonl"
        found = played(play, scene, options.runs, what=what, file=kept, workers=options.workers)
        for name, cells in rows(found, options.budget):
            table.add(toy, name, len(found), *cells)


def arguments() -> argparse.Namespace:
    """The command line; toys are separated by commas, budgets repeat the option."""
    options = benchmark.read_options(
        __doc__,
        toy=",".join(TOYS),
        runs=1000,
        budget={"type": int, "action": "append"},
        ways=",".join(WAYS),
        floor=0.05,
        seed=0,
        save=Path,
        workers=int,
    )
    options.budget = tuple(sorted(options.budget or (5, 10, 20, 40)))
    options.ways = options.ways.split(",")
    return options


def play(scene: tuple, number: int) -> dict:
    """The truth, the variance of the losses, and {"way estimator budget": estimate} of one run."""
    from activetest.cache import auxiliary, cache
    from activetest.pool.pool import Pool
    from activetest.sampling.choices import check_choices
    from activetest.simulation.design import Plan
    from activetest.simulation.simulate import run

    name, ways, budgets, floor, seed = scene
    toy = TOYS[name](np.random.default_rng([seed, number]))
    classes = toy.probs is not None
    learner, metric = ("forest", "log-loss") if classes else ("gp", "mse")
    losses = _losses(toy)
    line = {"truth": losses.mean(), "variance": losses.var(ddof=1), "size": len(losses)}
    with tempfile.TemporaryDirectory(prefix="activetest-toy-") as folder:
        path = toy.write(Path(folder) / "toy")
        pool = Pool.open(str(path))
        made = cache.build_cache(pool, Path(folder) / "cache")
        rows = str(path.with_name("toy.train.parquet"))
        equipped = auxiliary.attach_auxiliary(made, pool, [learner], train=rows)
        roles = pool.schema.to_dict() | {"uri": pool.uri}
        for way in ways:
            surrogate, acquisition, estimators = WAYS[way]
            if surrogate == "model" and name in SPEECHLESS:
                continue
            wishes = {"metric": metric, "metrics": (metric,), "acquisition": acquisition}
            wishes |= {"surrogate": surrogate or learner, "floor": floor}
            wishes |= {"refit": "5" if classes else "every"}
            choices = check_choices(wishes, roles, where="benchmark", simulated=True)
            plan = Plan((choices,), estimators, (metric,), budgets, "fixed", 1, seed)
            found = run(made if surrogate else equipped, toy.y.astype(float), plan, choices, number)
            line |= {f"{way} {one} {at}": value[0] for (one, _, at), value in found.items()}
    return {key: float(value) for key, value in line.items()}


def _losses(toy) -> np.ndarray:
    """(N,) squared error, or cross-entropy with probabilities floored at 1e-12."""
    if toy.probs is None:
        return (toy.pred - toy.y) ** 2
    return -np.log(np.maximum(toy.probs[np.arange(len(toy.y)), toy.y], 1e-12))


def rows(found: list[dict], budgets: tuple[int, ...]) -> list[tuple[str, list[str]]]:
    """(name, cells) of uniform draws, then of every way and estimator."""
    truth = np.array([line["truth"] for line in found])
    variance = np.mean([line["variance"] for line in found])
    size, scale = found[0]["size"], 100 / truth.mean()
    uniform = [np.sqrt(variance / budget * (1 - budget / size)) * scale for budget in budgets]
    first = [f"0, {value:.1f}, {budget}" for value, budget in zip(uniform, budgets, strict=True)]
    made = [("uniform, iid", first)]
    keys = [key.rsplit(" ", 1)[0] for key in found[0] if " " in key]
    for name in dict.fromkeys(keys):
        cells = []
        for budget in budgets:
            errors = np.array([line.get(f"{name} {budget}", np.nan) for line in found]) - truth
            errors = errors[~np.isnan(errors)]
            spread = errors.std(ddof=1)
            same = 1 / (spread**2 / variance + 1 / size)
            noise = spread / np.sqrt(len(errors)) * scale
            bias = f"{errors.mean() * scale:+.1f} +- {noise:.1f}"
            cells.append(f"{bias}, {spread * scale:.1f}, {same:.1f}")
        made.append((name.replace(" ", ", "), cells))
    return made


if __name__ == "__main__":
    main()
