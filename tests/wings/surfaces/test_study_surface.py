"""Surfaces of studies: reports, gates, tables and pictures, from the labels that there are."""

import json
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cli.app import main
from activetest.errors import NotEstimable
from activetest.render import junit, markdown, text
from activetest.wings.surfaces import surface_answer
from activetest.wings.surfaces.study_surface import _write_cells
from tests.wings.surfaces.attribute_models.makers import make_attributes

SEXES, RACES = ("F", "M"), ("a", "b", "c")


@pytest.fixture
def opened(folder) -> at.Study:
    """A study with a surface; 60 of 300 items are labelled, and (M, c) never occurs."""
    rng = np.random.default_rng(0)
    sex, race = rng.integers(2, size=300), rng.integers(3, size=300)
    race = np.where((sex == 1) & (race == 2), 0, race)
    score = rng.uniform(0.05, 0.95, 300)
    columns = {
        "id": [f"item-{row}" for row in range(300)],
        "score": score,
        "sex": [SEXES[each] for each in sex],
        "race": [RACES[each] for each in race],
        "region": [("EU", "US")[each] for each in rng.integers(2, size=300)],
    }
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    # Wrong only for women of race b.
    wrong = (sex == 0) & (race == 1)
    key = {f"item-{row}": int((score[row] >= 0.5) ^ wrong[row]) for row in range(300)}
    study = at.Study.create(
        *("pool.parquet", "study"),
        attributes=["sex", "race"],
        groups=["region"],
        question="surface",
        surface="beta",
        seed=1,
    )
    study.ingest({id: key[id] for id in study.next(60).ids})
    study.key = key
    return study


def test_a_report_has_the_surface_in_short_and_more_if_requested(opened):
    report = opened.report()
    assert report.surface.worst[0].attributes == {"sex": "F", "race": "b"}
    assert not report.surface.detailed and report.assessment is None
    short, long = (text.render(each) for each in (report, opened.report(surface=True)))
    assert "Accuracy is lowest where sex=F, race=b" in short
    assert "accuracy by each attribute" not in short and "accuracy by each attribute" in long
    assert any("come from a model" in note.text for note in report.notes)


def test_a_gate_on_a_combination_is_undecided_while_declined_items_count(opened):
    gate = "accuracy@sex*race=M*a>=0.5"
    (before,) = opened.report(require=[gate]).gates
    assert before.verdict == "pass"
    first = next(iter(opened.next(1).ids))
    opened.ingest([{"id": first, "label": "", "status": "declined"}])
    (after,) = opened.report(require=[gate]).gates
    assert (after.verdict, after.method) == ("undecided", "surface")
    assert after.reason == "the surface leaves out declined items, and no verdict does"
    note = next(note.text for note in opened.report().notes if note.text.startswith("Items declin"))
    assert note.endswith("The answer to the question leaves declined items out.")


def test_top_scores_of_a_surface_are_said_to_be_top_scores(opened):
    study = at.Study.create("pool.parquet", "top", attributes=["sex"], seed=1)
    study.change(question="surface", selection="top")
    study.ingest({id: opened.key[id] for id in study.next(12).ids})
    (row, *_) = study.report().estimates
    assert row.reason.startswith("items were chosen by the largest score")


def test_a_study_with_another_question_has_a_surface_if_it_is_requested(opened):
    opened.change(question="none")
    assert opened.report().surface is None
    assert opened.report(at={"sex": "F"}).surface.cells[0].n_arms == 3
    opened.change(attributes=[])
    with pytest.raises(at.ChoiceError, match="the study has none"):
        opened.report(surface=True)


def test_without_a_label_there_is_no_surface_and_the_report_says_so(opened):
    fresh = at.Study.create(
        *("pool.parquet", "fresh"), attributes="sex", question="surface", surface="beta"
    )
    report = fresh.report(require="accuracy@sex=F>=0.5", surface=True)
    assert report.surface is None
    assert any("No surface yet" in note.text for note in report.notes)
    with pytest.raises(at.NotEstimable, match="no surface yet"):
        fresh.surface()


# --- gates


def test_there_are_no_surfaces_of_weighted_items_and_of_predicted_values(folder):
    rng = np.random.default_rng(0)
    columns = {"id": [f"item-{row}" for row in range(50)], "sex": ["F", "M"] * 25}
    weighted = {"score": rng.uniform(size=50), "weight": rng.uniform(1, 2, size=50)}
    pq.write_table(pa.table(columns | weighted), folder / "weighted.parquet")
    pq.write_table(pa.table(columns | {"pred": rng.normal(size=50)}), folder / "values.parquet")
    for name, settings, problem in (
        ("weighted", {"weight": "weight"}, "weighs items by 'weight'"),
        ("values", {"task": "regression"}, "surfaces are about classifiers"),
    ):
        study = at.Study.create(f"{name}.parquet", name, attributes=["sex"], seed=1, **settings)
        study.ingest(dict.fromkeys(study.next(20).ids, 1))
        assert study.report().surface is None
        with pytest.raises(at.ChoiceError, match=problem) as refused:
            study.report(surface=True)
        assert refused.value.hint.startswith("`study.report()`")
        with pytest.raises(at.ChoiceError, match=problem):
            study.surface()


def test_a_combination_that_is_no_group_is_decided_by_the_surface(opened):
    required = ["accuracy@sex*race=F*b<=0.5", "accuracy@race*sex=a*M>=0.5", "accuracy@sex=M>=0.1"]
    report = opened.report(require=required)
    assert [gate.verdict for gate in report.gates] == ["pass", "pass", "pass"]
    assert [gate.method for gate in report.gates] == ["surface", "surface", "betting"]
    first = report.gates[0]
    cell = report.surface.worst[0]
    assert first.estimate == cell.estimate and first.level == 0.9
    assert cell.lower <= first.lower and first.upper <= cell.upper
    assert first.group == {"sex*race": "F*b"} and "if its model is right" in first.reason
    assert report.exit_code == 0 and "surface" in junit.render(report)


def test_a_gate_on_a_surface_can_fail_or_stay_open_and_more_gates_make_failing_harder(opened):
    report = opened.report(require="accuracy@sex*race=F*b>=0.9")
    assert (report.gates[0].verdict, report.exit_code) == ("fail", 1)
    cell = opened.surface().at(sex="F", race="a")
    assert 0 < cell.lower < cell.upper
    middle = f"accuracy@sex*race=F*a>={cell.estimate:.4f}"
    assert opened.report(require=middle).gates[0].verdict == "undecided"
    # An upper end between those of the level for one gate and for fifty of them.
    one = opened.report(require="accuracy@sex*race=F*b>=0.5").gates[0]
    bound = f"accuracy@sex*race=F*b>={one.upper + 1e-6:.7f}"
    alone, among = (opened.report(require=[bound] * count).gates[0] for count in (1, 50))
    assert (alone.verdict, among.verdict) == ("fail", "undecided")


def test_an_error_is_one_minus_the_accuracy(opened):
    right, wrong = opened.report(
        require=["accuracy@sex*race=F*b>=0.2", "error@sex*race=F*b<=0.8"]
    ).gates
    assert wrong.estimate == pytest.approx(1 - right.estimate)
    assert (wrong.lower, wrong.upper) == pytest.approx((1 - right.upper, 1 - right.lower))
    assert wrong.verdict == right.verdict


@pytest.mark.parametrize(
    ("requirement", "settings", "problem"),
    [
        ("accuracy@sex*race=M*c>=0.5", {}, "no item of the pool has this combination"),
        ("accuracy@sex*race=M*x>=0.5", {}, "no item has race=x"),
        ("accuracy@sex*region=M*EU>=0.5", {}, "is not a group of this study"),
        ("brier@sex*race=F*a<=0.5", {}, "the surface is about accuracy"),
        ("accuracy@sex*race=F*a>=0.5", {"interval": "anytime"}, "holds for one look"),
        ("accuracy@sex*race=F*a>=0.5", {"population": True}, "is about this pool"),
    ],
)
def test_gates_that_no_surface_decides_are_refused(opened, requirement, settings, problem):
    with pytest.raises(at.ChoiceError, match=problem):
        opened.report(require=requirement, **settings)


def test_the_hint_of_a_refused_gate_can_be_followed(opened):
    with pytest.raises(at.ChoiceError) as refused:
        opened.report(require="brier@sex*race=F*a<=0.5")
    assert "groups=['region', 'sex', 'race', 'sex*race']" in refused.value.hint
    opened.change(groups=["region", "sex", "race", "sex*race"])
    assert opened.report(require="brier@sex*race=F*a<=0.5").gates[0].method != "surface"


def test_a_product_that_is_a_group_of_the_study_keeps_its_own_rule(opened):
    opened.change(groups=["sex*race"])
    (gate,) = opened.report(require="accuracy@sex*race=F*b>=0.1").gates
    assert gate.method == "betting"


# --- cells and tables


def test_any_cell_can_be_requested_in_python_and_on_the_command_line(opened, capsys):
    surface = opened.surface()
    cell = surface.at("race=b,sex=F")
    assert cell == surface.at(sex="F", race="b") == surface.at({"sex": "F"}, race="b")
    with pytest.raises(at.ChoiceError, match="`cell` is 5"):
        surface.at(5)
    with pytest.raises(at.ChoiceError, match="no item has sex=5"):
        surface.at(sex=5)
    words = ["report", "--study", "study", "--format", "json"]
    assert main([*words, "--at", "race=b,sex=F", "--at", "sex=M,race=c"]) == 0
    found = json.loads(capsys.readouterr().out)["surface"]["cells"]
    assert found[0]["estimate"] == cell.estimate and found[0]["n_labeled"] == cell.n_labeled
    assert found[1]["occurs"] is False and found[1]["estimate"] is not None
    assert main([*words, "--at", "rase=b"]) == 2
    assert "did you mean 'race'" in capsys.readouterr().err


def test_the_whole_surface_is_written_by_the_ending_of_the_file(opened, capsys):
    words = ["export", "--study", "study", "--surface"]
    assert main([*words, "-o", "surface.parquet", "--all"]) == 0
    assert "6 combinations of 2 attributes, of which 5 occur" in capsys.readouterr().err
    table = pq.read_table("surface.parquet")
    assert table.num_rows == 6 and table.column("occurs").to_pylist().count(False) == 1
    assert main([*words, "-o", "surface.csv"]) == 0 and main(words) == 0
    lines = Path("surface.csv").read_text().splitlines()
    assert lines[0] == "sex,race,estimate,lower,upper,support,labels" and len(lines) == 6
    assert capsys.readouterr().out.splitlines() == lines
    frame = opened.surface().to_frame("pyarrow")
    assert frame.column("labels").to_pylist() == [int(line.split(",")[-1]) for line in lines[1:]]
    assert sum(frame.column("labels").to_pylist()) == 60


def test_files_that_are_there_and_other_endings_are_refused_before_anything_is_fitted(
    opened, monkeypatch
):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a surface is fitted")

    Path("mine.csv").write_text("mine")
    with monkeypatch.context() as patched:
        patched.setattr(surface_answer, "fit_pool_surface", refuse)
        for path, problem in (
            ("mine.csv", "is there already"),
            ("study/surface.csv", "inside the study"),
            ("surface.xlsx", "is neither .csv nor .parquet"),
        ):
            with pytest.raises(at.ActivetestError, match=problem):
                opened.surface(path=path)
    assert Path("mine.csv").read_text() == "mine"
    opened.surface(path="mine.csv", force=True)
    assert Path("mine.csv").read_text().startswith("sex,race,")
    assert main(["export", "--study", "study", "--all"]) == 2
    assert main(["export", "--study", "study", "--surface", "--rescue"]) == 2


@pytest.mark.parametrize("path", [3, None, b"surface.csv"])
def test_what_is_no_path_is_refused(opened, path):
    surface = opened.surface()
    with pytest.raises(at.StorageError, match="`path` is .*") as refused:
        surface.save(path)
    assert refused.value.hint.startswith("it must be a path")
    for write in (surface.to_csv, partial(surface.to_svg, "sex", "race")):
        if path is not None:
            with pytest.raises(at.StorageError, match="`path` is .*"):
                write(path)


def test_numbers_are_called_exact_where_every_item_has_a_label(opened):
    opened.ingest(opened.key)
    report = opened.report(surface=True, at={"sex": "F"}, maps="sex*race")
    said = text.render(report)
    assert "exact: every item has a label" in said and "worst combinations, exact" in said
    assert "accuracy by each attribute, exact" in said and "requested, exact" in said
    assert "credible" not in said.split("Accuracy is lowest")[1].split("accuracy by group")[0]
    assert all("come from a model" not in note.text for note in report.notes)
    picture = opened.surface().to_svg("sex", "race")
    assert "exact: every item has a label" in picture and "credible" not in picture


def test_where_a_fit_continues_is_kept_and_found_again_without_the_cache(opened):
    opened.change(surface="stacked", refit="50")
    first = opened.surface().to_csv()
    assert Path("study/cache/results/surface/manifest.json").exists()
    assert at.Study.open("study").surface().to_csv() == first
    shutil.rmtree("study/cache")
    assert at.Study.open("study").surface().to_csv() == first
    opened.change(refit="every")
    assert opened.surface().to_csv() != first


def test_the_doubt_of_annotators_is_said(opened):
    opened.change(annotators="dawid-skene")
    labelled = list(opened.export().to_frame("pyarrow")["id"].to_pylist())
    assert len(labelled) == 60
    for annotator, every in (("b", 3), ("c", 4)):
        rows = [
            {"id": id, "label": opened.key[id] ^ (place % every == 0), "annotator": annotator}
            for place, id in enumerate(labelled)
        ]
        opened.ingest(rows)
    report = opened.report()
    (said,) = (note.text for note in report.notes if "The surface takes each label" in note.text)
    # As many as the report says of all labels.
    expected = next(note.text for note in report.notes if "are expected to be wrong" in note.text)
    count = re.search(r"about (\d+\.\d) of 60 labels", expected)[1]
    assert float(count) > 0 and f"about {count} of 60 labels are expected to be wrong" in said
    opened.change(annotators="majority")
    assert all("The surface takes" not in note.text for note in opened.report().notes)


def test_values_that_a_spreadsheet_would_run_are_neutral_in_csv(folder):
    rows = {"id": [f"i{row}" for row in range(20)], "score": [0.2, 0.8] * 10}
    rows["kind"] = ["=1+1", "x"] * 10
    pq.write_table(pa.table(rows), folder / "formulas.parquet")
    study = at.Study.create(
        *("formulas.parquet", "other"), attributes="kind", question="surface", surface="beta"
    )
    study.ingest(dict.fromkeys(study.next(5).ids, 1))
    assert study.surface().to_csv().splitlines()[1].startswith("'=1+1,")


def test_a_number_that_there_is_not_is_an_empty_cell():
    row = (float("nan"), 0.5, True, 3, "=1")
    assert list(_write_cells(row)) == ["", 0.5, "true", 3, "'=1"]


# --- maps


def test_maps_are_shown_and_drawn_and_only_earlier_ones_are_replaced(opened):
    report = opened.report(maps="race*sex", plot="map.svg")
    assert "accuracy by race (rows) and sex (columns)" in text.render(report)
    assert "accuracy by race" in markdown.render(report)
    drawn = Path("map.svg").read_text()
    assert drawn == opened.surface().to_svg("race", "sex")
    opened.report(maps=["race*sex"], plot=["map.svg"])
    Path("mine.svg").write_text("<svg/>")
    with pytest.raises(at.ChoiceError, match="is no picture that report has drawn"):
        opened.report(maps="race*sex", plot="mine.svg")
    opened.report(maps="race*sex", plot="mine.svg", force=True)
    assert Path("mine.svg").read_text() == drawn


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"plot": "a.svg"}, "names 1 file, and `maps` 0 maps"),
        ({"maps": ["race*sex", "sex*race"], "plot": "a.svg"}, "names 1 file, and `maps` 2 maps"),
        ({"maps": ["race*sex", "sex*race"], "plot": ["a.svg", "./a.svg"]}, "the same file"),
        ({"maps": "race*sex", "plot": "a.png"}, "is no .svg"),
        ({"maps": "race*sex", "plot": "study/a.svg"}, "inside the study"),
        ({"maps": "race"}, "no pair of attributes"),
        ({"maps": "race*region"}, "'region' is no attribute"),
    ],
)
def test_maps_that_cannot_be_drawn_are_refused_and_nothing_is_written(opened, settings, problem):
    with pytest.raises(at.ActivetestError, match=problem):
        opened.report(**settings)
    assert not Path("a.svg").exists()


def test_a_map_of_no_labels_is_not_drawn(folder):
    rows = {"id": [f"i{row}" for row in range(20)], "score": [0.2, 0.8] * 10}
    rows |= {"kind": ["x", "y"] * 10, "size": ["s", "l", "m", "s"] * 5}
    pq.write_table(pa.table(rows), folder / "early.parquet")
    study = at.Study.create(
        *("early.parquet", "early"), attributes=("kind", "size"), question="surface", surface="beta"
    )
    with pytest.raises(NotEstimable, match="no surface to map yet"):
        study.report(maps="kind*size", plot="map.svg")
    assert not Path("map.svg").exists()
    with pytest.raises(at.ActivetestError, match="no item has kind=z"):
        study.report(at={"kind": "z"})


def test_a_surface_shows_itself(opened):
    surface = opened.surface()
    assert repr(surface) == "<StudySurface: accuracy at 5 combinations of sex, race, by beta>"
    assert "Accuracy is lowest" in str(surface)
    assert "<table" in surface._repr_html_() and "sex" in surface._repr_html_()
    assert len(surface) == 5 and surface.attributes["race"] == RACES


# --- attributes that are uncertain


def write_uncertain_pool(file: Path) -> dict[str, str]:
    """A pool whose race is uncertain but for 40 items, and the answers."""
    data, codes = make_attributes(np.random.default_rng(5), items=300, sizes=(2, 3), gold=40)
    probs = np.random.default_rng(0).dirichlet([1, 1], 300)
    columns = {
        "id": [f"item-{row}" for row in range(300)],
        **{f"prob_{name}": probs[:, code] for code, name in enumerate(("cow", "dog"))},
        "sex": np.array(SEXES)[codes[:, 0]],
        "race": [RACES[code] if row < 40 else None for row, code in enumerate(codes[:, 1])],
        **{f"attr_prob_race_{name}": data.probs[1][:, code] for code, name in enumerate(RACES)},
    }
    pq.write_table(pa.table(columns), file)
    wrong = codes[:, 1] == 1
    labels = np.where(wrong, probs.argmin(axis=1), probs.argmax(axis=1))
    return {f"item-{row}": ("cow", "dog")[label] for row, label in enumerate(labels)}


def create_uncertain_study(folder: Path, attributes: list[str]) -> tuple[at.Study, dict[str, str]]:
    """A study of the surface over these attributes of that pool, and the labels."""
    key = write_uncertain_pool(folder / "pool.parquet")
    settings = {"question": "surface", "surface": "beta", "seed": 1}
    return at.Study.create("pool.parquet", "study", attributes=attributes, **settings), key


def test_a_study_of_uncertain_attributes_spreads_its_labels_and_reports(folder):
    study, key = create_uncertain_study(folder, ["sex", "race"])
    assert any("by the model full; 40 items" in notice for notice in study.setup.notices)
    for _ in range(2):
        study.ingest({id: key[id] for id in study.next(60).ids})
    arms = study.report(surface=True).surface.worst
    assert arms[0].attributes["race"] == "b"
    assert any(arm.n_labeled != round(arm.n_labeled) for arm in arms)
    assert any(arm.n_pool != round(arm.n_pool) for arm in arms)
    # It opens again, and another model gives other numbers.
    again = at.Study.open("study")
    assert again.report(surface=True).surface.worst == arms
    again.change(attribute_model="raw")
    assert again.report(surface=True).surface.worst != arms
    again.ingest({id: key[id] for id in again.next(10).ids})
    with pytest.raises(at.ChoiceError, match="no attribute model is called 'fulll'"):
        again.change(attribute_model="fulll")


def test_a_study_of_the_label_as_an_attribute_is_exact_in_the_end(folder):
    study, key = create_uncertain_study(folder, ["label", "sex"])
    study.ingest({id: key[id] for id in study.next(100).ids})
    first = study.report(at={"label": "cow"}).surface.cells[0]
    assert first.lower < first.estimate < first.upper
    study.ingest(key)
    cell = study.report(at={"label": "cow"}).surface.cells[0]
    table = pq.read_table(folder / "pool.parquet").to_pydict()
    cows = [p for id, p in zip(table["id"], table["prob_cow"], strict=True) if key[id] == "cow"]
    assert cell.estimate == cell.lower == cell.upper == pytest.approx(np.mean(np.array(cows) > 0.5))


def test_a_report_says_in_which_group_an_item_of_uncertain_value_stands(folder):
    study, key = create_uncertain_study(folder, ["label", "sex"])
    study.ingest({id: key[id] for id in study.next(50).ids})
    texts = [note.text for note in study.report().notes]
    assert any("groups of label hold the items for which the model" in each for each in texts)
    assert not any("not known for every item" in each for each in texts)
    study.change(attributes=["sex", "race"])
    texts = [note.text for note in study.report().notes]
    assert any("race are not known for every item" in each for each in texts)
    study.change(attributes=["sex"])
    assert not any("known for every item" in note.text for note in study.report().notes)


def test_a_gate_on_the_label_is_no_gate_on_the_most_probable_class(folder):
    study, key = create_uncertain_study(folder, ["label", "sex"])
    study.ingest({id: key[id] for id in study.next(50).ids})
    product = f"label*sex=cow*{study.surface().attributes['sex'][0]}"
    gate = study.report(require=f"accuracy@{product}>=0.01").gates[0]
    assert gate.method == "surface"
    with pytest.raises(at.ChoiceError, match="of the most probable class") as refused:
        study.report(require="accuracy@label=cow>=0.01")
    assert "recall[cow]" in refused.value.hint
    with pytest.raises(at.ChoiceError) as refused:
        study.report(require=f"brier@{product}<=0.9")
    assert "the metric of the surface" in refused.value.hint
    study.change(groups=["label*sex"])
    with pytest.raises(at.ChoiceError, match="of the most probable class") as refused:
        study.report(require=f"accuracy@{product}>=0.01")
    assert "leave 'label*sex' out of `groups`" in refused.value.hint
