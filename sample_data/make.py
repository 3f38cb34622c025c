"""Makes the sample pools beside this file from the data sets that scikit-learn carries.

    python sample_data/make.py [FOLDER]

digits.parquet      1,497 images of digits: 64 pixels, the class probabilities of a logistic
                    regression that was fitted on 300 others, and how much ink each image has;
                    the answers are in digits.labels.csv
diabetes.parquet    342 patients: 10 measurements, the prediction of a Bayesian ridge regression
                    that was fitted on 100 others with its standard deviation, and an age band;
                    the answers are in diabetes.labels.csv

Fixed seeds: the same versions of the libraries make the same files.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.preprocessing import StandardScaler


def digits() -> tuple[pa.Table, list[str]]:
    """The classification pool and its answers."""
    pixels, labels = load_digits(return_X_y=True)
    fitted, pooled = _split(len(labels), fitted=300, seed=1)
    model = LogisticRegression(max_iter=2000).fit(pixels[fitted] / 16, labels[fitted])
    probs = model.predict_proba(pixels[pooled] / 16)
    columns = {"id": [f"digit-{number:04d}" for number in pooled]}
    for pixel in range(64):
        columns[f"pixel_{pixel:02d}"] = pixels[pooled, pixel].astype(np.float32)
    for digit in range(10):
        columns[f"prob_{digit}"] = probs[:, digit].astype(np.float32)
    columns["ink"] = _bands(pixels[pooled].mean(axis=1), ["little", "some", "much"])
    return pa.table(columns), [str(label) for label in labels[pooled]]


def diabetes() -> tuple[pa.Table, list[str]]:
    """The regression pool and its answers: progress of the disease in a year, from 25 to 346."""
    loaded = load_diabetes(scaled=False)
    fitted, pooled = _split(len(loaded.target), fitted=100, seed=2)
    scale = StandardScaler().fit(loaded.data[fitted])
    model = BayesianRidge().fit(scale.transform(loaded.data[fitted]), loaded.target[fitted])
    pred, std = model.predict(scale.transform(loaded.data[pooled]), return_std=True)
    columns = {"id": [f"patient-{number:03d}" for number in pooled]}
    for name, values in zip(loaded.feature_names, loaded.data[pooled].T, strict=True):
        columns[name] = values.astype(np.float32)
    columns["pred"] = pred.astype(np.float32)
    columns["pred_std"] = std.astype(np.float32)
    age = columns["age"]
    columns["age_band"] = np.select([age < 40, age < 55], ["under 40", "40 to 54"], "55 and over")
    return pa.table(columns), [f"{label:.0f}" for label in loaded.target[pooled]]


def _split(size: int, *, fitted: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to fit on and row numbers of the pool, each in order."""
    shuffled = np.random.default_rng(seed).permutation(size)
    return np.sort(shuffled[:fitted]), np.sort(shuffled[fitted:])


def _bands(values: np.ndarray, names: list[str]) -> np.ndarray:
    """The name of the equally full band each value falls into."""
    edges = np.quantile(values, np.arange(1, len(names)) / len(names))
    return np.array(names)[np.digitize(values, edges)]


def write(folder: Path) -> None:
    """Write every pool and its answer key into folder."""
    for make in (digits, diabetes):
        table, labels = make()
        name = make.__name__
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", compression="zstd")
        answers = zip(table["id"].to_pylist(), labels, strict=True)
        lines = ["id,label", *(f"{item},{label}" for item, label in answers)]
        (folder / f"{name}.labels.csv").write_bytes(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
