"""Items with several true classes are refused, with what to do instead."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cli.app import main
from activetest.nouns.class_sets import find_classes, find_sets, read_list

NAMES = ("sports", "politics", "tech")
ROWS = 60


def make_probs() -> np.ndarray:
    """(R, 3) probabilities of classes each of which may be true or not."""
    return np.random.default_rng(0).random((ROWS, 3))


def write(path: str, **columns) -> None:
    pq.write_table(pa.table({"id": [f"d{row}" for row in range(ROWS)]} | columns), path)


def by_class(probs: np.ndarray) -> dict[str, np.ndarray]:
    return {f"prob_{name}": probs[:, code] for code, name in enumerate(NAMES)}


def list_sets(*, empty: bool = False) -> list[list[str]]:
    """The classes that are true of each item."""
    sets = [[name for name, p in zip(NAMES, row, strict=True) if p > 0.5] for row in make_probs()]
    return [each if each or empty else ["sports"] for each in sets]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a|b", ("a", "b")),
        ("a; c", ("a", "c")),
        ("b,a,c", ("b", "a", "c")),
        ('["a", "c"]', ("a", "c")),
        ('["a"]', ("a",)),
        ("a", ()),
        ("a|x", ()),
        ("|", ()),
        ("[1]", ()),
        ("[" * 5000, ()),
        ('["a"', ()),
        ("a|" * 10_000, ()),
    ],
)
def test_lists_of_classes_are_recognised(text, found):
    assert find_classes(text, ["a", "b", "c"]) == found


def test_a_class_is_no_list_and_neither_is_another_set_beside_sets():
    assert find_classes("a|b", ["a", "b", "a|b"]) == ()
    assert find_classes("b|a", ["a", "b", "a|b"]) == ()
    assert find_classes("Paris, France", ["Paris", "Paris, France"]) == ()
    assert find_sets(["Paris, France", "France", "a|b"]) == []
    assert find_sets(["a", "b", "a;b"]) == ["a;b"]
    assert read_list('[{"a": 1}]') == read_list("[]") == ()


@pytest.mark.parametrize("form", ["columns", "list", "lists of names", "JSON"])
def test_a_pool_with_several_true_classes_is_refused(form, folder, capsys):
    columns = {
        "columns": by_class(make_probs()),
        "list": {"prob": make_probs().tolist()},
        "lists of names": {"pred": list_sets(empty=True)},
        "JSON": {"pred": [json.dumps(each) for each in list_sets()]},
    }[form]
    write("pool.parquet", **columns)
    assert main(["init", "pool.parquet"]) == 2
    problem = capsys.readouterr().err
    assert "make a study of each class" in problem and "one name" in problem
    example = "prob_sports --classes no,sports" if form == "columns" else "COLUMN --classes no,yes"
    assert f"activetest init POOL --study DIR --outputs {example}" in problem
    assert not (folder / ".activetest").exists()


def test_the_command_of_the_hint_makes_a_study_of_one_class(folder):
    probs = make_probs()
    write("pool.parquet", **by_class(probs))
    words = [
        "--outputs",
        "prob_sports",
        "--classes",
        "no,sports",
        "--study",
        "sports",
        "--seed",
        "1",
    ]
    assert main(["init", "pool.parquet", *words]) == 0
    study = at.Study.open("sports")
    schema = study.setup.schema
    assert (schema.kind, schema.classes, schema.positive) == ("score", ("no", "sports"), "sports")
    study.ingest({f"d{row}": "no" for row in range(ROWS)})
    expected = (probs[:, 0].astype(np.float32) >= 0.5).mean()
    assert study.report(metrics="error").headline.estimate == pytest.approx(expected)


def test_rounded_and_sharpened_probabilities_are_treated_as_ever(folder, capsys):
    probs = make_probs()
    probs /= probs.sum(axis=1, keepdims=True)
    write("fine.parquet", **by_class(probs.round(4)))
    assert main(["init", "fine.parquet"]) == 0
    rng = np.random.default_rng(1)
    for name, wrong in (
        ("rounded", probs.round(1)),
        ("sharp", probs * rng.uniform(0.9, 1.1, (ROWS, 1))),
        ("percent", probs * 100),
        ("logits", probs * 9 - 4),
    ):
        write(f"{name}.parquet", **by_class(wrong))
        assert main(["init", f"{name}.parquet", "--study", name]) == 2
        assert "study of each" not in capsys.readouterr().err


def test_sets_with_one_name_are_classes_and_init_says_so(folder, capsys):
    write("pool.parquet", pred=["|".join(each) for each in list_sets()])
    assert main(["init", "pool.parquet", "--seed", "1"]) == 0
    assert "only the whole set is right" in capsys.readouterr().out
    study = at.Study.open()
    first = study.next(2).ids[0]
    # A set that the model never predicts is a class like the others.
    assert study.ingest({first: "tech|sports"}).outside == ("tech|sports",)


@pytest.mark.parametrize("form", ["a|b", "JSON", "jsonl", "frame", "mapping"])
@pytest.mark.parametrize("pool", ["closed", "open"])
def test_labels_with_several_classes_are_refused(form, pool, folder, capsys):
    probs = make_probs()
    probs /= probs.sum(axis=1, keepdims=True)
    columns = by_class(probs) if pool == "closed" else {"pred": (NAMES * ROWS)[:ROWS]}
    write("pool.parquet", **columns)
    study = at.Study.create("pool.parquet", seed=1)
    ids = study.next(6).ids
    labels = dict(zip(ids, [["sports"], ["sports", "tech"]] * 3, strict=True))
    if form in ("a|b", "JSON"):
        write_set = "|".join if form == "a|b" else json.dumps
        given = {id: write_set(each) for id, each in labels.items()}
    elif form == "frame":
        given = pa.table({"id": ids, "label": list(labels.values())})
    elif form == "jsonl":
        lines = [json.dumps({"id": id, "label": each}) for id, each in labels.items()]
        (folder / "labels.jsonl").write_text("\n".join(lines), encoding="utf-8")
        given = "labels.jsonl"
    else:
        given = labels
    with pytest.raises(at.LabelError, match="several classes|not classes|type list") as caught:
        study.ingest(given)
    assert "make a study of each class" in caught.value.hint
    assert study.status().counts.labeled == 0


def test_sets_can_be_taken_as_they_are(folder):
    write("pool.parquet", pred=(NAMES * ROWS)[:ROWS])
    study = at.Study.create("pool.parquet", seed=1)
    first, *_ = study.next(3).ids
    assert study.ingest({first: "sports|tech"}, as_is=True).new == 1
