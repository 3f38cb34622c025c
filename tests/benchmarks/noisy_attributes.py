"""Uncertain attributes: errors of surfaces under every model of the attributes (Piratla 2021, 4.7).

A pool has 20,000 items and 8 binary attributes whose values come together as in an Ising model with
normal couplings of standard deviation 0.5, drawn anew for every seed. The logit of an arm's
accuracy is 1.2 plus effects of attributes and of pairs with standard deviation 1.4. A classifier of
each attribute sees its value, flipped with a known probability: 0.02 for the easy half of the
items, and between 0.1 and --hardest for the others. Its probabilities would be right if attributes
were independent, but their logits are multiplied by a number between 0.4 and 4.

500 items have known attributes and a label; further labels are drawn at random (--labels), of items
whose attributes are uncertain. predicted puts every item into its most probable arm, known into its
true one. raw, temperature and full (Cal:Raw, Cal:Temp and Cal:Full) spread items over arms by
P(arm | item); exact does so with the probabilities that follow from how the pool was made.

Tables: the squared error of arms with at least 5 items times 1,000 against the share of right items
there, mean over seeds ± its standard error, then the differences to raw and to temperature, paired
by seed, and the mean logarithm of P(true attributes | item). This is Fig. 5 with numbers.

Every cell is kept in --results as it is finished, and is not computed again.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import benchmark
import numpy as np
from scipy.special import expit

from activetest import catalog
from activetest.nouns.surface import Arms, Attributes, SurfaceData
from activetest.nouns.uncertain import JointModel, UncertainAttributes
from activetest.wings.surfaces.membership import FittedAttributes, spread_items

ITEMS, K, GOLD, FEWEST = 20_000, 8, 500, 5
COUPLING, CENTRE, SPREAD = 0.5, 1.2, 1.4
EASY, HARD, SHARPNESS = 0.02, 0.1, (0.4, 4.0)
MODELS = ("predicted", "raw", "temperature", "full", "exact", "known")


@dataclass(frozen=True)
class NoisyPool:
    """A pool with its answers.

    data    what is known of the attributes
    codes   (N, K) the true attributes
    right   (N,) whether the model is right at each item
    order   (N,) positions in the order in which they are labelled; the first have known attributes
    exact   P(attributes | item) as it is
    """

    data: UncertainAttributes
    codes: np.ndarray
    right: np.ndarray
    order: np.ndarray
    exact: JointModel


def main() -> None:
    """Compute what is missing, and print the tables."""
    options = benchmark.read_options(
        __doc__,
        seeds=10,
        methods="beta,stacked",
        labels="500,1000,2000,4000,16000",
        hardest=0.4,
        results=Path("noisy_attributes.jsonl"),
    )
    methods = options.methods.split(",")
    labels = [int(count) for count in options.labels.split(",")]
    hardest = options.hardest
    cells = {
        key[1:]: cell for key, cell in read_cells(options.results).items() if key[0] == hardest
    }
    for method in methods:
        for seed in range(options.seeds):
            if all((m, method, n, seed) in cells for m in MODELS for n in labels):
                continue
            pool = make_pool(seed, hardest)
            for model in MODELS:
                arms, more = spread(pool, model, seed)
                for count in labels:
                    if (model, method, count, seed) in cells:
                        continue
                    cell = {"model": model, "method": method, "labels": count, "seed": seed, **more}
                    cell["hardest"] = hardest
                    cell |= measure(pool, arms, method, count, seed)
                    cells[model, method, count, seed] = cell
                    benchmark.append_lines(options.results, [cell])
    for method in methods:
        print_tables(cells, method, labels, options)


def read_cells(file: Path) -> dict[tuple, dict]:
    """Cells that were computed before."""
    names = ("hardest", "model", "method", "labels", "seed")
    return {tuple(cell[name] for name in names): cell for cell in benchmark.read_lines(file)}


def make_pool(seed: int, hardest: float) -> NoisyPool:
    """A surface, its items, and what classifiers say of their attributes."""
    rng = np.random.default_rng(seed)
    attributes = Attributes(tuple(f"a{k}" for k in range(K)), (("0", "1"),) * K)
    combinations = attributes.decode(np.arange(2**K))
    signs = 2.0 * combinations - 1
    pairs = np.stack([signs[:, i] * signs[:, j] for i in range(K) for j in range(i)], axis=1)
    weight = signs @ rng.normal(0, 0.3, K) + pairs @ rng.normal(0, COUPLING, pairs.shape[1])
    share = np.exp(weight - weight.max())
    share /= share.sum()
    effect = signs @ rng.normal(0, 1, K) / K**0.5
    effect += pairs @ rng.normal(0, 1, pairs.shape[1]) / pairs.shape[1] ** 0.5
    rho = expit(CENTRE + SPREAD * effect / effect.std())
    arm = rng.choice(2**K, ITEMS, p=share)
    codes = combinations[arm]
    right = rng.random(ITEMS) < rho[arm]
    probs, temperatures, potential = {}, np.ones(K), np.log(share)
    for k in range(K):
        flip = np.where(rng.random(ITEMS) < 0.5, EASY, rng.uniform(HARD, hardest))
        seen = np.where(rng.random(ITEMS) < flip, 1 - codes[:, k], codes[:, k])
        prior = share[combinations[:, k] == 1].sum()
        potential -= np.log(np.where(combinations[:, k] == 1, prior, 1 - prior))
        logit = np.log(prior / (1 - prior)) + (2 * seen - 1) * np.log((1 - flip) / flip)
        sharpness = np.exp(rng.uniform(*np.log(SHARPNESS)))
        temperatures[k] = 1 / sharpness
        one = expit(sharpness * logit)
        probs[k] = np.stack([1 - one, one], axis=1).astype(np.float32)
    order = rng.permutation(ITEMS)
    known = np.full((ITEMS, K), -1, np.int32)
    known[order[:GOLD]] = codes[order[:GOLD]]
    data = UncertainAttributes(attributes, probs, known)
    return NoisyPool(data, codes, right, order, JointModel(temperatures, potential[None]))


def spread(pool: NoisyPool, model: str, seed: int) -> tuple[Arms, dict]:
    """The arms of all items, and how likely the true ones are."""
    data = pool.data
    if model == "known":
        return Arms.of_items(data.attributes, pool.codes), {}
    if model == "predicted":
        predicted = np.stack([data.probs[k].argmax(axis=1) for k in range(K)], axis=1)
        codes = np.where(data.known >= 0, data.known, predicted)
        return Arms.of_items(data.attributes, codes), {}
    start = time.perf_counter()
    fitted = pool.exact
    if model != "exact":
        fitted = catalog.load("attribute_models", model).fit(data, rng=np.random.default_rng(seed))
    seconds = time.perf_counter() - start
    truth = UncertainAttributes(data.attributes, data.probs, pool.codes)
    likely = fitted.mean_log_likelihood(truth, pool.order[GOLD:])
    arms = spread_items(FittedAttributes(data, fitted, model))
    return arms, {"fit_seconds": seconds, "log_likelihood": likely}


def measure(pool: NoisyPool, arms: Arms, method: str, labels: int, seed: int) -> dict:
    """The macro squared error of a surface with the known items and so many labels more."""
    items = pool.order[: GOLD + labels]
    data = SurfaceData(
        arms=arms,
        items=items,
        values=pool.right[items].astype(float),
        weights=np.ones(len(items)),
        confidence=None,
        predicted=np.zeros(ITEMS, np.int32),
        classes=2,
    )
    start = time.perf_counter()
    surface = catalog.load("surfaces", method).fit(data, rng=np.random.default_rng(seed))
    seconds = time.perf_counter() - start
    truth = Arms.of_items(arms.attributes, pool.codes)
    gold = truth.support >= FEWEST
    share = (np.bincount(truth.of_item, pool.right) / truth.support)[gold]
    place = arms.find(truth.codes[gold])
    # An arm that no item is spread to has a prediction alone.
    phi, _ = surface.predict(truth.codes[gold])
    mean = np.where(place >= 0, surface.mean[place], phi.mean(axis=0))
    error = float(((mean - share) ** 2).mean())
    return {"macro": error, "arms": int(gold.sum()), "seconds": seconds}


def print_tables(cells: dict, method: str, labels: list[int], options: argparse.Namespace) -> None:
    """Errors of a method by model and labels, and their differences."""
    seeds = options.seeds

    def collect(model: str, count: int, name: str = "macro") -> np.ndarray:
        rows = (cells.get((model, method, count, seed), {}) for seed in range(seeds))
        return np.array([row.get(name, np.nan) for row in rows])

    print(f"\n{method}: macro squared error x 1,000 by labels beyond {GOLD}, {seeds} seeds\n")
    table = benchmark.Table(
        options, "method | attributes", *(f"{count:,}" for count in labels), "log P"
    )
    for model in MODELS:
        row = [summarise(1000 * collect(model, count)) for count in labels]
        likely = collect(model, labels[0], "log_likelihood")
        row.append("" if np.isnan(likely).all() else summarise(likely))
        table.add(method, model, *row)
    pairs = (("temperature", "raw"), ("full", "raw"), ("full", "temperature"), ("exact", "full"))
    for first, second in pairs:
        row = [summarise(1000 * (collect(first, n) - collect(second, n))) for n in labels]
        likely = collect(first, labels[0], "log_likelihood")
        row.append(summarise(likely - collect(second, labels[0], "log_likelihood")))
        table.add(method, f"{first} - {second}", *row)


def summarise(values: np.ndarray) -> str:
    """The mean and its standard error."""
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}"


if __name__ == "__main__":
    main()
