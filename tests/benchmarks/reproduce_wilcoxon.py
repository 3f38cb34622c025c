"""Active Testing (Kossen 2021), Table 1, Fig. 4 and 8 (b): which surrogate and acquisition is best?

4   Of the log-loss of FOLDER/NAME.parquet, by LURE from draws by the expected loss, clipped at 0.2:
    the model itself, a forest and a network that learn training rows and labels (at 0, 10, 20, 40
    and 80 labels; the network at 0 and 50), and an ensemble that learns training rows once.
8b  A model is made here: a radial Bayesian network learns FOLDER/NAME.train.parquet, and its mean
    prediction is the model. Draws by the entropy of that mean, or by the mutual information of its
    members, clipped at 0.2; LURE.

Rows: median squared error, and Wilcoxon's signed-rank test that the best way's squared errors are
smaller (pairs are runs), beside what the paper found, with other models, data and numbers of runs.
"""

import argparse
import tempfile
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from paired import compare_with_best, find_best, follow_lure
from staging import Stage, played, staged

CLIPPED = {"metric": "log-loss", "floor": 0.2, "floor_rule": "clip"}
RANDOM = "random labels"
# Learners, and results of the paper: p of its best way (a forest in 4 b, a network in 4 a).
WAYS = {
    RANDOM: ({}, "4 a: 5e-61, 4 b: 4e-31"),
    "model itself": ({"surrogate": "model"}, "4 a: 1e-19, 4 b: 7e-125"),
    "forest": ({"surrogate": "forest", "refit": "doubling"}, "4 a: 7e-19, best in 4 b"),
    "network": (
        {"surrogate": "ensemble[members=1]", "refit": "50"},
        "best in 4 a, 4 b: 4e-17",
    ),
    "train ensemble": ({"surrogate": "ensemble", "refit": "never"}, "4 b: 4e-10"),
}
SCORES = {
    RANDOM: (None, "3e-6"),
    "predictive entropy": ("entropy", "best"),
    "mutual information": ("bald", "9e-4"),
}
MEMBERS = 20


def main() -> None:
    """Print a table for each figure."""
    options = arguments()
    for figure in options.figure.split(","):
        if figure == "4":
            errors, said = compare_surrogates(options), {way: it[1] for way, it in WAYS.items()}
        else:
            errors, said = compare_scores(options), {way: it[1] for way, it in SCORES.items()}
        print_table(figure, errors, said, options)


def arguments() -> argparse.Namespace:
    """The command line; figures are separated by commas."""
    return benchmark.read_options(
        __doc__,
        "folder",
        pool="digits",
        figure="4,8b",
        runs={"type": int, "default": 20, "help": "of figure 4"},
        studies={"type": int, "default": 400, "help": "of figure 8 (b)"},
        labels=100,
        save=Path,
        workers=int,
    )


def print_table(
    figure: str, errors: dict[str, np.ndarray], said: dict[str, str], options: argparse.Namespace
) -> None:
    """One row per way: median squared error, p against the best, and what the paper has."""
    best = find_best(errors)
    tests = compare_with_best(errors, best)
    table = benchmark.Table(options, "figure | way | runs | median squared error | p | the paper")
    for way, found in errors.items():
        p = f"{tests[way]:.1e}" if way in tests else "best"
        table.add(figure, way, len(found), f"{np.median(found):.2e}", p, said[way])
    print(flush=True)


def compare_surrogates(options: argparse.Namespace) -> dict[str, np.ndarray]:
    """{way: (runs,) squared errors} of figure 4."""
    errors = {}
    for way, (wishes, _) in WAYS.items():
        choices = CLIPPED | {"surrogate": "model", "acquisition": "expected-loss"} | wishes
        with staged(options.folder / f"{options.pool}.parquet", train=True, **choices) as stage:
            assert stage is not None
            what = {"pool": options.pool, "way": way, "labels": options.labels}
            kept = options.save and options.save / f"wilcoxon-{options.pool}-{way}.jsonl"
            scene = (stage, way, options.labels)
            found = played(
                play_study, scene, options.runs, what=what, file=kept, workers=options.workers
            )
        errors[way] = np.array(found)
    return errors


def play_study(scene: tuple, number: int) -> float:
    """The squared error of one run of figure 4."""
    from activetest.simulation.design import Plan
    from activetest.simulation.simulate import run

    stage, way, labels = scene
    if way == RANDOM:
        return draw_evenly(stage, labels, number)
    plan = Plan((stage.choices,), ("lure",), ("log-loss",), (labels,), "fixed", 10, 0)
    (found,) = run(stage.made, stage.truth, plan, stage.choices, number).values()
    return float((found[0] - stage.stats.mean()) ** 2)


def draw_evenly(stage: Stage, labels: int, number: int) -> float:
    """The squared error of the plain mean of random labels."""
    order = np.random.default_rng([1, number]).permutation(stage.made.size)
    return float((stage.stats[order[:labels]].mean() - stage.stats.mean()) ** 2)


def compare_scores(options: argparse.Namespace) -> dict[str, np.ndarray]:
    """{way: (runs,) squared errors} of figure 8 (b)."""
    errors: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory(prefix="activetest-radial-") as folder:
        file = make_pool(options, Path(folder))
        for way, (acquisition, _) in SCORES.items():
            choices = CLIPPED | {"surrogate": "external", "acquisition": acquisition or "entropy"}
            with staged(file, **choices) as stage:
                assert stage is not None
                scene = (stage, way, options.labels)
                found = played(
                    play_scores, scene, options.studies, what={}, workers=options.workers
                )
            errors[way] = np.array(found)
    return errors


def make_pool(options: argparse.Namespace, folder: Path) -> Path:
    """A pool with the predictions of a radial network, its key, and what each member says."""
    from activetest.nouns.log import Log
    from activetest.rounds.fit import get_surrogate

    name = f"radial-bnn[samples={MEMBERS}]"
    source = options.folder / f"{options.pool}.parquet"
    with staged(source, train=True, surrogate=name, metric="log-loss", refit="never") as stage:
        assert stage is not None
        surrogate = get_surrogate(Log.empty(), stage.made, stage.choices, seed=0)
        rows = stage.made.rows(0, stage.made.size)
        draws = surrogate.members.draws(rows, np.arange(MEMBERS)).astype(float)
        ids = stage.made.ids(np.arange(stage.made.size))
        classes = [str(each) for each in stage.made.classes]
        labels = [classes[int(code)] for code in stage.truth]
    draws /= draws.sum(axis=2, keepdims=True)
    mean = draws.mean(axis=0)
    columns = {f"prob_{each}": mean[:, code] for code, each in enumerate(classes)}
    file = folder / "radial.parquet"
    pq.write_table(pa.table({"id": ids, **columns}), file)
    said = {f"surrogate_prob_{member}": list(each) for member, each in enumerate(draws)}
    pq.write_table(pa.table({"id": ids, **said}), folder / "radial.surrogates.parquet")
    lines = (f"{item},{label}\n" for item, label in zip(ids, labels, strict=True))
    (folder / "radial.labels.csv").write_text("id,label\n" + "".join(lines))
    return file


def play_scores(scene: tuple, number: int) -> float:
    """The squared error of one run of figure 8 (b)."""
    from activetest.nouns.log import Log
    from activetest.sampling.plan import plan_round

    stage, way, labels = scene
    if way == RANDOM:
        return draw_evenly(stage, labels, number)
    # Nothing is learned, so that all draws may be one round.
    drawn = plan_round(Log.empty(), stage.made, stage.choices, seed=number, count=labels)
    losses = stage.stats[drawn.rows]
    (found,) = follow_lure(losses, drawn.q, stage.made.size, [labels])
    return float((found - stage.stats.mean()) ** 2)


if __name__ == "__main__":
    main()
