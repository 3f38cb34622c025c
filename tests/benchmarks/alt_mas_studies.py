"""Models under test, and studies of them, as in ALT-MAS (section 4): see reproduce_alt_mas.py.

A study asks for a first sample of random labels, which all methods of a seed share, and then for
batches. After each batch the surrogate learns anew, and everything is estimated.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from staging import Stage, staged

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.beliefs import is_model_based
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Metric, evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import find_free_items, get_surrogate
from activetest.sampling.choices import check_choices
from activetest.sampling.plan import plan_round
from activetest.simulation.saved_runs import hash_package
from activetest.simulation.simulate import answered

GIVEN, WEAKER, OTHER = MODELS = ("given", "weaker", "other")
# {pool: whose training rows the network of OTHER learns}: other data of the same width.
ELSEWHERE = {"digits": "cifar10", "mnist_missing7": "digits", "cifar10": "digits"}
# Hidden units of both networks; rows of a step, and steps, after which WEAKER stops.
_HIDDEN, _STEP_ROWS, _STEPS, _EPOCHS = 256, 256, 3, 20
# Passes of a network, as in the paper.
_PASSES = 50

ALL = ("accuracy", "precision[*]", "recall[*]", "precision[macro]", "recall[macro]")
SETS = {
    "precision": ("precision[2]",),
    "recall": ("recall[2]",),
    "accuracy": ("accuracy",),
    "macro": ("accuracy", "precision[macro]", "recall[macro]"),
    "all": ("accuracy", "precision[*]", "recall[*]"),
}
# The set of methods that draw for no metric.
NO_SET = "-"

NETWORK = "mc-dropout"
_ALT_MAS = {
    "surrogate": NETWORK,
    "augment": "agreement",
    "acquisition": "metric-information",
    "selection": "top",
}
METHODS: dict[str, dict[str, str]] = {
    "alt-mas": _ALT_MAS,
    "bald": _ALT_MAS | {"augment": "none", "acquisition": "bald"},
    "tradition": {"acquisition": "uniform"},
    "default": {},
    "alt-mas-draw": _ALT_MAS | {"selection": "draw"},
}
# The formula of a metric, applied to the items with a label.
PLAIN = "plain"
# The first of each is the method's own.
ESTIMATORS = {
    "alt-mas": ("alt-mas", "alt-mas[plug-in=labels+augmented]", "alt-mas[plug-in=nothing]", "ase"),
    "bald": ("alt-mas[plug-in=nothing]", "alt-mas"),
    "tradition": (PLAIN, "iid"),
    "default": ("doubly-robust",),
    "alt-mas-draw": ("doubly-robust", "alt-mas"),
}


@dataclass(frozen=True)
class Task:
    """One study.

    metrics               name in SETS of what draws aim at, or NO_SET
    first, last, step     labels of the first sample, at the end, and between two fits
    """

    pool: str
    model: str
    metrics: str
    method: str
    seed: int
    first: int
    last: int
    step: int

    @property
    def looks(self) -> list[int]:
        """Numbers of labels at which the study is evaluated."""
        return [*range(self.first, self.last, self.step), self.last]


def list_sets(method: str, names: list[str]) -> list[str]:
    """The sets that a method is played for, of those named: BALD and Tradition know no metric."""
    return [NO_SET] if method in ("bald", "tradition") else names


Scene = dict[tuple[str, str], Stage]


@contextmanager
def open_scene(folder: Path, pools: list[str], models: list[str]) -> Iterator[Scene]:
    """{(pool, model): its stage}, as long as the block lasts."""
    with ExitStack() as stack:
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="alt-mas-")))
        yield {
            (pool, model): stack.enter_context(
                staged(write_pool(folder, pool, model, made), metric="accuracy", surrogate=NETWORK)
            )
            for pool in pools
            for model in models
        }


def write_pool(folder: Path, pool: str, model: str, into: Path) -> Path:
    """The pool with the outputs of a model under test, and its answer key beside it."""
    table = parquet.read_table(folder / f"{pool}.parquet")
    columns = {name: table[name] for name in ("id", *list_features(table))}
    probs = np.stack(table["prob"].to_numpy()).astype(np.float32)
    if model != GIVEN:
        probs = predict(folder, pool, model).astype(np.float32)
    columns["prob"] = pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), probs.shape[1])
    file = into / f"{pool}-{model}.parquet"
    parquet.write_table(pa.table(columns), file)
    shutil.copyfile(folder / f"{pool}.labels.csv", into / f"{pool}-{model}.labels.csv")
    return file


def list_features(table: pa.Table) -> list[str]:
    """Columns of features: an embedding, else f0, f1, ..."""
    names = table.column_names
    if "embedding" in names:
        return ["embedding"]
    return [name for name in names if name[0] == "f" and name[1:].isdigit()]


def read_features(table: pa.Table) -> np.ndarray:
    """(R, W) standardised features."""
    names = list_features(table)
    if names == ["embedding"]:
        values = np.stack(table["embedding"].to_numpy()).astype(float)
    else:
        values = np.column_stack([table[name].to_numpy() for name in names]).astype(float)
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def predict(folder: Path, pool: str, model: str) -> np.ndarray:
    """(N, C) probabilities of WEAKER or OTHER, networks with one hidden layer and a fixed seed.

    WEAKER saw three batches of the pool's own training rows; OTHER learned those of another pool,
    which has as many features and classes.
    """
    from sklearn.neural_network import MLPClassifier

    source = pool if model == WEAKER else ELSEWHERE[pool]
    table = parquet.read_table(folder / f"{source}.train.parquet")
    rows, labels = read_features(table), table["label"].to_numpy()
    probs = parquet.read_table(folder / f"{pool}.parquet", columns=["prob"])["prob"]
    classes = np.arange(len(probs[0]))
    network = MLPClassifier((_HIDDEN,), random_state=0)
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(len(rows)) for _ in range(_EPOCHS)])
    steps = np.array_split(order, np.arange(_STEP_ROWS, len(order), _STEP_ROWS))
    for step in steps[:_STEPS] if model == WEAKER else steps:
        network.partial_fit(rows[step], labels[step], classes=classes)
    return network.predict_proba(read_features(parquet.read_table(folder / f"{pool}.parquet")))


def find_truth(stage: Stage) -> dict[str, float]:
    """{title: the metric on the whole pool}."""
    outputs = stage.made.rows(0, stage.made.size).outputs
    return {
        each.title: float(evaluate(each, outputs, stage.truth)) for each in find_metrics(stage, ALL)
    }


def find_metrics(stage: Stage, names: tuple[str, ...]) -> list[Metric]:
    """The metrics of these specifications."""
    facts = specification.describe_pool(stage.made.roles, None, stage.made)
    return [metric for name in names for metric in specification.find_metrics(name, facts)]


def play(scene: Scene, task: Task) -> list[dict]:
    """Results at every look of a study: see look."""
    stage = scene[task.pool, task.model]
    made, choices = stage.made, make_choices(stage, task.method, task.metrics)
    log, surrogate = draw_first(stage, task), None
    records: list[dict] = []
    started = time.process_time()
    for labels in task.looks:
        before = len(log.rows)
        while (count := labels - len(log.rows)) > 0:
            try:
                drawn = plan_round(
                    log, made, choices, seed=task.seed, count=count, surrogate=surrogate
                )
            except NotEstimable:
                # No item is left that can change the metric: it is known.
                break
            log = answered(log, drawn, stage.truth)
        if surrogate is None or len(log.rows) > before:
            surrogate = get_surrogate(log, made, choices, seed=task.seed)
            found = look(stage, task, choices, log, surrogate)
        now = time.process_time()
        records.append({"labels": labels, **found, "seconds": now - started})
        started = now
    return records


def make_choices(stage: Stage, method: str, metrics: str) -> Choices:
    """The choices of a method for a set of metrics; where all items matter, all are recorded."""
    titles = [metric.title for metric in find_metrics(stage, SETS.get(metrics, ("accuracy",)))]
    facts = specification.describe_pool(stage.made.roles, None, stage.made)
    all_matter = specification.find_relevant_classes(titles, facts) is None
    chosen = {"metric": titles[0], "also": titles[1:], "metrics": ALL if all_matter else titles}
    return check_choices({"surrogate": "agreement"} | chosen | METHODS[method], stage.made.roles)


def draw_first(stage: Stage, task: Task) -> Log:
    """The log after the first sample, which depends on the seed alone."""
    uniform = make_choices(stage, "tradition", NO_SET)
    drawn = plan_round(Log.empty(), stage.made, uniform, seed=task.seed, count=task.first)
    return answered(Log.empty(), drawn, stage.truth)


def look(stage: Stage, task: Task, choices: Choices, log: Log, surrogate: Surrogate) -> dict:
    """{"known", "estimates", "intervals", "network", "passes", "augmented"} of a log.

    known       items with a label
    estimates   {estimator: {title: value}}, where there is one
    intervals   {title: [lower, upper]} by the method's own estimator
    network     share of the items without a label whose class the network predicts, mean of passes
    passes      the same share in a single pass, mean over passes
    augmented   [items that were learned with the model's label, those of them that are right]

    The last three are of methods with a network alone.
    """
    made, truth = stage.made, stage.truth
    metrics, estimators = find_metrics(stage, ALL), ESTIMATORS[task.method]
    rows = made.rows(0, made.size)
    estimates: dict[str, dict[str, float]] = {name: {} for name in estimators}
    intervals: dict[str, list[float]] = {}
    if PLAIN in estimates:
        known = rows.outputs[log.rows]
        values = {each.title: evaluate(each, known, truth[log.rows]) for each in metrics}
        estimates[PLAIN] = {title: value for title, value in values.items() if np.isfinite(value)}
    by_library = [name for name in estimators if name != PLAIN]
    own_view = any(map(is_model_based, by_library))
    view = build_view(
        log, made, choices, metrics, seed=task.seed, own_view=own_view, surrogate=surrogate
    )
    for metric in metrics:
        for name in by_library:
            try:
                value = view.value(metric, name)
                estimates[name][metric.title] = float(value.value)
                if name == estimators[0]:
                    interval = view.interval(value, choices.level)
                    intervals[metric.title] = [float(interval.lower), float(interval.upper)]
            except NotEstimable:
                continue
    found = {"known": len(log.rows), "estimates": estimates, "intervals": intervals}
    if choices.surrogate == NETWORK:
        free = find_free_items(log, made.size)
        passes = surrogate.draw_members(_PASSES, np.random.default_rng(task.seed))
        beliefs = surrogate.beliefs(rows, metrics[0].statistics, passes)
        classes = {
            "network": beliefs.probs.argmax(axis=1),
            "passes": beliefs.known_draws.argmax(axis=2),
        }
        for name, believed in classes.items():
            hits = (believed == truth)[..., free]
            found[name] = float(hits.mean()) if free.any() else None
        augmented = getattr(surrogate, "augmented", None)
        items = np.empty(0, np.int64) if augmented is None else np.asarray(augmented)
        right = truth[items] == rows.outputs.pred[items]
        found["augmented"] = [len(items), int(right.sum())]
    return found


def play_study(scene: Scene, task: Task) -> dict:
    """The record of a study: a record ready for JSON, see condense."""
    stage = scene[task.pool, task.model]
    titles = {name: [each.title for each in find_metrics(stage, SETS[name])] for name in SETS}
    looks = play(scene, task)
    program = {"program": hash_program()}
    return asdict(task) | program | condense(task, looks, find_truth(stage), titles)


def condense(
    task: Task, looks: list[dict], truth: dict[str, float], titles: dict[str, list[str]]
) -> dict:
    """The figures of a study's looks, to four digits.

    seconds     of a processor, in all
    errors      {estimator: {set: [relative, absolute]}}, each in percent: the mean over all looks,
                then at the first, the middle and the last; see find_errors
    held        [intervals by the method's own estimator that hold the truth, intervals], of the
                set's metrics
    network     at the first, the middle and the last look, and so are passes: see look
    augmented   [items that a fit learned with the model's label, share of them that is right]

    The last three are of methods with a network alone.
    """
    own = list_sets(task.method, [task.metrics])
    sets = list(SETS) if own == [NO_SET] else own
    errors = {
        name: {each: find_errors(looks, name, titles[each], truth) for each in sets}
        for name in ESTIMATORS[task.method]
    }
    held = [
        bool(low - 1e-9 <= truth[title] <= high + 1e-9)
        for found in looks
        for title, (low, high) in found["intervals"].items()
        if title in titles.get(task.metrics, titles["all"])
    ]
    condensed = {
        "seconds": round(sum(found["seconds"] for found in looks), 1),
        "errors": errors,
        "held": [sum(held), len(held)],
    }
    if "network" in looks[0]:
        for name in ("network", "passes"):
            values = [found[name] for found in pick_looks(looks)]
            condensed[name] = [None if value is None else shorten(value) for value in values]
        items, right = np.sum([found["augmented"] for found in looks], axis=0)
        condensed["augmented"] = [
            shorten(items / len(looks)),
            shorten(right / items) if items else None,
        ]
    return condensed


def find_errors(
    looks: list[dict], estimator: str, titles: list[str], truth: dict[str, float]
) -> list[list[float]]:
    """[relative, absolute], each the mean over all looks, then the first, the middle, the last.

    In percent, mean over the metrics that the truth does not leave undefined; absolute where the
    truth is 0. An estimate that is not there counts as 0.
    """
    defined = [title for title in titles if np.isfinite(truth[title])]
    true = np.array([truth[title] for title in defined])
    values = np.array(
        [[found["estimates"][estimator].get(title, 0.0) for title in defined] for found in looks]
    )
    found = []
    for scale in (np.where(true == 0, 1.0, true), 1.0):
        curve = 100 * (np.abs(values - true) / scale).mean(axis=1)
        found.append([shorten(value) for value in (curve.mean(), *pick_looks(list(curve)))])
    return found


def pick_looks(looks: list) -> list:
    """The first, the middle and the last."""
    return [looks[0], looks[len(looks) // 2], looks[-1]]


def shorten(value: float) -> float:
    """A number to four digits."""
    return float(f"{value:.4g}")


@cache
def hash_program() -> str:
    """Marks that tell results of one version from those of another."""
    return hash_package(Path(catalog.__file__).parent)[:12]


def keep_scene(scene: Scene) -> Scene:
    """The things that a worker needs."""
    return scene
