"""A study as one of a part of its population, and of all of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from activetest.errors import ChoiceError, StudyError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool


@pytest.fixture
def parted(folder) -> Study:
    """A study of 200 items and of another 100, with 90 labels; the second part is worse."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_pool(folder / "pool.parquet", 200, seed=5)
    more = pq.read_table(write_pool(folder / "week2.parquet", 100, seed=6)).to_pydict()
    more["id"] = [f"new-{each}" for each in more["id"]]
    Study.create("pool.parquet", seed=1, groups=["place"])
    current = Study.open()
    answer(current, current.next(30).ids)
    current.extend(pa.table(more), part="week2")
    answer(current, current.next(60).ids)
    return current


def answer(current: Study, ids: list[str]) -> None:
    stored = StoredStudy.open()
    cache = stored.cache()
    rows = cache.find(list(ids))
    codes = cache.take(rows).outputs.pred
    wrong = np.where(rows < 200, rows % 7 == 0, rows % 3 == 0)
    names = [cache.classes[(code + error) % 3] for code, error in zip(codes, wrong, strict=True)]
    current.ingest(dict(zip(ids, names, strict=True)))


def extend_again(parted: Study, folder: Path) -> None:
    """Extend the study by 50 further items, of a third part."""
    import pyarrow.parquet as pq

    more = pq.read_table(write_pool(folder / "week3.parquet", 50, seed=7)).to_pandas()
    more["id"] = "third-" + more["id"].astype(str)
    parted.extend(more, part="week3")


def find_row(report, **about):
    return next(
        each for each in report.estimates if all(getattr(each, k) == v for k, v in about.items())
    )


def test_all_parts_are_the_sum_of_their_shares(parted):
    whole = parted.report(metrics="error").estimates[0]
    parts = [parted.report(metrics="error", part=name).estimates[0] for name in ("pool", "week2")]
    joined = (200 * parts[0].estimate + 100 * parts[1].estimate) / 300
    assert whole.estimate == pytest.approx(joined, rel=1e-9)
    assert whole.lower < whole.estimate < whole.upper
    assert whole.upper - whole.lower < max(each.upper - each.lower for each in parts)


def test_a_report_by_part_has_the_numbers_of_each(parted):
    found = parted.report(metrics="error", by="part")
    for name in ("pool", "week2"):
        row = find_row(found, parts=(name,))
        alone = parted.report(metrics="error", part=name).estimates[0]
        assert (row.estimate, row.lower, row.upper) == (alone.estimate, alone.lower, alone.upper)
        assert min(alone.estimate, found.estimates[0].estimate) <= row.shrunk
    assert "part=week2" in str(found)
    entry = next(
        each for each in json.loads(found.to_json())["estimates"] if each["part"] == "week2"
    )
    assert entry["group"] is None and entry["shrunk"] is not None


def test_a_report_by_part_says_whether_there_is_a_change(parted):
    texts = [note.text for note in parted.report(metrics="error", by="part").notes]
    assert any(text.startswith("No change of error between parts is shown") for text in texts)
    texts = [note.text for note in parted.report(metrics="f1[dog]", by="part").notes]
    assert any("a change between parts is not said" in text for text in texts)
    assert not any("change" in note.text for note in parted.report(metrics="error").notes)


def test_the_newest_part_is_compared_with_a_reference(parted):
    found = parted.report(metrics="error", reference_part="pool")
    row = find_row(found, parts=("week2", "pool"))
    parts = [parted.report(metrics="error", part=name).estimates[0] for name in ("pool", "week2")]
    assert row.estimate == pytest.approx(parts[1].estimate - parts[0].estimate)
    assert row.lower < row.estimate < row.upper
    anytime = parted.report(metrics="error", reference_part="pool", interval="anytime")
    wider = find_row(anytime, parts=("week2", "pool"))
    assert wider.upper - wider.lower > row.upper - row.lower
    entry = next(
        each for each in json.loads(found.to_json())["estimates"] if each["part"] == "week2"
    )
    assert entry["against"]["part"] == "pool"
    for name, problem in (
        ("week2", "is the newest part"),
        ("week3", "has no part"),
        ("pool+week2", "has the newest part"),
        ("last:2", "has the newest part"),
    ):
        with pytest.raises(ChoiceError, match=problem):
            parted.report(reference_part=name)


def test_the_newest_part_is_compared_with_several(parted, folder):
    extend_again(parted, folder)
    answer(parted, parted.next(20).ids)
    both = find_row(
        parted.report(metrics="error", reference_part="pool+week2"), parts=("week3", "pool+week2")
    )
    names = ("week3", ["pool", "week2"])
    parts = [parted.report(metrics="error", part=name).estimates[0] for name in names]
    assert both.estimate == pytest.approx(parts[0].estimate - parts[1].estimate)
    assert both.n_pool == parts[0].n_pool + parts[1].n_pool
    assert both.n_labeled == parts[0].n_labeled + parts[1].n_labeled


@pytest.mark.parametrize("interval", ["fixed", "anytime", None])
def test_gates_are_about_all_parts_or_some(parted, interval):
    gates = [
        "error<=0.9",
        "error(part=week2)<=0.9",
        "error(part=week2)-error(part=pool)<=0.9",
        "error(part=week2)<=0.01",
        "accuracy@place=barn>=0.05",
    ]
    found = parted.report(require=gates, interval=interval)
    verdicts = [each.verdict for each in found.gates]
    assert verdicts[:4] == ["pass", "pass", "pass", "fail"]
    assert [each.parts for each in found.gates[:4]] == [
        (),
        ("week2",),
        ("week2", "pool"),
        ("week2",),
    ]
    alone = parted.report(require="error<=0.9", part="week2", interval=interval).gates[0]
    assert (found.gates[1].lower, found.gates[1].upper) == (alone.lower, alone.upper)


def test_a_gate_about_all_parts_so_far_begins_anew_with_each_part(parted, folder):
    parted.report(require=["error<=0.9", "error(part=pool)<=0.9"])
    extend_again(parted, folder)
    parted.report(require=["error<=0.9", "error(part=pool)<=0.9"])
    gates = StoredStudy.open().ledger.gates()
    about = [gate.conditions.get("parts") for gate in gates]
    assert about == [["pool", "week2"], None, ["pool", "week2", "week3"]]
    assert gates[1].expression == {"metric": "error", "part": "pool"}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda study: study.report(population=True), "the population behind a pool"),
        (lambda study: study.report(assume="rate[dog]@score<1e-4<=0.01"), "an assumption"),
        (lambda study: study.curve("roc[dog]"), "a curve"),
        (lambda study: study.surface(), "a surface"),
        (lambda study: study.report(threshold=0.4), "another threshold"),
    ],
)
def test_numbers_about_one_pool_are_refused_over_several_parts(parted, call, problem):
    with pytest.raises(StudyError, match=problem):
        call(parted)


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        ("error(part=week9)<=0.1", "has no part 'week9'"),
        ("error(part=week2)-error(part=week2)<=0.1", "from itself"),
        ("error(part=week2)-error(model)<=0.1", "a part and a model"),
        ("error(part=week2)@place=barn<=0.1", "about a part and about a group"),
        ("error(part=)<=0.1", "names no part"),
    ],
)
def test_gates_that_name_no_part_are_refused(parted, gate, problem):
    with pytest.raises(ChoiceError, match=problem):
        parted.report(require=gate)


def test_metrics_are_of_all_parts_or_of_that_of_the_report(parted):
    with pytest.raises(ChoiceError, match="only gates are"):
        parted.report(metrics="error(part=week2)")
    with pytest.raises(ChoiceError, match="no way to split"):
        parted.report(by="week")
    with pytest.raises(ChoiceError, match="about the model v2|has no model"):
        parted.report(model="v2", part="week2")


def test_an_area_under_a_curve_is_of_one_part(parted):
    row = parted.report(metrics="auroc[dog]").estimates[0]
    assert row.estimate is None and "parts have curves of their own" in row.reason
    assert parted.report(metrics="auroc[dog]", part="pool").estimates[0].estimate is not None


def test_a_part_without_labels_leaves_all_parts_without_an_estimate(parted, folder):
    extend_again(parted, folder)
    row = parted.report(metrics="error").estimates[0]
    assert row.estimate is None and row.reason == (
        "in part week3: label at least 2 of the drawn items"
    )
    assert parted.report(metrics="error", part="week2").estimates[0].estimate is not None


def test_groups_and_pages_are_of_all_parts(parted):
    found = parted.report(details=True, differences="place")
    assert find_row(found, group={"place": "barn"}).estimate is not None
    assert len(found.details.history) == 1
    assert "<html" in found.to_html()


def test_a_metric_without_a_value_in_one_part_has_one_in_all(folder):
    import pyarrow as pa

    names = ["cat", "dog"]
    first = {"id": [f"a{i}" for i in range(40)], "pred": [names[i % 2] for i in range(40)]}
    second = {"id": [f"b{i}" for i in range(20)], "pred": ["cat"] * 20}
    Study.create(pa.table(first), folder / "s", seed=1, classes=names)
    current = Study.open(folder / "s")
    current.extend(pa.table(second), part="second")
    ids = current.next(30).ids
    current.ingest({id: names[int(id[1:]) % 2] if id[0] == "a" else "cat" for id in ids})
    assert current.report(metrics="precision[dog]", part="second").estimates[0].estimate is None
    assert current.report(metrics="precision[dog]").estimates[0].estimate > 0.9


def add_week(current: Study, folder, name: str, seed: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    more = pq.read_table(write_pool(folder / f"{name}.parquet", 60, seed=seed)).to_pydict()
    more["id"] = [f"{name}-{each}" for each in more["id"]]
    current.extend(pa.table(more), part=name)
    answer(current, current.next(40).ids)


def test_several_parts_are_reported_together(parted, folder):
    add_week(parted, folder, "week3", 8)
    both = parted.report(metrics="error", part=["week2", "week3"])
    alone = [parted.report(metrics="error", part=name).estimates[0] for name in ("week2", "week3")]
    joined = (100 * alone[0].estimate + 60 * alone[1].estimate) / 160
    assert both.estimates[0].estimate == pytest.approx(joined, rel=1e-9)
    assert both.counts.n_pool == 160 and both.pool.endswith("parts week2 and week3")
    last = parted.report(metrics="error", part="last:2").estimates[0]
    assert (last.estimate, last.lower) == (both.estimates[0].estimate, both.estimates[0].lower)
    for interval in ("fixed", "anytime"):
        gates = ["error(part=week2+week3)<=0.9", "error(part=last:2)<=0.9"]
        found = parted.report(require=gates, interval=interval).gates
        assert [gate.verdict for gate in found] == ["pass", "pass"]
        assert found[0].estimate == pytest.approx(joined, rel=1e-9) == found[1].estimate
    about = [gate.conditions.get("parts") for gate in StoredStudy.open().ledger.gates()]
    assert about == [None, ["pool", "week2", "week3"]] * 2
    with pytest.raises(ChoiceError, match="has no part 'last:9'"):
        parted.report(part="last:9")


def test_a_retired_part_is_no_part_of_the_population(parted, folder):
    add_week(parted, folder, "week3", 8)
    before = parted.report(metrics="error", part=["week2", "week3"]).estimates[0]
    assert parted.retire("pool") == "pool retired: 160 items stay in the population"
    found = parted.report(metrics="error", require="error<=0.9")
    assert (found.estimates[0].estimate, found.counts.n_pool) == (before.estimate, 160)
    assert any("Retired parts are no part of the population: pool." in n.text for n in found.notes)
    assert parted.status().counts.n_pool == 160 == parted.plan().n_pool
    ids = parted.next(20).ids
    assert all(id.startswith(("new-", "week3-")) for id in ids)
    assert parted.report(metrics="error", part="pool").estimates[0].estimate is not None
    assert parted.verify().passed
    gates = StoredStudy.open().ledger.gates()
    assert gates[-1].conditions["parts"] == ["week2", "week3"]
    with pytest.raises(ChoiceError, match="the part 'pool' is retired"):
        parted.next(5, new=True, part="pool")
    parted.retire("week2")
    assert parted.report(metrics="error").counts.n_pool == 60
    for name, problem in (("pool", "retired already"), ("week3", "is the only part")):
        with pytest.raises(StudyError, match=problem):
            parted.retire(name)


def test_a_page_about_a_part_has_its_items_cells_and_clusters(parted, folder):
    """Texts of its worst items, its confusion table, its curve, and what it is a sample of."""
    for name in ("pool", "week2"):
        found = parted.report(part=name, details=True)
        assert "<html" in found.to_html()
        cells = found.details.confusion.cells
        total = sum(each.quantity.estimate or 0 for each in cells)
        assert 0.5 < total < 1.2 and found.details.worst_items
        sampled = parted.report(part=name, metrics="error", population=True, cluster="place")
        assert sampled.estimates[0].estimate is not None
    parted.retire("pool")
    points = parted.curve("reliability", bins=3).points
    assert any(point.measures[0].estimate is not None for point in points)
    assert parted.report(details=True).details is not None
