"""Pools of scores with their answer keys, for the coverage of the intervals of losses.

Writes FOLDER/NAME.parquet, the pool, and FOLDER/NAME.labels.csv, the answer key, of each of them.
The first three are a judge's scores against people's:

judge-ten       1 to 10, whole numbers, most of the judge's between 7 and 9; 600 items
judge-hundred   0 to 100; the judge gives multiples of 5, to 40 % of the items 85, and people give
                0 to 5 % of them; 1,000 items
judge-zeros     0 to 1; people give most items 0 or a little more, the judge .1 to .5; 1,000 items
proportional    errors in proportion to the prediction, 30 % of it and skewed; 1,500 items
lognormal       heavy tails: predictions and errors are lognormal, errors 45 %; 1,500 items
student         heavy tails: Student's t with 4 degrees of freedom; 2,000 items
rare-huge       1 % of the errors are 25 times as large as the others, and nothing tells which;
                2,000 items
mixture         12 % of the errors are three times as large as the others; 1,500 items
counts          labels are Poisson counts around the prediction; 1,500 items
ratings         whole numbers from 1 to 5, predicted as fractions; 1,200 items
exponential     labels are exponential, and predictions their means; 1,500 items
bounded         labels are Beta distributed between 0 and 1, predictions their means; 1,500 items
judge-lenient   a judge that is too kind by three standard deviations of what it does not know;
                2,000 items
judge-scale     a judge from 1 to 10 of people who give 0 to 4: its level and its slope are off, and
                it gives 10 to a tenth of the items; 2,000 items
judge-weak      a judge that knows little: it explains 15 % of the variance of skewed scores; 500
                items
verdicts-mostly, -lenient, -weak, -rare
                a judge's verdicts, pass or fail: nearly always right; passes four in ten of what
                people fail; knows little; a twelfth fails. 1,200 to 2,500 items
wine            grades from 3 to 9 by twelve measurements; the model is a linear regression of 400
                other wines, which wine.train.parquet holds with their grades; 4,500 items
"""

from collections.abc import Callable
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hard_pools import write_files

Columns = dict[str, np.ndarray]


def judge_ten(rng: np.random.Generator) -> Columns:
    """Whole numbers from 1 to 10, skewed and tied."""
    size = 600
    quality, length = rng.beta(5, 2, size), rng.gamma(2, 700, size)
    pred = np.round(2 + 8 * (0.5 * quality + 0.5 * rng.beta(8, 2, size)))
    label = np.round(10 * quality**1.1 + 1.2 * rng.standard_normal(size))
    return {"pred": np.clip(pred, 1, 10), "label": np.clip(label, 1, 10), "length": length}


def judge_hundred(rng: np.random.Generator) -> Columns:
    """0 to 100: one score that the judge likes most, and items that people give nothing."""
    size = 1_000
    quality, length = rng.beta(4, 1.5, size), rng.gamma(2, 700, size)
    pred = np.clip(5 * np.round((60 + 30 * quality + 8 * rng.standard_normal(size)) / 5), 0, 100)
    pred[rng.random(size) < 0.4] = 85
    label = np.round(np.clip(100 * quality + 10 * rng.standard_normal(size), 0, 100))
    label[rng.random(size) < 0.05] = 0
    return {"pred": pred, "label": label, "length": length}


def judge_zeros(rng: np.random.Generator) -> Columns:
    """0 to 1: most items are worthless, and the judge is kinder than people."""
    size = 1_000
    good = rng.random(size) < 0.15
    label = np.where(good, rng.beta(3, 1.5, size), rng.beta(0.3, 5, size))
    kind = rng.choice([0.1, 0.1, 0.1, 0.2, 0.2, 0.3, 0.5], size)
    pred = np.where(good, rng.beta(5, 3, size), kind)
    length = rng.gamma(4, 300, size)
    return {"pred": np.round(20 * pred) / 20, "label": np.round(50 * label) / 50, "length": length}


def multiply_errors(rng: np.random.Generator, spread: float, error: float) -> Columns:
    """Predictions exp(1 + spread z), and labels that are lognormal around them."""
    first, second = rng.standard_normal((2, 1_500))
    pred = np.exp(1 + spread * first)
    label = pred * np.exp(error * rng.standard_normal(1_500) - 0.05)
    return {"pred": pred, "label": label, "first": first, "second": second}


def student(rng: np.random.Generator) -> Columns:
    """The squares of the errors have no variance."""
    first, second = rng.standard_normal((2, 2_000))
    pred = 10 + 2 * first
    label = pred + 0.2 + np.exp(0.2 * first) * rng.standard_t(4, 2_000)
    return {"pred": pred, "label": label, "first": first, "second": second}


def rare_huge(rng: np.random.Generator) -> Columns:
    """Few items make most of the squared loss, and look like all others."""
    first, error = rng.standard_normal((2, 2_000))
    huge = rng.random(2_000) < 0.01
    error[huge] += 25 * np.sign(rng.random(huge.sum()) - 0.2)
    return {"pred": 10 + 2 * first, "label": 10.1 + 2 * first + error, "first": first}


def mixture(rng: np.random.Generator) -> Columns:
    """Errors of two sizes, and nothing tells which is which."""
    first, error = rng.standard_normal((2, 1_500))
    error[rng.random(1_500) < 0.12] *= 3
    return {"pred": 5 + first, "label": 5 + first + 0.8 * error, "first": first}


def counts(rng: np.random.Generator) -> Columns:
    """Counts, whose variance is their mean."""
    first, noise = rng.standard_normal((2, 1_500))
    mean = np.exp(1 + 0.6 * first)
    return {
        "pred": mean * np.exp(0.15 * noise),
        "label": rng.poisson(mean).astype(float),
        "first": first,
    }


def ratings(rng: np.random.Generator) -> Columns:
    """Few values: most errors are nothing or one."""
    quality, length = rng.beta(4, 2, 1_200), rng.gamma(2, 300, 1_200)
    label = np.clip(np.round(1 + 4 * quality + 0.7 * rng.standard_normal(1_200)), 1, 5)
    return {"pred": 1 + 4 * quality, "label": label, "length": length}


def exponential(rng: np.random.Generator) -> Columns:
    """Waiting times: errors are as large as predictions, and skewed."""
    first, second = rng.standard_normal((2, 1_500))
    mean = np.exp(0.5 * first)
    return {"pred": mean, "label": rng.exponential(mean), "first": first, "second": second}


def bounded(rng: np.random.Generator) -> Columns:
    """Shares: errors are largest in the middle."""
    first, second = rng.standard_normal((2, 1_500))
    mean = 1 / (1 + np.exp(-0.5 - first))
    label = rng.beta(5 * mean, 5 * (1 - mean))
    return {"pred": mean, "label": label, "first": first, "second": second}


def judge_lenient(rng: np.random.Generator) -> Columns:
    """A judge whose level is off."""
    quality, length = rng.beta(3, 2, 2_000), rng.gamma(2, 300, 2_000)
    label = np.clip(0.1 + 0.8 * quality + 0.045 * rng.standard_normal(2_000), 0, 1)
    score = np.clip(0.32 + 0.75 * quality + 0.05 * rng.standard_normal(2_000), 0, 1)
    return {"pred": np.round(20 * score) / 20, "label": label, "length": length}


def judge_scale(rng: np.random.Generator) -> Columns:
    """A judge on another scale than people."""
    quality, length = rng.beta(3, 2, 2_000), rng.gamma(2, 300, 2_000)
    label = np.clip(quality + 0.08 * rng.standard_normal(2_000), 0, 1)
    score = np.clip(np.round(3.5 + 6 * quality + 0.5 * rng.standard_normal(2_000)), 1, 10)
    return {"pred": score, "label": np.round(4 * label, 2), "length": length}


def judge_weak(rng: np.random.Generator) -> Columns:
    """Most scores are .85, and people's have a long tail downwards."""
    quality, length = rng.beta(5, 1.5, 500), rng.gamma(2, 300, 500)
    label = np.clip(quality - 0.12 * rng.exponential(1, 500), 0, 1)
    score = np.clip(0.52 + 0.45 * quality + 0.1 * rng.standard_normal(500), 0, 1)
    score = np.where(rng.random(500) < 0.5, 0.85, np.round(20 * score) / 20)
    return {"pred": score, "label": np.round(50 * label) / 50, "length": length}


def give_verdicts(
    rng: np.random.Generator, size: int, passed: float, kept: float, caught: float
) -> Columns:
    """People pass so many items; the judge passes so many of these, and fails so many others."""
    label = rng.random(size) < passed
    said = np.where(label, rng.random(size) < kept, rng.random(size) >= caught)
    words = np.array(["fail", "pass"])
    return {"pred": words[said.astype(int)], "label": words[label.astype(int)]}


def wine(rng: np.random.Generator, size: int = 4_900) -> Columns:
    """Measurements from four hidden causes; grades bend where a line does not.

    The last 400 are the training rows of the model.
    """
    causes = rng.standard_normal((size, 4))
    mixed = causes @ rng.normal(0, 0.7, (4, 12)) + 0.6 * rng.standard_normal((size, 12))
    mixed[:, :4] = np.exp(0.5 * mixed[:, :4])
    good = 0.35 * causes[:, 0] + 0.35 * np.maximum(causes[:, 1], 0) - 0.3 * causes[:, 2] ** 2
    good += 0.3 * causes[:, 0] * causes[:, 1]
    spread = 0.55 * np.exp(0.25 * causes[:, 3])
    grade = np.clip(np.round(6.2 + good + spread * rng.standard_normal(size)), 3, 9)
    design = np.column_stack([np.ones(size), mixed])
    known = slice(size - 400, size)
    fitted = np.linalg.lstsq(design[known], grade[known], rcond=None)[0]
    measurements = {f"f{place}": column for place, column in enumerate(mixed.T)}
    return {"pred": design @ fitted, "label": grade, **measurements}


POOLS: dict[str, Callable[[np.random.Generator], Columns]] = {
    "judge-ten": judge_ten,
    "judge-hundred": judge_hundred,
    "judge-zeros": judge_zeros,
    "proportional": lambda rng: multiply_errors(rng, 0.3, 0.3),
    "lognormal": lambda rng: multiply_errors(rng, 0.5, 0.45),
    "student": student,
    "rare-huge": rare_huge,
    "mixture": mixture,
    "counts": counts,
    "ratings": ratings,
    "exponential": exponential,
    "bounded": bounded,
    "judge-lenient": judge_lenient,
    "judge-scale": judge_scale,
    "judge-weak": judge_weak,
    "wine": wine,
}
VERDICTS: dict[str, Callable[[np.random.Generator], Columns]] = {
    "verdicts-mostly": lambda rng: give_verdicts(rng, 2_000, 0.7, 0.99, 0.96),
    "verdicts-lenient": lambda rng: give_verdicts(rng, 1_500, 0.6, 0.95, 0.6),
    "verdicts-weak": lambda rng: give_verdicts(rng, 1_200, 0.5, 0.78, 0.6),
    "verdicts-rare": lambda rng: give_verdicts(rng, 2_500, 0.91, 0.985, 0.94),
}
# Rows at the end of a pool that its model was trained on.
TRAINING_ROWS = {"wine": 400}


def write_pool(folder: Path, name: str, seed: int) -> Path:
    """Write one pool, its answer key and its training rows, if any; the path of the pool."""
    makers = POOLS | VERDICTS
    columns = makers[name](np.random.default_rng([seed, list(makers).index(name)]))
    if rows := TRAINING_ROWS.get(name):
        train = {column: values[-rows:] for column, values in columns.items() if column != "pred"}
        pq.write_table(pa.table(train), folder / f"{name}.train.parquet")
        columns = {column: values[:-rows] for column, values in columns.items()}
    labels = columns.pop("label")
    return write_files(folder, name, {"id": np.arange(len(labels)), **columns}, labels)


def main() -> None:
    """Write every pool."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        seed=0,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in POOLS | VERDICTS:
        print(write_pool(options.folder, name, options.seed))


if __name__ == "__main__":
    main()
