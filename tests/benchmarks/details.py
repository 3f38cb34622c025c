"""Cost of a page beyond its report: seconds of processor, and bytes.

Studies of ten classes, of two, and of values, made up in a temporary folder: that many rounds of so
many items, all labelled, with a column of groups and one of text. Each line is the least of the
repeats: the report, the same with its details, and the page made of it. A minute.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import activetest as at
from activetest.render import html


def main() -> None:
    """Print the table."""
    options = benchmark.read_options(
        __doc__,
        rows=10_000,
        rounds=50,
        count=20,
        groups=50,
        repeats=6,
    )
    table = benchmark.Table(options, "pool | report | details more | page more | bytes")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for classes in (10, 2, 0):
            study = make_study(classes, options.rows, options.groups)
            for _ in range(options.rounds):
                study.ingest({id: KEYS[classes][id] for id in study.next(options.count).ids})
            report = study.report(details=True)
            plain = measure(study.report, options.repeats)
            full = measure(lambda study=study: study.report(details=True), options.repeats)
            page = measure(lambda report=report: html.render(report), options.repeats)
            size = len(html.render(report).encode())
            name = f"{classes} classes" if classes else "values"
            table.add(name, f"{plain:.2f}", f"{full - plain:.2f}", f"{page:.2f}", f"{size:,}")


# {number of classes: {id: label}}
KEYS: dict[int, dict[str, object]] = {}


def make_study(classes: int, rows: int, groups: int) -> at.Study:
    """A study of items whose labels are drawn from the model's probabilities; 0 is regression."""
    rng = np.random.default_rng(0)
    ids = [f"i{row}" for row in range(rows)]
    columns: dict[str, object] = {"id": ids}
    if classes:
        probs = np.exp(2 * rng.normal(size=(rows, classes)))
        probs /= probs.sum(axis=1, keepdims=True)
        codes = (probs.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
        labels = [f"c{code}" for code in codes]
        columns |= {f"prob_c{code}": probs[:, code] for code in range(classes)}
    else:
        columns["pred"] = rng.normal(size=rows)
        labels = (columns["pred"] + 0.3 * rng.normal(size=rows)).tolist()
    columns["region"] = [f"r{code}" for code in rng.integers(groups, size=rows)]
    columns["text"] = [f"text number {row} " * 5 for row in range(rows)]
    KEYS[classes] = dict(zip(ids, labels, strict=True))
    pq.write_table(pa.table(columns), Path(f"pool-{classes}.parquet"))
    return at.Study.create(f"pool-{classes}.parquet", f"study-{classes}", groups="region", seed=1)


def measure(action: Callable[[], object], repeats: int) -> float:
    """The least processor seconds of the action."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return min(found)


if __name__ == "__main__":
    main()
