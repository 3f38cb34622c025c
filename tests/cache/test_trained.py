"""Evidence of training rows: learned once, from features and texts, of classes and values."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

import activetest as at
from activetest.cache import trained
from activetest.cache.auxiliary import attach_auxiliary
from activetest.cache.cache import build_cache
from activetest.cache.learners import Features
from activetest.errors import PoolChanged, PoolError
from activetest.pool.pool import Pool

SIZE, ROWS = 400, 300
MOODS = {"good": "what a lovely and bright day", "bad": "this was an awful and dull week"}
FILLER = ["people", "said", "it", "again", "near", "the", "old", "town", "hall", "soup"]


def draw(size: int, seed: int, classes: int = 3):
    """Features, and a label that follows them in nine of ten rows."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(size, 4)).astype(np.float32)
    labels = (features @ np.random.default_rng(0).normal(size=(4, classes))).argmax(axis=1)
    odd = rng.random(size) < 0.1
    return features, np.where(odd, rng.integers(classes, size=size), labels)


def write_table(path, features, **columns) -> str:
    named = {f"x{k}": features[:, k] for k in range(features.shape[1])}
    pq.write_table(pa.table(columns | named), path)
    return str(path)


def write_pool(folder, *, values: bool = False) -> tuple[str, np.ndarray]:
    """A pool whose model knows nothing of the features, and its labels."""
    features, labels = draw(SIZE, 1)
    ids, rng = [f"i{k}" for k in range(SIZE)], np.random.default_rng(2)
    if values:
        labels = features[:, 0] + np.sin(2 * features[:, 1].astype(float))
        return write_table(folder / "pool.parquet", features, id=ids, pred=np.zeros(SIZE)), labels
    pred = np.where(rng.random(SIZE) < 0.3, rng.integers(3, size=SIZE), labels)
    names = np.array(["a", "b", "c"])[pred]
    return write_table(folder / "pool.parquet", features, id=ids, pred=names.tolist()), labels


def write_train(folder, *, values: bool = False, seed: int = 3, name: str = "train") -> str:
    features, labels = draw(ROWS, seed)
    label = np.array(["a", "b", "c"])[labels].tolist()
    if values:
        label = features[:, 0] + np.sin(2 * features[:, 1].astype(float))
    return write_table(folder / f"{name}.parquet", features, label=label)


def attach(address: str, folder, train: str | None, **settings):
    pool = Pool.open(address, **settings)
    return attach_auxiliary(build_cache(pool, folder), pool, {"auto"}, train=train)


def read(cache) -> np.ndarray:
    return cache.rows(0, cache.size).trained


def test_where_training_rows_say_another_class_the_column_is_lower(tmp_path):
    address, labels = write_pool(tmp_path)
    cache = attach(address, tmp_path / "cache", write_train(tmp_path))
    column = read(cache)[:, 0]
    right = cache.rows(0, SIZE).outputs.pred == labels
    assert column[right].mean() > column[~right].mean() + 2
    assert (np.abs(column) <= 8).all()
    (notice,) = [each for each in cache.notices if "learned from training rows" in each]
    assert int(notice.split(" % ")[0].split()[-1]) in range(80, 96)


def test_of_values_the_column_is_the_predicted_label_minus_the_prediction(tmp_path):
    address, labels = write_pool(tmp_path, values=True)
    cache = attach(address, tmp_path / "cache", write_train(tmp_path, values=True))
    column = read(cache)[:, 0]
    assert np.corrcoef(column, labels)[0, 1] > 0.9
    assert any("off on average" in each for each in cache.notices)


def test_labels_of_values_may_be_written_as_text(tmp_path):
    address, _ = write_pool(tmp_path, values=True)
    plain = write_train(tmp_path, values=True)
    table = pq.read_table(plain)
    texts = [f"€ {each:.15g}" for each in table.column("label").to_pylist()]
    written = str(tmp_path / "written.parquet")
    place = table.column_names.index("label")
    pq.write_table(table.set_column(place, "label", pa.array(texts)), written)
    columns = [
        read(attach(address, tmp_path / name, name_of))
        for name, name_of in (("a", plain), ("b", written))
    ]
    assert np.corrcoef(columns[0][:, 0], columns[1][:, 0])[0, 1] > 0.99


def test_without_training_rows_there_is_no_column(tmp_path):
    address, _ = write_pool(tmp_path)
    assert read(attach(address, tmp_path / "cache", None)) is None


@pytest.mark.parametrize("seed", range(5))
def test_training_rows_that_foretell_nothing_leave_no_column(tmp_path, seed):
    address, _ = write_pool(tmp_path)
    features, labels = draw(ROWS, seed)
    labels = np.random.default_rng(seed).permutation(labels)
    names = np.array(["a", "b", "c"])[labels].tolist()
    train = write_table(tmp_path / "noise.parquet", features, label=names)
    cache = attach(address, tmp_path / "cache", train)
    assert read(cache).shape == (SIZE, 0)
    assert any("do not foretell their labels" in each for each in cache.notices)


@pytest.mark.parametrize(
    ("harm", "words"),
    [("few", "fewer than 50 training rows differ"), ("one class", "all training rows are of one")],
)
def test_too_little_to_learn_from_is_said(tmp_path, harm, words):
    address, _ = write_pool(tmp_path)
    features, labels = draw(49 if harm == "few" else ROWS, 3)
    # Copies of the same rows are one.
    features, labels = np.tile(features, (2, 1)), np.tile(labels, 2)
    names = np.array(["a", "b", "c"])[labels if harm == "few" else 0 * labels].tolist()
    cache = attach(
        address, tmp_path / "cache", write_table(tmp_path / "t.parquet", features, label=names)
    )
    assert read(cache).shape == (SIZE, 0)
    assert any(words in each for each in cache.notices)


def test_features_that_do_not_vary_in_training_rows_teach_nothing(tmp_path):
    """Texts tell the rows apart, and are too short for words."""
    address, _ = write_pool(tmp_path)
    notes = pa.array([f"{k} - {k + 1} - {k + 2} - {k}" for k in range(SIZE)])
    pq.write_table(pq.read_table(address).append_column("note", notes), address)
    names = np.array(["a", "b", "c"])[draw(ROWS, 3)[1]].tolist()
    texts = [f"{k % 10} {k // 10 % 10} {k // 100}" for k in range(ROWS)]
    constant = np.ones((ROWS, 4), np.float32)
    train = write_table(tmp_path / "t.parquet", constant, label=names, note=texts)
    cache = attach(address, tmp_path / "cache", train)
    assert read(cache).shape == (SIZE, 0)
    assert any("do not foretell their labels" in each for each in cache.notices)


def test_rows_whose_features_are_mostly_the_same_are_learned_all_the_same(tmp_path):
    """Their texts differ: the median distance of features is 0."""
    address, _ = write_pool(tmp_path)
    notes = pa.array([f"this is number {k} of many" for k in range(SIZE)])
    pq.write_table(pq.read_table(address).append_column("note", notes), address)
    odd = np.arange(ROWS) % 5 == 0
    features = np.where(odd, 2.0, 0.0).astype(np.float32)[:, None].repeat(4, axis=1)
    texts = [f"that was row {k} of another list" for k in range(ROWS)]
    names = np.where(odd, "a", "b").tolist()
    train = write_table(tmp_path / "t.parquet", features, label=names, note=texts)
    column = read(attach(address, tmp_path / "cache", train))
    assert column.shape == (SIZE, 1) and np.isfinite(column).all()


def test_the_column_depends_on_no_order_of_training_rows(tmp_path):
    address, _ = write_pool(tmp_path)
    features, labels = draw(ROWS, 3)
    order = np.random.default_rng(7).permutation(ROWS)
    found = []
    for name, rows in (("one", np.arange(ROWS)), ("two", order)):
        names = np.array(["a", "b", "c"])[labels[rows]].tolist()
        train = write_table(tmp_path / f"{name}.parquet", features[rows], label=names)
        found.append(read(attach(address, tmp_path / name, train)))
    np.testing.assert_array_equal(*found)


def test_a_class_that_training_rows_lack_is_unlikely(tmp_path):
    address, _ = write_pool(tmp_path)
    features, labels = draw(ROWS, 3)
    kept = labels < 2
    names = np.array(["a", "b"])[labels[kept]].tolist()
    train = write_table(tmp_path / "two.parquet", features[kept], label=names)
    cache = attach(address, tmp_path / "cache", train)
    third = cache.rows(0, SIZE).outputs.pred == 2
    assert read(cache)[third, 0] == approx(np.log(0.001 / 0.999), abs=1 / 256)


def test_words_of_training_rows_count_without_any_features(tmp_path):
    rng = np.random.default_rng(0)

    def describe(moods):
        return [f"{MOODS[mood]} {' '.join(rng.choice(FILLER, 6))}" for mood in moods]

    truth = rng.choice(list(MOODS), SIZE)
    pred = np.where(rng.random(SIZE) < 0.3, rng.choice(list(MOODS), SIZE), truth)
    ids = [f"i{k}" for k in range(SIZE)]
    pool = {"id": ids, "pred": pred.tolist(), "review": describe(truth)}
    pq.write_table(pa.table(pool), tmp_path / "pool.parquet")
    label = rng.choice(list(MOODS), ROWS)
    rows = {"review": describe(label), "label": label.tolist()}
    pq.write_table(pa.table(rows), tmp_path / "train.parquet")
    address, train = str(tmp_path / "pool.parquet"), str(tmp_path / "train.parquet")
    cache = attach(address, tmp_path / "cache", train)
    right = pred == truth
    column = read(cache)[:, 0]
    assert column[right].min() > column[~right].max()
    pq.write_table(pa.table({"label": rows["label"]}), tmp_path / "bare.parquet")
    with pytest.raises(PoolError, match="has no text in review, as the pool has"):
        attach(address, tmp_path / "other", str(tmp_path / "bare.parquet"))


def test_where_training_rows_have_no_texts_the_features_teach_alone(tmp_path):
    address, _ = write_pool(tmp_path)
    lines = [f"this is number {k} of a long list" for k in range(SIZE)]
    table = pq.read_table(address).append_column("note", pa.array(lines))
    pq.write_table(table, address)
    cache = attach(address, tmp_path / "cache", write_train(tmp_path))
    assert read(cache).shape == (SIZE, 1)
    assert any("has no texts in note" in each for each in cache.notices)


def test_each_learner_has_the_weight_that_foretells_best():
    """Of two, the one that knows; and a second opinion that errs elsewhere is worth something."""
    rng = np.random.default_rng(0)
    own = rng.integers(2, size=2000)
    knows = np.log(np.where(own[:, None] == np.arange(2), 0.9, 0.1))
    noise = np.log(rng.dirichlet([5, 5], 2000))
    weights, gain = trained._weigh_classes(np.stack([noise, knows]), own)
    assert weights[0] == 0 and weights[1] >= 1 and gain.mean() > 0.5
    first, second = (own + rng.normal(scale=1.0, size=2000) for _ in range(2))
    values = np.stack([first, second])[:, :, None]
    shares, gain = trained._weigh_values(values, own.astype(float))
    assert shares == approx([0.5, 0.5]) or set(shares) == {0.25, 0.75}


def test_every_row_that_is_a_centre_is_judged_without_itself():
    """By leaving rows out one at a time."""
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(60, 2)).astype(np.float32)
    labels = inputs[:, 0] * 2 + rng.normal(size=60)
    source = Features(lambda rows: inputs[rows], 100)
    kernel = list(source.list_learners(inputs, labels, 0))[1]._learner
    squares = ((kernel.rows[:, None] - kernel.rows) ** 2).sum(axis=2)
    matrix = np.exp(kernel.shrink * squares)
    # The ridge that was chosen gives these weights.
    centred = labels - labels.mean()
    ridge = next(
        each
        for each in (1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
        if np.allclose(np.linalg.solve(matrix + each * np.eye(60), centred), kernel.weights[:, 0])
    )
    for row in (0, 17, 59):
        others = np.delete(np.arange(60), row)
        inside = matrix[np.ix_(others, others)] + ridge * np.eye(59)
        expected = matrix[row, others] @ np.linalg.solve(inside, centred[others]) + labels.mean()
        assert kernel.held_out[row, 0] == approx(expected)
    assert kernel.predict(inputs) != approx(kernel.held_out)


def test_a_study_goes_on_without_the_file_and_not_with_another(tmp_path):
    address, labels = write_pool(tmp_path)
    train = write_train(tmp_path)
    study = at.Study.create(address, tmp_path / "study", train=train, seed=1)
    batch = study.next(30)
    names = {f"i{k}": "abc"[label] for k, label in enumerate(labels)}
    ids = [row["id"] for row in batch.rows]
    study.ingest(pa.table({"id": ids, "label": [names[each] for each in ids]}))
    before = study.report().headline.estimate
    said = study.status().counts.evidence
    assert [" % of " in each for each in said] == [True, True] and "training rows" in said[1]
    (tmp_path / "train.parquet").rename(tmp_path / "away.parquet")
    again = at.Study.open(tmp_path / "study")
    assert again.report().headline.estimate == before
    assert len(again.next(5).rows) == 5
    shutil.rmtree(tmp_path / "study" / "cache")
    (tmp_path / "away.parquet").rename(tmp_path / "train.parquet")
    again = at.Study.open(tmp_path / "study")
    assert again.report().headline.estimate == before
    other = write_train(tmp_path, seed=9, name="other")
    with pytest.raises(PoolChanged, match="what training rows say in .* is not what it was"):
        again.change(train=other)
    # Another surrogate does not see them.
    again.change(train=other, surrogate="agreement")
    assert again.report().headline.estimate > 0
