"""Texts: found in the file, learned from once, and counted where answers are open."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cache import texts
from activetest.cache.auxiliary import attach_auxiliary
from activetest.cache.cache import build_cache
from activetest.errors import ChoiceError, PoolChanged, PoolError
from activetest.pool.pool import Pool

SIZE = 600
MOODS = {"good": "what a lovely and bright day", "bad": "this was an awful and dull week"}
FILLER = ["people", "said", "it", "again", "near", "the", "old", "town", "hall", "soup"]


def make_columns(*, size=SIZE, odd=0.1, seed=0):
    """Texts that say what the model answers, except where it is odd."""
    rng = np.random.default_rng(seed)
    said = rng.choice(list(MOODS), size)
    odds = rng.random(size) < odd
    other = np.where(said == "good", "bad", "good")
    lines = [
        f"{MOODS[mood]} {' '.join(rng.choice(FILLER, 6))}" for mood in np.where(odds, other, said)
    ]
    ids = [f"item-{row}" for row in range(size)]
    return {"id": ids, "pred": said.tolist(), "review": lines}, odds


def write(path, columns):
    pq.write_table(pa.table(columns), path)
    return str(path)


def attach(address, folder, **settings):
    pool = Pool.open(address, **settings)
    return pool, attach_auxiliary(build_cache(pool, folder), pool, {"auto"})


def read_evidence(cache):
    return cache.rows(0, cache.size).evidence


def test_words_foretell_answers_and_are_lower_where_the_answer_is_odd(tmp_path):
    columns, odd = make_columns()
    pool, cache = attach(write(tmp_path / "pool.parquet", columns), tmp_path / "cache")
    assert pool.schema.texts == ("review",)
    (column,) = read_evidence(cache).T
    assert column[odd].mean() < column[~odd].mean() - 3
    assert cache.rows(0, 1).facts is None
    assert any("the words of review foretell the model's answer for 9" in n for n in cache.notices)


def test_columns_depend_on_neither_the_order_of_rows_nor_pieces(tmp_path):
    columns, _ = make_columns()
    table, order = pa.table(columns), np.random.default_rng(1).permutation(SIZE)
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.take(order), tmp_path / "b.parquet", row_group_size=70)
    (_, one), (_, two) = (
        attach(str(tmp_path / f"{name}.parquet"), tmp_path / name) for name in "ab"
    )
    assert (read_evidence(two) == read_evidence(one)[order]).all()
    assert two.part_fingerprint("evidence") == one.part_fingerprint("evidence")


def test_other_texts_are_other_evidence(tmp_path):
    columns, _ = make_columns()
    _, one = attach(write(tmp_path / "pool.parquet", columns), tmp_path / "cache")
    before = one.part_fingerprint("evidence")
    columns["review"][3] += " indeed"
    _, two = attach(write(tmp_path / "pool.parquet", columns), tmp_path / "cache")
    assert two.part_fingerprint("evidence") != before


def test_texts_that_are_the_same_are_learned_once(tmp_path):
    """Were they not, each answer would be foretold by its twin in another fold."""
    columns, _ = make_columns(odd=0)
    rng = np.random.default_rng(5)
    columns["pred"] = rng.choice(list(MOODS), SIZE).tolist()
    three = {name: list(np.repeat(values, 3)) for name, values in columns.items()}
    three["id"] = [f"{id}-{row}" for row, id in enumerate(three["id"])]
    _, cache = attach(write(tmp_path / "pool.parquet", three), tmp_path / "cache")
    assert read_evidence(cache).shape == (3 * SIZE, 0)


def test_words_that_say_nothing_leave_no_column(tmp_path):
    columns, _ = make_columns()
    columns["review"] = np.random.default_rng(2).permutation(columns["review"]).tolist()
    _, cache = attach(write(tmp_path / "pool.parquet", columns), tmp_path / "cache")
    assert read_evidence(cache).shape == (SIZE, 0)
    assert any("do not foretell the model's answers" in notice for notice in cache.notices)


def test_items_that_were_not_learned_are_judged_alike(tmp_path, monkeypatch):
    monkeypatch.setattr("activetest.cache.answers.MOST_ROWS", 300)
    columns, odd = make_columns(size=900)
    _, cache = attach(write(tmp_path / "pool.parquet", columns), tmp_path / "cache")
    (column,) = read_evidence(cache).T
    learned = np.argsort(np.argsort(cache.hashes)) < 300
    for part in (odd, ~odd):
        there, others = column[part & learned], column[part & ~learned]
        assert others.mean() == pytest.approx(there.mean(), abs=0.7)


def test_of_long_texts_the_beginning_and_the_end_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "_LETTERS", 60 * SIZE)
    columns, odd = make_columns()
    long = "x " * 400
    columns["review"] = [f"{line[:20]} {long} {line[20:40]}" for line in columns["review"]]
    _, cache = attach(write(tmp_path / "pool.parquet", columns), tmp_path / "cache")
    (column,) = read_evidence(cache).T
    assert column[odd].mean() < column[~odd].mean() - 3


def test_of_open_answers_facts_are_learned_from(tmp_path):
    rng = np.random.default_rng(3)
    steps = rng.integers(1, 9, 400)
    columns = {
        "id": [f"q-{row}" for row in range(400)],
        "response": ["\n".join(f"step {k} of {n}" for k in range(n)) for n in steps],
        "pred": [str(each) for each in rng.integers(0, 300, 400) * 3],
    }
    columns["response"] = [f"{text} so {row}" for row, text in enumerate(columns["response"])]
    pool, cache = attach(
        write(tmp_path / "pool.parquet", columns), tmp_path / "cache", task="classification"
    )
    assert len(pool.schema.classes) > 100
    rows = cache.rows(0, 400)
    assert rows.evidence.shape == (400, 0)
    assert np.corrcoef(rows.facts[:, 1], steps)[0, 1] > 0.9
    assert rows.facts.mean(axis=0) == pytest.approx(0, abs=0.05)
    # All answers are whole numbers: that is no fact.
    assert rows.facts.shape[1] == 5
    assert any("lengths, lines, digits and words of response" in each for each in cache.notices)


def test_facts_guide_draws_and_survive_without_the_pool(tmp_path):
    rng = np.random.default_rng(4)
    long = rng.random(500) < 0.5
    columns = {
        "id": [f"q-{row}" for row in range(500)],
        "response": [
            f"it is known that so it must be {'and then again ' * (30 * many)}{row}"
            for row, many in enumerate(long)
        ],
        "pred": [str(each) for each in rng.integers(0, 300, 500)],
    }
    truth = dict(zip(columns["id"], np.where(long, "-1", columns["pred"]), strict=True))
    write(tmp_path / "pool.parquet", columns)
    study = at.Study.create(
        tmp_path / "pool.parquet", tmp_path / "study", seed=1, task="classification"
    )
    assert study.setup.choices.surrogate == "auto"
    for _ in range(3):
        study.ingest({id: truth[id] for id in study.next(30).ids})
    report = study.report()
    assert "changes the odds of an error" in report.counts.evidence[-1]
    (tmp_path / "pool.parquet").unlink()
    away = at.Study.open(tmp_path / "study").report()
    assert away.estimates[0].estimate == report.estimates[0].estimate
    assert study.status().counts.evidence


@pytest.mark.parametrize(
    ("values", "free"),
    [
        (["one two three four five"] * 100, False),
        ([f"a{row}" for row in range(100)], False),
        ([f"never said {row}" for row in range(100)], False),
        ([f"it was said {row} times by people" for row in range(100)], True),
        ([f"it was said {row % 20} times by people" for row in range(100)], True),
        ([f"it was said {row % 2} times by people" for row in range(100)], False),
        ([None] * 60 + [f"it was said {row} times" for row in range(40)], False),
    ],
)
def test_free_text_has_several_words_that_differ(tmp_path, values, free):
    columns = {"pred": ["a", "b"] * 50, "note": values}
    pool = Pool.open(write(tmp_path / "pool.parquet", columns))
    assert pool.schema.texts == ("note",) * free
    assert ("note" in pool.schema.ignored) != free


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_texts_of_any_type_are_read(tmp_path, kind):
    columns, _ = make_columns()
    columns["review"] = pa.array(columns["review"]).cast(kind)
    _, cache = attach(write(tmp_path / "pool.parquet", columns), tmp_path / "cache")
    assert read_evidence(cache).shape == (SIZE, 1)


def test_bytes_that_are_no_utf8_are_read_all_the_same(tmp_path):
    columns, _ = make_columns()
    raw = [f"{line} caf".encode() + b"\xe9" for line in columns["review"]]
    text = pa.array(raw, pa.binary())
    broken = pa.Array.from_buffers(pa.string(), SIZE, text.buffers())
    address = write(tmp_path / "pool.parquet", columns | {"review": broken})
    _, cache = attach(address, tmp_path / "cache")
    assert read_evidence(cache).shape == (SIZE, 1)


def test_what_may_be_the_truth_is_no_text(tmp_path):
    columns, _ = make_columns()
    columns["target"] = columns.pop("review")
    assert Pool.open(write(tmp_path / "pool.parquet", columns)).schema.texts == ()


@pytest.mark.parametrize("none", ["none", "", ()])
def test_texts_and_features_are_left_out_on_request(tmp_path, none):
    columns, _ = make_columns()
    columns["x"] = np.arange(SIZE, dtype=float)
    address = write(tmp_path / "pool.parquet", columns)
    study = at.Study.create(address, tmp_path / "study", text=none, features=none)
    assert study.setup.choices.surrogate == "auto"
    assert not study.status().counts.evidence


def test_rounds_were_drawn_with_their_texts(tmp_path):
    columns, _ = make_columns()
    study = at.Study.create(write(tmp_path / "pool.parquet", columns), tmp_path / "study", seed=1)
    study.next(5)
    with pytest.raises(PoolChanged, match="texts review, not with") as raised:
        study.change(text="none")
    assert "`text=['review']`" in raised.value.hint
    study.change(text=["review"])


def test_a_column_that_was_named_holds_text_and_has_no_other_role(tmp_path):
    columns, _ = make_columns()
    columns |= {"x": list(range(SIZE)), "value": np.linspace(0, 1, SIZE)}
    address = write(tmp_path / "pool.parquet", columns)
    assert Pool.open(address, text="review").schema.texts == ("review",)
    with pytest.raises(PoolError, match="'x'"):
        Pool.open(address, text="x")
    with pytest.raises(ChoiceError, match="another role"):
        Pool.open(address, text="id")
    with pytest.raises(ChoiceError, match="texts have no say"):
        Pool.open(address, text="review", outputs="value", task="regression")


def test_worst_items_say_where_the_answer_is_unlike_those_to_similar_items(tmp_path):
    columns, odd = make_columns()
    study = at.Study.create(write(tmp_path / "pool.parquet", columns), tmp_path / "study", seed=1)
    # All odd answers are wrong, and five others.
    places = {id: place for place, id in enumerate(columns["id"])}
    wrong = odd.copy()
    wrong[np.flatnonzero(~odd)[:5]] = True
    other = {"good": "bad", "bad": "good"}
    study.ingest(
        {
            id: other[columns["pred"][at]] if wrong[at] else columns["pred"][at]
            for id, at in places.items()
        }
    )
    found = study.report(details=True).details.worst_items
    assert [each.unlike for each in found] == [bool(odd[places[each.id]]) for each in found]
    assert {each.unlike for each in found} == {True, False}
