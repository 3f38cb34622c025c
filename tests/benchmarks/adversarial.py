"""Coverage, gates and claims of savings on pools that mislead, by the real loop of draws.

POOL is a name of adversarial_pools.py, `all`, `random` or, with --folder, that of a pool there with
its answer key (NAME.parquet and NAME.labels.csv). Studies are played in blocks of 20, batches of 25
draws, and looked at after 50, 100, 200 and 400. FILE has a line for each block and look, and no
block is played again that it has. Every ten blocks share a pool; another --seed makes other pools
and other studies. --studies 0 plays nothing and prints the tables. --cells plays these cells alone;
they need a FILE of their own.

A cell is a metric of the pool, of a group (error@group=a) or of a difference (error@group=a,c). A
row of the table has, for each cell and number of labels:

covers       share of the 95 % intervals that hold the truth; reliable: share of studies not
             marked; if so: coverage among these
low, high    share of studies in which the end of a gate's interval (5 % on either side) is above,
             or below, the truth; if so: the larger of the two among gates that are reliable
fixed        share of studies in which a gate with the truth as its threshold passes wrongly: the
             larger of <= and >=; sequential: with the usual looks of a budget of 200; anytime
above        share of the studies with a claim whose claim of savings is above the truth; claimed:
             the median; truly: uniform labels of the pool for the mean squared error of the
             studies, over the labels (where labels have prices: by money)
width        the median
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import adversarial_pools as pools
import benchmark
import numpy as np

BATCH, TOGETHER, BLOCKS_OF_A_POOL = 25, 20, 10
LOOKS, BUDGET, PLANNED = (50, 100, 200, 400), 200, 5
# Draws of the rounds at whose ends the looks of sequential gates are.
SEQUENTIAL = tuple(-(-BUDGET * k // (PLANNED * BATCH)) * BATCH for k in range(1, PLANNED + 1))
LEVEL, MOST_GROUPS = 0.95, 6
# Runs of uniform draws that several annotators label, and numbers of items in each.
HEARD, HEARD_SIZES = 200, (25, 50, 100, 200, 400, 800)
FIELDS = ("estimate", "lower", "upper", "reliable", "saved", "low", "high", "sure")
# The goal: studies that a cell needs, coverage where reliable and of all, errors on one side, of
# gates, and claims above the truth.
ENOUGH, COVERS, OF_ALL, ONE_SIDE, GATE, CLAIMS = 300, 0.93, 0.90, 0.07, 0.065, 0.60
_NOTHING = "-"
_HEAD = re.compile(r'{"pool": ?"([^"]+)", ?"seed": ?(\d+), ?"block": ?(\d+), ?"look": ?(\d+), ?')


@dataclass(frozen=True)
class Cell:
    """A question: a metric of a subject, by its name.

    truth      over all items: intervals have to hold it, unless their row says that it is about the
               items that can be answered alone, as of losses without a bound
    answered   over the items that can be answered, which estimates are about
    """

    name: str
    metric: object
    subject: object
    truth: float
    answered: float


def main() -> None:
    """Play what is missing, and print the table or the comparison."""
    options = read_options()
    names = list_names(options)
    if options.against:
        compare(names, options)
        return
    play_missing(names, options)
    print_table(names, options)


def read_options() -> argparse.Namespace:
    """The command line."""
    return benchmark.read_options(
        __doc__,
        ("pools", {"help": "names, separated by commas"}),
        save={"type": Path, "required": True},
        studies=1000,
        seed=1,
        looks=",".join(map(str, LOOKS)),
        workers=2,
        folder=Path,
        cells={"default": "", "help": "only these, played and shown: error;f1[1]"},
        flagged={"action": "store_true", "help": "only cells that miss the goal"},
        without={"default": "", "help": "sequential, anytime, gates, claims, groups"},
        against=Path,
    )


def split_cells(options: argparse.Namespace) -> frozenset[str]:
    """The cells that are meant; none for all."""
    return frozenset(filter(None, options.cells.split(";")))


def list_names(options: argparse.Namespace) -> list[str]:
    """The pools that are meant."""
    random = [f"random-{seed}" for seed in range(pools.RANDOM_POOLS)]
    sets = {"all": pools.list_pools(), "random": random}
    return [name for each in options.pools.split(",") for name in sets.get(each, [each])]


def play_missing(names: list[str], options: argparse.Namespace) -> None:
    """Play the blocks that the file lacks, every pool in turn, and add their lines."""
    kept: dict[tuple, set[int]] = defaultdict(set)
    for text in read_texts(options.save):
        name, seed, block, draws = _HEAD.match(text).groups()
        kept[name, int(seed), int(block)].add(int(draws))
    looks = {int(each) for each in options.looks.split(",")}
    blocks = range(-(-options.studies // TOGETHER))
    left = [(name, block) for block in blocks for name in names]
    left = [task for task in left if not looks <= kept[task[0], options.seed, task[1]]]
    # A pool's blocks stay together, so that a worker makes it once.
    left.sort(key=lambda task: (task[1] // BLOCKS_OF_A_POOL, names.index(task[0]), task[1]))
    job = partial(play_block, options)
    workers = ProcessPoolExecutor(options.workers, get_context("spawn"))
    with workers:
        for lines in (workers.map if options.workers > 1 else map)(job, left):
            benchmark.append_lines(options.save, lines)
            print(f"{lines[0]['pool']}, block {lines[0]['block']}", file=sys.stderr, flush=True)


def read_texts(path: Path) -> list[str]:
    """The lines of a file that are whole; none where there is no file."""
    texts = path.read_text().splitlines() if path.exists() else []
    return [text for text in texts if re.search(r'"ms": ?{', text) and text.endswith("}}")]


def read_lines(path: Path, names: list[str], seed: int) -> list[dict]:
    """The lines of these pools and this seed, the last of each block and look, in their order."""
    found = {}
    for text in read_texts(path):
        name, its_seed, block, draws = _HEAD.match(text).groups()
        if name in names and int(its_seed) == seed:
            found[names.index(name), int(block), int(draws)] = json.loads(text)
    return [found[key] for key in sorted(found)]


@lru_cache(maxsize=1)
def open_scene(
    name: str, seed: int, folder: Path | None, without: tuple[str, ...], chosen: frozenset[str]
):
    """One pool with its cells, its usual choices, and what uniform draws would find."""
    from activetest.item_statistics import specification
    from activetest.item_statistics.defaults import default_metrics
    from activetest.nouns.choices import Choices
    from activetest.simulation.baseline import compute_baseline

    room = tempfile.TemporaryDirectory(prefix="activetest-adversarial-")
    if folder is None:
        recipe = pools.find_recipe(name)
        pool = pools.open_recipe(name, seed, Path(room.name))
    else:
        pool = pools.open_files(folder, name, Path(room.name) / "cache")
        schema = pool.schema
        usual = default_metrics(schema.task, schema.kind, schema.classes)
        usual += ("kappa", "ece") if "brier" in usual else ()
        recipe = pools.Recipe(lambda rng: {}, usual, usual[:1])
    metrics = [
        metric for each in recipe.metrics for metric in specification.find_metrics(each, pool.facts)
    ]
    choices = Choices(
        metric=recipe.aim[0],
        also=recipe.aim[1:],
        metrics=recipe.metrics,
        groups=pool.schema.groups,
        interval="sequential",
        budget=float(BUDGET),
    )
    of_groups = () if "groups" in without else recipe.of_groups
    cells = list(list_cells(pool, metrics, of_groups))
    rows = pool.cache.rows(0, pool.cache.size)
    if chosen:
        cells = [cell for cell in cells if cell.name in chosen]
        meant = {cell.metric.title for cell in cells}
        metrics = [metric for metric in metrics if metric.title in meant]
    uniform, claimed = {}, metrics if "claims" not in without else []
    if claimed and recipe.choices.get("annotators") == "dawid-skene":
        uniform, claimed = measure_heard(recipe, pool, metrics), []
    for metric in claimed:
        rng = np.random.default_rng(1)
        found = compute_baseline(metric, rows.outputs, pool.truth, LOOKS, rng, rows.weight)
        uniform[metric.title] = [found.budgets.tolist(), found.errors.tolist()]
    return SimpleNamespace(
        room=room,
        recipe=recipe,
        pool=pool,
        metrics=metrics,
        choices=replace(choices, **recipe.choices),
        cells=cells,
        uniform=uniform,
        price=None if rows.price is None else np.asarray(rows.price),
    )


def measure_heard(recipe, pool, metrics: list) -> dict[str, list]:
    """{metric: numbers of items, and errors of as many uniform draws that the same people label}.

    Their answers are corrected as those of active draws are. A run in which a metric does not exist
    is left out.
    """
    from activetest.item_statistics.metric import evaluate
    from activetest.labels.latent_classes import fit_raters

    classes, rows = len(pool.cache.classes), pool.cache.rows(0, pool.cache.size)
    truth = {each.title: evaluate(each, rows.outputs, pool.truth) for each in metrics}
    errors = {name: defaultdict(list) for name in truth}
    for run in range(HEARD):
        rng = np.random.default_rng([run, 5])
        said = pools.give_answers(recipe, pool.truth.astype(int), classes, run)
        order = rng.permutation(pool.cache.size)
        for count in HEARD_SIZES:
            at = order[:count]
            outputs = rows.outputs[at]
            labels = fit_raters(said[at], outputs.pred, classes, np.ones(count), rng).labels
            for metric in metrics:
                tables = [each.table(outputs, classes) for each in metric.statistics]
                means = np.array([(labels * table).sum(axis=1).mean() for table in tables])
                apart = float(metric.smooth(means)) - truth[metric.title]
                errors[metric.title][count].append(apart**2)
    return {
        name: [list(found), [float(np.nanmean(each)) for each in found.values()]]
        for name, found in errors.items()
    }


def list_cells(pool, metrics: list, of_groups: tuple[str, ...]) -> Iterator[Cell]:
    """The cells of a pool: metrics of all items, of groups, and differences of few groups."""
    from activetest.estimation.evidence import list_groups
    from activetest.item_statistics.metric import evaluate
    from activetest.reporting.gate_values import Subject

    rows, groups = pool.cache.rows(0, pool.cache.size), list_groups(pool.cache)

    def measure(metric, group, among: np.ndarray) -> float:
        inside = among & (group.membership(rows.codes) > 0)
        mass = None if rows.weight is None else rows.weight[inside]
        return evaluate(metric, rows.outputs[inside], pool.truth[inside], mass)

    among = np.ones(pool.cache.size, bool), ~pool.declined
    for metric in metrics:
        truths = [measure(metric, groups[0], each) for each in among]
        yield Cell(metric.title, metric, Subject(groups[0]), *truths)
        if metric.name not in of_groups:
            continue
        for column in pool.cache.group_names:
            parts = [group for group in groups[1:] if list(group.meaning) == [column]]
            value = {
                group.name: [measure(metric, group, each) for each in among] for group in parts
            }
            for group in parts:
                name = f"{metric.title}@{column}={group.meaning[column]}"
                yield Cell(name, metric, Subject(group), *value[group.name])
            for first, second in combinations(parts if len(parts) <= MOST_GROUPS else (), 2):
                name = f"{metric.title}@{column}={first.meaning[column]},{second.meaning[column]}"
                apart = np.subtract(value[first.name], value[second.name]).tolist()
                yield Cell(name, metric, Subject(first, second), *apart)


def play_block(options: argparse.Namespace, task: tuple[str, int]) -> list[dict]:
    """The lines of one block of studies: one for each look."""
    from activetest.simulation.simulate import _with_surrogates
    from activetest.system.parallel import one_blas_thread

    lines, clock = [], Clock()
    (name, block), without = task, tuple(sorted(filter(None, options.without.split(","))))
    number = options.seed * 1000 + block // BLOCKS_OF_A_POOL
    scene = open_scene(name, number, options.folder, without, split_cells(options))
    cache, looks = scene.pool.cache, [int(each) for each in options.looks.split(",")]
    first = options.seed * 1_000_003 + block * TOGETHER
    studies = [make_player(scene, first + place) for place in range(TOGETHER)]
    clock.add("pool and claims")
    planned = () if {"gates", "sequential"} & {*without} else SEQUENTIAL
    for draws in range(BATCH, looks[-1] + BATCH, BATCH):
        with one_blas_thread():
            for study in _with_surrogates(studies, cache, scene.choices):
                study.draw(cache, scene.pool.truth, scene.choices, BATCH)
            if draws not in looks and draws not in planned:
                continue
            list(_with_surrogates(studies, cache, scene.choices))
            clock.add("draws")
            found = [look(scene, each, draws, without, planned, clock) for each in studies]
        if draws in looks:
            line = {"pool": name, "seed": options.seed, "block": block, "look": draws}
            line |= {"number": number, "size": cache.size, "truth": {}, "cells": {}}
            for cell in scene.cells:
                line["truth"][cell.name] = [cell.truth, cell.answered]
                keys = {*FIELDS}.union(*(each[cell.name] for each in found))
                line["cells"][cell.name] = {
                    key: [each[cell.name].get(key) for each in found] for key in sorted(keys)
                }
            if scene.price is not None:
                spent = [float(scene.price[each.log.rows].sum()) for each in studies]
                line |= {"spent": spent, "price": float(scene.price.mean())}
            line |= {"uniform": scene.uniform} if not lines else {}
            lines.append(line | {"ms": clock.read(TOGETHER)})
    return lines


class Clock:
    """Milliseconds of each piece of a study."""

    def __init__(self) -> None:
        self.spent, self.last = defaultdict(float), time.process_time()

    def add(self, piece: str) -> None:
        """Count the time since the last call for this piece."""
        now = time.process_time()
        self.spent[piece] += now - self.last
        self.last = now

    def read(self, studies: int) -> dict[str, float]:
        """Milliseconds a study, since they were read."""
        spent, self.spent = self.spent, defaultdict(float)
        return {piece: round(1000 * each / studies, 1) for piece, each in spent.items()}


def make_player(scene: SimpleNamespace, seed: int):
    """A study whose items are answered as the recipe says."""
    from activetest.nouns.log import DECLINED
    from activetest.simulation.simulate import _Study

    recipe, pool = scene.recipe, scene.pool
    said = None
    if recipe.right:
        said = pools.give_answers(recipe, pool.truth.astype(int), len(pool.cache.classes), seed)

    class Player(_Study):
        """It keeps the view of each look."""

        def draw(self, built, truth, choices, count: int) -> None:
            super().draw(built, truth, choices, count)
            if said is not None:
                self.log = hear(self.log, said[self.log.rows], built.classes, choices.annotators)
            declined = pool.declined[self.log.rows]
            if declined.any():
                status = np.where(declined, DECLINED, self.log.status)
                labels = np.where(declined, np.nan, self.log.labels)
                self.log = replace(self.log, status=status, labels=labels)

    player = Player(seed)
    player.views, player.excluded = {}, defaultdict(set)
    return player


def hear(log, said: np.ndarray, classes: tuple[str, ...], method: str):
    """The log whose labels come from answers (D, J), class codes, -1 for none."""
    from activetest.labels.annotators import infer_labels, resolve_answers
    from activetest.nouns.log import LABELLED

    places = list(zip(*np.nonzero(said >= 0), strict=True))
    answers = [(f"{at}", f"a{who}", LABELLED, classes[said[at, who]]) for at, who in places]
    soft = None
    if method == "majority":
        resolved = resolve_answers(answers)
        labels = [resolved[f"{at}"][1] for at in range(len(said))]
    else:
        inferred = infer_labels(answers)
        labels = [inferred.labels[f"{at}"] for at in range(len(said))]
        known = [classes.index(name) for name in inferred.names]
        soft = np.zeros((len(said), len(classes)))
        soft[:, known] = [inferred.probs[f"{at}"] for at in range(len(said))]
    # The answers of each, where labels are corrected for their errors.
    given = soft is not None and "given" in {each.name for each in fields(log)}
    return replace(
        log,
        **({"given": said} if given else {}),
        labels=np.array([classes.index(label) for label in labels], float),
        soft=soft,
        supplied_soft=None if soft is None else soft[:0],
        answers=(said >= 0).sum(axis=1),
    )


def look(scene, study, draws: int, without: tuple[str, ...], planned, clock: Clock) -> dict:
    """{cell: {field: number}} of one study after so many draws."""
    from activetest.errors import ActivetestError
    from activetest.estimation.view import build_view
    from activetest.reporting.gate_values import measure_gate

    view = build_view(
        study.log,
        scene.pool.cache,
        scene.choices,
        scene.metrics,
        seed=study.seed,
        own_view=False,
        surrogate=study.surrogate,
    )
    clock.add("views")
    if draws in planned:
        study.views[len(study.log.history)] = view
    found: dict[str, dict] = {cell.name: {} for cell in scene.cells}
    differences: dict[tuple, list] = {}
    for cell in scene.cells if draws in LOOKS else ():
        row = find_row(view, cell, differences)
        if row is not None and row.lower is not None:
            values = row.estimate, row.lower, row.upper, row.quantity.reliable, row.quantity.saved
            found[cell.name] |= dict(zip(FIELDS, map(shorten, values), strict=False))
            declined = getattr(row.quantity, "declined", None)
            if declined is not None and declined.least is None:
                found[cell.name]["answered"] = 1
    clock.add("rows")
    for cell in scene.cells if "gates" not in without else ():
        try:
            gate = measure_gate(view, cell.metric, cell.subject)
            interval = gate.find_interval(2 * LEVEL - 1)
            sure = not gate.few and gate.check_interval(interval)
        except ActivetestError:
            continue
        values = interval.lower, interval.upper, sure
        found[cell.name] |= dict(zip(FIELDS[-3:], map(shorten, values), strict=True))
        sides = find_sides(interval.lower, interval.upper, cell.truth)
        for side, wrong in zip((">=", "<="), sides, strict=True):
            if wrong and draws in planned:
                study.excluded[cell.name].add(side)
    clock.add("gates")
    if planned and draws == BUDGET:
        judge_looks(scene, study, view, found)
        clock.add("sequential")
    if draws == LOOKS[-1] and not {"anytime", "gates"} & {*without}:
        judge_anytime(scene, view, found)
        clock.add("anytime")
    return found


def find_row(view, cell: Cell, differences: dict[tuple, list]):
    """The row of a cell, or None; the rows of all differences of a column are kept."""
    from activetest.reporting.rows import HEADLINE, estimate_differences, estimate_row

    group, against = cell.subject.group, cell.subject.against
    if against is None:
        return estimate_row(view, cell.metric, HEADLINE, group, level=LEVEL)
    key = cell.metric.title, group.column
    if key not in differences:
        columns = tuple(group.meaning)
        differences[key] = estimate_differences(view, [cell.metric], columns, simultaneous=False)
    pair = group.meaning, against.meaning
    return next((each for each in differences[key] if (each.group, each.against) == pair), None)


def find_sides(lower, upper, truth) -> tuple:
    """Whether intervals lie above, or below, the truth; one that ends there does not."""
    slack = 1e-9 * np.maximum(1.0, np.abs(truth))
    return lower > truth + slack, upper < truth - slack


def judge_looks(scene, study, view, found: dict) -> None:
    """Add which sequential gates pass wrongly: 1 for >=, 2 for <=, 3 for both.

    Their intervals are wider than those of a single look: where none of these leaves out the truth,
    no gate can pass.
    """
    from activetest.estimation.looks import plan_looks_of_log
    from activetest.nouns.report import PASS
    from activetest.reporting.gate_values import Hypothesis
    from activetest.reporting.look_verdicts import LookVerdicts
    from activetest.reporting.requirements import Requirement
    from activetest.reporting.verdicts import _undecided_gate

    plan = plan_looks_of_log(scene.choices, study.log, scene.pool.cache)
    looks = LookVerdicts(view, plan, scene.metrics, 1)
    looks._views.update(study.views)
    for cell in scene.cells:
        wrong = 0
        for side, code in ((">=", 1), ("<=", 2)):
            if side not in study.excluded[cell.name]:
                continue
            # Beyond the truth by more than rounding, so that it is wrong to pass.
            step = 1e-7 * max(1.0, abs(cell.truth)) * (1 if side == ">=" else -1)
            required = Requirement(cell.name, cell.name, None, side, cell.truth + step)
            about = Hypothesis(required, cell.metric, cell.subject)
            if looks.judge(_undecided_gate(view, about), about).verdict == PASS:
                wrong += code
        found[cell.name]["sequential"] = wrong


def judge_anytime(scene, view, found: dict) -> None:
    """Add which anytime-valid gates pass wrongly by the last look, as judge_looks does."""
    from activetest.errors import ActivetestError
    from activetest.intervals import betting
    from activetest.item_statistics.specification import why_not_bettable

    for cell in scene.cells:
        if cell.subject.against is not None or why_not_bettable(cell.metric):
            continue
        try:
            limits = cell.truth, cell.truth
            bets, _ = view.bet_on_metric(cell.metric, cell.subject.group, cell.truth, limits)
        except ActivetestError:
            continue
        # Bets with declined items at their most, where they count.
        most = getattr(bets, "most", None)
        more = {} if most is None else {"highest": most.at}
        verdicts = [
            betting.decide_verdict(bets.at, 0.0, at_least=side, alpha=1 - LEVEL, **more)
            for side in (True, False)
        ]
        codes = zip(verdicts, (1, 2), strict=True)
        found[cell.name]["anytime"] = sum(code for each, code in codes if each.word == "pass")


def shorten(value: float | None) -> float | None:
    """A number with ten digits; None for none."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.10g}")


@dataclass
class Studies:
    """The studies of one cell after a number of labels.

    columns   {field: (S,) numbers, NaN for none}
    truth     (S,); answered: likewise, see Cell
    truly     uniform labels for the mean squared error, over the labels; NaN where unknown
    """

    columns: dict[str, np.ndarray]
    truth: np.ndarray
    answered: np.ndarray
    truly: float


def collect(names: list[str], path: Path, seed: int) -> dict[tuple, Studies]:
    """{(pool, cell, look): its studies}, in the order of pools, looks and cells."""
    lines = read_lines(path, names, seed)
    uniform = {
        (line["pool"], line["number"]): line["uniform"] for line in lines if "uniform" in line
    }
    parts: dict[tuple, list] = defaultdict(list)
    for line in sorted(lines, key=lambda each: each["look"]):
        for cell in line["cells"]:
            parts[line["pool"], cell, line["look"]].append(line)
    order = sorted(parts, key=lambda key: names.index(key[0]))
    return {key: join(key, parts[key], uniform) for key in order}


def join(key: tuple, lines: list[dict], uniform: dict) -> Studies:
    """The studies of one cell, from its lines."""
    _, cell, draws = key
    known = {field for line in lines for field in line["cells"][cell]}
    columns = {
        field: np.concatenate(
            [np.array(line["cells"][cell].get(field, [None] * TOGETHER), float) for line in lines]
        )
        for field in known
    }
    truth, answered = (
        np.repeat([line["truth"][cell][place] for line in lines], TOGETHER) for place in (0, 1)
    )
    numbers = np.repeat([line["number"] for line in lines], TOGETHER)
    saved = []
    for number in np.unique(numbers):
        curve = uniform.get((key[0], number), {}).get(cell)
        mine = (numbers == number) & np.isfinite(columns["estimate"])
        if curve is None or not mine.any():
            continue
        error = np.mean((columns["estimate"] - answered)[mine] ** 2)
        labels = count_labels(*map(np.array, curve), error)
        some = [line for line in lines if line["number"] == number]
        bought = draws
        if "spent" in some[0]:
            bought = np.mean([line["spent"] for line in some]) / some[0]["price"]
        saved += [labels / bought] * int(mine.sum())
    return Studies(columns, truth, answered, float(np.mean(saved)) if saved else np.nan)


def count_labels(budgets: np.ndarray, errors: np.ndarray, error: float) -> float:
    """Labels that uniform draws need for a mean squared error, as Baseline.labels has them."""
    from activetest.simulation.baseline import Baseline

    return Baseline(np.nan, budgets, errors, True, {}).labels(max(error, 1e-300))


COLUMNS = (
    "pool", "cell", "labels", "studies", "covers", "reliable", "if so", "low", "high", "if so ",
    "fixed", "sequential", "anytime", "above", "claimed", "truly", "width", "misses",
)  # fmt: skip


def print_table(names: list[str], options: argparse.Namespace) -> None:
    """A row for every cell and every pool, and what the pieces of a study cost."""
    table = benchmark.Table(None, *COLUMNS)
    chosen, of_pools = split_cells(options), defaultdict(list)
    for (name, cell, draws), studies in collect(names, options.save, options.seed).items():
        if chosen and cell not in chosen:
            continue
        numbers = summarise(studies)
        misses = list_misses(numbers)
        of_pools[name].append(numbers)
        if misses or not options.flagged:
            texts = [f"{numbers[column]:.3f}" for column in COLUMNS[4:13]]
            texts += [f"{numbers[column]:.2f}" for column in COLUMNS[13:16]]
            texts = [_NOTHING if text == "nan" else text for text in texts]
            texts += [f"{numbers['width']:.4g}", ", ".join(misses)]
            table.add(name, cell, draws, f"{numbers['studies']:.0f}", *texts)
    heads = "pool | studies | covers | reliable | side | sequential | claims"
    table = benchmark.Table(options, heads)
    for name, cells in of_pools.items():
        table.add(name, *summarise_pool(cells))
    cost: dict[str, float] = defaultdict(float)
    lines = read_lines(options.save, names, options.seed)
    blocks = {(line["pool"], line["block"]) for line in lines}
    for line in lines:
        for piece, spent in line["ms"].items():
            cost[piece] += spent / len(blocks)
    pieces = ", ".join(f"{piece} {spent:.0f}" for piece, spent in cost.items())
    print(f"\nMilliseconds of a study: {pieces}.")


def summarise_pool(cells: list[dict[str, float]]) -> list[str]:
    """Studies of a pool; then of its cells the worst coverage, the worst coverage, side of a gate
    and sequential gate where enough studies are reliable, and how many claim too much.
    """
    sure = [each for each in cells if each["counted"] >= ENOUGH]
    numbers = [
        min(each["covers"] for each in cells),
        min((each["if so"] for each in sure), default=np.nan),
        max((each["if so "] for each in sure), default=np.nan),
        np.nanmax([0.0, *(each["sequential"] for each in cells)]),
    ]
    texts = [_NOTHING if np.isnan(each) else f"{each:.3f}" for each in numbers]
    claims = [each["above"] for each in cells if np.isfinite(each["above"])]
    above = f"{sum(each > CLAIMS for each in claims)} of {len(claims)}" if claims else _NOTHING
    return [f"{max(each['studies'] for each in cells):.0f}", *texts, above]


def summarise(studies: Studies) -> dict[str, float]:
    """The numbers of a row; NaN where there is none."""
    columns = studies.columns
    known = np.isfinite(columns["lower"])
    alone = columns.get("answered", np.zeros(len(known))) == 1
    about = np.where(alone, studies.answered, studies.truth)
    low, high = find_sides(columns["lower"], columns["upper"], about)
    holds, reliable = ~(low | high), columns["reliable"] == 1
    ends = np.isfinite(columns["low"])
    gate_low, gate_high = find_sides(columns["low"], columns["high"], studies.truth)
    sure = columns["sure"] == 1
    claimed = np.isfinite(columns["saved"])
    return {
        "studies": len(known),
        "counted": int((known & reliable).sum()),
        "covers": mean(holds, known),
        "reliable": mean(reliable, known),
        "if so": mean(holds, known & reliable),
        "low": mean(gate_low, ends),
        "high": mean(gate_high, ends),
        "if so ": max(mean(gate_low, ends & sure), mean(gate_high, ends & sure)),
        "fixed": max(mean(gate_low & sure, known | ends), mean(gate_high & sure, known | ends)),
        "sequential": find_error(columns.get("sequential")),
        "anytime": find_error(columns.get("anytime")),
        "above": mean(columns["saved"] > studies.truly, claimed)
        if np.isfinite(studies.truly)
        else np.nan,
        "claimed": float(np.median(columns["saved"][claimed])) if claimed.any() else np.nan,
        "truly": studies.truly,
        "width": float(np.median((columns["upper"] - columns["lower"])[known]))
        if known.any()
        else np.nan,
    }


def mean(which: np.ndarray, among: np.ndarray) -> float:
    """A share; NaN of nothing."""
    return float(which[among].mean()) if among.any() else np.nan


def find_error(codes: np.ndarray | None) -> float:
    """The larger share of wrong passes of the two directions; NaN where none was judged."""
    if codes is None or not np.isfinite(codes).any():
        return np.nan
    known = codes[np.isfinite(codes)]
    return max(float(np.isin(known, (code, 3)).mean()) for code in (1, 2))


def list_misses(numbers: dict[str, float]) -> list[str]:
    """In which respects a cell misses the goal."""
    misses = []
    if numbers["counted"] >= ENOUGH:
        misses += ["reliable"] * (numbers["if so"] < COVERS)
        misses += ["one-sided"] * (numbers["if so "] > ONE_SIDE)
    if numbers["studies"] >= ENOUGH:
        misses += ["all"] * (numbers["covers"] < OF_ALL)
        gates = ("fixed", "sequential", "anytime")
        misses += [f"{gate} gate" for gate in gates if numbers[gate] > GATE]
        misses += ["claims"] * (numbers["above"] > CLAIMS)
    return misses


def compare(names: list[str], options: argparse.Namespace) -> None:
    """Print widths and marks of the same studies in two files."""
    now, before = (collect(names, path, options.seed) for path in (options.save, options.against))
    heads = ("pool", "cell", "labels", "studies", "covered", "covers", "width", "now", "ratio")
    heads += ("reliable before", "covered if so", "mark kept", "misses")
    table = benchmark.Table(options, *heads)
    for key in before:
        if key not in now:
            continue
        count = min(len(each[key].truth) for each in (before, now))
        old, new = (take(each[key], count) for each in (before, now))
        first, second = summarise(old), summarise(new)
        both = np.isfinite(old.columns["lower"]) & np.isfinite(new.columns["lower"])
        widths = [
            float((each.columns["upper"] - each.columns["lower"])[both].mean())
            for each in (old, new)
        ]
        marked = old.columns["reliable"] == 1
        kept = mean(new.columns["reliable"] == 1, marked)
        ratio = widths[1] / widths[0] if widths[0] > 0 else np.nan
        misses = ["width"] * (key[2] == BUDGET and ratio > 1.08)
        misses += ["marks"] * (first["if so"] >= COVERS and kept < 0.95)
        cells = [*map(str, key), str(count), f"{first['covers']:.3f}", f"{second['covers']:.3f}"]
        cells += [f"{widths[0]:.4g}", f"{widths[1]:.4g}", f"{ratio:.3f}"]
        cells += [f"{first['reliable']:.2f}", f"{first['if so']:.3f}", f"{kept:.3f}"]
        table.add(*cells, ", ".join(misses))


def take(studies: Studies, count: int) -> Studies:
    """The first of some studies."""
    columns = {field: values[:count] for field, values in studies.columns.items()}
    truths = {"truth": studies.truth[:count], "answered": studies.answered[:count]}
    return replace(studies, columns=columns, **truths)


if __name__ == "__main__":
    main()
