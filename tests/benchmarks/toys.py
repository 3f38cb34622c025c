"""The synthetic pools of Active Testing (Kossen 2021), Fig. 3 and appendices A.1 and C.2, as files.

Writes FOLDER/TOY-NUMBER.parquet, the pool, with TOY-NUMBER.labels.csv, the answer key, and
TOY-NUMBER.train.parquet, the rows the black box was fitted on: what `activetest simulate` reads.

gp                 50 points of a draw from a Gaussian process on [0, 1], Matern 3/2 of length 1;
                   the black box is the same process fitted on 5 of them
quadratic-gp       x^2 on [0, 1], centred; the same black box
sinusoidal-gp      sin(10 x) + x^3, 5 points in [0, 0.99] and 45 in [1, 2]; the same black box,
                   fitted on one of the first and 4 of the others
quadratic-linear   x^2 again; the black box is a line
two-moons          500 points, noise 0.1; the black box is a random forest fitted on 50 of them

The paper gives no length of the axes; they are those of its published code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import LinearRegression

_POINTS, _TRAINED = 50, 5


@dataclass(frozen=True)
class Toy:
    """One data set, split, and what a black box says about the part it has not seen.

    train_x, train_y   (M0, D) and (M0,) what it was fitted on
    x, y               (N, D) and (N,) the pool and its answer key
    pred               (N,) its predictions
    std                (N,) their standard deviation, or None
    probs              (N, C) class probabilities, or None
    """

    train_x: np.ndarray
    train_y: np.ndarray
    x: np.ndarray
    y: np.ndarray
    pred: np.ndarray
    std: np.ndarray | None = None
    probs: np.ndarray | None = None

    def write(self, stem: Path) -> Path:
        """Write the pool, its answer key and the training rows; the path of the pool."""
        ids = np.arange(len(self.y))
        columns = {"id": ids, **_features(self.x), "pred": self.pred}
        if self.std is not None:
            columns["pred_std"] = self.std
        if self.probs is not None:
            flat = pa.array(self.probs.ravel())
            columns["prob"] = pa.FixedSizeListArray.from_arrays(flat, self.probs.shape[1])
        path = stem.with_name(f"{stem.name}.parquet")
        pq.write_table(pa.table(columns), path)
        lines = (f"{item},{label}\n" for item, label in zip(ids, self.y.tolist(), strict=True))
        stem.with_name(f"{stem.name}.labels.csv").write_text("id,label\n" + "".join(lines))
        trained = {"id": np.arange(len(self.train_y)), **_features(self.train_x)}
        trained |= {"label": self.train_y}
        pq.write_table(pa.table(trained), stem.with_name(f"{stem.name}.train.parquet"))
        return path


def _features(x: np.ndarray) -> dict:
    return {f"f{number}": column for number, column in enumerate(x.T)}


def _matern() -> GaussianProcessRegressor:
    return GaussianProcessRegressor(Matern(length_scale=1.0, nu=1.5), optimizer=None)


def gp(rng: np.random.Generator, points: int = _POINTS) -> Toy:
    """A draw from a Gaussian process, and that process as its model."""
    x = np.linspace(0, 1, points)[:, None]
    y = _matern().sample_y(x, random_state=int(rng.integers(2**31)))[:, 0]
    return _by_process(x, y, _chosen(rng, points, _TRAINED))


def quadratic_gp(rng: np.random.Generator) -> Toy:
    """A parabola, and a Gaussian process as its model."""
    return _by_process(*_parabola(), _chosen(rng, _POINTS, _TRAINED))


def sinusoidal_gp(rng: np.random.Generator) -> Toy:
    """A wave with few points on one side, and a Gaussian process as its model."""
    few = _POINTS // 10
    many = _POINTS - few
    x = np.concatenate([np.linspace(0, 0.99, few), np.linspace(1, 2, many)])[:, None]
    y = (np.sin(10 * x) + x**3)[:, 0]
    trained = np.append(_chosen(rng, few, 1), _chosen(rng, many, _TRAINED - 1))
    return _by_process(x, y, trained)


def quadratic_linear(rng: np.random.Generator) -> Toy:
    """A parabola, and a line as its model."""
    x, y = _parabola()
    trained = _chosen(rng, _POINTS, _TRAINED)
    line = LinearRegression().fit(x[trained], y[trained])
    return Toy(x[trained], y[trained], x[~trained], y[~trained], line.predict(x[~trained]))


def two_moons(rng: np.random.Generator) -> Toy:
    """Two classes, and a random forest with its defaults as the model."""
    x, y = make_moons(500, noise=0.1, random_state=int(rng.integers(2**31)))
    trained = _chosen(rng, len(y), len(y) // 10)
    forest = RandomForestClassifier(random_state=int(rng.integers(2**31)))
    probs = forest.fit(x[trained], y[trained]).predict_proba(x[~trained])
    pred = probs.argmax(axis=1)
    return Toy(x[trained], y[trained], x[~trained], y[~trained], pred, probs=probs)


TOYS: dict[str, Callable[[np.random.Generator], Toy]] = {
    "gp": gp,
    "quadratic-gp": quadratic_gp,
    "sinusoidal-gp": sinusoidal_gp,
    "quadratic-linear": quadratic_linear,
    "two-moons": two_moons,
}


def _parabola() -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0, 1, _POINTS)[:, None]
    return x, x[:, 0] ** 2 - (x**2).mean()


def _chosen(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    """(size,) True for a random `count` of them."""
    return rng.permutation(size) < count


def _by_process(x: np.ndarray, y: np.ndarray, trained: np.ndarray) -> Toy:
    process = _matern().fit(x[trained], y[trained])
    pred, std = process.predict(x[~trained], return_std=True)
    return Toy(x[trained], y[trained], x[~trained], y[~trained], pred, std)


def main() -> None:
    """Write the toys that are asked for."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        toy=",".join(TOYS),
        count=1,
        seed=0,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.toy.split(","):
        for number in range(options.count):
            toy = TOYS[name](np.random.default_rng([options.seed, number]))
            print(toy.write(options.folder / f"{name}-{number}"))


if __name__ == "__main__":
    main()
