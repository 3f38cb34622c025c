"""Active Testing (Kossen 2021), appendix D: active risk estimation at its best, and its variants.

Every run is another sample of a Gaussian process (toys.py), of which 5 items are for training and
the others are the pool. Numbers are in percent of the mean loss: bias +- its standard error, then
the standard deviation of estimate minus truth over the runs. M counts labels; with replacement it
counts draws, but for the rows "novel", where it counts different items.

D.1 (a)  both know the labels: LURE with draws by true losses, and q = |loss - risk|, eq. (15)
D.1 (b)  that q without replacement: weighted by 1 / q, eq. (19), and the plain mean
D.1 (c)  neither knows them: LURE with expected losses of a Gaussian process that learns every
         label, and q of the model itself, eq. (17)
D.1 (d)  the same with --items 300; the Gaussian process learns every tenth label
D.2      as (c), and M counts different items; the last line is how many draws it takes to see all

Without replacement, q of a draw is its share of what is left.
"""

import argparse
import tempfile
from pathlib import Path

import benchmark
import numpy as np
from staging import played
from toys import gp

FEW, FLOOR = 50, 0.05
# Way, figure, and what the paper says of it.
WAYS = {
    "uniform, iid": ("", "the baseline of all figures"),
    "oracle, lure": ("D.1 a", "exact from the first label on"),
    "oracle ARE, importance": ("D.1 a", "better than random labels, never exact"),
    "oracle ARE without replacement, importance": ("D.1 b", "does not work"),
    "oracle ARE without replacement, plain mean": (
        "D.1 b",
        "ends at the truth; before, biased and noisier than random labels",
    ),
    "active testing, lure": ("D.1 c, d", "best"),
    "ARE, importance": ("D.1 c, d", "better than random labels, clearly worse than active testing"),
    "ARE, importance, novel": ("D.2", "slightly better, with the same conclusions"),
}


def main() -> None:
    """Print one row per way, then how many draws with replacement it takes to see every item."""
    options = arguments()
    scene = (options.items, options.budget, options.seed)
    what = dict(zip(("items", "budgets", "seed"), scene, strict=True))
    kept = options.save and options.save / f"active-risk-{options.items}.jsonl"
    found = played(play, scene, options.runs, what=what, file=kept, workers=options.workers)
    header = " | ".join(f"M = {budget}: bias, s.d." for budget in options.budget)
    table = benchmark.Table(options, "way | paper | runs", header, "the paper says")
    for way, (figure, said) in WAYS.items():
        cells = " | ".join(summarise(found, f"{way} {budget}") for budget in options.budget)
        table.add(way, figure, len(found), cells, said)
    draws = np.array([line["draws"] / line["size"] for line in found])
    print("\nDraws until every item was seen, over the number of items: ", end="")
    print(f"{draws.mean():.1f} ± {draws.std():.1f} (the paper, of 45 items: 9.8 ± 3.1)")


def arguments() -> argparse.Namespace:
    """The command line; budgets repeat the option."""
    options = benchmark.read_options(
        __doc__,
        runs=100,
        items=FEW,
        budget={"type": int, "action": "append"},
        seed=0,
        save=Path,
        workers=int,
    )
    options.budget = tuple(sorted(options.budget or (5, 10, 20, 40)))
    return options


def summarise(found: list[dict], key: str) -> str:
    """Bias +- standard error and standard deviation, in percent of the mean loss."""
    truth = np.array([line["truth"] for line in found])
    errors = (np.array([line[key] for line in found]) - truth) * 100 / truth.mean()
    spread = errors.std(ddof=1)
    return f"{errors.mean():+.1f} ± {spread / len(errors) ** 0.5:.1f}, {spread:.1f}"


def play(scene: tuple, number: int) -> dict:
    """The truth, and {"way budget": estimate} of one run."""
    from activetest.cache import auxiliary, cache
    from activetest.pool.pool import Pool
    from activetest.rounds.known_labels import KnownLabels
    from activetest.surrogates.model import Model

    items, budgets, seed = scene
    rng = np.random.default_rng([seed, number])
    toy = gp(rng, items)
    losses = (toy.pred - toy.y) ** 2
    found = {"truth": losses.mean(), "size": len(losses)}
    order = rng.permutation(len(losses))
    found |= {f"uniform, iid {count}": losses[order[:count]].mean() for count in budgets}
    with tempfile.TemporaryDirectory(prefix="activetest-toy-") as folder:
        path = toy.write(Path(folder) / "toy")
        pool = Pool.open(str(path))
        made = cache.build_cache(pool, Path(folder) / "cache")
        rows = str(path.with_name("toy.train.parquet"))
        equipped = auxiliary.attach_auxiliary(made, pool, ["gp"], train=rows)
        roles = pool.schema.to_dict() | {"uri": pool.uri}
        refit = "every" if items == FEW else "10"
        ways = {
            "oracle, lure": (made, {"surrogate": "model", "acquisition": "oracle", "floor": 0.0}),
            "active testing, lure": (
                equipped,
                {"surrogate": "gp", "acquisition": "expected-loss", "floor": FLOOR, "refit": refit},
            ),
        }
        for way, (view, wishes) in ways.items():
            found |= estimate(way, view, roles, wishes, toy.y, budgets, number)
        q = weigh(made, roles, KnownLabels(toy.y))
        found |= replace_draws("oracle ARE", made, q, toy.y, budgets, rng, novel=False)
        found |= keep_draws(q, losses, budgets, rng)
        found |= replace_draws("ARE", made, weigh(made, roles, Model()), toy.y, budgets, rng)
    return {key: float(value) for key, value in found.items()}


def estimate(
    way: str, made, roles: dict, wishes: dict, truth: np.ndarray, budgets: tuple, number: int
) -> dict:
    """{"way budget": LURE} of a study without replacement."""
    from activetest.simulation.design import Plan
    from activetest.simulation.simulate import run

    choices = choose(roles, wishes)
    plan = Plan((choices,), ("lure",), ("mse",), budgets, "fixed", 1, 0)
    found = run(made, truth, plan, choices, number)
    return {f"{way} {count}": value[0] for (_, _, count), value in found.items()}


def choose(roles: dict, wishes: dict):
    """Choices that aim at the squared error."""
    from activetest.sampling.choices import check_choices

    return check_choices({"metric": "mse", "metrics": ("mse",)} | wishes, roles, simulated=True)


def weigh(made, roles: dict, believer) -> np.ndarray:
    """(N,) q of eq. (15) or (17): by what is known of the labels, or believed."""
    from activetest.nouns.log import Log
    from activetest.simulation.with_replacement import find_draw_probabilities

    choices = choose(roles, {"surrogate": "model", "acquisition": "active-risk", "floor": 0.0})
    return find_draw_probabilities(Log.empty(), made, choices, believer, seed=0, number=1)


def replace_draws(
    way: str,
    made,
    q: np.ndarray,
    truth: np.ndarray,
    budgets: tuple,
    rng: np.random.Generator,
    *,
    novel: bool = True,
) -> dict:
    """{"way, importance budget": estimate} of draws with replacement, and of novel ones."""
    from activetest import catalog
    from activetest.item_statistics import specification
    from activetest.simulation.with_replacement import ReplacedDraws, collect_sample

    drawn = [int(row) for row in rng.choice(len(q), max(budgets), p=q)]
    # The number of draws at which an item came for the first time.
    first = first_times(drawn)
    while novel and len(first) < len(q):
        drawn += rng.choice(len(q), 10 * len(q), p=q).tolist()
        first = first_times(drawn)
    metric = specification.find_metric("mse", specification.describe_pool(made.roles, None, made))

    def read(count: int) -> float:
        rows = np.array(drawn[:count])
        sample = collect_sample(ReplacedDraws(rows, q[rows]), made, truth, metric)
        return catalog.load("estimators", "importance").estimate(sample).mean[0]

    found = {f"{way}, importance {count}": read(count) for count in budgets}
    if novel:
        found |= {f"{way}, importance, novel {count}": read(first[count - 1]) for count in budgets}
        found["draws"] = first[-1]
    return found


def first_times(drawn: list[int]) -> list[int]:
    """How many draws it took until 1, 2, 3 ... different items were seen."""
    _, at = np.unique(drawn, return_index=True)
    return [int(place) + 1 for place in np.sort(at)]


def keep_draws(q: np.ndarray, losses: np.ndarray, budgets: tuple, rng: np.random.Generator) -> dict:
    """The two ways to draw by q without replacement: weighted by 1 / q, and the plain mean."""
    from activetest.rounds.race import draw_probabilities

    order = np.argsort(rng.exponential(size=len(q)) / q)
    prob = draw_probabilities(q, order)
    found = {}
    for count in budgets:
        drawn, weights = losses[order[:count]], 1 / prob[:count]
        way = "oracle ARE without replacement"
        found[f"{way}, importance {count}"] = weights @ drawn / weights.sum()
        found[f"{way}, plain mean {count}"] = drawn.mean()
    return found


if __name__ == "__main__":
    main()
