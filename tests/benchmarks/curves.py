"""How often the intervals of curves hold: point by point, and all of a curve together.

Three pools of 2,000 items of our own making, whose labels are all known: `balanced`, with as many
items of the class as others, `rare`, where 8 % are of the class, and `hidden`, where the class is
found in 1 % of the items that the model is sure are not of it. Each study draws 400 labels in
rounds of 25, uniformly or as a study does by default, and its curves are computed at 100 and at 400
labels: recall, false positive rate and precision at 13 thresholds, accuracy in 5 bins of equal
counts. FOLDER keeps what is done: when called again, only missing studies are played.

The first table has, for each measure, the mean over thresholds (bins) of the share of studies whose
pointwise interval holds the truth, in brackets the smallest of these shares over thresholds with an
interval in every fifth study, and the mean widths of the pointwise and the simultaneous interval.
The second has the share of studies in which every interval of the simultaneous band holds, and in
brackets what it is for pointwise intervals. Those of ROC are of recall and false positive rate,
those of precision-recall of both. --apart counts pointwise intervals before recall and false
positive rate are made monotone.
"""

from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path

import benchmark
import numpy as np

_ITEMS, _BATCH, _BINS = 2000, 25, "equal-count,5"
_BUDGETS = (100, 400)
_DESIGNS = ("uniform", "optimal")
_POOLS = ("balanced", "rare", "hidden")
_RATES = ("recall", "false-positive-rate", "precision")
_CURVES = {
    "ROC": ("recall", "false-positive-rate"),
    "precision-recall": ("recall", "precision"),
    "reliability": ("accuracy",),
}
# Studies in one file.
_CHUNK = 10
# Share of studies in which a threshold has an interval, for its coverage to count alone.
_OFTEN = 0.2


def main() -> None:
    """Play the missing studies and print the tables."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        runs=2000,
        seed={"type": int, "default": 0, "help": "of the first study"},
        points={"type": int, "default": 13, "help": "thresholds"},
        apart=False,
        pools=",".join(_POOLS),
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    pools = [Pool(name, options.folder, options.points) for name in options.pools.split(",")]
    for first in range(options.seed, options.seed + options.runs, _CHUNK):
        for pool in pools:
            pool.play(range(first, min(first + _CHUNK, options.seed + options.runs)))
    measures = (*_RATES, "accuracy")
    table = benchmark.Table(options, "pool | draws | labels | runs", *measures)
    for pool in pools:
        for row in pool.list_measures(measures, 1 if options.apart else 0):
            table.add(pool.name, *row)
    table = benchmark.Table(options, "pool | draws | labels | runs", *_CURVES)
    for pool in pools:
        for row in pool.list_curves():
            table.add(pool.name, *row)


class Pool:
    """A pool with its labels, and the curves of studies of it."""

    def __init__(self, name: str, folder: Path, points: int = 13) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from activetest.cache import cache
        from activetest.pool import pool

        self.name, self.folder, self.points = name, folder, points
        rng = np.random.default_rng(17)
        if name == "rare":
            score = rng.beta(0.35, 4, _ITEMS)
            chance = score
        elif name == "hidden":
            score = rng.beta(0.05, 2, _ITEMS)
            chance = 0.01 + 0.9 * score
        else:
            score = rng.beta(0.7, 0.7, _ITEMS)
            # Overconfident: the logit of the truth is 0.7 of the score's.
            inner = np.clip(score, 1e-6, 1 - 1e-6)
            chance = 1 / (1 + (1 / inner - 1) ** 0.7)
        self.labels = (rng.random(_ITEMS) < chance).astype(float)
        path, where = folder / f"{name}.parquet", folder / f"{name}.cache"
        pq.write_table(
            pa.table({"id": [str(each) for each in range(_ITEMS)], "score": score}), path
        )
        if not where.exists():
            cache.build_cache(pool.Pool.open(str(path)), where)
        self.cache = cache.open_cache(where)

    def play(self, seeds: range) -> None:
        """Play these studies and keep their curves, unless they are there."""
        path = self.folder / f"{self.name}-{self.points}-{seeds.start:05}-{len(seeds)}.npz"
        if path.exists():
            return
        found = [self.draw(seed) for seed in seeds]
        stacked = {key: np.stack([each[key] for each in found]) for key in found[0]}
        partial = path.with_suffix(".partial.npz")
        np.savez_compressed(partial, **stacked)
        partial.rename(path)

    def draw(self, seed: int) -> dict[str, np.ndarray]:
        """{"draws/labels/measure": (5, P, 2) ends, and the truth}: see measure."""
        from activetest.nouns.choices import Choices
        from activetest.nouns.log import Log, truncate_log
        from activetest.sampling.plan import plan_round
        from activetest.simulation.simulate import answered

        found = {}
        for design in _DESIGNS:
            choices = Choices(
                metric="error", metrics=("error",), surrogate="agreement", acquisition=design
            )
            log = Log.empty()
            for _ in range(max(_BUDGETS) // _BATCH):
                drawn = plan_round(log, self.cache, choices, seed=seed, count=_BATCH)
                log = answered(log, drawn, self.labels)
            for budget in _BUDGETS:
                rounds = budget // _BATCH
                cut = truncate_log(log, rounds, supplied=rounds)
                for measure, ends in self.measure(cut, choices, seed).items():
                    found[f"{design}/{budget}/{measure}"] = ends
        return found

    def measure(self, log, choices, seed: int) -> dict[str, np.ndarray]:
        """{measure: (5, P, 2) ends and the truth}.

        Ends are pointwise, pointwise but apart, of ROC's band and of precision-recall's.
        """
        from activetest.errors import NotEstimable
        from activetest.estimation.cells import view_cells
        from activetest.estimation.simultaneous import find_joint_level
        from activetest.item_statistics.thresholds import choose_thresholds, find_cells, rate_at
        from activetest.nouns.quantity import Quantity
        from activetest.rounds.fit import make_generator
        from activetest.wings.curves.curves import (
            count_outcomes,
            find_few,
            find_unsure,
            list_parts,
            make_monotone,
            widen_interval,
        )

        scores = self.cache.scores(1)
        thresholds = choose_thresholds(scores, self.points)
        cells, count = find_cells(thresholds, scores), len(thresholds)
        metrics = {
            name: [rate_at(_find_rate(name), place, count, "1") for place in range(count)]
            for name in _RATES
        }
        keys = {name: name.replace("-", "_") for name in _RATES}
        parts = {
            name: [list_parts(keys[name], place, count) for place in range(count)]
            for name in _RATES
        }
        view = view_cells(
            log,
            self.cache,
            choices,
            [*chain(*metrics.values()), *chain(*chain(*parts.values()))],
            cells=cells,
            count=count,
            code=1,
            seed=seed,
        )
        labels = count_outcomes(view.log, cells, count)
        few = {
            name: find_unsure(
                view, keys[name], find_few(keys[name], labels)[:count], parts[name]
            ).tolist()
            for name in _RATES
        }
        values = {}
        for name, each in metrics.items():
            values[name] = []
            for metric in each:
                try:
                    values[name].append(view.value(metric, "doubly-robust"))
                except NotEstimable:
                    values[name].append(None)
        rng = make_generator(seed, len(log.history) + 1, "curve")
        joint = {}
        for curve in ("ROC", "precision-recall"):
            there = [
                [
                    (value, lacks)
                    for value, lacks in zip(values[name], few[name], strict=True)
                    if value
                ]
                for name in _CURVES[curve]
            ]
            joint[curve] = find_joint_level(there, choices.level, rng)
        found = {}
        levels = [choices.level, joint["ROC"], joint["precision-recall"]]
        for name in _RATES:
            ends = []
            for level in levels:
                family = []
                for place, value in enumerate(values[name]):
                    if value is None:
                        family.append(Quantity(None, None, None, level, "none"))
                        continue
                    interval = view.interval(value, level)
                    found_ends = interval.lower, interval.upper
                    method = "exact" if value.estimate.exact else "fixed"
                    quantity = Quantity(value.value, *found_ends, level, method)
                    if few[name][place]:
                        quantity = widen_interval(view, quantity, parts[name][place], level)
                    family.append(quantity)
                apart = family
                if name != "precision":
                    family, _ = make_monotone(family)
                ends += [family, apart]
            truth = [_compute_truth(name, self.labels, cells, place) for place in range(count)]
            rows = [ends[0], ends[1], ends[2], ends[4]]
            found[name] = np.array([*map(_list_ends, rows), [[each, each] for each in truth]])
        found["accuracy"] = self.measure_bins(log, choices, seed)
        return found

    def measure_bins(self, log, choices, seed: int) -> np.ndarray:
        """(5, B, 2) ends and the truth, as of measure."""
        from activetest.item_statistics import specification
        from activetest.nouns.curve import CurveKind
        from activetest.wings.curves.curves import estimate_curve

        facts = specification.describe_pool(self.cache.roles, None, self.cache)
        curves = [
            estimate_curve(
                log,
                self.cache,
                choices,
                facts,
                CurveKind.RELIABILITY,
                class_name=None,
                points=None,
                bins=_BINS,
                simultaneous=simultaneous,
                seed=seed,
            )
            for simultaneous in (False, True)
        ]
        own, both = (_list_ends([point.measures[0] for point in curve.points]) for curve in curves)
        confidence = self.cache.scores()
        right = (self.cache.scores(1) > 0.5) == (self.labels == 1)
        truth = []
        for place, point in enumerate(curves[0].points):
            low, high = np.float32(point.place["low"]), np.float32(point.place["high"])
            inside = ((confidence > low) | (place == 0)) & (confidence <= high)
            truth.append([right[inside].mean() if inside.any() else np.nan] * 2)
        return np.array([own, own, both, both, truth])

    def read(self) -> dict[str, np.ndarray]:
        """{"draws/labels/measure": (R, 5, P, 2)} of all studies that are kept."""
        files = sorted(self.folder.glob(f"{self.name}-{self.points}-*.npz"))
        parts = [np.load(file) for file in files if "partial" not in file.name]
        return {key: np.concatenate([each[key] for each in parts]) for key in parts[0].files}

    def list_measures(self, measures: tuple[str, ...], kind: int) -> Iterator[tuple]:
        """How often the intervals of each measure hold, and how wide they are."""
        kept = self.read()
        for design, budget in product(_DESIGNS, _BUDGETS):
            cells = []
            for measure in measures:
                ends = kept[f"{design}/{budget}/{measure}"]
                truth = ends[:, 4, :, 0]
                there = np.ptp(ends[:, 0], axis=2) > 0
                often = there.mean(axis=0) >= _OFTEN
                held = _contains(ends[:, kind], truth) & there
                shares = held.sum(axis=0)[often] / there.sum(axis=0)[often]
                widths = [np.ptp(ends[:, each], axis=2)[there].mean() for each in (kind, 2)]
                cells.append(
                    f"{shares.mean():.3f} ({shares.min():.3f}), {widths[0]:.3f}, {widths[1]:.3f}"
                )
            yield design, budget, f"{len(ends):,}", *cells

    def list_curves(self) -> Iterator[tuple]:
        """How often all intervals of each curve hold."""
        kept = self.read()
        for design, budget in product(_DESIGNS, _BUDGETS):
            cells = []
            for curve, measures in _CURVES.items():
                ends = [kept[f"{design}/{budget}/{each}"] for each in measures]
                band = 3 if curve == "precision-recall" else 2
                together, alone = (
                    np.all([_holds_all(each[:, kind], each[:, 4, :, 0]) for each in ends], axis=0)
                    for kind in (band, 0)
                )
                cells.append(f"{together.mean():.3f} ({alone.mean():.3f})")
            runs = len(ends[0])
            yield design, budget, f"{runs:,}", *cells


def _find_rate(name: str):
    """The rate of a metric."""
    from activetest import catalog

    return catalog.load("metrics", name)


def _list_ends(quantities) -> list[list[float]]:
    """(P, 2) ends; NaN where there are none."""
    return [
        [np.nan if end is None else end for end in (each.lower, each.upper)] for each in quantities
    ]


def _compute_truth(name: str, labels: np.ndarray, cells: np.ndarray, place: int) -> float:
    """The measure with every label known; NaN where it is 0/0."""
    called, hits = cells >= place, labels == 1
    inside = {"recall": hits, "false-positive-rate": ~hits, "precision": called}[name]
    counted = hits if name == "precision" else called
    return float(counted[inside].mean()) if inside.any() else np.nan


def _contains(ends: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(R, P) whether the intervals (R, P, 2) hold the truth (R, P), up to rounding."""
    return (ends[..., 0] <= truth + 1e-9) & (truth <= ends[..., 1] + 1e-9)


def _holds_all(ends: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(R,) whether every interval that there is holds."""
    return np.all(_contains(ends, truth) | np.isnan(ends[..., 0]), axis=1)


if __name__ == "__main__":
    main()
