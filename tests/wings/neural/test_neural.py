"""Requirements of the three networks: they learn, remember, and know what is far."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Rows, TrainingRows
from activetest.surrogates._training_data import prepare_training_data

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[3]
NAMES = ("ensemble", "mc-dropout", "radial-bnn")
# Where networks have to learn, which takes seconds, .ci/run tries the others.
LEARNED = ["ensemble", *(pytest.param(name, marks=pytest.mark.ci) for name in NAMES[1:])]
SIZES = {"ensemble": 5, "mc-dropout": 50, "radial-bnn": 100}
# The options that say how many networks there are, and what all are by default.
COUNTS = ("members", "passes", "samples")
USUAL = {
    "ensemble": "members=5;layers=2;width=128",
    "mc-dropout": "dropout=0.2;passes=50;layers=2;width=256",
    "radial-bnn": "samples=100;layers=2;width=64",
}
ZERO_ONE = (statistic("zero_one"),)


def fitted(name: str, training, seed: int = 3):
    return catalog.load("surrogates", name).fit(training, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def memory() -> dict:
    """Surrogates that several tests look at, by name and kind."""
    return {}


@pytest.fixture
def train_surrogate(memory, class_pool, value_pool):
    """train_surrogate(name, kind): the surrogate after 60 labels, and its pool.

    The pool is of classes or of values, with training rows.
    """

    def make(name: str, kind: str):
        pool = class_pool() if kind == "classes" else value_pool()
        if (name, kind) not in memory:
            memory[name, kind] = fitted(name, pool.training(60, train=True))
        return memory[name, kind], pool

    return make


def entropy(probs) -> np.ndarray:
    return -(probs * np.log(np.maximum(probs, 1e-30))).sum(axis=-1)


def log_loss(probs, labels) -> float:
    return float(-np.log(probs[np.arange(len(labels)), labels]).mean())


def moved(rows: Rows, factor: float) -> Rows:
    """The rows with features that many times further out."""
    return replace(rows, features=rows.features * np.float32(factor))


# --- its size

SIZED = [
    ("ensemble", {"members": 3, "layers": 1, "width": 16}, [(4, 16), (16, 3)]),
    ("ensemble", {"layers": 3, "width": 8}, [(4, 8), (8, 8), (8, 8), (8, 3)]),
    ("mc-dropout", {"passes": 4, "layers": 1, "width": 9}, [(4, 9), (9, 3)]),
    ("radial-bnn", {"samples": 6, "layers": 1, "width": 5}, [(4, 5), (5, 3)]),
    ("radial-bnn", {"layers": 3, "width": 5}, [(4, 5), (5, 5), (5, 5), (5, 3)]),
]


@pytest.mark.usefixtures("trained_briefly")
@pytest.mark.parametrize(("name", "sizes", "shapes"), SIZED)
def test_networks_have_the_size_that_was_chosen_and_keep_it(name, sizes, shapes, class_pool):
    pool = class_pool(200)
    training = pool.training(30, train=True)
    inputs = pool.rows.features.shape[1]
    surrogate = catalog.load("surrogates", name).fit(
        training, rng=np.random.default_rng(3), **sizes
    )
    params = surrogate.params()
    found = [params[f"weights_{level}"].shape[1:] for level in range(len(shapes))]
    assert found == [(inputs, shapes[0][1]), *shapes[1:]]
    assert f"weights_{len(shapes)}" not in params
    count = next((sizes[each] for each in COUNTS if each in sizes), SIZES[name])
    assert surrogate.members.size == count
    again = catalog.load("surrogates", name).restore(params)
    assert again.members.size == count
    assert (again.members.probs(pool.rows) == surrogate.members.probs(pool.rows)).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_usual_size_may_be_named(name):
    """It is what `fit` does without options, and what the page of methods says."""
    _, chosen = catalog.split_options("surrogates", f"{name}[{USUAL[name]}]")
    parameters = signature(catalog.load("surrogates", name).fit).parameters
    assert chosen == {
        each: parameters[each].default for each in parameters if each not in ("training", "rng")
    }
    assert f"`{USUAL[name]}`" in (ROOT / "activetest" / "docs" / "surrogates.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_networks_that_would_fill_the_memory_are_refused(name, class_pool):
    training = class_pool(200).training(30)
    with pytest.raises(ChoiceError, match="are too many") as caught:
        catalog.load("surrogates", name).fit(training, rng=np.random.default_rng(3), width=100_000)
    assert "smaller width" in caught.value.hint
    count = next(each for each in COUNTS if each in catalog.load("surrogates", name).OPTIONS)
    with pytest.raises(ChoiceError, match="1,000,000 networks"):
        catalog.load("surrogates", name).fit(
            training, rng=np.random.default_rng(3), **{count: 1_000_000}
        )


# --- what it learns


@pytest.mark.parametrize("name", LEARNED)
def test_classes_are_learned_better_than_their_shares_tell(name, train_surrogate):
    surrogate, pool = train_surrogate(name, "classes")
    rest, labels = pool.rows[np.arange(60, 600)], pool.labels[60:]
    probs = surrogate.members.probs(rest)
    assert probs.sum(axis=1) == approx(np.ones(540), abs=1e-5)
    # The best that can be said of these classes costs 0.43 nats, their shares 1.1.
    assert log_loss(probs, labels) < 0.6
    assert (probs.argmax(axis=1) == labels).mean() > 0.75


@pytest.mark.parametrize("name", LEARNED)
def test_values_are_learned_with_the_noise_around_them(name, train_surrogate):
    """Standardised errors have variance near one; the sine that the box forgot is found."""
    surrogate, pool = train_surrogate(name, "values")
    rest, labels = pool.rows[np.arange(60, 300)], pool.labels[60:]
    mean, variance = surrogate.members.moments(rest)
    errors = labels - mean
    assert (errors**2).mean() < 0.4 * ((labels - rest.outputs.pred) ** 2).mean()
    # The median of a squared standard normal is 0.455.
    assert 0.3 < np.median(errors**2 / variance) / 0.455 < 3
    assert (variance > 0).all()


@pytest.mark.parametrize("name", LEARNED)
def test_without_training_rows_it_is_about_the_black_box_until_labels_contradict(name, class_pool):
    """First from the background sample's labels, drawn from the black box; then 100 wrong ones."""
    pool = class_pool()
    training = replace(pool.training(0), background=pool.rows)
    rest = pool.rows[np.arange(100, 600)]
    drawn = prepare_training_data(training, rng=np.random.default_rng(3)).labels
    believed = moments(fitted(name, training).beliefs(rest, ZERO_ONE))[0][0]
    assert believed.mean() == approx((drawn != training.background.outputs.pred).mean(), abs=0.08)
    assert np.corrcoef(believed, 1 - rest.outputs.confidence)[0, 1] > 0.6
    wrong = (pool.rows.outputs.pred[:100] + 1.0) % 3
    contradicted = replace(pool.training(100), labels=wrong)
    after = moments(fitted(name, contradicted).beliefs(rest, ZERO_ONE))[0][0]
    assert after.mean() > believed.mean() + 0.2


def test_without_training_rows_values_are_the_box_and_what_it_misses(value_pool):
    pool = value_pool()
    surrogate = fitted("ensemble", pool.training(150))
    rest, labels = pool.rows[np.arange(150, 300)], pool.labels[150:]
    mean, _ = surrogate.members.moments(rest)
    assert surrogate.params()["outputs"]
    assert ((labels - mean) ** 2).mean() < ((labels - rest.outputs.pred) ** 2).mean()


# --- members


@pytest.mark.parametrize("name", LEARNED)
def test_members_are_as_many_as_the_papers_say_and_their_mean_is_what_is_believed(
    name, train_surrogate
):
    surrogate, pool = train_surrogate(name, "classes")
    assert surrogate.members.size == SIZES[name]
    draws = surrogate.members.draws(pool.rows, np.arange(SIZES[name]))
    assert draws.shape == (SIZES[name], 600, 3)
    assert draws.mean(axis=0) == approx(surrogate.members.probs(pool.rows), abs=1e-5)
    some = surrogate.members.draws(pool.rows, np.array([4, 1]))
    assert some == approx(draws[[4, 1]], abs=1e-6)


@pytest.mark.parametrize("name", LEARNED)
def test_members_of_values_mix_to_the_moments(name, train_surrogate):
    surrogate, pool = train_surrogate(name, "values")
    means, variances = surrogate.members.draws(pool.rows, np.arange(SIZES[name]))
    mean, variance = surrogate.members.moments(pool.rows)
    assert means.mean(axis=0) == approx(mean, abs=1e-4)
    assert variances.mean(axis=0) + means.var(axis=0) == approx(variance, rel=1e-3)


@pytest.mark.parametrize("name", LEARNED)
def test_members_disagree_more_about_values_far_from_what_was_seen(name, train_surrogate):
    surrogate, pool = train_surrogate(name, "values")
    which = np.arange(SIZES[name])
    near, far = (
        surrogate.members.draws(moved(pool.rows, factor), which)[0].std(axis=0).mean()
        for factor in (1, 5)
    )
    assert far > 2 * near


@pytest.mark.parametrize("name", LEARNED)
def test_members_disagree_more_about_classes_where_one_is_missing(name, class_pool):
    """Training rows lack the third class: about its place, members are at odds the most."""
    pool = class_pool()
    training = pool.training(0, train=True)
    keep = training.train.labels != 2
    train = TrainingRows(training.train.labels[keep], training.train.features[keep])
    surrogate = fitted(name, replace(training, train=train))
    draws = surrogate.members.draws(pool.rows, np.arange(SIZES[name]))
    at_odds = entropy(draws.mean(axis=0)) - entropy(draws).mean(axis=0)
    far = pool.rows.features @ np.array([-1.0, -1.3]) > 4
    near = (pool.labels != 2) & (np.abs(pool.rows.features[:, 1] - 0.65) > 1) & ~far
    assert far.sum() > 20
    assert at_odds[far].mean() > at_odds[near].mean()


# --- seeds and memory


@pytest.mark.parametrize("name", NAMES)
def test_one_generator_makes_one_surrogate_and_another_makes_another(name, class_pool, monkeypatch):
    monkeypatch.setattr("activetest.wings.neural.torch_training._MOST_EPOCHS", 10)
    training = class_pool(100).training(9)
    training = replace(training, background=training.background[np.arange(30)])
    first, second, other = (fitted(name, training, seed).params() for seed in (5, 5, 6))
    assert all(np.array_equal(first[key], second[key]) for key in first)
    assert not np.array_equal(first["weights_0"], other["weights_0"])


@pytest.mark.parametrize("name", LEARNED)
def test_its_parameters_say_how_it_was_trained_and_are_small(name, train_surrogate):
    surrogate, _ = train_surrogate(name, "classes")
    params = surrogate.params()
    assert surrogate.note == f"learned on {params['device']}"
    assert params["device"].startswith("cuda (" if torch.cuda.is_available() else "cpu")
    assert 10 < params["epochs"] <= 200
    arrays = [part for part in params.values() if isinstance(part, np.ndarray)]
    assert sum(part.nbytes for part in arrays) < 1e6
    json.dumps({key: part for key, part in params.items() if not isinstance(part, np.ndarray)})


def test_memory_needs_no_torch(train_surrogate, tmp_path):
    """In a fresh process, from plain files: the same predictions, and torch was never imported."""
    _, pool = train_surrogate("ensemble", "classes")
    expected = {}
    for name in NAMES:
        surrogate, _ = train_surrogate(name, "classes")
        params = surrogate.params()
        arrays = {key: part for key, part in params.items() if isinstance(part, np.ndarray)}
        plain = {key: part for key, part in params.items() if key not in arrays}
        np.savez(tmp_path / f"{name}.npz", **arrays)
        (tmp_path / f"{name}.json").write_text(json.dumps(plain))
        expected[name] = surrogate.members.probs(pool.rows)
    np.savez(tmp_path / "rows.npz", features=pool.rows.features)
    code = f"""
import io, json, sys
import numpy as np
sys.path.insert(0, {str(ROOT)!r})
from activetest import catalog
from activetest.nouns.rows import Outputs, Rows
features = np.load("rows.npz")["features"]
none = np.zeros((len(features), 0))
outputs = Outputs(np.zeros(len(features), int))
rows = Rows(np.arange(len(features)), outputs, none, none, features=features)
for name in {NAMES!r}:
    params = json.load(open(name + ".json")) | dict(np.load(name + ".npz"))
    made = catalog.load("surrogates", name).restore(params)
    np.save(name + ".npy", made.members.probs(rows))
assert "torch" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        assert np.load(tmp_path / f"{name}.npy") == approx(expected[name], abs=1e-6)


@pytest.mark.parametrize("name", LEARNED)
def test_values_are_remembered_too(name, train_surrogate):
    surrogate, pool = train_surrogate(name, "values")
    params = surrogate.params()
    file = io.BytesIO()
    np.savez(file, **{key: part for key, part in params.items() if isinstance(part, np.ndarray)})
    file.seek(0)
    again = catalog.load("surrogates", name).restore(params | dict(np.load(file)))
    for one, two in zip(
        surrogate.members.moments(pool.rows), again.members.moments(pool.rows), strict=True
    ):
        assert (one == two).all()
