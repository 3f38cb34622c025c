"""Sequential gates: how often they pass wrongly, how wide they end, and which budget they need.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. A gate sees what follows from the
draws alone, so each study is played once to the largest budget: the ends of the intervals at every
look of every budget are kept in STUDIES, and a later call plays only what is missing. --runs 0
plays nothing. --looks, --spending, --floor and --metric are those of the studies.

The first table has gates whose threshold is the truth: the shares of studies in which they pass and
fail, each of which is meant to be at most 5 %. Width is that of the interval at the last look over
that of one look at the same labels, of 90 % for either.

The second table has gates that the truth meets with --margin to spare: the smallest budget with
which 90 % pass, between the budgets on a straight line, and the average labels of studies that stop
at their verdict. Beside it uniform draws with the plain mean, whose looks follow the same rule;
--acquisition uniform has uniform draws with our estimate. Lean is how far estimates at the end of
such studies are from the truth on average, in percentage points, with the budget where it is most.
"""

import argparse
from pathlib import Path

import benchmark
import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

# Studies in one file, studies of uniform draws with the plain mean, and the power that is wanted.
_CHUNK, _PLAIN_RUNS, _POWER = 25, 4000, 0.9
ALPHA = 0.05


def main() -> None:
    """Play the missing studies and print the tables."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        save={"type": Path, "required": True},
        pools={"required": True},
        metric="error",
        acquisition="optimal",
        floor=0.35,
        looks=5,
        spending="cubic",
        budgets="50,100,150,200,250,300,350,400",
        margin=0.05,
        batch={"type": int, "default": 10, "help": "draws of a round; looks end rounds"},
        runs=2000,
        seed={"type": int, "default": 0, "help": "of the first study"},
    )
    studies = [Studies(options, name) for name in options.pools.split(",")]
    for first in range(0, options.runs, _CHUNK):
        # Every pool in turn, so that whoever stops early has as many studies of each.
        for each in studies:
            each.play(first)
    for each in studies:
        each.read()
    table = benchmark.Table(
        options, "pool | budget | runs | passes at the truth | fails at the truth | width"
    )
    for each in studies:
        for row in each.list_errors():
            table.add(*row)
    table = benchmark.Table(
        options,
        "pool | margin | runs | budget | labels | plain: budget | plain: labels | ratio | lean",
    )
    for each in studies:
        for row in each.list_power(options.margin):
            table.add(*row)


class Studies:
    """The studies of one pool: played, kept, and read again."""

    def __init__(self, options: argparse.Namespace, name: str) -> None:
        from activetest.cache import cache
        from activetest.item_statistics import specification
        from activetest.nouns.choices import Choices
        from activetest.pool.pool import Pool
        from activetest.simulation.answer_key import read_answer_key

        self.name, self.first_seed, self.batch = name, options.seed, options.batch
        self.looks, self.spending = options.looks, options.spending
        pool = Pool.open(str(options.folder / f"{name}.parquet"))
        where = options.save / f"{name}.cache"
        if not where.exists():
            cache.build_cache(pool, where)
        self.cache = cache.open_cache(where)
        key = options.folder / f"{name}.labels.csv"
        self.labels = read_answer_key(self.cache, key, unmatched=pool.schema.open_classes)
        facts = specification.describe_pool(self.cache.roles, None, self.cache)
        self.metric = specification.find_metric(options.metric, facts)
        outputs = self.cache.rows(0, self.cache.size).outputs
        self.values = np.stack(
            [each.value(outputs, self.labels[:, None])[:, 0] for each in self.metric.statistics]
        )
        self.truth = float(self.metric.smooth(self.values.mean(axis=1)))
        budgets = [int(each) for each in options.budgets.split(",")]
        self.plans = {
            budget: plan_levels(budget, self.cache.size, options.looks, options.spending)
            for budget in budgets
        }
        self.choices = Choices(
            metric=self.metric.title,
            metrics=(self.metric.title,),
            surrogate="agreement",
            acquisition=options.acquisition,
            floor=options.floor,
        )
        kept = f"{name}-{self.metric.title}-{options.acquisition}-{options.floor:g}"
        kept += f"-{options.batch}-{options.looks}-{options.spending}"
        kept += f"-{'_'.join(map(str, budgets))}"
        self.kept = options.save / kept
        self.ends: np.ndarray = np.empty(0)

    def play(self, first: int) -> None:
        """Play a chunk of studies and keep them, unless they are there."""
        self.kept.mkdir(parents=True, exist_ok=True)
        path = self.kept / f"{self.first_seed + first:07}.npy"
        if not path.exists():
            seeds = range(self.first_seed + first, self.first_seed + first + _CHUNK)
            partial = path.with_suffix(".partial")
            with open(partial, "wb") as file:
                np.save(file, np.stack([self.run(seed) for seed in seeds]).astype(np.float32))
            partial.rename(path)

    def run(self, seed: int) -> np.ndarray:
        """(B, K + 1, 3) ends of the interval at each look of each budget, and the estimate.

        The last look is a single one.
        """
        from activetest.estimation.view import build_view
        from activetest.nouns.log import Log
        from activetest.reporting.rows import HEADLINE, is_reliable
        from activetest.rounds.fit import restore_surrogate
        from activetest.sampling import plan
        from activetest.simulation.simulate import answered

        log, looks = Log.empty(), len(next(iter(self.plans.values())))
        found = np.full((len(self.plans), looks + 1, 3), [-np.inf, np.inf, np.nan])
        wanted = self.list_looks()
        for start in range(0, max(self.plans) + 1, self.batch):
            # The round after a look has the surrogate that its interval needs.
            drawn = plan.plan_round(log, self.cache, self.choices, seed=seed, count=self.batch)
            if start in wanted:
                view = build_view(
                    log,
                    self.cache,
                    self.choices,
                    [self.metric],
                    seed=seed,
                    own_view=False,
                    surrogate=restore_surrogate(drawn, self.cache),
                )
                value = view.value(self.metric, HEADLINE)
                for *place, level in wanted[start]:
                    interval = view.interval(value, level, decides=True)
                    if is_reliable(value, interval.method):
                        found[tuple(place)] = interval.lower, interval.upper, value.value
            log = answered(log, drawn, self.labels)
        return found

    def list_looks(self) -> dict[int, list[tuple[int, int, float]]]:
        """{draws: (budget, look, level) of every interval that is needed then}."""
        wanted: dict[int, list[tuple[int, int, float]]] = {}
        for place, (budget, levels) in enumerate(self.plans.items()):
            for look, level in enumerate(levels):
                draws = budget * (look + 1) // len(levels)
                wanted.setdefault(draws, []).append((place, look, 1 - 2 * level))
            wanted[budget].append((place, len(levels), 1 - 2 * ALPHA))
        return wanted

    def read(self) -> None:
        """Read what was kept."""
        paths = sorted(self.kept.glob("*.npy"))
        self.ends = np.concatenate([np.load(path) for path in paths])

    def list_errors(self):
        """A row for every budget: gates at the truth."""
        for place, budget in enumerate(self.plans):
            passed, failed = find_verdicts(self.ends[:, place, :-1], self.truth, self.metric)
            wide = self.ends[:, place, -2:, :2]
            known = np.isfinite(wide).all(axis=(1, 2))
            widths = np.diff(wide[known], axis=2)[..., 0].mean(axis=0)
            yield [
                self.name,
                str(budget),
                f"{len(self.ends)}",
                f"{(passed < failed).mean():.4f}",
                f"{(failed < passed).mean():.4f}",
                f"{widths[0] / widths[1]:.3f}",
            ]

    def measure_lean(self, place: int, stopped: np.ndarray) -> float:
        """How far the estimate at the end of a study is from the truth, on average.

        stopped (R,) look of the verdict, K without one: then the study ends at its last look. NaN
        for studies that an earlier version of this script played.
        """
        if self.ends.shape[-1] < 3:
            return np.nan
        last = np.minimum(stopped, self.ends.shape[2] - 2)
        return float(np.nanmean(self.ends[np.arange(len(last)), place, last, 2]) - self.truth)

    def list_power(self, margin: float):
        """A row: gates that the truth meets with a margin to spare, against uniform draws."""
        good = 1 if is_loss(self.metric) else -1
        threshold = self.truth + good * margin
        budgets = np.array(list(self.plans))
        powers, labels, leans = [], [], []
        for place, budget in enumerate(budgets):
            passed, failed = find_verdicts(self.ends[:, place, :-1], threshold, self.metric)
            powers.append((passed < failed).mean())
            labels.append(count_labels(passed, failed, budget, self.ends.shape[2] - 1))
            leans.append(self.measure_lean(place, np.minimum(passed, failed)))
        found = interpolate(budgets, powers, labels)
        plain = self.plan_plain(threshold) if len(self.metric.statistics) == 1 else None
        cells = [
            f"{value:.0f}" if value else "-" for value in (*(found or (0, 0)), *(plain or (0, 0)))
        ]
        ratio = f"{found[1] / plain[1]:.2f}" if found and plain else "-"
        lean = f"{100 * max(leans, key=abs):+.2f}" if np.isfinite(leans).all() else "-"
        yield [self.name, f"{margin:g}", str(len(self.ends)), *cells, ratio, lean]

    def plan_plain(self, threshold: float) -> tuple[float, float]:
        """(budget, labels) of uniform draws with the plain mean for the same power."""
        rng = np.random.default_rng(1)
        wrong = round(float(self.values[0].sum()))
        low, high, found = 5, self.cache.size // 10, {}
        while high - low > 1:
            middle = (low + high) // 2
            budget = 10 * middle
            levels = plan_levels(budget, self.cache.size, self.looks, self.spending)
            ends = draw_plain(rng, wrong, self.cache.size, budget, levels)
            passed, failed = find_verdicts(ends, threshold, self.metric)
            found[middle] = count_labels(passed, failed, budget, len(levels))
            if (passed < failed).mean() < _POWER:
                low = middle
            else:
                high = middle
        return 10.0 * high, found[high]


def plan_levels(budget: int, size: int, looks: int, spending: str) -> np.ndarray:
    """(K,) one-sided levels of the looks of a budget."""
    from activetest.estimation.spending import find_nominal_levels

    draws = budget * np.arange(1, looks + 1) / looks
    times = draws / (size - draws) / (budget / (size - budget))
    return find_nominal_levels(times.tolist(), ALPHA, spending)


def find_verdicts(ends: np.ndarray, threshold: float, metric) -> tuple[np.ndarray, np.ndarray]:
    """(R,) look at which each study passes, and at which it fails, from 0; K where it does not.

    ends (R, K, 2) of the intervals. Small values are good of a metric of losses, large ones else.
    """
    slack = 1e-7
    low, high = ends[..., 0] >= threshold - slack, ends[..., 1] <= threshold + slack
    good, bad = (high, low) if is_loss(metric) else (low, high)
    found = (np.where(each.any(axis=1), each.argmax(axis=1), each.shape[1]) for each in (good, bad))
    passed, failed = found
    return passed, failed


def is_loss(metric) -> bool:
    """Whether small values of a metric are good."""
    return not metric.title.startswith(("recall", "accuracy"))


def count_labels(passed: np.ndarray, failed: np.ndarray, budget: int, looks: int) -> float:
    """Labels until the verdict, or all of them, on average; passed and failed as of verdicts."""
    last = np.minimum(np.minimum(passed, failed), looks - 1)
    return float((budget * (last + 1) / looks).mean())


def interpolate(budgets: np.ndarray, powers: list, labels: list) -> tuple[float, float] | None:
    """(budget, labels) where the power first reaches 90 %, on a straight line between budgets.

    The first budget where it does so already there; None where it never does.
    """
    enough = np.flatnonzero(np.array(powers) >= _POWER)
    if not len(enough):
        return None
    at = enough[0]
    if not at:
        return float(budgets[0]), labels[0]
    share = (_POWER - powers[at - 1]) / (powers[at] - powers[at - 1])
    return tuple(
        float(values[at - 1] + share * (values[at] - values[at - 1]))
        for values in (budgets, labels)
    )


def draw_plain(
    rng: np.random.Generator, wrong: int, size: int, budget: int, levels: np.ndarray
) -> np.ndarray:
    """(R, K, 2) ends at every look of studies with uniform draws and the plain mean.

    Clopper and Pearson's at n / (1 - n/N) draws, as gates have them, and Student's factor.
    """
    looks = len(levels)
    draws = budget * np.arange(1, looks + 1) // looks
    found = np.zeros(_PLAIN_RUNS, int)
    ends = np.empty((_PLAIN_RUNS, looks, 2))
    for look, level in enumerate(levels):
        before = draws[look - 1] if look else 0
        bad = wrong - found
        found = found + rng.hypergeometric(bad, size - before - bad, draws[look] - before)
        count = draws[look] / (1 - draws[look] / size)
        count *= (ndtri(level) / stdtrit(draws[look] - 1, level)) ** 2
        hits = found / draws[look] * count
        with np.errstate(invalid="ignore"):
            lower = np.where(hits > 0, betaincinv(hits, count - hits + 1, level), 0.0)
        ends[:, look] = np.stack([lower, betaincinv(hits + 1, count - hits, 1 - level)], axis=1)
    return ends


if __name__ == "__main__":
    main()
