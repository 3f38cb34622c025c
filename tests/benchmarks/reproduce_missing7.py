"""ASE (Kossen 2022), 7.1 and 7.2, and Active Testing 5.2, scaled down: a class nobody trained.

FOLDER holds mnist_missing7.parquet, .labels.csv and .train.parquet. The surrogate learns from the
training rows and all labels so far when there are 0, 25, 50, 100, 200 and 400 of them, on the
embeddings, or on the pixels with convolutions; between these it is frozen. With --box scaled, the
logarithms of the black box's probabilities are divided by the temperature at which its log-loss is
least on the classes that it was trained on, as the paper scales its network on held-out rows.

Draws aim at the log-loss, and both log-loss and error are estimated: mean squared error over that
of uniform draws (closed form), median squared error in brackets. Then, the share of sevens among
the labels of each stretch, where a tenth of the pool are sevens (Fig. 2). With --save runs are
kept, and only missing ones are made.

xwed top, bald top                 the largest scores, as ASE picks
xwed draw, loss draw               in proportion to the score, with floor 0.2: LURE needs that
xwed draw, power 4                 Kirsch 2023: nearer to the top, without its near-duplicates
bald draw                          appendix B.3
loss draw, constant                appendix B.2: the surrogate learns no label
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import benchmark
import numpy as np
from staging import Stage, played, staged

POOL, MISSING = "mnist_missing7", "7"
CONSTANT = "loss draw, constant"
WAYS = {
    "xwed top": {"acquisition": "xwed", "selection": "top"},
    "xwed draw": {"acquisition": "xwed"},
    "xwed draw, power 4": {"acquisition": "xwed", "power": 4.0},
    "bald top": {"acquisition": "bald", "selection": "top"},
    "bald draw": {"acquisition": "bald"},
    "loss draw": {"acquisition": "expected-loss"},
    CONSTANT: {"acquisition": "expected-loss"},
}
SHAPES = {"embedding": "", "pixels": "28x28"}
ESTIMATORS = ("ase", "lure", "doubly-robust")
METRICS = ("log-loss", "error")


def main() -> None:
    """Print the errors, and the shares of sevens."""
    options = arguments()
    steps = options.at
    shares = []
    table = benchmark.Table(options, "surrogate | way | estimate of | by | runs", *steps)
    for surrogate in options.surrogate.split(","):
        wishes = {"metric": "log-loss", "metrics": METRICS, "floor": 0.2, "surrogate": surrogate}
        columns = {"features": (options.features,), "feature_shape": SHAPES[options.features]}
        with (
            with_box(options.folder / f"{POOL}.parquet", options.box) as file,
            staged(file, train=True, acquisition="xwed", **columns, **wishes) as stage,
        ):
            kept = options.save and options.save / (
                f"missing7-{surrogate}-{options.features}-{options.box}.jsonl"
            )
            scene = (stage, options.ways, steps, options.seed)
            what = {"ways": options.ways, "at": steps, "seed": options.seed}
            found = played(play, scene, options.runs, what=what, file=kept, workers=options.workers)
            for cells in errors(stage, found, steps):
                table.add(surrogate, *cells)
        shares += [(surrogate, *cells) for cells in sevens(found, steps)]
    stretches = [f"{a} to {b}" for a, b in zip((0, *steps), steps, strict=False)]
    table = benchmark.Table(options, "surrogate | way", *stretches)
    for cells in shares:
        table.add(*cells)


@contextmanager
def with_box(file: Path, box: str) -> Iterator[Path]:
    """The pool as it is, or a copy whose box is scaled by the temperature of the known classes."""
    if box == "given":
        yield file
        return
    import pyarrow as pa
    import pyarrow.csv as pv
    import pyarrow.parquet as pq
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    pool, key = pq.read_table(file), file.with_name(f"{file.stem}.labels.csv")
    labels = np.array(pv.read_csv(key)["label"].to_pylist())
    logs = np.log(np.maximum(np.array(pool["prob"].to_pylist()), 1e-30))
    known = np.flatnonzero(labels != int(MISSING))

    def loss(power: float) -> float:
        """Log-loss on the known classes of probabilities to that power."""
        return -log_softmax(power * logs[known], axis=1)[
            np.arange(len(known)), labels[known]
        ].mean()

    power = minimize_scalar(loss, bounds=(0.01, 3), method="bounded").x
    probs = np.exp(log_softmax(power * logs, axis=1))
    print(f"<!-- the box is scaled by the temperature {1 / power:.2f} -->")
    column = pa.array(probs.tolist(), pa.list_(pa.float32(), probs.shape[1]))
    place = pool.schema.get_field_index("prob")
    with tempfile.TemporaryDirectory(prefix="activetest-benchmark-") as folder:
        scaled = Path(folder) / file.name
        pq.write_table(pool.set_column(place, "prob", column), scaled)
        for what in ("labels.csv", "train.parquet"):
            source = file.with_name(f"{file.stem}.{what}").resolve()
            scaled.with_name(f"{file.stem}.{what}").symlink_to(source)
        yield scaled


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        surrogate="ensemble,radial-bnn",
        features={"default": "embedding", "choices": tuple(SHAPES)},
        box={"default": "given", "choices": ("given", "scaled")},
        ways={"default": ";".join(WAYS), "help": "separated by semicolons"},
        at="25,50,100,200,400",
        runs=50,
        seed=0,
        save=Path,
        workers=int,
    )
    options.at = tuple(map(int, options.at.split(",")))
    options.ways = options.ways.split(";")
    return options


def play(scene: tuple, number: int) -> dict:
    """{way: {"estimator metric": estimates, "sevens": shares}} of one run, a number per step."""
    from dataclasses import replace

    from activetest.nouns.log import Log
    from activetest.rounds.fit import get_surrogate

    stage, ways, steps, seed = scene
    seed = seed * 1_000_003 + number
    # Before any label all ways know the same.
    first = get_surrogate(Log.empty(), stage.made, stage.choices, seed=seed)
    return {
        way: walk(
            replace(stage, choices=replace(stage.choices, **WAYS[way])),
            steps,
            seed,
            first,
            learns=way != CONSTANT,
        )
        for way in ways
    }


def walk(stage: Stage, steps: tuple[int, ...], seed: int, first, *, learns: bool) -> dict:
    """One study; first is the surrogate that knows no label of the pool, and maybe never does."""
    from activetest.errors import NotEstimable
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.nouns.log import Log
    from activetest.rounds import race
    from activetest.rounds.fit import get_surrogate
    from activetest.sampling import plan
    from activetest.simulation.simulate import answered

    made, choices, truth = stage.made, stage.choices, stage.truth
    facts = specification.describe_pool(made.roles, None, made)
    metrics = [specification.find_metric(name, facts) for name in METRICS]
    found = {f"{each} {name}": [] for each in ESTIMATORS for name in METRICS} | {"sevens": []}
    log, surrogate = Log.empty(), first
    for step in steps:
        frozen = plan.prepare_round(log, made, choices, seed=seed, surrogate=surrogate)
        choose = race.take_top if choices.selection == "top" else race.draw_by_race
        count = step - len(log.rows)
        drawn = choose(made.hashes, frozen.q, count, seed=seed, stream=frozen.round.number)
        found["sevens"].append(float((truth[drawn] == made.classes.index(MISSING)).mean()))
        log = answered(log, plan.record_round(frozen, drawn, made), truth)
        if learns:
            surrogate = get_surrogate(log, made, choices, seed=seed)
        for name, value in plugged(log, stage, surrogate, metrics).items():
            found[f"ase {name}"].append(value)
        view = build_view(
            log, made, choices, metrics, seed=seed, own_view=False, surrogate=surrogate
        )
        for metric, name in zip(metrics, METRICS, strict=True):
            for estimator in ESTIMATORS[1:]:
                try:
                    value = view.value(metric, estimator).value
                except NotEstimable:
                    value = None
                found[f"{estimator} {name}"].append(value)
    return found


def plugged(log, stage: Stage, surrogate, metrics: list) -> dict[str, float]:
    """ASE: labels where they are known, what the surrogate expects of all other rows."""
    from activetest.rounds.fit import find_free_items, observe_statistics

    statistics = tuple(metric.statistics[0] for metric in metrics)
    made = stage.made
    free = find_free_items(log, made.size)
    total = observe_statistics(made.take(log.rows), log.labels, statistics).sum(axis=0)
    for start, stop in made.chunks():
        rows = made.rows(start, stop)[free[start:stop]]
        total = total + surrogate.expected(rows, statistics).sum(axis=1, dtype=float)
    return dict(zip(METRICS, (total / made.size).tolist(), strict=True))


def errors(stage: Stage, found: list[dict], steps: tuple[int, ...]):
    """Cells of a row for every way, metric and estimator that exists."""
    from dataclasses import replace

    for name in METRICS:
        uniform = replace(stage, choices=replace(stage.choices, metric=name)).uniform(steps)
        scale = np.array([uniform.error(step) for step in steps])
        middle = np.array([uniform.medians[step] for step in steps])
        cells = [f"{a:.2e} ({b:.2e})" for a, b in zip(scale, middle, strict=True)]
        yield ["uniform", name, "iid", "exact", *cells]
        for way in found[0]:
            for estimator in ESTIMATORS:
                values = np.array([run[way][f"{estimator} {name}"] for run in found], float)
                if np.isnan(values).any():
                    continue
                squares = (values - uniform.truth) ** 2
                ratio = squares.mean(axis=0) / scale
                noise = squares.std(axis=0, ddof=1) / np.sqrt(len(found)) / scale
                median = np.median(squares, axis=0) / middle
                cells = [
                    f"{a:.2f} +- {b:.2f} ({c:.2f})"
                    for a, b, c in zip(ratio, noise, median, strict=True)
                ]
                yield [way, name, estimator, str(len(found)), *cells]


def sevens(found: list[dict], steps: tuple[int, ...]):
    """Cells of a row for every way: the mean share of the missing class in each stretch."""
    for way in found[0]:
        shares = np.array([run[way]["sevens"] for run in found])
        yield [way, *(f"{share:.2f}" for share in shares.mean(axis=0))]


if __name__ == "__main__":
    main()
