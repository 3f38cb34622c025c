"""Whether a judge's gap depends on a column: how often that is found where it does not, and does.

Pools of 1,000 items are made, a new one for every ten studies, with a judge and four columns: one
is normal, the lengths are log-normal, one is true for a tenth of the items, and one is the
difficulty, with which the judge's mistakes become more frequent or larger, but as generous as
harsh. The judge of verdicts passes 12 % of what people fail and fails 4 % of what they pass; the
gaps of the judge of scores are exponential: most are small and a few are large. With --effect, the
gap rises by so much per standard deviation of the ranks of length.

any          share of studies in which some column has a corrected p-value of 0.05 or less
each column  share of studies in which its own p-value is
within       share of intervals of the slope on length that hold its true value

--ceiling plays no study. It says how much narrower the interval of the slope on length could be at
most, if a surrogate knew the expected gap of every item: the square root of the mean square of
score times (gap less expected gap), over that of score times (gap less mean gap), of 200 pools.

Every share has its standard error. Finished studies are kept in FILE, one a line, and not repeated.
"""

import argparse
import tempfile
from pathlib import Path
from types import SimpleNamespace

import benchmark
import numpy as np

COLUMNS = ("normal", "length", "tenth", "difficulty")
_ITEMS, _BATCH, _STUDIES = 1000, 50, 10
_ALPHA = 0.05


def main() -> None:
    """Print a row per judge and kind of draws."""
    options = benchmark.read_options(
        __doc__,
        save=Path("judge.jsonl"),
        ceiling=False,
        runs=2000,
        labels=100,
        effect=0.0,
        judge="verdicts,scores",
        acquisition="optimal,uniform",
    )
    if options.ceiling:
        print_ceilings(options)
        return
    table = benchmark.Table(
        options, "judge | draws | labels | effect | runs | any", *COLUMNS, "within"
    )
    for judge in options.judge.split(","):
        for acquisition in options.acquisition.split(","):
            found = run_studies(options, judge, acquisition)
            cells = judge, acquisition, options.labels, f"{options.effect:g}", len(found)
            table.add(*cells, *summarise(found))


def print_ceilings(options: argparse.Namespace) -> None:
    """How wide the interval of the slope would be with a perfect surrogate, over what it is."""
    for judge in options.judge.split(","):
        ratios = []
        for number in range(200):
            with tempfile.TemporaryDirectory() as folder:
                pool = build_pool(judge, number, options.effect, Path(folder))
            known, plain = (
                np.mean((pool.ranks * (pool.gap - center)) ** 2)
                for center in (pool.expected, pool.gap.mean())
            )
            ratios.append(np.sqrt(known / plain))
        print(f"{judge}, effect {options.effect:g}: {np.mean(ratios):.3f}")


def run_studies(options: argparse.Namespace, judge: str, acquisition: str) -> list[dict]:
    """Results of every study; those of the file are not repeated."""
    key = [judge, acquisition, options.labels, options.effect]
    done = {
        entry["seed"]: entry
        for entry in benchmark.read_lines(options.save)
        if entry["key"] == key and entry["seed"] < options.runs
    }
    pool = None
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.runs):
            if seed in done:
                continue
            if pool is None or pool.number != seed // _STUDIES:
                where = Path(folder) / f"{seed}"
                where.mkdir()
                pool = build_pool(judge, seed // _STUDIES, options.effect, where)
            done[seed] = {"key": key, "seed": seed} | play(pool, acquisition, options.labels, seed)
            benchmark.append_lines(options.save, [done[seed]])
    return [done[seed] for seed in range(options.runs)]


def build_pool(judge: str, number: int, effect: float, folder: Path) -> SimpleNamespace:
    """A pool, its columns and its labels."""
    import pandas as pd
    from scipy.special import ndtri
    from scipy.stats import rankdata

    from activetest.cache.cache import build_cache
    from activetest.pool.pool import Pool

    rng = np.random.default_rng([number, len(judge)])
    columns = {
        "normal": rng.normal(size=_ITEMS),
        "length": np.round(np.exp(rng.normal(6, 1, _ITEMS))),
        "tenth": (rng.random(_ITEMS) < 0.1).astype(float),
        "difficulty": rng.beta(0.6, 2, _ITEMS),
    }
    steps = ndtri((rankdata(columns["length"]) - 0.5) / _ITEMS)
    slope = effect * steps / steps.std()
    noise = rng.random((2, _ITEMS))
    if judge == "verdicts":
        people = noise[0] < 0.75
        # Twice as likely where it is difficult, for both mistakes in proportion.
        scale = columns["difficulty"] / (0.6 / 2.6)
        generous = np.clip(0.12 * scale + slope / 0.25, 0, 1)
        harsh = np.clip(0.04 * scale, 0, 1)
        said = np.where(people, noise[1] >= harsh, noise[1] < generous)
        outputs, labels = np.where(said, "pass", "fail"), people.astype(float)
        gap = said.astype(float) - people
        expected = 0.25 * generous - 0.75 * harsh
    else:
        outputs = np.round(rng.beta(6, 2, _ITEMS), 2)
        gap = rng.exponential(0.5 * columns["difficulty"] + 0.05) + slope
        # The mean gap does not depend on the difficulty, only how far gaps scatter does.
        gap -= 0.5 * columns["difficulty"] + 0.05
        labels, expected = outputs - gap, slope
    frame = pd.DataFrame(
        {"id": [f"item-{row}" for row in range(_ITEMS)], "said": outputs, **columns}
    )
    frame.to_parquet(folder / "pool.parquet", index=False)
    pool = Pool.open(str(folder / "pool.parquet"), judge="said")
    ranks = (steps - steps.mean()) / steps.std()
    return SimpleNamespace(
        number=number,
        cache=build_cache(pool, folder / "cache"),
        schema=pool.schema,
        columns=columns,
        truth=labels,
        slope=float((expected * ranks).mean()),
        ranks=ranks,
        gap=gap,
        expected=expected,
    )


def play(pool: SimpleNamespace, acquisition: str, labels: int, seed: int) -> dict:
    """{"p": p-values, "corrected": likewise, "within": of the slope on length} of one study."""
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.item_statistics.defaults import judge_metrics
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.wings.judges.gap_slopes import measure_slopes

    task = pool.schema.task
    aim, bias, *_ = judge_metrics(task, pool.schema.positive)
    choices = Choices(
        metric=aim,
        metrics=(aim,),
        surrogate="residual" if task == "regression" else "agreement",
        acquisition=acquisition,
    )
    log = Log.empty()
    about = log, pool.cache, choices, pool.truth
    log = benchmark.buy_labels(*about, labels=labels, batch=_BATCH, seed=seed)
    facts = specification.describe_pool(pool.cache.roles, None, pool.cache)
    metrics = [specification.find_metric(name, facts) for name in (aim, bias)]
    view = build_view(log, pool.cache, choices, metrics, seed=seed, own_view=False)
    values = {name: pool.columns[name][log.rows] for name in COLUMNS}
    found = measure_slopes(view.evidence, metrics[0], metrics[1].statistics[0], values, 0.95)
    length = found["length"]
    within = None if length.lower is None else length.lower <= pool.slope <= length.upper
    return {
        "p": [found[name].p_value for name in COLUMNS],
        "corrected": [found[name].p_corrected for name in COLUMNS],
        "within": within,
    }


def summarise(found: list[dict]) -> list[str]:
    """Cells: any corrected p-value, each own one, and the coverage of the slope on length."""

    def share(hits: np.ndarray) -> str:
        rate = hits.mean()
        return f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / len(hits)):.3f}"

    p_values, corrected = (
        np.array([[1.0 if each is None else each for each in entry[name]] for entry in found])
        for name in ("p", "corrected")
    )
    own = [share(p_values[:, place] <= _ALPHA) for place in range(len(COLUMNS))]
    within = np.array([bool(entry["within"]) for entry in found if entry["within"] is not None])
    return [share((corrected <= _ALPHA).any(axis=1)), *own, share(within)]


if __name__ == "__main__":
    main()
