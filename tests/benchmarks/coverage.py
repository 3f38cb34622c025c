"""How often fixed intervals hold, on which side they miss, and how wide they are.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. Intervals do not change what is
drawn, so each study is played once: what its intervals are made of is kept in SAMPLES, and a later
call with the same SAMPLES plays only what is missing. --code makes the estimates and intervals with
the code of another checkout from the same samples, and --runs 0 plays nothing. --students gives
uniform draws without replacement, with Student's t, in place of the studies.

coverage   of the 95 % interval; low and high are the shares of studies in which the truth lies
           below and above it
above 5%   share of studies in which the truth lies above the upper end of a 90 % interval, which a
           gate uses; below 5% for the lower end
width      mean width of the 95 % interval; ratio: over 3.92 standard deviations of the estimate
reliable   share of studies whose interval is not marked, its coverage in those, and in the others
saved      uniform labels that would be as good, over the labels, as the report says (mean), and in
           truth: the variance of uniform draws over the mean squared error
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import fields
from inspect import signature
from pathlib import Path

import benchmark
import numpy as np

# Studies in one file of samples.
_CHUNK = 25
_HEADER = (
    "pool | metric | floor | labels | runs | coverage | low | high | below 5% | above 5% "
    "| width | ratio | reliable | if so | if not | saved | truly"
)


def main() -> None:
    """Play the missing studies and print a row per pool, metric and number of labels."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        save={"type": Path, "required": True},
        pools="",
        floor="0.35",
        metric={"action": "append"},
        outputs={"default": "", "help": "the column of scores, for regression"},
        acquisition="optimal",
        students=False,
        runs=2000,
        budget="50,100,200,400",
        seed={"type": int, "default": 0, "help": "of the first study"},
        batch=25,
        most={"type": int, "default": None, "help": "read no more studies than these"},
        code=Path(__file__).parents[2],
    )
    sys.path.insert(0, str(options.code))
    budgets = tuple(map(int, options.budget.split(",")))
    table = benchmark.Table(options, _HEADER)
    for file in benchmark.find_pools(options.folder, options.pools):
        for floor in map(float, options.floor.split(",")):
            study = Study(options, file.stem, floor, budgets)
            if not options.students:
                study.play(options.runs)
            found = study.students(options.runs) if options.students else study.rows(options.most)
            for row in found:
                table.add(*row)


class Study:
    """The studies of one pool with one floor: played, kept, and read again."""

    def __init__(
        self, options: argparse.Namespace, name: str, floor: float, budgets: tuple[int, ...]
    ) -> None:
        from activetest.cache import cache
        from activetest.item_statistics import specification
        from activetest.nouns.choices import Choices
        from activetest.pool.pool import Pool
        from activetest.simulation.answer_key import read_answer_key

        self.name, self.floor, self.batch, self.seed = name, floor, options.batch, options.seed
        folder = options.folder / f"{name}.parquet"
        # The caches of two versions may differ.
        where = options.save / f"{name}.cache-{abs(hash_text(str(options.code))):x}"
        roles = {"task": "regression", "outputs": options.outputs} if options.outputs else {}
        pool = Pool.open(str(folder), **roles)
        if not where.exists():
            cache.build_cache(pool, where)
        self.cache = cache.open_cache(where)
        regression = pool.schema.task == "regression"
        self.truth = read_answer_key(
            self.cache,
            options.folder / f"{name}.labels.csv",
            unmatched=not regression and pool.schema.open_classes,
        )
        names = options.metric or (["rmse", "mse", "bias"] if regression else ["error"])
        facts = specification.describe_pool(self.cache.roles, None, self.cache)
        self.metrics = [specification.find_metric(each, facts) for each in names]
        self.budgets = tuple(each for each in budgets if each < self.cache.size)
        self.choices = Choices(
            metric=names[0],
            metrics=tuple(names),
            surrogate="residual" if regression else "agreement",
            acquisition=options.acquisition,
            floor=floor,
        )
        kept = f"{name}-{'+'.join(names)}-{options.acquisition}-{floor:g}-{self.batch}"
        kept += f"-{self.seed}" * bool(self.seed)
        self.kept = options.save / kept

    def play(self, runs: int) -> None:
        """Play the studies whose samples are missing, and keep them."""
        self.kept.mkdir(parents=True, exist_ok=True)
        for first in range(0, runs, _CHUNK):
            path = self.kept / f"{first:05}.npz"
            if not path.exists():
                seeds = range(self.seed + first, self.seed + first + _CHUNK)
                arrays = [self.draw(seed) for seed in seeds]
                partial = path.with_suffix(".partial.npz")
                stacked = {key: np.stack([each[key] for each in arrays]) for key in arrays[0]}
                np.savez_compressed(partial, **stacked)
                partial.rename(path)

    def draw(self, seed: int) -> dict[str, np.ndarray]:
        """{"metric/labels/field": value} of the samples of one study."""
        from activetest.estimation import samples
        from activetest.estimation.view import build_view
        from activetest.nouns.log import Log

        log, found = Log.empty(), {}
        for budget in self.budgets:
            about = log, self.cache, self.choices, self.truth
            log = benchmark.buy_labels(*about, labels=budget, batch=self.batch, seed=seed)
            view = build_view(
                log, self.cache, self.choices, self.metrics, seed=seed, own_view=False
            )
            for metric in self.metrics:
                sample = samples.build_sample(view.evidence, metric)
                for name, value in pack(sample).items():
                    found[f"{metric.title}/{budget}/{name}"] = value
        return found

    def read(self, most: int | None) -> Iterator[dict]:
        """The samples of every study that is kept, as `draw` returns them."""
        paths = [path for path in sorted(self.kept.glob("*.npz")) if "partial" not in path.name]
        for path in paths[: None if most is None else -(-most // _CHUNK)]:
            with np.load(path) as file:
                arrays = dict(file)
            for place in range(_CHUNK):
                yield {key: value[place] for key, value in arrays.items()}

    def rows(self, most: int | None) -> Iterator[list[str]]:
        """The cells of one row per metric and number of labels."""
        found: dict[tuple[int, int], list] = {}
        for study in self.read(most):
            for place, metric in enumerate(self.metrics):
                for budget in self.budgets:
                    start = f"{metric.title}/{budget}/"
                    values = {
                        key.removeprefix(start): value
                        for key, value in study.items()
                        if key.startswith(start)
                    }
                    # Samples of an earlier version do not have it.
                    values.setdefault("floor", np.asarray(self.floor))
                    numbers = measure(unpack(values), metric)
                    found.setdefault((place, budget), []).append(numbers)
        for (place, budget), numbers in sorted(found.items()):
            metric = self.metrics[place]
            cells = summarise(np.array(numbers), *self.uniform(metric, budget))
            yield [self.name, metric.title, f"{self.floor:g}", str(budget), *cells]

    def students(self, runs: int) -> Iterator[list[str]]:
        """Rows of uniform draws without replacement with Student's t, for maps of one mean."""
        from scipy.stats import t

        rng = np.random.default_rng(1)
        everything = self.cache.rows(0, self.cache.size)
        for metric in self.metrics:
            (statistic,) = metric.statistics
            values = statistic.value(everything.outputs, self.truth[:, None])[:, 0]
            for budget in self.budgets:
                some = np.array([rng.permutation(values)[:budget] for _ in range(runs)])
                mean = some.mean(axis=1)
                half = some.std(axis=1, ddof=1) * (1 / budget - 1 / len(values)) ** 0.5
                ends = [mean] + [
                    mean + sign * half * t.ppf(level, budget - 1)
                    for level in (0.975, 0.95)
                    for sign in (-1, 1)
                ]
                mapped = [metric.smooth(each[:, None]) for each in ends]
                numbers = np.column_stack([*mapped, np.ones(runs), np.ones(runs)])
                cells = summarise(numbers, *self.uniform(metric, budget))
                yield [f"{self.name}, Student's t", metric.title, "1", str(budget), *cells]

    def uniform(self, metric, budget: int) -> tuple[float, float]:
        """The true value of a metric, and the squared error of uniform draws."""
        from activetest.simulation.baseline import compute_baseline

        outputs = self.cache.rows(0, self.cache.size).outputs
        baseline = compute_baseline(
            metric, outputs, self.truth, (budget,), np.random.default_rng(1)
        )
        return baseline.truth, baseline.error(budget)


def pack(sample) -> dict[str, np.ndarray]:
    """The fields of a sample of one mean as arrays, and what its surrogate expects."""
    mean, variance = sample.expect(np.ones(1))
    found = {"expected_mean": mean, "expected_variance": variance}
    for field in fields(sample):
        value = getattr(sample, field.name)
        if value is not None and not callable(value):
            found[field.name] = np.asarray(value)
    return found


def unpack(values: dict[str, np.ndarray]):
    """The sample that pack took apart; a field that it did not know has its default."""
    from activetest.nouns.estimate import Sample

    mean, variance = values["expected_mean"], values["expected_variance"]
    known = {
        field.name: value if (value := values[field.name]).ndim else value.item()
        for field in fields(Sample)
        if field.name in values
    }

    def expect(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return weights[0] * mean, weights[0] ** 2 * variance

    closures = {"expect": expect, "label_variance": lambda weights: 0.0}
    if "spread" in {field.name for field in fields(Sample)}:
        # The variance of one uniform draw, estimated from the draws.
        chance = known["counted"] / known["q"]
        squares = (known["stats"][:, 0] - (chance @ known["stats"][:, 0]) / chance.sum()) ** 2
        closures["spread"] = lambda weights, mean: float(chance @ squares / chance.sum())
    return Sample(**known, **closures)


def measure(sample, metric) -> tuple[float, ...]:
    """Value, ends of the 95 and 90 % intervals, reliable, uniform draws that would be as good."""
    from activetest.estimation.estimate import build_interval, estimate_metric
    from activetest.reporting.rows import is_reliable

    value = estimate_metric(sample, metric, "doubly-robust")
    interval = build_interval(value, 0.95)
    # Earlier versions had no interval of its own for gates.
    of_gates = {"decides": True} if "decides" in signature(build_interval).parameters else {}
    gate = build_interval(value, 0.9, **of_gates)
    single = value.estimate.one_draw
    size = sample.size
    draws = single / (interval.variance + single / size) if interval.variance > 0 else np.nan
    reliable = is_reliable(value, interval.method)
    ends = interval.lower, interval.upper, gate.lower, gate.upper
    return value.value, *ends, float(reliable), draws / len(sample.q)


def summarise(numbers: np.ndarray, truth: float, uniform: float) -> list[str]:
    """The cells after the number of labels."""
    value, lower, upper, gate_lower, gate_upper, reliable, saved = numbers.T
    # An interval that ends at the truth holds, whatever rounding says.
    low, high = lower > truth + 1e-12, upper < truth - 1e-12
    gate_low, gate_high = gate_lower > truth + 1e-12, gate_upper < truth - 1e-12
    width, parts = (upper - lower).mean(), (reliable == 1, reliable == 0)
    shares = [1 - low.mean() - high.mean(), low.mean(), high.mean()]
    shares += [gate_low.mean(), gate_high.mean()]
    truly = uniform / ((value - truth) ** 2).mean()
    return [
        str(len(numbers)),
        *(f"{share:.3f}" for share in shares),
        f"{width:.4f}",
        f"{width / (3.92 * value.std()):.2f}",
        f"{reliable.mean():.2f}",
        *(f"{1 - (low | high)[some].mean():.3f}" if some.any() else "-" for some in parts),
        f"{np.nanmean(saved):.2f}",
        f"{truly:.2f}",
    ]


def hash_text(text: str) -> int:
    """A number for a text, the same in every process."""
    from zlib import crc32

    return crc32(text.encode())


if __name__ == "__main__":
    main()
