"""Draws that another program made become a study, which is created whole or not at all."""

import csv
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.cli.spelling import to_commands
from activetest.errors import ActivetestError, ChoiceError, LabelConflict, LabelError, StudyError
from activetest.ledger.ledger import Ledger
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests import makers

SIZE = 40
CLASSES = ("cat", "dog", "owl")


@pytest.fixture
def pool(pool_file) -> pd.DataFrame:
    """The pool of 40 items in pool.parquet, with the class that the model predicts."""
    frame = pq.read_table(pool_file).to_pandas()
    frame["pred"] = frame[[f"prob_{name}" for name in CLASSES]].to_numpy().argmax(axis=1)
    return frame


@pytest.fixture
def truth(pool) -> dict[str, str]:
    """The label of every item; the model is wrong about every third one."""
    codes = np.where(np.arange(SIZE) % 3 == 0, (pool["pred"] + 1) % 3, pool["pred"])
    return {id: CLASSES[code] for id, code in zip(pool["id"], codes, strict=True)}


def draw(pool: pd.DataFrame, truth: dict[str, str], counts=(6, 6), seed=0) -> list[dict]:
    """A log of draws in proportion to how unsure the model is, with numpy alone."""
    rng = np.random.default_rng(seed)
    probs = pool[[f"prob_{name}" for name in CLASSES]].to_numpy()
    weight = dict(zip(pool["id"], 1.2 - probs.max(axis=1), strict=True))
    rows: list[dict] = []
    for number, count in enumerate(counts, 1):
        for _ in range(count):
            total = sum(weight.values())
            ids = list(weight)
            id = ids[rng.choice(len(ids), p=np.array(list(weight.values())) / total)]
            found = {"id": id, "probability": weight.pop(id) / total}
            rows.append(found | {"label": truth[id], "round": number})
    return rows


def rows_of(study: Study, **settings) -> list[tuple]:
    """(metric, group, estimate, lower, upper) of every row; of groups, where all guess alike."""
    return [
        (row.metric, str(row.group), row.estimate, row.lower, row.upper)
        for row in study.report(**settings).estimates
        if row.estimator != "doubly-robust" or "estimators" not in settings
    ]


def write_log(path: Path, rows: list[dict]) -> Path:
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


# --- the same numbers


@pytest.mark.parametrize(
    ("acquisition", "form"),
    [("optimal", "csv"), ("optimal", "frame"), ("uniform", "log")],
)
def test_a_log_that_was_exported_gives_the_same_numbers_again(pool, truth, acquisition, form):
    study = Study.create("pool.parquet", "first", groups=["place"], acquisition=acquisition, seed=4)
    for count in (9, 5, 8):
        study.ingest({id: truth[id] for id in study.next(count).ids})
    study.ingest({study.export().rows[0].id: "cat"}, replace=True)
    log = study.export()
    given = {"log": log, "frame": log.to_frame(), "csv": "log.csv"}[form]
    log.to_csv("log.csv")
    floor = 0.35 if acquisition == "optimal" else 1.0
    again = Study.from_draws(
        "pool.parquet", given, "again", groups=["place"], draws_floor=floor, seed=9
    )
    settings = {"estimators": ["lure"], "metrics": ["error", "recall[cat]", "kappa"]}
    for mine, theirs in zip(rows_of(again, **settings), rows_of(study, **settings), strict=True):
        assert mine[:2] == theirs[:2]
        assert mine[2:] == pytest.approx(theirs[2:], rel=1e-9, nan_ok=True)
    assert again.verify().passed
    drawn = [(row.id, row.round, row.probability, row.label) for row in again.export()]
    assert drawn == [row[:4] for row in log if not row.superseded]


@pytest.mark.parametrize("form", ["log", "csv"])
def test_labels_of_items_that_were_never_drawn_are_known_from_the_same_round_again(
    pool, truth, form
):
    study = Study.create("pool.parquet", "first", seed=4)
    study.ingest({id: truth[id] for id in ("item-3", "item-8")})
    for count, others in ((8, ("item-20", "item-21")), (8, ("item-30",))):
        study.ingest({id: truth[id] for id in study.next(count).ids})
        drawn = {row.id for row in study.export()}
        study.ingest({id: truth[id] for id in others if id not in drawn})
    log = study.export()
    log.to_csv("log.csv")
    again = Study.from_draws(
        "pool.parquet", log if form == "log" else "log.csv", "again", draws_floor=0.35, seed=5
    )
    stored, first = StoredStudy.open("again"), StoredStudy.open("first")
    assert stored.ledger.record().supplied == first.ledger.record().supplied
    assert set(first.ledger.record().supplied.values()) == {1, 2, None}
    settings = {"estimators": ["lure"], "metrics": ["error"]}
    assert rows_of(again, **settings)[0][2:] == pytest.approx(rows_of(study, **settings)[0][2:])
    assert again.status().counts == study.status().counts
    assert again.verify().passed


@pytest.mark.parametrize(
    ("design", "problem"),
    [
        ("poisson", "make no sequence of draws"),
        ("inclusion", "does not say how likely each draw was"),
        ("with-replacement", "replacement"),
        ("cluster", "is no design"),
    ],
)
def test_designs_of_which_nothing_can_be_estimated_say_why(pool, truth, design, problem):
    rows = draw(pool, truth, (6, 6))
    with pytest.raises(ChoiceError, match=problem):
        Study.from_draws("pool.parquet", rows, "study", design=design)


def test_a_blank_cell_says_that_nothing_took_the_place_of_an_answer(pool, truth):
    rows = [row | {"superseded": " "} for row in draw(pool, truth, (6, 6))]
    study = Study.from_draws("pool.parquet", rows, "study", design="sequential", seed=1)
    assert study.status().counts.labeled == 12


def test_a_log_in_another_encoding_is_to_be_saved_as_csv(pool, truth):
    Path("log.csv").write_bytes("id,label\ncaf\u00e9,cat\n".encode("latin-1"))
    with pytest.raises(LabelError) as raised:
        Study.from_draws("pool.parquet", "log.csv", "study")
    assert raised.value.hint == "save it as UTF-8 CSV"


def test_labels_without_a_round_must_say_which_round_knew_them(pool, truth):
    rows = draw(pool, truth, (6, 6))
    drawn = {row["id"] for row in rows}
    free = next(id for id in truth if id not in drawn)
    for further, problem in (
        ({"id": free, "label": "cat"}, "no round drew it"),
        ({"id": free, "label": "cat", "probability": 0.1, "known_to": 2}, "has no round"),
        ({"id": rows[0]["id"], "label": "cat", "known_to": 2}, "has rows without a round"),
        ({"id": free, "label": "cat", "known_to": "soon"}, "the known_to is 'soon'"),
        (
            {"id": free, "label": "", "known_to": 2, "superseded": "taken back"},
            "was taken back after round 2",
        ),
    ):
        with pytest.raises(LabelError, match=problem):
            Study.from_draws("pool.parquet", [*rows, further], "study")
    rows.append({"id": free, "label": "cat", "known_to": 2})
    study = Study.from_draws("pool.parquet", rows, "study", design="sequential", seed=1)
    assert StoredStudy.open("study").ledger.record().supplied == {free: 2}
    assert study.status().counts.supplied == 1


def test_uniform_draws_need_no_probabilities_and_no_order(pool, truth):
    study = Study.create("pool.parquet", "first", acquisition="uniform", seed=4)
    study.ingest({id: truth[id] for id in study.next(15).ids})
    rows = sorted(({"id": id, "label": truth[id]} for id in draw_ids(study)), key=by_label)
    again = Study.from_draws("pool.parquet", rows, "again", design="uniform", seed=1)
    for name in ("iid", "lure"):
        mine, theirs = rows_of(again, estimators=[name]), rows_of(study, estimators=[name])
        assert mine[0][2] == pytest.approx(theirs[0][2])
    # As if the study had drawn them: the same gates can be decided.
    [row] = again.report(metrics=["error"], interval="anytime").estimates[:1]
    assert row.method == "betting"
    [expected] = study.report(metrics=["error"], interval="anytime").estimates[:1]
    assert row.lower <= row.estimate <= row.upper < 1 and expected.upper < 1
    # They stood in the log in the order of their labels, and that would tell a guess too much.
    assert draw_ids(again) != [row["id"] for row in rows]


def draw_ids(study: Study) -> list[str]:
    return [row.id for row in study.export()]


def by_label(row: dict) -> str:
    return row["label"]


def test_uniform_draws_may_have_the_probabilities_of_any_uniform_design(pool, truth):
    rows = [{"id": id, "label": truth[id]} for id in list(truth)[3:13]]
    same = [row | {"probability": 0.25} for row in rows]
    falling = [row | {"probability": 1 / (SIZE - place)} for place, row in enumerate(rows)]
    uneven = [row | {"probability": 0.01 + place / 100} for place, row in enumerate(rows)]
    studies = [
        Study.from_draws("pool.parquet", each, name, design="uniform", seed=1)
        for name, each in (("a", rows), ("b", same), ("c", falling))
    ]
    assert len({str(rows_of(study)) for study in studies}) == 1
    with pytest.raises(LabelError, match="were not uniform"):
        Study.from_draws("pool.parquet", uneven, "d", design="uniform")


def test_items_may_have_weights(folder):
    rng = np.random.default_rng(2)
    score = rng.random(60)
    frame = pd.DataFrame({"id": [f"i{row}" for row in range(60)], "score": score})
    frame["traffic"] = np.where(np.arange(60) < 5, 0.0, rng.integers(1, 9, 60))
    frame.to_parquet("pool.parquet")
    study = Study.create("pool.parquet", "first", weight="traffic", seed=4)
    for _ in range(2):
        study.ingest({id: int(rng.random() < 0.5) for id in study.next(9).ids})
    log = study.export()
    settings = {"weight": "traffic", "draws_floor": 0.35, "design": "sequential"}
    again = Study.from_draws("pool.parquet", log, "again", **settings)
    mine, theirs = (rows_of(each, estimators=["lure"]) for each in (again, study))
    assert mine[0][2:] == pytest.approx(theirs[0][2:])
    rows = [{"id": row.id, "label": row.label} for row in log]
    plain = Study.from_draws("pool.parquet", rows, "plain", weight="traffic", design="uniform")
    found = plain.report(metrics=["error"], interval="fixed").estimates[0]
    assert 0 < found.lower < found.estimate < found.upper < 1
    with pytest.raises(LabelError, match="has weight 0"):
        Study.from_draws(
            "pool.parquet", [*rows, {"id": "i1", "label": "1"}], "other", weight="traffic",
            design="uniform",
        )  # fmt: skip


# --- estimates are unbiased


def orders(weight: dict[str, float], count: int) -> Iterator[tuple[list[tuple[str, float]], float]]:
    """([(id, probability), ...], probability of all) of every way to draw so many items."""
    if not count:
        yield [], 1.0
        return
    for id, own in weight.items():
        prob = own / sum(weight.values())
        rest = {other: each for other, each in weight.items() if other != id}
        for more, of_more in orders(rest, count - 1):
            yield [(id, prob), *more], prob * of_more


def expect(cache, truth, studies, *, design) -> np.ndarray:
    """(2,) what lure and doubly-robust expect of the error, over logs with their probabilities."""
    from activetest import catalog
    from activetest.estimation import samples
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.sampling.draw_log import read_draw_log
    from activetest.study.imported import Meaning, plan_log

    choices = Choices("error", ("error",), "agreement")
    facts = specification.describe_pool(cache.roles, None, cache)
    metric = specification.find_metric("error", facts)
    expected, total = np.zeros(2), 0.0
    for rows, prob in studies:
        found = read_draw_log(rows)[1]
        planned = plan_log(found, "log", Meaning(design), cache, choices, 1)
        evidence = samples.collect_evidence(planned.log, cache, choices, [metric], seed=1)
        one = samples.build_sample(evidence, metric)
        means = [catalog.load("estimators", each).estimate(one).mean[0] for each in NAMES]
        expected, total = expected + prob * np.array(means), total + prob
    assert total == pytest.approx(1)
    return expected


NAMES = ("lure", "doubly-robust")


@pytest.fixture
def tiny(folder):
    """A pool of five items, its labels, and its error."""
    cache = makers.build_pool(folder, 5, seed=3)
    pred = cache.rows(0, 5).outputs.pred
    codes = np.where([True, False, False, True, False], (pred + 1) % 3, pred)
    return cache, {f"item-{row}": CLASSES[code] for row, code in enumerate(codes)}, 0.4


@pytest.mark.parametrize("brought", [False, True])
def test_draws_of_another_sampler_are_estimated_without_bias_over_all_its_orders(tiny, brought):
    """Its second round looks at the labels of the first, and may know a label that was brought."""
    cache, truth, error = tiny
    pred = dict(zip(truth, cache.rows(0, 5).outputs.pred, strict=True))

    def studies():
        weight = {f"item-{row}": row + 1.0 for row in range(5)}
        for first, prob in orders(weight, 2):
            wrong = sum(truth[id] != CLASSES[pred[id]] for id, _ in first)
            drawn = {id for id, _ in first}
            left = {id: own ** (wrong + 0.5) for id, own in weight.items() if id not in drawn}
            known = [min(left)] * (brought and wrong > 0)
            left = {id: own for id, own in left.items() if id not in known}
            for second, more in orders(left, 1):
                rows = [{"id": id, "label": truth[id], "known_to": 2} for id in known]
                for place, (id, q) in enumerate([*first, *second]):
                    number = 1 + (place > 1)
                    rows.append({"id": id, "probability": q, "label": truth[id], "round": number})
                yield rows, prob * more

    assert expect(cache, truth, studies(), design="sequential") == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("known", [[], ["item-3"]])
def test_uniform_samples_are_estimated_without_bias_over_all_samples(tiny, monkeypatch, known):
    """Rows are in the order of their labels; the order drawn again is each with one probability."""
    cache, truth, error = tiny
    ranks: list[float] = []
    monkeypatch.setattr("activetest.study.imported.uniforms", lambda *_: np.array(ranks))
    left = [id for id in truth if id not in known]
    supplied = [{"id": id, "label": truth[id], "known_to": 1} for id in known]

    def studies():
        samples = list(itertools.combinations(left, 3))
        for ids in samples:
            rows = [{"id": id, "label": truth[id], "round": 1} for id in ids]
            for order in itertools.permutations(range(3)):
                ranks[:] = order
                yield sorted(rows, key=by_label) + supplied, 1 / len(samples) / 6

    assert expect(cache, truth, studies(), design="uniform") == pytest.approx(error, rel=1e-6)


# --- what a log may hold


def test_the_ledger_gives_back_what_was_planned(pool, truth, monkeypatch):
    from activetest.study import imported

    planned: list = []
    record = imported.ImportedLog.record

    def keep(self, ledger: Ledger) -> None:
        planned.append(self)
        record(self, ledger)

    monkeypatch.setattr(imported.ImportedLog, "record", keep)
    Study.from_draws("pool.parquet", draw(pool, truth, (4, 3, 2, 5, 2)), "study", seed=1)
    stored = StoredStudy.open("study")
    log, before = stored.log(stored.cache()), planned[0].log
    for name in ("rows", "q", "round", "status", "labels"):
        assert np.array_equal(getattr(log, name), getattr(before, name), equal_nan=True), name
    for mine, theirs in zip(log.history, before.history, strict=True):
        assert mine.imported and mine.fit_round == theirs.fit_round
        for name in ("imputed", "imputed_sum", "count"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name
        assert sorted(mine.params) == sorted(theirs.params)


def test_rounds_answers_and_statuses_are_those_of_the_log(pool, truth):
    rows = draw(pool, truth, (3, 3, 3))
    for place, round in enumerate([2, 2, 2, 5, 5, 5, 9, 9, 9]):
        rows[place]["round"] = round
    rows[1] |= {"label": "", "status": "declined"}
    rows[8] |= {"label": None}
    rows[0] |= {"annotator": "ann"}
    rows.insert(1, rows[0] | {"annotator": "ben", "label": "owl"})
    study = Study.from_draws("pool.parquet", rows[7:] + rows[:7], "study", seed=1)
    assert "9 draws of the rows in 3 rounds: 7 labelled, 1 without a label yet, 1 declined" in str(
        study.setup
    )
    stored = StoredStudy.open("study")
    log = stored.log(stored.cache())
    drawn = [row for row in rows if row.get("annotator") != "ben"]
    assert [row.id for row in stored.ledger.record().draws] == [row["id"] for row in drawn]
    assert log.round.tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    status = [LABELLED, DECLINED, *[LABELLED] * 6, PENDING]
    assert log.status.tolist() == status
    assert log.answers.tolist() == [2, 1, 1, 1, 1, 1, 1, 1, 0]


def test_columns_words_and_labels_may_be_called_otherwise(pool, truth, folder):
    rows = [
        {"image": row["id"], "q": row["probability"], "says": row["label"], "batch": 1}
        for row in draw(pool, truth, (8,))
    ]
    rows[7]["says"] = "N/A"
    write_log(folder / "log.csv", rows)
    words = ["import", "log.csv", "--pool", "pool.parquet", "--study", "one", "--missing", "N/A"]
    words += ["--columns", "id=image,probability=q,label=says,round=batch"]
    assert main(words) == 0
    assert Study.open("one").status().counts.labeled == 7
    pd.DataFrame(rows[:7]).to_json("log.jsonl", orient="records", lines=True)
    pd.DataFrame(rows[:7]).to_parquet("log.parquet")
    columns = {"id": "image", "probability": "q", "label": "says", "round": "batch"}
    for name in ("log.jsonl", "log.parquet"):
        other = Study.from_draws("pool.parquet", name, f"{name}-study", columns=columns, seed=1)
        assert draw_ids(other) == [row["image"] for row in rows[:7]]


def test_items_that_were_chosen_count_as_known(pool, truth):
    rows = draw(pool, truth, (8,))
    free = [id for id in truth if id not in {row["id"] for row in rows}]
    chosen = [{"id": id, "probability": "", "label": truth[id], "round": 0} for id in free[:2]]
    weight = {row["id"]: row["probability"] for row in rows}
    assert len(weight) == 8
    study = Study.from_draws("pool.parquet", chosen + rows, "study", design="sequential", seed=1)
    counts = study.status().counts
    assert (counts.drawn, counts.deterministic, counts.labeled) == (8, 2, 10)
    assert study.report(interval="fixed").estimates[0].estimate is not None


def test_draws_from_some_predicted_classes_serve_metrics_of_these(pool, truth):
    code = int(pool["pred"].mode()[0])
    name, other = CLASSES[code], CLASSES[(code + 1) % 3]
    alike = pool[pool["pred"] == code]["id"].tolist()
    rows = [
        {"id": id, "probability": 1 / (len(alike) - place), "label": truth[id]}
        for place, id in enumerate(alike[:12])
    ]
    precision = f"precision[{name}]"
    study = Study.from_draws(
        "pool.parquet", rows, "study", drawn_from=name, metric=precision, seed=1
    )
    found = study.report(metrics=[precision], estimators=["lure"]).estimates[0]
    right = np.mean([truth[id] == name for id in alike[:12]])
    assert found.estimate == pytest.approx(right)
    assert study.report(metrics=["error"], estimators=["lure"]).estimates[0].estimate is None
    with pytest.raises(LabelError, match="predicted as another class"):
        Study.from_draws("pool.parquet", rows, "other", drawn_from=other)
    # Twelve draws prove nothing about the others, and are in doubt.
    other = Study.from_draws("pool.parquet", rows, "other").report(metrics=["error"])
    assert not other.estimates[0].reliable


# --- a pool that has grown since


@pytest.fixture
def grown(folder):
    """log.csv of 90 draws from the first 350 of the 500 items of grown.parquet."""

    def write(place: Path) -> None:
        table = pq.read_table(makers.write_pool(place / "grown.parquet", 500))
        pq.write_table(table.slice(0, 350), place / "part.parquet")
        study = Study.create("part.parquet", "part", seed=3)
        labels = dict.fromkeys(table["id"].to_pylist(), "cat")
        for _ in range(6):
            study.ingest({id: labels[id] for id in study.next(15).ids})
        study.export().to_csv(place / "log.csv")

    makers.copy_written("grown", write, folder)
    return folder


def test_a_log_of_the_pool_before_it_grew_is_refused_and_nothing_changes(grown, capsys):
    before = sorted(grown.rglob("*"))
    assert main(["import", "log.csv", "--pool", "grown.parquet"]) == 2
    error = capsys.readouterr().err
    assert re.search(r"account for (6\d|7[0-5])\.?\d* % of the items alone", error)
    assert "without those that came later" in error and "--drawn-from" in error
    assert sorted(grown.rglob("*")) == before
    assert main(["import", "log.csv", "--pool", "part.parquet"]) == 0
    assert re.search(r"account for (9\d|10\d)\.?\d* %.*: about 100 %", capsys.readouterr().out)


def test_who_insists_on_a_refuted_log_has_marked_intervals_and_gates_that_stay_undecided(
    grown, capsys
):
    words = ["--pool", "grown.parquet", "--design", "sequential", "--budget", "100"]
    assert main(["import", "log.csv", *words]) == 0
    assert "(!): the others had no chance" in capsys.readouterr().out
    settings = {"require": ["error<=0.99"], "interval": "fixed"}
    report = Study.open().report(**settings)
    gate = report.gates[0]
    assert gate.verdict == "undecided" and "probabilities of a log are in doubt" in gate.reason
    assert not report.estimates[0].reliable
    assert any("account for" in note.text for note in report.notes)
    assert main(["report", "--metric", "error"]) == 0
    assert "not reliable yet" in " ".join(capsys.readouterr().out.split())
    ledger = StoredStudy.open().ledger
    shares = {each.doubtful_share for each in ledger.rounds(np.arange(90))}
    assert len(shares) == 1 and 0.6 < shares.pop() < 0.75
    assert re.search(r"draws +ok: .* \(!\)", str(Study.open().verify()))
    # The same draws, from the pool that they are of.
    assert main(["import", "log.csv", "--pool", "part.parquet", "--study", "right"]) == 0
    assert Study.open("right").report(**settings).gates[0].verdict == "pass"


def test_further_draws_leave_the_log_in_doubt_but_for_gates_that_rest_on_them_alone(grown):
    study = Study.from_draws("grown.parquet", "log.csv", "other", design="sequential", seed=1)
    for _ in range(3):
        study.ingest(dict.fromkeys(study.next(30).ids, "cat"))
    assert not study.report().estimates[0].reliable
    found = study.report(interval="anytime").estimates[0]
    assert found.method == "betting" and found.reliable


# --- afterwards


def test_the_study_goes_on_with_draws_of_its_own(pool, truth):
    study = Study.from_draws("pool.parquet", draw(pool, truth), "study", seed=1)
    gate = "error<=0.75"
    report = study.report(require=gate)
    assert report.gates[0].verdict == "undecided" and report.gates[0].e_pass == 1
    assert study.report(require=gate, interval="fixed").passed
    assert any("in which 12 items had been drawn" in note.text for note in report.notes)
    batch = study.next(20)
    assert batch.round == 3 and not {*batch.ids} & {row.id for row in study.export() if row.label}
    study.ingest({id: truth[id] for id in batch.ids})
    report = study.report(require=gate, metrics=["error"])
    assert report.gates[0].e_pass > 1
    assert any("rest on the draws that this study made" in note.text for note in report.notes)
    study.ingest({id: truth[id] for id in study.next(8).ids})
    whole = study.report(metrics=["error"]).estimates[0]
    assert (whole.estimate, whole.method) == (pytest.approx(14 / SIZE), "exact")


def test_a_page_says_where_the_draws_came_from(pool, truth, folder):
    write_log(folder / "draws.csv", draw(pool, truth))
    study = Study.from_draws("pool.parquet", "draws.csv", "study", draws_floor=0.2, seed=1)
    study.ingest({id: truth[id] for id in study.next(5).ids})
    found = study.report(details=True).details.provenance
    assert found.commands == (
        "Study.from_draws('pool.parquet', 'draws.csv', seed=1, draws_floor=0.2)",
        "study.next(5)",
        "study.ingest(labels)",
    )
    assert found.versions[0] == "an imported log" and len(found.versions) == 2
    line = to_commands(f"`{found.commands[0]}`")
    assert line == "activetest import --pool pool.parquet draws.csv --seed 1 --draws-floor 0.2"


def test_what_the_log_did_not_record_can_be_reported(pool, truth):
    study = Study.from_draws("pool.parquet", draw(pool, truth, (5, 5, 5)), "study", seed=1)
    before = rows_of(study, metrics=["error"])
    study.change(groups=["place"])
    after = rows_of(study, metrics=["error", "kappa"])
    assert after[0] == pytest.approx(before[0])
    assert {row[1] for row in after if row[0] == "error"} == {
        "None", "{'place': 'barn'}", "{'place': 'tree'}"
    }  # fmt: skip
    undone = study.undo()
    assert undone.answers == 15 and study.status().counts.pending == 15


# --- what is refused


def change(place: int, **cells):
    def edit(rows: list[dict]) -> list[dict]:
        rows[place] |= cells
        return rows

    return edit


def double(rows: list[dict]) -> list[dict]:
    return [*rows, dict(rows[0])]


def as_inclusion(rows: list[dict]) -> list[dict]:
    return [row | {"probability": 0.3 + 0.001 * place} for place, row in enumerate(rows)]


def shrink(rows: list[dict]) -> list[dict]:
    return [row | {"probability": row["probability"] / 1e6} for row in rows]


REFUSED = [
    (change(3, probability="nan"), "the probability is 'nan'"),
    (change(3, probability="inf"), "the probability is 'inf'"),
    (change(3, probability="1e308"), "the probability is '1e308'"),
    (change(3, probability="-0.1"), "the probability is '-0.1'"),
    (change(3, probability="0"), "the probability is '0'"),
    (change(3, probability="0,1"), "the probability is '0,1'"),
    (change(3, probability="1e-400"), "the probability is '1e-400'"),
    (change(3, probability="0x1p-3"), "the probability is '0x1p-3'"),
    (change(3, probability="\u0660.\u0661"), "the probability is"),
    (change(3, probability=""), "has no probability, and others of its round have one"),
    (change(3, probability=1), "37 items were left"),
    (change(3, round="1.5"), "the round is '1.5'"),
    (change(3, round="1e300"), "the round is '1e300'"),
    (change(3, round="-1"), "the round is '-1'"),
    (change(3, round=""), "has no round"),
    (change(3, round="", probability=""), "has a label, but no round drew it"),
    (change(3, id=""), "the id is empty"),
    (change(3, id="nobody"), "nobody"),
    (change(3, id="item\x1b[2J"), "item"),
    (change(3, label="cow"), "cow"),
    (change(3, label="\x00"), ""),
    (change(3, status="maybe"), "'maybe' is no status"),
    (double, "was drawn in line 2 already"),
    (as_inclusion, "look like those of being in the sample"),
    (shrink, "the probabilities are too small"),
    (lambda rows: rows[:0], "no rows"),
    (lambda rows: [{"id": row["id"], "label": row["label"]} for row in rows], "no probabilities"),
    (lambda rows: [{"id": row["id"], "probability": 0.1} for row in rows], "no column 'label'"),
]


@pytest.mark.parametrize(("edit", "problem"), REFUSED)
def test_a_log_that_cannot_be_is_refused_and_leaves_nothing(
    pool, truth, folder, capsys, edit, problem
):
    rows = edit(draw(pool, truth, (12,)))
    names = list(rows[0]) if rows else ["id", "label", "probability"]
    with open("log.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*dict.fromkeys([*names, *(n for r in rows for n in r)])])
        writer.writeheader()
        writer.writerows(rows)
    before = sorted(path.name for path in folder.iterdir())
    assert main(["import", "log.csv", "--pool", "pool.parquet", "--seed", "1"]) == 2
    said = capsys.readouterr().err
    assert problem in said and "Traceback" not in said
    assert all(each.isprintable() for each in said.splitlines())
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "item-1", "label": "cat", "probability": NaN}',
        '{"id": "item-1", "label": "cat", "probability": Infinity}',
        '{"id": "item-1", "label": "cat", "probability": 1e999}',
        '{"id": "item-1", "label": "cat", "probability": 123456789012345678901234567890}',
        '{"id": "item-1", "label": "cat", "probability": true}',
        '{"id": "item-1", "label": "cat", "probability": [0.1]}',
        '{"id": "item-1", "label": "cat", "probability": {"q": 0.1}}',
        '{"id": "item-1", "label": ["cat", "dog"], "probability": 0.1}',
        '{"id": "item-1", "label": "cat", "probability": 0.1, "round": 1e308}',
        '{"id": "item-1", "label": "cat", "probability": 0.1, "round": true}',
        '{"id": ["item-1"], "label": "cat", "probability": 0.1}',
        '{"id": "item-1", "label": "cat", "probability": 0.1, "status": 5}',
        '{"id": "\\ud800", "label": "cat", "probability": 0.1}',
        "[" * 5000,
    ],
)
def test_lines_of_json_that_cannot_be_are_refused(pool_file, folder, capsys, line):
    (folder / "log.jsonl").write_text(f"{line}\n")
    before = sorted(path.name for path in folder.iterdir())
    assert main(["import", "log.jsonl", "--pool", "pool.parquet", "--seed", "1"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0, 1e308, 1e-101])
def test_numbers_of_a_frame_that_are_no_probabilities_are_refused(pool_file, folder, value):
    frame = pd.DataFrame({"id": ["item-1", "item-2"], "label": ["cat", "dog"]})
    for draws in (frame.assign(probability=value), frame.assign(probability=[value, 0.1])):
        with pytest.raises(LabelError, match="probabilit"):
            Study.from_draws("pool.parquet", draws, "study")
    assert not (folder / "study").exists()


def test_two_columns_of_one_name_are_refused(pool, truth, folder, capsys):
    (folder / "log.csv").write_text("id,label,probability,probability\nitem-1,cat,0.1,0.2\n")
    assert main(["import", "log.csv", "--pool", "pool.parquet"]) == 2
    assert "two columns are called 'probability'" in capsys.readouterr().err


def test_two_labels_of_one_annotator_are_refused(pool, truth):
    rows = draw(pool, truth, (6,))
    rows.append(rows[0] | {"label": "owl" if rows[0]["label"] != "owl" else "cat"})
    with pytest.raises(ActivetestError, match="was drawn in row 0 already"):
        Study.from_draws("pool.parquet", rows, "study")
    assert issubclass(LabelConflict, LabelError)


@pytest.mark.parametrize("design", ["poisson", "inclusion", "with-replacement", "srs"])
def test_other_designs_are_refused_with_what_to_do(pool, truth, capsys, design):
    write_log(Path("log.csv"), draw(pool, truth))
    words = ["import", "log.csv", "--pool", "pool.parquet", "--design", design]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert ("sequential" in said or "--design uniform" in said) and "`" not in said
    assert not Path(".activetest").exists()


def test_probabilities_of_another_design_are_taken_where_somebody_says_that_they_are_none(
    pool, truth
):
    rows = as_inclusion(draw(pool, truth, (12,)))
    with pytest.raises(LabelError) as caught:
        Study.from_draws("pool.parquet", rows, "study")
    assert 'design="sequential"' in caught.value.hint
    assert "account for" in str(
        Study.from_draws("pool.parquet", rows, "study", design="sequential").setup
    )


@pytest.mark.parametrize("seed", range(20))
def test_an_honest_log_is_taken_whatever_its_rounds_are(pool, truth, seed):
    from activetest.sampling.draw_log import read_draw_log
    from activetest.study import imported

    for counts in ((12,), (1,) * 12, (2,) * 6, (5,), (30,), (20, 3, 1)):
        rows = read_draw_log(draw(pool, truth, counts, seed))[1]
        left = SIZE - np.arange(sum(counts), dtype=float)
        imported.check_meaning(imported.find_draws(rows, "log"), left, "log")


def test_a_log_without_its_pool_or_where_a_study_is_already_is_refused(pool, truth, capsys):
    write_log(Path("log.csv"), draw(pool, truth))
    assert main(["import", "log.csv"]) == 2
    assert "--pool" in capsys.readouterr().err
    Study.create("pool.parquet", "study", seed=1)
    before = Path("study/ledger.db").read_bytes()
    with pytest.raises(StudyError, match="there is a study in study already"):
        Study.from_draws("pool.parquet", "log.csv", "study")
    assert Path("study/ledger.db").read_bytes() == before
    with pytest.raises(ChoiceError, match="no field of a log of draws"):
        Study.from_draws("pool.parquet", "log.csv", "other", columns={"prob": "probability"})
    with pytest.raises(ChoiceError, match="`draws_floor` is 2"):
        Study.from_draws("pool.parquet", "log.csv", "other", draws_floor=2)
    with pytest.raises(LabelError, match="below the floor"):
        Study.from_draws("pool.parquet", "log.csv", "other", draws_floor=0.9)


def test_a_study_is_not_there_before_all_its_draws_are(pool, truth, folder, monkeypatch):
    def fail(self, rounds, answers, **_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Ledger, "record_log", fail)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(ActivetestError):
        Study.from_draws("pool.parquet", draw(pool, truth), "study")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_log_comes_from_standard_input_as_well(pool, truth, monkeypatch, tmp_path):
    path = write_log(tmp_path / "log.csv", draw(pool, truth))
    with path.open("rb") as stream:
        study = Study.from_draws("pool.parquet", stream, "study", seed=1)
    assert study.status().counts.labeled == 12
