"""The worth of second opinions where `next --again` chooses the items, and where chance does.

A pool of 600 items of three classes with a model that is right on about 85 %. Ann labels --labels
drawn items and is right on 85 %. Twice --again second opinions follow, of Bob (85 %) and then of
Eve (85 %): for the items of `next --again`, and in a copy of the study for labelled items chosen
at random. Errors are those of the reported error rate against the pool's own.

squared error   mean over the runs, times 10,000
difference      of chosen less random, of paired squared errors, with its standard error
"""

import shutil
import tempfile
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa

from activetest.study.study import Study

_ITEMS, _CLASSES, _RIGHT = 600, ("cat", "dog", "owl"), 0.85


def answer(rng: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """(N,) what an annotator would say of every item."""
    wrong = (truth + rng.integers(1, 3, len(truth))) % 3
    return np.where(rng.random(len(truth)) < _RIGHT, truth, wrong)


def play(seed: int, labels: int, again: int, method: str, folder: Path) -> tuple[float, ...]:
    """Squared errors without second opinions, with chosen ones, and with random ones."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([0.25, 0.25, 0.25], _ITEMS)
    probs = 0.9 * probs + 0.1 / 3
    truth = (probs.cumsum(axis=1) > rng.random((_ITEMS, 1))).argmax(axis=1)
    names = {f"item-{row}": row for row in range(_ITEMS)}
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(_CLASSES)}
    share = float((probs.argmax(axis=1) != truth).mean())
    said = {name: answer(rng, truth) for name in ("ann", "bob", "eve")}
    study = Study.create(
        pa.table({"id": list(names), **columns}), folder / "chosen", seed=seed, annotators=method
    )

    def hand_in(study: Study, ids: list[str], annotator: str) -> None:
        labelled = [(id, _CLASSES[said[annotator][names[id]]]) for id in ids]
        rows = [{"id": id, "label": label, "annotator": annotator} for id, label in labelled]
        study.ingest(rows)

    drawn = study.next(labels).ids
    hand_in(study, drawn, "ann")
    before = (study.report().headline.estimate - share) ** 2
    shutil.copytree(folder / "chosen", folder / "random")
    other = Study.open(folder / "random")
    for annotator in ("bob", "eve"):
        hand_in(study, study.next(again=again).ids, annotator)
        hand_in(other, rng.choice(drawn, again, replace=False).tolist(), annotator)
    after = [(each.report().headline.estimate - share) ** 2 for each in (study, other)]
    return before, *after


def main() -> None:
    """Print a row per way to combine answers."""
    options = benchmark.read_options(
        __doc__,
        runs=100,
        labels=100,
        again=20,
    )
    table = benchmark.Table(options, "annotators | runs | without | chosen | random | difference")
    for method in ("majority", "dawid-skene"):
        errors = []
        for seed in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                errors.append(play(seed, options.labels, options.again, method, Path(folder)))
        found = 1e4 * np.array(errors)
        apart = found[:, 1] - found[:, 2]
        means = " | ".join(f"{mean:.2f}" for mean in found.mean(axis=0))
        spread = apart.std(ddof=1) / len(apart) ** 0.5
        table.add(method, len(found), means, f"{apart.mean():.2f} ± {spread:.2f}")


if __name__ == "__main__":
    main()
