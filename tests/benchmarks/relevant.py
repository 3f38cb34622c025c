"""Cost of draws of items that cannot change a metric, and whether intervals hold without them.

FOLDER holds NAME.parquet, with columns id and pred, and NAME.labels.csv, the answer key. Each study
names one metric of one class, which only items predicted as that class can change. --code plays the
studies with the code of another checkout, and --save keeps them in a folder.

items    how many items can change the metric
random   mean squared error of as many random draws among those: the truth, from the answer key
MSE      of the studies' estimates, with its standard error
ratio    random over MSE
"""

import csv
import os
import sys
from pathlib import Path

import benchmark
import numpy as np
import pyarrow.parquet as pq

STUDIES = ("mammography:precision", "cifar10:precision[3]", "cifar10:confusion[5 as 3]")
_HEADER = "pool | metric | items | labels | random | MSE | ratio | coverage | width"


def main() -> None:
    """Play the studies and print a row per metric and number of labels."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        study={"action": "append"},
        runs=2000,
        budget="50,100",
        batch=10,
        seed=14,
        workers=1,
        save=Path,
        code=Path(__file__).parents[2],
    )
    sys.path.insert(0, str(options.code))
    os.environ["PYTHONPATH"] = str(options.code)
    import activetest as at

    table = benchmark.Table(options, _HEADER)
    budgets = tuple(map(int, options.budget.split(",")))
    for place, study in enumerate(options.study or STUDIES):
        name, _, metric = study.partition(":")
        pool, key = (options.folder / f"{name}.{end}" for end in ("parquet", "labels.csv"))
        found = at.simulate(
            str(pool),
            str(key),
            metrics=[metric],
            acquisition="optimal",
            estimators="doubly-robust",
            budgets=budgets,
            runs=options.runs,
            batch=options.batch,
            seed=options.seed,
            workers=options.workers,
            save=None if options.save is None else options.save / f"{name}-{place}.jsonl",
        )
        values, share = find_values(pool, key, metric)
        for each in found:
            left = 1 - each.budget / len(values)
            random = share**2 * values.var(ddof=1) / each.budget * max(left, 0.0)
            mse = each.rmse**2
            error = mse * each.mse_ratio_se / each.mse_ratio if each.mse_ratio else np.nan
            table.add(
                name,
                metric,
                len(values),
                each.budget,
                f"{random:.3g}",
                f"{mse:.3g} ± {error:.2g}",
                f"{random / mse:.2f}",
                f"{each.coverage:.3f}",
                f"{each.width:.4f}",
            )


def find_values(pool: Path, key: Path, metric: str) -> tuple[np.ndarray, float]:
    """(n,) what each item that can change the metric adds to its mean, and what the mean weighs.

    Precision is a mean over the items predicted as the class; a cell of the confusion matrix is
    one over the whole pool.
    """
    table = pq.read_table(pool, columns=["id", "pred"]).to_pandas()
    with key.open(encoding="utf-8") as file:
        labels = {row["id"]: row["label"] for row in csv.DictReader(file)}
    truth = table["id"].astype(str).map(labels)
    pred = table["pred"].astype(str).to_numpy()
    kind, _, argument = metric.rstrip("]").partition("[")
    true, _, predicted = argument.rpartition(" as ")
    predicted = predicted or "1"
    inside = pred == predicted
    values = (truth[inside] == (true or predicted)).to_numpy(float)
    return values, 1.0 if kind == "precision" else inside.mean()


if __name__ == "__main__":
    main()
