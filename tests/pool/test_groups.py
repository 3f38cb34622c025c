"""Groups have one name each, and two of them every classifier has without a column."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.cache import cache
from activetest.errors import ChoiceError, PoolChanged
from activetest.item_statistics import specification
from activetest.nouns.rows import Outputs
from activetest.pool import groups
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from activetest.study.stored import StoredStudy
from tests.makers import init

PROBS = [[0.5, 0.4, 0.1], [0.05, 0.9, 0.05], [0.0, 0.0, 1.0], [0.2, 0.4, 0.4], [0.1, 0.89, 0.01]]
SEX = ["f", "m", "f", "m", "m"]
WORDS = st.text(alphabet="a=*\\", max_size=4)


def build_cache_of(folder, *, classes=None, **columns):
    """build(*groups) makes the cache of a pool with these columns."""
    path = folder / "pool.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2)

    def build(*names: str):
        pool = Pool.open(path, groups=names, classes=classes)
        return cache.build_cache(pool, folder / "cache"), pool

    return build


def values(built_cache, group: str) -> list[str]:
    """The value that each item has in a group."""
    place = built_cache.group_names.index(group)
    return [
        built_cache.group_values[place][code]
        for code in built_cache.rows(0, built_cache.size).codes[:, place]
    ]


def test_the_predicted_class_is_a_group_of_every_classifier(tmp_path):
    built_cache, pool = build_cache_of(tmp_path, prob=PROBS, sex=SEX)("predicted", "predicted*sex")
    assert values(built_cache, "predicted") == ["0", "1", "2", "1", "1"]
    assert values(built_cache, "predicted*sex") == ["0*f", "1*m", "2*f", "1*m", "1*m"]
    assert (pool.schema.computed, pool.schema.group_columns) == (("predicted",), ("sex",))


def test_what_is_tested_is_the_predicted_class_not_the_most_probable_one(tmp_path):
    built_cache, _ = build_cache_of(tmp_path, prob=PROBS, pred=[2, 1, 0, 1, 1])(
        "predicted", "confidence"
    )
    assert values(built_cache, "predicted") == ["2", "1", "0", "1", "1"]
    assert values(built_cache, "confidence") == [
        "0.1-0.2",
        "0.9-1.0",
        "0.0-0.1",
        "0.4-0.5",
        "0.8-0.9",
    ]


def test_an_edge_belongs_to_the_bin_above_it_and_certainty_to_the_last(tmp_path):
    built_cache, _ = build_cache_of(tmp_path, prob=PROBS)("confidence")
    assert values(built_cache, "confidence") == [
        "0.5-0.6",
        "0.9-1.0",
        "0.9-1.0",
        "0.4-0.5",
        "0.8-0.9",
    ]
    tenths = np.arange(11) / 10
    outputs = Outputs(np.zeros(11, int), tenths[:, None].astype(np.float32))
    codes, names = groups.compute_group("confidence", outputs, ("only",))
    assert codes.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert names[0] == "0.0-0.1" and names[9] == "0.9-1.0"


def test_deciles_hold_equal_counts_and_equal_values_stay_together(folder, write_pool):
    path = write_pool(folder / "pool.parquet", 200)
    pool = Pool.open(path, groups=("place*confidence-decile", "confidence-decile"))
    built_cache = cache.build_cache(pool, folder / "cache")
    confidence, found = built_cache.scores(), np.array(values(built_cache, "confidence-decile"))
    assert [int((found == name).sum()) for name in built_cache.group_values[1]] == [20] * 10
    ends = [tuple(map(float, name.split("-"))) for name in built_cache.group_values[1]]
    assert [low for low, _ in ends[1:]] == [high for _, high in ends[:-1]]
    assert (ends[0][0], ends[-1][1]) == (0, 1)
    for name, (low, high) in zip(built_cache.group_values[1], ends, strict=True):
        inside = confidence[found == name]
        assert low - 0.005 <= inside.min() and inside.max() <= high + 0.005
    assert values(built_cache, "place*confidence-decile")[0].endswith(f"*{found[0]}")
    again = Schema.from_dict(pool.schema.to_dict())
    assert cache.ensure_cache(Pool(pool.uri, again), folder / "cache").matches(pool)


def test_deciles_are_the_bins_of_the_metric_and_are_told_apart_by_enough_digits(folder):
    """Most items are all but certain; half of them equally so."""
    probs = np.append(np.full(10, 0.999), 1 - np.arange(10) / 1e4)
    table = {"id": list(map(str, range(20))), "score": probs}
    pq.write_table(pa.table(table), folder / "pool.parquet")
    built_cache = cache.build_cache(
        Pool.open("pool.parquet", groups=("confidence-decile",)), folder / "cache"
    )
    starts = [name.split("-")[0] for name in built_cache.group_values[0]]
    assert starts == ["0.0000", "0.9990", "0.9992", "0.9994", "0.9996", "0.9998"]
    edges = specification.find_metric(
        "ece[equal-count,10]", specification.describe_pool(built_cache.roles, None, built_cache)
    ).statistics
    codes, confidence = built_cache.rows(0, 20).codes[:, 0], built_cache.rows(0, 20).outputs
    inside = [
        each.value(confidence, np.ones((20, 1)))[:, 0] > 0 for each in edges[len(edges) // 2 :]
    ]
    assert (np.argmax(inside, axis=0) == codes).all()


def test_scores_and_hard_labels_have_predicted_classes_too(tmp_path):
    built_cache, _ = build_cache_of(tmp_path, score=[0.1, 0.5, 0.93], id=["a", "b", "c"])(
        "predicted", "confidence"
    )
    assert values(built_cache, "predicted") == ["0", "1", "1"]
    assert values(built_cache, "confidence") == ["0.9-1.0", "0.5-0.6", "0.9-1.0"]
    built_cache, _ = build_cache_of(tmp_path, pred=["dog", "cat", "dog"])("predicted")
    assert values(built_cache, "predicted") == ["dog", "cat", "dog"]


def test_a_column_of_the_pool_wins_and_the_user_is_told(tmp_path):
    build = build_cache_of(
        tmp_path, prob=PROBS, predicted=["x", "y", "x", "y", "y"], confidence=[3] * 5
    )
    built_cache, pool = build("predicted", "confidence")
    assert values(built_cache, "predicted") == ["x", "y", "x", "y", "y"]
    assert set(values(built_cache, "confidence")) == {"3"}
    assert pool.schema.computed == ()
    notices = "\n".join(pool.notices)
    assert "group 'predicted' is the pool's column of that name, not the predicted class" in notices
    assert "group 'confidence' is the pool's column of that name, not bins of" in notices


def test_groups_that_the_outputs_cannot_say_are_refused(tmp_path):
    with pytest.raises(
        ChoiceError, match="`groups=.'confidence'.`: the pool has hard labels"
    ) as error:
        build_cache_of(tmp_path, pred=["cat", "dog"])("confidence")
    assert "`groups=['predicted']`" in error.value.hint
    with pytest.raises(ChoiceError, match="confidence-decile'.`: the pool has hard labels"):
        build_cache_of(tmp_path, pred=["cat", "dog"])("confidence-decile")
    for group in ("predicted", "sex*confidence"):
        with pytest.raises(ChoiceError, match="predicts values, not classes"):
            build_cache_of(tmp_path, pred=[0.5, 1.5], sex=["f", "m"])(group)


def test_groups_leave_the_fingerprint_alone_and_come_back_from_the_study(tmp_path):
    build = build_cache_of(tmp_path, prob=PROBS, sex=SEX)
    (plain, _), (grouped, pool) = build(), build("predicted*sex", "confidence")
    assert plain.fingerprint == grouped.fingerprint
    again = Schema.from_dict(pool.schema.to_dict())
    assert again == pool.schema
    assert cache.ensure_cache(Pool(pool.uri, again), tmp_path / "cache").matches(pool)


def test_a_group_column_that_went_away_is_not_taken_from_the_outputs(tmp_path):
    _, pool = build_cache_of(tmp_path, prob=PROBS, predicted=SEX)("predicted")
    build_cache_of(tmp_path, prob=PROBS)()
    with pytest.raises(PoolChanged, match="no column 'predicted'"):
        Pool(pool.uri, pool.schema).check()


def test_a_study_keeps_groups_of_the_outputs_when_other_choices_change(folder, write_pool):
    write_pool(folder / "pool.parquet", 30)
    first = init("pool.parquet", groups=("predicted*place", "confidence"))
    second = init("pool.parquet", floor=0.5)
    assert second.schema == first.schema
    assert second.choices.groups == ("predicted*place", "confidence")
    third = init("pool.parquet", groups=("place",))
    assert third.schema.computed == () and third.fingerprint == first.fingerprint
    assert StoredStudy.open().cache().group_names == ("place",)


@given(st.tuples(WORDS, WORDS), st.tuples(WORDS, WORDS))
def test_no_two_groups_have_one_name(left, right):
    assert (groups.name_of(*left) == groups.name_of(*right)) == (left == right)


def test_plain_names_stay_plain():
    assert groups.name_of("age band", "18 = adult") == "age band=18 = adult"
    assert groups.name_of("a=b", "c") != groups.name_of("a", "b=c")


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6))
def test_products_keep_apart_what_differs_in_any_column(pairs):
    def coded(column: list[str]):
        names = sorted(set(column))
        return np.array([names.index(value) for value in column]), names

    codes, names = groups.cross_columns(
        [coded([p[0] for p in pairs]), coded([p[1] for p in pairs])]
    )
    found = [names[code] for code in codes]
    for left, first in zip(pairs, found, strict=True):
        for right, second in zip(pairs, found, strict=True):
            assert (left == right) == (first == second)


def test_whole_numbers_are_in_order_of_size_and_before_words():
    assert groups.sort_names({"10", "9", "-3", "null", "2.5"}) == ["-3", "9", "10", "2.5", "null"]
    assert groups.sort_names({"b*10", "b*9", "a*11"}) == ["a*11", "b*9", "b*10"]
