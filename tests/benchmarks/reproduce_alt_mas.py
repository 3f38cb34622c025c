"""ALT-MAS (section 4 and appendix C.3), scaled down: metrics of models from few labels.

FOLDER holds NAME.parquet, NAME.labels.csv and NAME.train.parquet of the pools, which have 64
features each. Studies begin with random labels, the same for all methods of a seed (digits and
mnist_missing7: 100, cifar10: 500), and go on in steps of 20 (cifar10: 50) to 500 (cifar10: 1,500);
after each step the surrogate learns anew. --step 1 is the paper's way.

Models under test: given, the pool's own; weaker, a network with 256 hidden units that was stopped
after three steps of 256 training rows; other, such a network that learned the training rows of
another pool (digits: cifar10; mnist_missing7 and cifar10: digits). Sets of metrics: precision and
recall of class 2, accuracy, accuracy with macro-precision and macro-recall, and accuracy with
precision and recall of each class.

ALT-MAS         mc-dropout, augment agreement, metric-information, top; estimator alt-mas
BALD            mc-dropout, augment none, bald, top; estimator alt-mas[plug-in=nothing]
Tradition       uniform draws; the formula of the metric on the items with a label
default         what this program does for these metrics by default; doubly-robust
ALT-MAS drawn   as ALT-MAS, but items are drawn in proportion to their scores; doubly-robust

Errors are relative, in percent, where the truth is 0 absolute; of a set, the mean over its metrics,
without those that the truth leaves undefined. An estimate that is 0/0 counts as 0. Tables: mean
over seeds ± standard error, of the mean over all looks and at the last one. Differences are paired
over seeds; one by more than two standard errors counts as a win. --summary plays nothing, and
tells what there is. Every study is kept in --results as it is finished, a line of figures each, and
not played again; by default that is results/alt_mas.jsonl beside this script, which holds those of
the tables in README.md. All of a seed is played before the next one begins.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import benchmark
import numpy as np
from alt_mas_studies import (
    METHODS,
    MODELS,
    SETS,
    Scene,
    Task,
    find_truth,
    keep_scene,
    list_sets,
    open_scene,
    play_study,
)

from activetest.simulation.workers import run_tasks

# {pool: first sample, labels at the end, labels a step}
PLAN = {"digits": (100, 500, 20), "mnist_missing7": (100, 500, 20), "cifar10": (500, 1500, 50)}
# {name: method, estimator}: those that are compared, and variants.
COMPARED = {
    "ALT-MAS": ("alt-mas", "alt-mas"),
    "BALD": ("bald", "alt-mas[plug-in=nothing]"),
    "Tradition": ("tradition", "plain"),
    "default": ("default", "doubly-robust"),
    "ALT-MAS drawn": ("alt-mas-draw", "doubly-robust"),
}
VARIANTS = {
    "drawn, alt-mas": ("alt-mas-draw", "alt-mas"),
    "labels+augmented": ("alt-mas", "alt-mas[plug-in=labels+augmented]"),
    "plug-in nothing": ("alt-mas", "alt-mas[plug-in=nothing]"),
    "ase": ("alt-mas", "ase"),
    "BALD, plug-in labels": ("bald", "alt-mas"),
    "Tradition, iid": ("tradition", "iid"),
}
WAYS = COMPARED | VARIANTS
RIVALS = ("BALD", "Tradition", "default")

# The record of each study: see alt_mas_studies.condense.
Records = dict[Task, dict]
# {seed: (4,) errors: mean over all looks, at the first, the middle and the last}, and of every
# model, set and way
Course = dict[int, np.ndarray]
Errors = dict[tuple[str, str, str], Course]
MEAN, LAST = 0, 3
RESULTS = Path(__file__).parent / "results" / "alt_mas.jsonl"


def main() -> None:
    """Play the studies that are missing, and print the tables."""
    options = arguments()
    tasks = list_tasks(options)
    with open_scene(options.folder, options.pools, options.models) as scene:
        kept = read_records(options.results)
        if not options.summary:
            missing = [task for task in tasks if task not in kept]
            workers = options.workers
            for task, record in run_tasks(keep_scene, (scene,), play_study, missing, workers):
                benchmark.append_lines(options.results, [record])
                kept[task] = record
        summarise(scene, tasks, kept, options)


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools=",".join(PLAN),
        models=",".join(MODELS),
        sets=",".join(SETS),
        methods=",".join(METHODS),
        seeds=5,
        first={"type": int, "help": "random labels that a study begins with"},
        last={"type": int, "help": "labels that a study ends with"},
        step={"type": int, "help": "labels between two fits"},
        results=RESULTS,
        workers=2,
        summary={"action": "store_true", "help": "play nothing"},
    )
    for name in ("pools", "models", "sets", "methods"):
        setattr(options, name, getattr(options, name).split(","))
    return options


def list_tasks(options: argparse.Namespace) -> list[Task]:
    """All studies, seed by seed."""
    chosen = (options.first, options.last, options.step)
    plans = {
        pool: tuple(
            usual if given is None else given
            for given, usual in zip(chosen, PLAN[pool], strict=True)
        )
        for pool in options.pools
    }
    return [
        Task(pool, model, metrics, method, seed, *plans[pool])
        for seed in range(options.seeds)
        for pool in options.pools
        for model in options.models
        for method in options.methods
        for metrics in list_sets(method, options.sets)
    ]


def read_records(file: Path) -> Records:
    """{task: record} of the complete lines of a file."""
    names = Task.__dataclass_fields__
    return {
        Task(**{name: record[name] for name in names}): record
        for record in benchmark.read_lines(file)
    }


def summarise(scene: Scene, tasks: list[Task], kept: Records, options: argparse.Namespace) -> None:
    """Print everything that the finished studies say."""
    there, summary = [task for task in tasks if task in kept], []
    truths = {key: find_truth(stage) for key, stage in scene.items()}
    table = benchmark.Table(
        options, "pool | model | accuracy | precision[2] | recall[2] | metrics without a value"
    )
    for (pool, model), truth in truths.items():
        values = " | ".join(f"{truth[t]:.3f}" for t in ("accuracy", "precision[2]", "recall[2]"))
        without = ", ".join(title for title, value in truth.items() if np.isnan(value)) or "none"
        table.add(pool, model, values, without)
    for pool in options.pools:
        mine = [task for task in there if task.pool == pool]
        if not mine:
            continue
        step = f"{mine[0].step} label{'s' if mine[0].step > 1 else ''} a refit"
        looks = mine[0].looks
        span = f"mean over {len(looks)} looks from {looks[0]} to {looks[-1]} labels"
        for relative, unit in ((True, "%"), (False, "points")):
            errors = {
                (model, metrics, way): collect_errors(
                    mine, kept, (model, metrics, way), relative=relative
                )
                for model in options.models
                for metrics in options.sets
                for way in WAYS
            }
            kind = f"{'relative' if relative else 'absolute'} error, {unit}"
            print(f"\n{pool}, {step}: {kind}, {span}\n")
            print_errors(errors, COMPARED, options, MEAN)
            print(f"\n{pool}, {step}: {kind}, at {looks[-1]} labels\n")
            print_errors(errors, COMPARED, options, LAST)
            print(f"\n{pool}, {step}: variants, {kind}, {span}\n")
            print_errors(errors, VARIANTS, options, MEAN)
            print(f"\n{pool}, {step}: ALT-MAS minus another, {kind}, {span}\n")
            print_differences(errors, options)
            if relative:
                for (model, metrics), cells in summarise_errors(errors, options):
                    summary.append([pool, model, metrics, *cells])
        print(f"\n{pool}, {step}: the network\n")
        print_networks(mine, kept, options)
    print("\nRelative error, %: mean over all looks / at the last")
    table = benchmark.Table(options, "pool | model | metrics", *COMPARED)
    for row in summary:
        table.add(*row)
    print_progress(tasks, kept)


def summarise_errors(
    errors: Errors, options: argparse.Namespace
) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """((model, set), a cell for every way), each over the seeds that it has."""
    for model in options.models:
        for metrics in options.sets:
            courses = [errors[model, metrics, way].values() for way in COMPARED]
            if any(courses):
                cells = [
                    " / ".join(
                        show_mean(np.array([course[part] for course in each]))
                        for part in (MEAN, LAST)
                    )
                    if each
                    else ""
                    for each in courses
                ]
                yield (model, metrics), cells


def collect_errors(
    tasks: list[Task], kept: Records, what: tuple[str, str, str], *, relative: bool
) -> Course:
    """{seed: (4,) errors in percent}; what is a model, a set and a way."""
    model, metrics, way = what
    method, estimator = WAYS[way]
    return {
        task.seed: np.array(kept[task]["errors"][estimator][metrics][0 if relative else 1])
        for task in tasks
        if (task.model, task.method) == (model, method)
        and task.metrics in list_sets(method, [metrics])
    }


def print_errors(
    errors: Errors,
    ways: Iterable[str],
    options: argparse.Namespace,
    part: int,
) -> None:
    """A row for every model and set, a column for every way with results; the least in bold.

    part is MEAN or LAST.
    """
    ways = [
        way for way in ways if any(errors[m, s, way] for m in options.models for s in options.sets)
    ]
    table = benchmark.Table(options, "model | metrics | seeds", *ways)
    for model in options.models:
        for metrics in options.sets:
            courses = [errors[model, metrics, way] for way in ways]
            if not any(courses):
                continue
            # Only seeds that all of them have: others may be easier.
            seeds = sorted(set.intersection(*(set(each) for each in courses if each)))
            if not seeds:
                continue
            values = [
                np.array([each[seed][part] for seed in seeds]) if each else None for each in courses
            ]
            cells = [show_mean(value) for value in values]
            best = int(np.argmin([np.inf if each is None else each.mean() for each in values]))
            cells[best] = f"**{cells[best]}**"
            table.add(model, metrics, len(seeds), *cells)


def show_mean(values: np.ndarray | None) -> str:
    """Mean and standard error over seeds (S,)."""
    if values is None:
        return ""
    if len(values) < 2:
        return f"{values.mean():.2f}"
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def print_differences(errors: Errors, options: argparse.Namespace) -> None:
    """ALT-MAS minus each rival over the seeds of both, and how often who wins."""
    table = benchmark.Table(options, "model | metrics | seeds", *RIVALS)
    wins = {rival: [0, 0, 0] for rival in RIVALS}
    for model in options.models:
        for metrics in options.sets:
            cells, counts = [], []
            for rival in RIVALS:
                mine, other = errors[model, metrics, "ALT-MAS"], errors[model, metrics, rival]
                both = sorted(set(mine) & set(other))
                counts.append(len(both))
                if len(both) < 2:
                    cells.append("")
                    continue
                gaps = np.array([mine[seed][MEAN] - other[seed][MEAN] for seed in both])
                mean, doubt = gaps.mean(), 2 * gaps.std(ddof=1) / np.sqrt(len(gaps))
                verdict = 0 if mean < -doubt else 2 if mean > doubt else 1
                wins[rival][verdict] += 1
                word = ("better", "", "worse")[verdict]
                cells.append(f"{mean:+.2f} ± {doubt / 2:.2f} {word}".strip())
            if any(cells):
                table.add(model, metrics, min(counts), *cells)
    for rival, (better, neither, worse) in wins.items():
        print(f"\nALT-MAS against {rival}: {better} better, {neither} neither, {worse} worse.")


def print_networks(tasks: list[Task], kept: Records, options: argparse.Namespace) -> None:
    """Figures 3 and 4: the network, where no label is known, and what it learned of the model.

    Accuracy of the mean of its passes and in one pass, at the first, the middle and the last look,
    and how often 95 % intervals by the method's own estimator hold the truth.
    """
    table = benchmark.Table(
        options, "model | metrics | method | seeds | mean | one pass | augmented | right | coverage"
    )
    groups: dict[tuple[str, str, str], list[dict]] = defaultdict(list)
    for task in tasks:
        groups[task.model, task.metrics, task.method].append(kept[task])
    for (model, metrics, method), studies in groups.items():
        held, intervals = np.sum([each["held"] for each in studies], axis=0)
        if "network" not in studies[0] and not intervals:
            continue
        accuracies = [describe_course(studies, name) for name in ("network", "passes")]
        added = describe_augmented(studies)
        covered = f"{held / intervals:.3f}" if intervals else ""
        cells = (model, metrics, method, len(studies), *accuracies, *added, covered)
        table.add(*cells)


def describe_course(studies: list[dict], name: str) -> str:
    """A share at the first, the middle and the last look, means over studies of one length."""
    values = [each.get(name, [None]) for each in studies]
    if any(value is None for each in values for value in each):
        return ""
    return " → ".join(f"{value:.3f}" for value in np.mean(values, axis=0))


def describe_augmented(studies: list[dict]) -> tuple[str, str]:
    """Augmented items per fit, and the share of them with the right label."""
    pairs = [each.get("augmented", [0, None]) for each in studies]
    count = sum(items for items, _ in pairs)
    right = sum(items * share for items, share in pairs if share is not None)
    return f"{count / len(studies):.0f}", f"{right / count:.3f}" if count else ""


def print_progress(tasks: list[Task], kept: Records) -> None:
    """Studies that are missing, and the hours that were and will be spent."""
    there = [task for task in tasks if task in kept]
    seconds = {task: kept[task]["seconds"] for task in there}
    pace: dict[tuple, list[float]] = defaultdict(list)
    for task, spent in seconds.items():
        for key in ((task.pool, task.method), (task.method,), ()):
            pace[key].append(spent)
    missing = [task for task in tasks if task not in seconds]
    expected = 0.0
    for task in missing:
        keys = ((task.pool, task.method), (task.method,), ())
        expected += np.mean(next((pace[key] for key in keys if pace[key]), [np.nan]))
    print(
        f"\n{len(there)} of {len(tasks)} studies, {sum(seconds.values()) / 3600:.2f} hours on one "
        f"core; the other {len(missing)} may take {expected / 3600:.2f} more."
    )
    versions = {kept[task]["program"] for task in there}
    if len(versions) > 1:
        print(f"They were played by {len(versions)} versions of the program.")
    left = defaultdict(int)
    for task in missing:
        left[task.pool, task.model, task.method] += 1
    for (pool, model, method), count in left.items():
        print(f"missing: {count} studies of {pool}, {model}, {method}")


if __name__ == "__main__":
    main()
