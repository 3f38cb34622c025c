"""Largest possible savings on the error rate, and the share of them that is saved, as a table.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. The limit is what a model of errors
allows that has learned from all other labels of the pool: five folds, a logistic regression on the
outputs or its mean, in logits, with a forest on outputs and features, whichever is better by
log-loss. p being its probability that an item is wrong, and y whether it is, draws in proportion to
sqrt(p (1 - p)) with p as guess have the variance mean of (y - p)^2 / (N q) - (mean of y - p)^2 a
draw, q their probability; uniform draws with the plain mean have e (1 - e). The limit is the ratio.
With --saved, what was saved: the share is the ratio of the logarithms.
"""

from pathlib import Path

import benchmark
import numpy as np
from scipy.special import expit, logit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from staging import staged

# Probabilities of being wrong or right are never below this.
LEAST = 0.005


def main() -> None:
    """Print a row per pool."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools="",
        saved={"default": "", "help": "NAME=RATIO,..."},
    )
    pairs = (pair.split("=") for pair in options.saved.split(",") if pair)
    saved = {name: float(ratio) for name, ratio in pairs}
    table = benchmark.Table(
        options, "pool | model of errors | limit | saved | share of the logarithm"
    )
    for file in benchmark.find_pools(options.folder, options.pools):
        model, limit = find_limit(file)
        ratio = saved.get(file.stem)
        share = "" if ratio is None else f"{np.log(ratio) / np.log(limit):.2f}"
        cells = [file.stem, model, f"{limit:.2f}", "" if ratio is None else f"{ratio:.2f}", share]
        table.add(*cells)


def find_limit(file: Path) -> tuple[str, float]:
    """The better model of errors, and how many times fewer labels it allows."""
    wrong, outputs, features = read_pool(file)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    forest = RandomForestClassifier(100, min_samples_leaf=3, n_jobs=2, random_state=0)
    columns = {"outputs": (linear, outputs), "forest": (forest, np.hstack([outputs, features]))}
    chance = {
        name: cross_val_predict(model, made, wrong, cv=folds, method="predict_proba")[:, 1]
        for name, (model, made) in columns.items()
    }
    logits = {name: logit(np.clip(each, LEAST, 1 - LEAST)) for name, each in chance.items()}
    logits["both"] = (logits["outputs"] + logits["forest"]) / 2
    names = [name for name in logits if name != "forest"]
    best = min(names, key=lambda name: log_loss(wrong, expit(logits[name])))
    return best, allow(wrong, expit(logits[best]))


def read_pool(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N,) whether the model is wrong, (N, C + 1 + classes) of its outputs, (N, D) features."""
    with staged(file, surrogate="agreement", acquisition="optimal", metric="error") as stage:
        rows, wrong = stage.made.rows(0, stage.made.size), stage.stats.astype(bool)
        pred, probs = rows.outputs.pred, np.array(rows.outputs.known_probs, float)
        design = np.array(rows.design[:, 1:], float)
    sure = logit(np.clip(np.take_along_axis(probs, pred[:, None], axis=1), 1e-6, 1 - 1e-6))
    outputs = [np.log(np.clip(probs, 1e-6, 1)), sure, np.eye(probs.shape[1])[pred]]
    return wrong, np.hstack(outputs), design


def allow(wrong: np.ndarray, chance: np.ndarray) -> float:
    """The variance of uniform draws and the plain mean over that of the best draws with a guess."""
    scores = np.sqrt(chance * (1 - chance))
    left = wrong - chance
    guided = (left**2 / scores).mean() * scores.mean() - left.mean() ** 2
    return float(wrong.mean() * (1 - wrong.mean()) / guided)


if __name__ == "__main__":
    main()
