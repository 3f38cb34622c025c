"""Studies whose numbers stay as they are: `python -m tests.guarantees.recorded_numbers` records.

Where a change of the code is to change numbers, record them again and look at the differences: they
are the ones that people with a study will see. They need a new METHODS of nouns/log, and a sentence
in CHANGES of reporting/notes.
"""

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import activetest as at

RECORDED = Path(__file__).with_suffix(".json")
# Digits that are recorded, and the relative difference that other processors may make.
DIGITS, TOLERANCE = 8, 1e-6
# Texts that are recorded as well; sentences may be written better at any time.
WORDS = {
    "decided", "estimator", "kind", "labels_saved_kind", "metric", "method", "op", "policy",
    "state", "status", "verdict",
}  # fmt: skip
CLASSES = ("cat", "dog", "owl")


def write_classes(rows: int, seed: int, **more: object) -> dict[str, str]:
    """A pool of three classes in pool.parquet, with groups and clusters; {id: label}."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([0.7, 0.7, 0.7], rows)
    labels = (probs.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    columns = {"id": [f"item-{row}" for row in range(rows)]}
    columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(CLASSES)}
    columns["place"] = rng.choice(["barn", "sea", "tree"], rows, p=[0.5, 0.3, 0.2])
    columns["size"] = rng.choice(["big", "small"], rows)
    columns["user"] = rng.choice([f"user-{number}" for number in range(rows // 4)], rows)
    columns["uses"] = rng.integers(0, 4, rows).astype(float)
    columns["cents"] = rng.integers(1, 5, rows).astype(float)
    pq.write_table(pa.table(columns | more), "pool.parquet")
    return dict(zip(columns["id"], np.array(CLASSES)[labels].tolist(), strict=True))


def write_scores(rows: int, seed: int) -> dict[str, str]:
    """A pool of two classes with the score of the second in pool.parquet; {id: label}."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(0.6, 1.4, rows), 2)
    labels = np.where(rng.random(rows) < score, "yes", "no")
    columns = {
        "id": [f"item-{row}" for row in range(rows)],
        "score": score,
        "place": rng.choice(["barn", "sea", "tree"], rows, p=[0.5, 0.3, 0.2]),
    }
    pq.write_table(pa.table(columns), "pool.parquet")
    return dict(zip(columns["id"], labels.tolist(), strict=True))


def write_values(rows: int, seed: int) -> dict[str, float]:
    """A pool of predicted numbers with standard deviations in pool.parquet; {id: label}."""
    rng = np.random.default_rng(seed)
    pred, std = rng.normal(10, 3, rows), rng.uniform(0.5, 2, rows)
    columns = {
        "id": [f"item-{row}" for row in range(rows)],
        "pred": pred,
        "pred_std": std,
        "place": rng.choice(["barn", "sea"], rows),
        "user": rng.choice([f"user-{number}" for number in range(rows // 4)], rows),
        "uses": rng.integers(0, 4, rows).astype(float),
    }
    pq.write_table(pa.table(columns), "pool.parquet")
    labels = np.round(pred + std * rng.normal(0.2, 1.1, rows), 3)
    return dict(zip(columns["id"], labels.tolist(), strict=True))


def begin(folder: str | None = None, **settings: object) -> at.Study:
    """The study of pool.parquet; another default of a version to come changes no number here."""
    usual = {"surrogate": "agreement", "acquisition": "optimal", "floor": 0.35}
    return at.Study.create("pool.parquet", folder, **(usual | settings))


def label_rounds(study: at.Study, key: dict, *counts: int, skipped: int = 0) -> None:
    """Draw and label rounds of these sizes; the last `skipped` items of each stay without."""
    for number, count in enumerate(counts):
        ids = study.next(count, new=bool(skipped and number)).ids
        study.ingest({name: key[name] for name in ids[: len(ids) - skipped]})


def supply(study: at.Study, key: dict, count: int) -> None:
    """Label the first items that nothing is known about, which nobody drew."""
    known = {row.id for row in study.export()}
    study.ingest({name: key[name] for name in [each for each in key if each not in known][:count]})


def decline(study: at.Study, key: dict, count: int, *, declined: int) -> None:
    """Draw and label a round whose first items nobody can label."""
    ids = study.next(count).ids
    study.ingest([{"id": name, "label": "", "status": "declined"} for name in ids[:declined]])
    study.ingest({name: key[name] for name in ids[declined:]})


def read_report(study: at.Study, **options: object) -> dict:
    """The contents of a report, as JSON."""
    return json.loads(study.report(**options).to_json())


SCENARIOS: dict[str, Callable[[], object]] = {}


def scenario(write: Callable[[], object]) -> Callable[[], object]:
    """Add a scenario: a function that makes a study in the working directory."""
    SCENARIOS[write.__name__] = write
    return write


@scenario
def classes() -> object:
    """Three classes: two metrics, groups, differences, gates, and all other metrics."""
    key = write_classes(150, 3)
    study = begin(groups=["place", "size"], metric=["error", "f1[macro]"], seed=4)
    label_rounds(study, key, 12, 10, 14)
    others = [
        "accuracy", "auroc[cat]", "average-precision[owl]", "balanced-accuracy", "bias[*]", "brier",
        "calibration-error-squared[4]", "classwise-ece[3]", "confusion[cat as dog]",
        "ece[equal-count,3]", "f1[*]", "f-beta[2,cat]", "false-positive-rate[cat]", "kappa",
        "log-loss", "mcc", "precision[*]", "precision-at-k[20,cat]", "rate[*]", "recall[weighted]",
        "recall-at-fpr[0.2,cat]", "specificity[macro]", "top-k-error[2]",
    ]  # fmt: skip
    gates = ["error<=0.75", "error@place=barn<=0.3", "recall[cat]>=0.2", "accuracy>=0.1"]
    return [
        read_report(
            study, details=True, simultaneous=True, differences=["place", "size"], require=gates,
            half_width=0.05,
        ),
        read_report(study, metrics=others, groups=()),
        read_report(study, interval="anytime", estimators=["lure", "doubly-robust"]),
    ]  # fmt: skip


@scenario
def populations() -> object:
    """Numbers about what the pool is a sample of: items, and clusters of them."""
    key = write_classes(90, 7)
    study = begin(groups=["size"], seed=2)
    label_rounds(study, key, 15, 12)
    supply(study, key, 4)
    label_rounds(study, key, 10)
    shares = {"metrics": ["accuracy", "recall[cat]"], "differences": ["size"]}
    before = [
        read_report(study, population=True, cluster="user", **shares),
        read_report(study, population=True, require=["error<=0.5"], **shares),
    ]
    label_rounds(study, key, 8, skipped=2)
    label_rounds(study, key, 8, skipped=1)
    missing = read_report(study, population=True, cluster="user", differences=["size"])
    known = {row.id for row in study.export()}
    study.ingest({name: label for name, label in key.items() if name not in known})
    return [*before, missing]


@scenario
def finished() -> object:
    """One label, two, and every label of a small pool but one, and that one as well."""
    key = write_classes(26, 59)
    study = begin(groups=["size"], metric=["error", "recall[owl]"], seed=1)
    names = ["error", "recall[owl]", "ece[2]", "calibration-error-squared[2]"]
    found = []
    for count in (1, 1, 23, 1):
        label_rounds(study, key, count)
        found.append(read_report(study, metrics=names, differences=["size"]))
    found.append(read_report(study, interval="anytime", require=["error<=0.5", "rate[cat]<=0.1"]))
    found.append(read_report(study, population=True, cluster="user", differences=["size"]))
    return found


@scenario
def finished_values() -> object:
    """Predicted numbers, from two labels to all of them."""
    key = write_values(22, 61)
    study = begin(groups=["place"], metric="mae", surrogate="residual", seed=1)
    found = []
    for count in (2, 19, 1):
        label_rounds(study, key, count)
        found.append(read_report(study, metrics=["mae", "r2", "interval-coverage"]))
    return [*found, read_report(study, population=True, differences=["place"])]


@scenario
def weights_and_prices() -> object:
    """Weights of items, some of them zero, and prices of labels."""
    key = write_classes(120, 11)
    study = begin(
        weight="uses", price="cents", groups=["place"], seed=5, budget=80, metric="accuracy"
    )
    label_rounds(study, key, 14)
    supply(study, key, 5)
    label_rounds(study, key, 16)
    metrics = ["accuracy", "recall[dog]", "auroc[dog]", "ece[4]", "precision-at-k[10,cat]", "mcc"]
    return [
        read_report(study, metrics=metrics, details=True, differences=["place"]),
        read_report(study, population=True, cluster="user"),
        read_report(
            study, interval="anytime", half_width=0.04, require=["accuracy>=0.4"], details=True
        ),
    ]


@scenario
def missing_answers() -> object:
    """Answers that never came in several rounds, and declined items."""
    key = write_classes(100, 13)
    study = begin(groups=["place"], metric="recall[cat]", seed=6)
    label_rounds(study, key, 14, 10, 12, skipped=1)
    first = read_report(
        study, metrics=["recall[cat]", "error"], details=True, differences=["place"]
    )
    decline(study, key, 9, declined=2)
    supply(study, key, 3)
    label_rounds(study, key, 8)
    gates = ["recall[cat]>=0.1", "error@place=barn<=0.9"]
    return [first, read_report(study, metrics=["recall[cat]", "error"], require=gates)]


@scenario
def left_out() -> object:
    """Draws among the items that a precision can change, and then among all."""
    key = write_classes(100, 67)
    settings = {"groups": ["size"], "metric": ["precision[cat]", "confusion[dog as cat]"]}
    study = begin(seed=14, **settings)
    label_rounds(study, key, 10)
    label_rounds(study, key, 8, skipped=1)
    aimed = read_report(study, estimators=["doubly-robust", "lure", "ase"], differences=["size"])
    whole = read_report(study, population=True, cluster="user")
    study.change(metric="error")
    label_rounds(study, key, 9)
    supply(study, key, 2)
    label_rounds(study, key, 7)
    metrics = ["error", "precision[cat]", "recall[cat]"]
    found = [
        read_report(study, metrics=metrics, half_width=0.05),
        read_report(study, metrics=metrics, population=True),
        read_report(study, interval="anytime", require=["precision[cat]>=0.3"]),
    ]
    return [aimed, whole, *found]


@scenario
def few_errors() -> object:
    """Two classes, a rare one, a random sample first and then draws at a low floor."""
    key = write_scores(160, 17)
    study = begin(classes=["no", "yes"], threshold=0.6, seed=8, floor=1.0)
    label_rounds(study, key, 10)
    study.change(floor=0.1, metric=["precision", "recall"], power=1.5)
    label_rounds(study, key, 16, 14)
    curves = [
        json.loads(study.curve(name, **options).to_json())
        for name, options in (
            ("roc", {"points": 5}),
            ("precision-recall", {"points": 4, "simultaneous": True}),
            ("reliability", {"bins": 4}),
        )
    ]
    return [
        read_report(study, details=True),
        read_report(study, interval="anytime", require=["precision>=0.2", "error<=0.01"]),
        curves,
        json.loads(study.curve("reliability[yes]", bins=3, simultaneous=True).to_json()),
    ]


@scenario
def values() -> object:
    """Predicted numbers: root of mean squares, slopes, bounds of losses."""
    key = write_values(110, 19)
    study = begin(groups=["place"], metric="rmse", surrogate="residual", seed=3)
    label_rounds(study, key, 12, 10)
    decline(study, key, 10, declined=1)
    metrics = ["rmse", "mae", "r2", "bias", "nll", "interval-coverage", "pinball[0.8]", "mean[0,9]"]
    return [
        read_report(study, details=True, differences=["place"], half_width=0.2),
        read_report(study, metrics=metrics, groups=()),
        read_report(study, metrics=["mae"], bound=6.0, interval="anytime", require=["mae<=2.5"]),
        read_report(study, metrics=["mae", "interval-coverage"], population=True, cluster="user"),
    ]


@scenario
def weighted_values() -> object:
    """Predicted numbers of items that have weights."""
    key = write_values(90, 23)
    study = begin(weight="uses", groups=["place"], metric="mae", surrogate="residual", seed=3)
    label_rounds(study, key, 12, 12)
    return [
        read_report(study, metrics=["mae", "rmse", "r2"], differences=["place"], half_width=0.2),
        read_report(study, interval="anytime", bound=8.0),
    ]


def ask(seed: int, rows: int = 110, **settings: object) -> object:
    """The answer to a question about the places after three rounds, and how status sees it."""
    key = write_classes(rows, seed)
    usual = {"groups": ["place"], "seed": seed, "floor": 0.1, "acquisition": "thompson"}
    study = begin(f"study-{seed}", **(usual | settings))
    label_rounds(study, key, 12, 9, 11)
    return read_report(study, half_width=0.1)


@scenario
def worst_groups() -> object:
    """The worst group, by different policies."""
    return [
        ask(31, question="identify", metric="error"),
        ask(32, question="identify", worst=2, prior="uniform"),
        ask(33, question="identify", acquisition="top-two-thompson", prior_strength=5),
    ]


@scenario
def compared_groups() -> object:
    """Two groups compared, and every group estimated."""
    return [
        ask(34, question="compare", compare=["barn", "sea"], rope=0.05),
        ask(37, question="estimate", metric="confusion", groups=["predicted"]),
    ]


@scenario
def annotators() -> object:
    """Several annotators who disagree, and some who decline."""
    key = write_classes(80, 37)
    study = begin(annotators="dawid-skene", groups=["size"], seed=9)
    rng = np.random.default_rng(5)
    for count in (14, 12):
        ids = study.next(count).ids
        for person, share in (("ann", 0.05), ("bob", 0.2), ("cay", 0.4)):
            wrong = rng.random(len(ids)) < share
            study.ingest(
                [
                    {
                        "id": name,
                        "annotator": person,
                        "label": CLASSES[(CLASSES.index(key[name]) + error) % 3],
                    }
                    for name, error in zip(ids, wrong, strict=True)
                    if person != "cay" or rng.random() < 0.7
                ]
            )
    return [read_report(study, details=True, metrics=["error", "kappa"]), study.next(again=4).ids]


@scenario
def judges() -> object:
    """A judge's verdicts, and what people say of them."""
    rng = np.random.default_rng(41)
    passed = rng.random(120) < 0.7
    key = write_classes(120, 41, verdict=np.where(passed, "pass", "fail"))
    people = np.where(rng.random(120) < 0.2, ~passed, passed)
    key = {name: "pass" if each else "fail" for name, each in zip(key, people, strict=True)}
    study = begin(judge="verdict", groups=["size"], seed=10)
    label_rounds(study, key, 16, 14)
    return [
        read_report(study, details=True, require=["rate[pass]>=0.5"]),
        read_report(study, population=True),
        read_report(study, interval="anytime"),
    ]


@scenario
def surfaces() -> object:
    """All combinations of two attributes."""
    key = write_classes(140, 43)
    study = begin(
        attributes=["place", "size"],
        question="surface",
        surface="beta",
        seed=11,
        floor=0.1,
        acquisition="surface-variance",
    )
    label_rounds(study, key, 16, 14)
    return [
        read_report(
            study,
            surface=True,
            at=["place=sea,size=big", "size=small"],
            maps=["place*size"],
            require=["error@place*size=barn*big<=0.9", "accuracy@size*place=small*sea>=0.2"],
        ),
        study.surface().to_frame().to_dict("list"),
    ]


@scenario
def elsewhere() -> object:
    """Draws that were made elsewhere: at random, and in a sequence with probabilities."""
    key = write_classes(90, 47)
    names = list(key)
    uniform = [{"id": name, "label": key[name]} for name in names[5:70:3]]
    rng, left, rows = np.random.default_rng(5), dict.fromkeys(names, 1.0), []
    left |= dict.fromkeys(names[::4], 3.0)
    for place in range(26):
        prob = np.array(list(left.values())) / sum(left.values())
        drawn = int(rng.choice(len(left), p=prob))
        name = list(left)[drawn]
        del left[name]
        more = {"round": 1 + place // 13, "probability": prob[drawn]}
        rows.append({"id": name, "label": "" if place == 20 else key[name]} | more)
    settings = {"groups": ["size"], "seed": 12, "surrogate": "agreement", "floor": 0.35}
    simple = at.Study.from_draws("pool.parquet", uniform, "a", design="uniform", **settings)
    sequence = at.Study.from_draws("pool.parquet", rows, "b", draws_floor=0.4, **settings)
    label_rounds(sequence, key, 8)
    return [
        read_report(simple, estimators=["iid", "lure", "doubly-robust"]),
        read_report(simple, interval="anytime"),
        read_report(sequence, metrics=["error", "f1[macro]"], details=True),
    ]


@scenario
def top_scores() -> object:
    """The highest scores, which have no probabilities."""
    key = write_classes(80, 53)
    study = begin(selection="top", acquisition="entropy", groups=["size"], seed=13)
    label_rounds(study, key, 10, 8)
    return [read_report(study), read_report(study, interval="posterior", metrics=["f1[macro]"])]


def prune(found: object) -> object:
    """Numbers with few digits, and words; sentences are left out."""
    if isinstance(found, dict):
        kept = {key: prune(value) for key, value in found.items() if _is_kept(key, value)}
        return {key: value for key, value in kept.items() if value not in ({}, [])}
    if isinstance(found, list | tuple):
        return [prune(each) for each in found]
    if isinstance(found, float):
        return float(f"{found:.{DIGITS}g}")
    return found


def _is_kept(key: str, value: object) -> bool:
    left_out = key in ("fingerprint", "versions")
    return not left_out and (key in WORDS or not isinstance(value, str))


def play(name: str) -> object:
    """The numbers of a scenario, played in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return prune(json.loads(json.dumps(SCENARIOS[name]())))


if __name__ == "__main__":
    found = {name: play(name) for name in SCENARIOS}
    RECORDED.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
