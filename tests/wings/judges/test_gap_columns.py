"""A study of a judge: what init decides, what the report says, and that both survive reopening."""

import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

import activetest as at
from activetest.errors import ChoiceError
from activetest.wings.judges import gap_columns as judge

ROWS = 240


def write_pool(folder, *, scores: bool = False) -> dict[str, object]:
    """A judge more generous in chat, and what people say: {id: label}."""
    rng = np.random.default_rng(7)
    people = rng.random(ROWS) < 0.6
    domain = np.where(np.arange(ROWS) % 2 == 0, "chat", "law")
    said = people | (rng.random(ROWS) < np.where(domain == "chat", 0.5, 0.05))
    ids = [f"item-{row}" for row in range(ROWS)]
    columns = {"id": ids, "verdict": np.where(said, "pass", "fail"), "domain": domain}
    columns |= {"turns": rng.integers(1, 9, ROWS), "response": ["x" * k for k in range(ROWS)]}
    labels = np.where(people, "pass", "fail").tolist()
    if scores:
        columns["verdict"] = np.round(0.5 + 0.4 * said + rng.normal(0, 0.02, ROWS), 3)
        labels = (columns["verdict"] - 0.1).tolist()
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    return dict(zip(ids, labels, strict=True))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def play(folder, labels: int, *, scores: bool = False, **settings):
    """A study with so many labels, and the key."""
    key = write_pool(folder, scores=scores)
    study = at.Study.create("pool.parquet", "study", judge="verdict", seed=1, **settings)
    study.ingest({id: key[id] for id in study.next(labels).ids})
    return study, key


def find_rows(study, **asked):
    """{(metric, group): row} of a report."""
    rows = study.report(metrics=["rate[pass]", "bias[pass]"], **asked).estimates
    return {
        (row.metric, *(row.group or {}).values()): row
        for row in rows
        if row.estimator == "doubly-robust" and row.against is None
    }


def test_draws_aim_at_the_corrected_rate(folder):
    write_pool(folder)
    setup = at.Study.create("pool.parquet", "study", judge="verdict").setup
    assert setup.choices.metric == "rate[pass]"
    assert {"bias[pass]", "kappa", "recall[pass]", "specificity[pass]"} <= {*setup.choices.metrics}
    assert any("'pass' is positive" in notice for notice in setup.notices)
    study = at.Study.create("pool.parquet", "study", metric="kappa")
    assert study.setup.schema.judge == "verdict"
    assert study.choices.metric == "kappa"


@pytest.mark.parametrize("interval", ["fixed", "anytime"])
def test_the_bias_is_the_judges_rate_minus_peoples_to_the_digit(folder, interval):
    study, _ = play(folder, 60, groups=["domain"])
    rows = find_rows(study, interval=interval)
    for group in ((), ("chat",), ("law",)):
        rate, bias = rows["rate", *group], rows["bias", *group]
        assert bias.estimate == approx(rate.from_outputs - rate.estimate, abs=1e-12)
        ends = approx((rate.from_outputs - rate.upper, rate.from_outputs - rate.lower), abs=1e-12)
        assert (bias.lower, bias.upper) == ends
        assert bias.method == rate.method


def test_groups_differ_in_bias_by_their_own_raw_values(folder):
    study, _ = play(folder, 120, groups=["domain"])
    rows = {
        (row.metric, "pair" if row.against else next(iter((row.group or {"": ""}).values()))): row
        for row in study.report(metrics="bias[pass]", differences="domain").estimates
        if row.estimator == "doubly-robust"
    }
    apart = rows["bias", "chat"].estimate - rows["bias", "law"].estimate
    assert rows["bias", "pair"].estimate == approx(apart)


def test_with_every_label_all_of_it_is_the_truth(folder):
    study, key = play(folder, ROWS, groups=["domain"])
    table = pq.read_table("pool.parquet").to_pydict()
    said = np.array(table["verdict"]) == "pass"
    people = np.array([key[id] for id in table["id"]]) == "pass"
    judge = study.report().judge
    found = {row.metric: row.estimate for row in judge.estimates}
    assert found["rate"] == approx(people.mean())
    assert found["bias"] == approx(said.mean() - people.mean())
    assert found["recall"] == approx(said[people].mean())
    assert found["specificity"] == approx((~said)[~people].mean())
    chat = np.array(table["domain"]) == "chat"
    groups = {row.group["domain"]: row.estimate for row in judge.groups}
    assert groups["chat"] == approx(said[chat].mean() - people[chat].mean())


def test_declined_items_leave_the_bias_to_the_items_with_an_answer(folder):
    study, key = play(folder, 40)
    ids = study.next(20).ids
    rows = [{"id": id, "label": key[id], "status": "labelled"} for id in ids[4:]]
    rows += [{"id": id, "label": "", "status": "declined"} for id in ids[:4]]
    study.ingest(rows)
    rows = find_rows(study)
    rate, bias = rows["rate",], rows["bias",]
    # The judge's mean over items that can be answered is not known exactly.
    assert bias.estimate != approx(rate.from_outputs - rate.estimate, abs=1e-9)
    assert bias.lower < bias.estimate < bias.upper
    (gate,) = study.report(require="kappa>=0.2").gates
    assert gate.verdict == "undecided" and "every look" in gate.reason


def test_the_report_says_how_generous_the_judge_is(folder):
    study, _ = play(folder, 160, groups=["domain"])
    report = study.report()
    assert report.sentence.startswith("The judge says that ")
    assert "points too generous" in report.sentence
    assert [each.column for each in report.judge.columns] == ["turns", "characters of response"]
    text = str(report)
    assert "judge minus people, by group" in text and "No dependence of the gap" in text
    document = json.loads(report.to_json())["judge"]
    assert document["sentence"] == report.sentence
    assert document["columns"][0]["p_corrected"] >= document["columns"][0]["p_value"]
    assert "judge verdict against people" in report.to_markdown()
    assert "judge verdict against people" in report._repr_html_()


def test_scores_are_compared_as_means(folder):
    study, _ = play(folder, 60, scores=True)
    report = study.report()
    assert [row.metric for row in report.judge.estimates] == ["mean", "bias", "mae"]
    mean, bias, mae = report.judge.estimates
    assert bias.estimate == approx(mean.from_outputs - mean.estimate)
    assert (bias.upper, bias.lower) == approx(
        (mean.from_outputs - mean.lower, mean.from_outputs - mean.upper)
    )
    assert bias.estimate == approx(0.1, abs=0.01) and mae.estimate == approx(0.1, abs=0.01)
    assert "too generous" in report.sentence


@pytest.mark.parametrize("asked", [{}, {"metrics": "mae"}, {"metrics": ["mean[0,1]", "bias"]}])
def test_the_mean_score_has_one_number_whatever_its_scale(folder, asked):
    study, _ = play(folder, 60, scores=True, metric="mean[0,1]")
    headline = study.report().estimates[0]
    report = study.report(**asked)
    mean, bias, _ = report.judge.estimates
    assert (mean.metric, mean.quantity) == ("mean[0,1]", headline.quantity)
    assert bias.estimate == approx(headline.from_outputs - headline.estimate, abs=1e-12)
    ends = (headline.from_outputs - headline.upper, headline.from_outputs - headline.lower)
    assert (bias.lower, bias.upper) == approx(ends, abs=1e-12)
    assert bias.method == headline.method
    shown = {row.metric: row for row in report.estimates if row.estimator == "doubly-robust"}
    assert shown.get("bias", bias).quantity == bias.quantity
    (gate,) = study.report(require="bias<=0.2", interval="fixed").gates
    assert (gate.estimate, gate.method) == (bias.estimate, bias.method)


def test_one_sentence_says_what_people_would_score(folder):
    study, _ = play(folder, 60, scores=True, metric="mean[0,1]")
    report = study.report()
    text = " ".join(str(report).split())
    assert report.sentence.startswith("The judge's mean score is ")
    assert text.count("people's would be") == 1 and "The mean label" not in text
    assert "mean score, by people" in text


def test_a_bound_on_losses_is_none_on_scores(folder):
    study, _ = play(folder, 60, scores=True)
    plain, capped = study.report(), study.report(bound=0.3)
    assert [row.quantity for row in capped.judge.estimates[:2]] == [
        row.quantity for row in plain.judge.estimates[:2]
    ]


def test_a_bias_is_decided_at_every_look_where_scores_have_a_scale(folder):
    study, _ = play(folder, 60, scores=True, metric="mean[0,1]")
    report = study.report(interval="anytime", require="bias<=0.9")
    mean, bias = report.judge.estimates[:2]
    ends = (mean.from_outputs - mean.upper, mean.from_outputs - mean.lower)
    assert (bias.lower, bias.upper) == approx(ends, abs=1e-12)
    assert report.gates[0].verdict == "pass"
    study.change(metric="bias")
    with pytest.raises(ChoiceError, match="no bound on what a label can be") as caught:
        study.report(interval="anytime", require="bias<=0.9")
    assert "'mean[0,1]'" in caught.value.hint


def test_a_mean_that_is_asked_for_without_a_scale_has_none(folder):
    study, _ = play(folder, 60, scores=True, metric="mean[0,1]")
    report = study.report(metrics="mean")
    mean = report.judge.estimates[0]
    assert (mean.metric, mean.quantity) == ("mean", report.estimates[0].quantity)


def test_labels_outside_the_scale_are_counted(folder):
    key = write_pool(folder, scores=True)
    study = at.Study.create("pool.parquet", judge="verdict", metric="mean[0,0.6]", seed=1)
    ids = study.next(60).ids
    study.ingest({id: key[id] for id in ids})
    outside = sum(key[id] > 0.6 for id in ids)
    texts = " ".join(note.text for note in study.report().notes)
    assert f"Labels outside the scale of mean[0,0.6]: {outside} of 60." in texts and outside > 5
    assert "Labels outside" not in str(study.report(metrics="mean[0,1]").notes)


def test_the_judges_own_mean_is_of_its_scores_as_they_are(folder):
    study, _ = play(folder, 60, scores=True, metric="mean[0.2,0.8]")
    said = np.mean(pq.read_table("pool.parquet").column("verdict").to_pylist())
    assert study.report().estimates[0].from_outputs == approx(said)


def test_gates_on_the_judge(folder):
    study, _ = play(folder, 160, groups=["domain"])
    assert study.report(require="bias[pass]<=0.9").exit_code == 0
    assert study.report(require="rate[pass]>=0.95").exit_code == 1
    assert study.report(require="bias[pass]@domain=chat<=0.05").exit_code in (1, 3)
    assert study.report(require="kappa>=0.2").exit_code == 0
    assert study.report(require="kappa>=0.95").exit_code == 1
    assert study.report(require="kappa@domain=law>=0.7").exit_code in (0, 3)
    assert study.report(require="kappa>=0.2", interval="fixed").exit_code == 0
    with pytest.raises(ChoiceError):
        study.report(require="bias[pass]<=5")


@pytest.mark.parametrize("seed", range(3))
def test_kappa_at_every_look_holds_the_truth(folder, seed):
    key = write_pool(folder)
    study = at.Study.create("pool.parquet", "study", judge="verdict", seed=seed, groups="domain")
    for count in (40, 60, ROWS - 100):
        study.ingest({id: key[id] for id in study.next(count).ids})
        rows = study.report(metrics="kappa", interval="anytime").estimates
        found = {tuple((row.group or {}).values()): row for row in rows if row.lower is not None}
        if count == 60:
            wide = {group: (row.lower, row.upper) for group, row in found.items()}
    # At the end every label is known, and each group has the shares of its own.
    for group, (lower, upper) in wide.items():
        assert -1 <= lower <= found[group].estimate <= upper <= 1
        assert found[group].lower == found[group].upper == approx(found[group].estimate)


def test_a_study_becomes_that_of_a_judge_and_back(folder):
    key = write_pool(folder)
    study = at.Study.create("pool.parquet", "study", outputs="verdict", seed=1)
    study.ingest({id: key[id] for id in study.next(30).ids})
    assert study.report().judge is None
    study.change(judge="verdict")
    assert at.Study.open("study").report().judge.positive == "pass"
    study.change(judge="")
    assert study.report().judge is None
    with pytest.raises(ChoiceError):
        study.change(judge="domain")


def test_brackets_in_the_positive_verdict_are_refused(folder):
    pq.write_table(pa.table({"id": ["a", "b"], "said": ["[[A]]", "[[B]]"]}), "pool.parquet")
    with pytest.raises(ChoiceError, match="has brackets"):
        at.Study.create("pool.parquet", "study", judge="said")


def test_a_verdict_is_not_read_in_another_way_after_the_first_draw(tmp_path):
    ids = [f"item-{row}" for row in range(40)]
    pool = pa.table({"id": ids, "score": [0.0, 1.0] * 20})
    study = at.Study.create(pool, tmp_path / "study")
    study.next(3)
    with pytest.raises(ChoiceError, match="in another way after the first draw"):
        study.change(judge="score")
    assert at.Study.open(tmp_path / "study").next().repeated


def read_gap_columns(columns: dict[str, list], *, remote=False, rows=None) -> dict[str, list]:
    """The columns that explain a gap, of drawn items 2 and 0 and the supplied item 1."""
    table = pa.table(columns)
    numeric = [name for name in columns if not pa.types.is_string(table[name].type)]
    texts = ("response",)
    pool = SimpleNamespace(
        files=SimpleNamespace(schema=table.schema, remote=remote),
        schema=SimpleNamespace(
            features=numeric,
            ignored=[name for name in columns if name not in {*numeric, *texts}],
            texts=texts,
        ),
        rows=rows or table.num_rows,
        show=lambda at, names: {name: table[name].take(at).to_pylist() for name in names},
    )
    log = SimpleNamespace(item_rows=np.array([2, 0, 1]))
    found = judge.read_gap_columns(pool, log)
    return {name: values.tolist() for name, values in found.items()}


def test_numbers_and_lengths_of_texts_may_explain_a_gap():
    columns = {"turns": [1, 2, 3], "response": ["abcd", "a", "ab"], "domain": ["x", "y", "z"]}
    lengths = {"characters of response": [2.0, 4.0, 1.0]}
    assert read_gap_columns(columns) == {"turns": [3.0, 1.0, 2.0]} | lengths
    assert read_gap_columns(columns, rows=100_000).keys() == {"turns", "characters of response"}
    for options in ({"remote": True}, {"rows": 100_001}):
        assert read_gap_columns(columns, **options) == {"turns": [3.0, 1.0, 2.0]}
    # A column that holds the lengths already, or those of another text, is enough.
    columns |= {"turns": [4, 1, 2], "prompt": ["abcd", "b", "xy"], "other": [4, 1, 3]}
    assert read_gap_columns(columns) == {"turns": [2.0, 4.0, 1.0], "other": [3.0, 4.0, 1.0]}


def test_what_is_missing_is_no_number_and_two_hundred_columns_are_looked_at():
    found = read_gap_columns({"turns": [1, None, 3], "response": [None, "a", "ab"]})
    assert found["turns"][:2] == [3.0, 1.0] and np.isnan(found["turns"][2])
    assert np.isnan(found["characters of response"][1])
    many = {f"x{number}": [number, 1, 2] for number in range(199)}
    texts = {"response": ["abcdef", "", ""], "prompt": ["abc", "", ""]}
    found = read_gap_columns(many | texts)
    assert len(found) == 200 and "characters of prompt" not in found
    assert list(read_gap_columns(many | {"x199": [0, 0, 0], "y": [1, 1, 1]}))[-1] == "x199"
