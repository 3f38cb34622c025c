"""Small random studies, and the same ones of a pool whose numbers rounding has moved.

A pool has exact ties: rows that are alike, scores with two digits, prices that are whole numbers.
Study by study another surrogate, acquisition, question, interval and set of metrics is used, so
that many of them meet all.
"""

import contextlib
import json
import math
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import activetest as at

# By how much numbers are moved, and by how much what is made of them may differ.
MOVED, NEAR, NOTHING = 1e-12, 1e-6, 1e-9
# On another processor, of surrogates that learn from features in single precision.
SINGLE = 1e-5
# Studies, and those that are played in every test run: each of them is quick, and with them every
# surrogate but stacks and networks, every acquisition of a study, question, interval and kind of
# pool is. Those that are played besides in .ci/run have other combinations, and stacks.
STUDIES = 200
QUICK = (0, 2, 3, 5, 6, 12, 14, 17, 29, 30, 33, 37, 43, 45)
FURTHER = (1, 4, 7, 9, 13, 21, 25, 35, 36, 49)
_CLASSES = ("cat", "dog", "owl")
_KINDS = ("classes", "scores", "verdicts", "values")
# Without networks: they are trained in single precision, and differences grow with every step.
_SURROGATES = {
    "classes": ("agreement", "auto", "linear", "model", "gp", "forest", "stack", "external"),
    "scores": ("agreement", "auto", "linear", "forest", "gp", "stack"),
    "verdicts": ("agreement", "auto"),
    "values": ("residual", "auto", "linear", "gp", "forest", "stack"),
}
_ACQUISITIONS = (
    "optimal", "uniform", "expected-loss", "bald", "optimal", "xwed", "entropy",
    "metric-information",
)  # fmt: skip
# Acquisitions that ask which class a label will be, and surrogates that do not say.
_OF_CLASSES = ("metric-information", "entropy", "xwed", "bald")
_WITHOUT_CLASSES = ("agreement", "auto", "residual", "stack")
_POLICIES = ("thompson", "top-two-thompson", "epsilon-greedy", "bayes-ucb")
_SURFACES = ("beta", "constant", "stacked")
_METRICS = {
    "classes": (
        "error", "f1[macro]", "accuracy", "auroc[cat]", "average-precision[owl]",
        "balanced-accuracy", "bias[*]", "brier", "calibration-error-squared[4]",
        "classwise-ece[3]", "confusion[cat as dog]", "ece[3]", "ece[equal-count,3]",
        "f-beta[2,cat]", "false-positive-rate[cat]", "kappa", "log-loss", "mcc", "precision[*]",
        "precision-at-k[20,cat]", "rate[*]", "recall[weighted]", "recall-at-fpr[0.2,cat]",
        "specificity[macro]", "top-k-error[2]",
    ),
    "scores": (
        "error", "precision", "recall", "f1", "auroc", "average-precision", "brier", "log-loss",
        "ece[3]", "mcc", "kappa", "balanced-accuracy", "specificity", "recall-at-fpr[0.3]",
    ),
    "verdicts": (
        "error", "accuracy", "f1[macro]", "precision[*]", "recall[macro]", "kappa", "mcc",
        "balanced-accuracy", "rate[*]", "bias[*]", "specificity[macro]",
    ),
    "values": (
        "rmse", "mae", "mse", "r2", "bias", "nll", "interval-coverage", "pinball[0.8]",
        "mean[0,9]",
    ),
}  # fmt: skip


def make_pool(number: int, kind: str, rows: int = 70) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of a pool, a fifth of whose rows are copies of others, and {id: label}."""
    rng = np.random.default_rng([7, number])
    features = rng.normal(size=(rows, 2 + number % 3))
    columns: dict[str, Any] = {}
    if kind == "values":
        columns["pred"] = np.round(rng.normal(10, 3, rows), 1)
        columns["pred_std"] = np.round(rng.uniform(0.5, 2, rows), 1)
        truth = columns["pred"] + columns["pred_std"] * rng.normal(0.2, 1.1, rows)
        labels = np.round(truth, 2).tolist()
    elif kind == "scores":
        columns["score"] = np.round(rng.beta(0.6, 1.4, rows), 2)
        labels = np.where(rng.random(rows) < columns["score"], "yes", "no").tolist()
    else:
        probs = np.round(rng.dirichlet([0.7, 0.7, 0.7], rows), 2)
        probs[:, 2] = 1 - probs[:, 0] - probs[:, 1]
        probs = np.abs(np.round(probs, 2))
        truth = (probs.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
        labels = np.array(_CLASSES)[truth].tolist()
        if kind == "verdicts":
            columns["pred"] = np.array(_CLASSES)[probs.argmax(axis=1)]
        else:
            columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(_CLASSES)}
    columns |= {f"x{place}": features[:, place] for place in range(features.shape[1])}
    columns["place"] = rng.choice(["barn", "sea", "tree"], rows, p=[0.5, 0.3, 0.2])
    columns["size"] = rng.choice(["big", "small"], rows)
    columns["user"] = rng.choice([f"user-{each}" for each in range(rows // 4)], rows)
    columns["uses"] = rng.integers(0 if number % 2 else 1, 4, rows).astype(float)
    columns["cents"] = rng.integers(1, 5, rows).astype(float)
    alike, originals = rng.choice(rows, (2, rows // 5), replace=False)
    for values in columns.values():
        values[alike] = values[originals]
    names = [f"item-{row}" for row in range(rows)]
    return {"id": names} | columns, dict(zip(names, labels, strict=True))


def move(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The columns, every number of them moved by about a millionth of a millionth of itself."""
    return {
        name: values * (1 + MOVED * rng.uniform(-1, 1, len(values)))
        if isinstance(values, np.ndarray) and values.dtype == float
        else values
        for name, values in columns.items()
    }


def describe(number: int) -> dict[str, Any]:
    """The settings of a study."""
    kind = _KINDS[number % 3 if number % 7 else 3]
    surrogates = _SURROGATES[kind]
    settings: dict[str, Any] = {"seed": number, "groups": ["place", "size"]}
    settings["features"] = [f"x{place}" for place in range(2 + number % 3)]
    settings["surrogate"] = surrogates[number // 3 % len(surrogates)]
    if number % 4 == 1:
        settings["weight"] = "uses"
    if number % 5 == 2:
        settings["price"] = "cents"
    if kind == "scores":
        settings |= {"classes": ["no", "yes"], "threshold": 0.6}
    metrics = [each for each in _METRICS[kind] if "*" not in each]
    settings["metric"] = [metrics[number % len(metrics)], metrics[number // 2 % 5]][
        : 1 + number % 2
    ]
    if number % 6 == 3 and kind != "values":
        question = ("identify", "compare", "estimate")[number // 6 % 3]
        settings |= {"question": question, "metric": "error", "floor": 0.1}
        policies = _POLICIES if question == "identify" else _POLICIES[::2]
        settings["acquisition"] = policies[number // 18 % len(policies)]
        if question == "compare":
            settings |= {"compare": ["barn", "sea"]}
        for unused in ("weight", "price"):
            settings.pop(unused, None)
    elif number % 12 == 5 and kind != "values":
        settings |= {"question": "surface", "attributes": ["place", "size"], "metric": "error"}
        settings |= {"surface": _SURFACES[number // 12 % 3], "acquisition": "surface-variance"}
        for unused in ("weight", "price", "groups"):
            settings.pop(unused, None)
    else:
        acquisition = _ACQUISITIONS[number // 2 % len(_ACQUISITIONS)]
        alone = kind == "values" or settings["surrogate"] in _WITHOUT_CLASSES
        settings["acquisition"] = "optimal" if alone and acquisition in _OF_CLASSES else acquisition
        settings["floor"] = (0.35, 0.1, 0.02)[number // 5 % 3]
        uniform = settings["acquisition"] == "uniform"
        settings["selection"] = "top" if number % 11 == 4 and not uniform else "draw"
        settings["floor_rule"] = "clip" if number % 8 == 6 else "mix"
        sharper = number % 9 == 5 and settings["selection"] == "draw" and not uniform
        settings["power"] = 2.0 if sharper else 1.0
        if number % 4 == 0 and settings["selection"] == "draw" and "price" not in settings:
            # Gates are then decided at looks.
            settings["budget"] = 60
    return {"kind": kind, **settings}


def play(number: int, columns: dict[str, Any], key: dict[str, Any]) -> list[Any]:
    """Reports and draws of a study of the pool, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return json.loads(json.dumps(list(_play(number, columns, key))))


def _play(number: int, columns: dict[str, Any], key: dict[str, Any]) -> Iterator[Any]:
    settings = describe(number)
    kind = settings.pop("kind")
    if settings["surrogate"] == "external":
        other = np.random.default_rng([8, number])
        votes = other.dirichlet([1, 1, 1], (2, len(columns["id"])))
        table = {"id": columns["id"]}
        table |= {f"surrogate_prob_{place}": each.tolist() for place, each in enumerate(votes)}
        pq.write_table(pa.table(table), "others.parquet")
        settings["other_models"] = "others.parquet"
    pq.write_table(pa.table(columns), "pool.parquet")
    study = at.Study.create("pool.parquet", **settings)
    for count in (13, 9, 11):
        try:
            ids = study.next(count).ids
        except at.NotEstimable as nothing_left:
            yield nothing_left.problem
            break
        yield ids
        study.ingest({name: key[name] for name in ids})
    several = {} if settings.get("question") == "surface" else {"differences": ["size"]}
    about = {} if kind == "values" or number % 2 else {"require": ["error<=0.4", "accuracy>=0.35"]}
    yield _read(study.report(half_width=0.1, details=bool(number % 2), **several, **about))
    metrics = [each for place, each in enumerate(_METRICS[kind]) if (place + number) % 2]
    yield _read(study.report(metrics=metrics, simultaneous=bool(number % 3)))
    extra: dict[str, Any] = ({"population": True}, {"interval": "anytime"})[number % 2]
    if "population" in extra and "weight" not in settings:
        extra["cluster"] = "user"
    with contextlib.suppress(at.ChoiceError):
        yield _read(study.report(**extra, **about))
    if kind in ("classes", "scores") and number % 4 == 2:
        curve = study.curve("roc" if kind == "scores" else "roc[cat]", points=5)
        yield json.loads(curve.to_json())


def _read(report: Any) -> dict[str, Any]:
    found = json.loads(report.to_json())
    for part in (found, found.get("details") or {}):
        for changing in ("fingerprint", "provenance", "draws_csv"):
            part.pop(changing, None)
    return found


def find_differences(
    first: Any, second: Any, path: str = "", *, nothing: float = NOTHING
) -> Iterator[str]:
    """Where two things that should be the same are not: numbers may differ by a millionth.

    nothing is what they may differ by besides, whatever their size.
    """
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        for name, value in first.items():
            yield from find_differences(value, second[name], f"{path}/{name}", nothing=nothing)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for place, pair in enumerate(zip(first, second, strict=True)):
            yield from find_differences(*pair, f"{path}/{place}", nothing=nothing)
    elif isinstance(first, float) and isinstance(second, float):
        if not math.isclose(first, second, rel_tol=NEAR, abs_tol=nothing):
            yield f"{path}: {first} became {second}"
    elif first != second:
        yield f"{path}: {first!r} became {second!r}"


def compare_with_moved(number: int) -> list[str]:
    """Where a study differs from that of the pool whose numbers were moved."""
    pool, key = make_pool(number, describe(number)["kind"])
    moved = move(pool, np.random.default_rng([9, number]))
    return list(find_differences(play(number, pool, key), play(number, moved, key)))
