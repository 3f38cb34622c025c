"""Description of a file before there is a study, and a line to type that works."""

import csv
import io
import json
import shlex

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cache import evidence
from activetest.cli import app
from activetest.errors import PoolError
from activetest.pool import convert
from activetest.pool.pool import Pool
from activetest.render import text
from activetest.study import inspect as look_into
from tests.exports import annotate, choose, write_label_studio

ROWS = 40
IDS = [f"item-{row}" for row in range(ROWS)]
WORDS = ["yes", "no"] * (ROWS // 2)
SCORES = [round(0.01 + row / 50, 3) for row in range(ROWS)]
COLUMNS = {
    "id": IDS,
    "score": SCORES,
    "prompt": [f"Question {row}: what is it, please?" for row in range(ROWS)],
    "region": ["north", "south"] * (ROWS // 2),
}


def write_csv(path, table, delimiter=","):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([table.column_names, *(row.values() for row in table.to_pylist())])


def write_lines(path, table):
    path.write_text("\n".join(map(json.dumps, table.to_pylist())))


def write_array(path, table):
    path.write_text(json.dumps(table.to_pylist(), indent=1))


def write_stream(path, table):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def write_folder(path, table):
    path.mkdir()
    pq.write_table(table.slice(0, 25), path / "data-00000-of-00002.parquet")
    pq.write_table(table.slice(25), path / "data-00001-of-00002.parquet")


FILES = {
    "pool.parquet": (pq.write_table, "parquet"),
    "pool as table.csv": (write_csv, "csv"),
    "it's (mine) $HOME.csv": (write_csv, "csv"),
    "-dash.csv": (write_csv, "csv"),
    "pool.tsv": (lambda path, table: write_csv(path, table, "\t"), "csv"),
    "lying.txt": (write_csv, "csv"),
    "pool.jsonl": (write_lines, "json-lines"),
    "array.json": (
        lambda path, table: path.write_text(json.dumps(table.to_pylist())),
        "json-lines",
    ),
    "pool.arrow": (write_stream, "arrow"),
    "pool.feather": (lambda path, table: pyarrow.feather.write_feather(table, str(path)), "arrow"),
    "noending": (pq.write_table, "parquet"),
    "folder": (write_folder, "parquet"),
}


def swap(writer, path, table):
    if writer is pq.write_table:
        writer(table, path)
    else:
        writer(path, table)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    return tmp_path


def look(capsys, *words: str, code: int = 0) -> str:
    assert app.main(["inspect", *words]) == code
    return capsys.readouterr().out


def obey(capsys, name: str, format: str = "parquet") -> at.Study:
    """Type the line that `inspect` prints; the study that it creates."""
    document = json.loads(look(capsys, "--format", "json", "--", name))
    assert document["format"] == format
    line = shlex.split(document["create"])
    assert line[0] == "activetest"
    assert app.main(line[1:]) == 0, line
    capsys.readouterr()
    folder = line[line.index("--study") + 1] if "--study" in line else ".activetest"
    study = at.Study.open(folder)
    assert study.setup.schema.task == document["task"]
    assert list(study.setup.schema.classes) == document["classes"]
    return study


@pytest.mark.parametrize("name", FILES)
def test_the_line_to_type_works_on_every_kind_of_file(place, capsys, name):
    writer, format = FILES[name]
    swap(writer, place / name, pa.table(COLUMNS))
    study = obey(capsys, name, format)
    assert study.setup.rows == ROWS


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("folder", "-dash.csv")])
def test_standard_input_may_be_a_table_of_any_format(place, monkeypatch, capsys, name):
    writer, format = FILES[name]
    swap(writer, place / name, pa.table(COLUMNS))
    content = (place / name).read_bytes()
    (place / name).unlink()

    def pipe() -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    pipe()
    seen = json.loads(look(capsys, "-", "--format", "json"))
    assert (seen["format"], seen["name"], seen["rows"]) == (format, "standard input", ROWS)
    assert seen["create"] == "activetest init -" and not any(place.iterdir())
    pipe()
    assert app.main(shlex.split(seen["create"])[1:]) == 0
    assert at.Study.open().setup.rows == ROWS
    capsys.readouterr()
    pipe()
    assert json.loads(look(capsys, "-", "--format", "json"))["create"] == (
        "activetest init - --study pool.study"
    )
    assert at.inspect(io.BytesIO(content)).create == "Study.create(file, 'pool.study')"


def test_labels_and_damage_in_standard_input_are_named_as_such(place, monkeypatch, capsys):
    lines = "".join(f"item-{k},cat,yes\n" for k in range(9))
    content = f"id,pred,label\n{lines}".encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    (labels,) = json.loads(look(capsys, "-", "--format", "json"))["labels"]
    assert labels["advice"] == "activetest ingest - takes them"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"PAR1" + b"x" * 50)))
    assert app.main(["inspect", "-"]) == 2
    problem = capsys.readouterr().err
    assert "standard input" in problem and "stream" not in problem
    answers = {"text": "a", "label": "b", "_task_hash": 1, "answer": "accept", "meta": {"id": "1"}}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(answers).encode())))
    app.main(["init", "-"])
    assert "/stream" not in capsys.readouterr().err
    with pytest.raises(PoolError, match="open as text"):
        at.inspect(io.StringIO("id,pred\n"))


def test_a_file_is_converted_once(place, monkeypatch):
    write_csv(place / "pool.csv", pa.table(COLUMNS))
    converted = []
    to_parquet = convert.to_parquet
    monkeypatch.setattr(
        convert,
        "to_parquet",
        lambda *given, **more: converted.append(given) or to_parquet(*given, **more),
    )
    assert at.inspect("pool.csv").create and len(converted) == 1


def test_roles_are_said_nothing_is_written_and_the_line_is_shown_whole(place, capsys):
    write_csv(place / "pool.csv", pa.table(COLUMNS))
    found = at.inspect("pool.csv")
    assert (found.format, found.rows, found.task) == ("csv", ROWS, "classification")
    roles = {each.name: each.role for each in found.columns}
    assert roles == {
        "id": "id",
        "score": "probability of 1",
        "prompt": "text to learn from",
        "region": "could be a group",
    }
    assert found == at.inspect("pool.csv")
    assert [path.name for path in place.iterdir()] == ["pool.csv"]
    assert "\n  activetest init pool.csv\n" in look(capsys, "pool.csv")
    assert repr(found) == "<Inspection of pool.csv: CSV, 40 rows>"
    assert str(found).startswith("pool.csv: CSV, 40 rows, 4 columns")


def test_where_a_study_is_in_the_way_the_line_names_another_folder(place, capsys):
    write_csv(place / "pool.csv", pa.table(COLUMNS))
    folders = [obey(capsys, "pool.csv", "csv").setup.folder.name for _ in range(3)]
    assert folders == [".activetest", "pool.study", "pool-2.study"]


NAMED = {
    "y_pred": {"y_pred": WORDS},
    "probs": {"probs": [[0.25, 0.75]] * ROWS},
    "wide": {"proba_cat": [0.25] * ROWS, "proba_dog": [0.75] * ROWS},
    "single": {"prob_spam": SCORES},
    "one number": {"prob": SCORES},
    "spark": {
        "probability": [[0.25, 0.75], [0.75, 0.25]] * (ROWS // 2),
        "prediction": [1.0, 0.0] * (ROWS // 2),
        "predictedLabel": WORDS,
    },
    "y_score": {"y_score": SCORES},
    "values": {"score": [10 * each for each in SCORES]},
    "verdict": {"verdict": ["pass", "fail"] * (ROWS // 2)},
    "no id": {"customer_id": IDS, "id": None, "pred": WORDS},
    "score of words": {"score": ["C", "I"] * (ROWS // 2)},
}


@pytest.mark.parametrize("case", NAMED)
def test_outputs_by_other_names_are_found_and_the_line_names_them(place, capsys, case):
    columns = {"id": IDS} | NAMED[case]
    columns = {name: values for name, values in columns.items() if values is not None}
    pq.write_table(pa.table(columns), place / "pool.parquet")
    study = obey(capsys, "pool.parquet")
    if case == "wide":
        assert study.setup.schema.classes == ("cat", "dog")
    if case == "spark":
        assert study.setup.schema.classes == ("no", "yes")
    if case == "no id":
        assert study.setup.schema.id == "customer_id"
    assert study.next(5)


def test_metrics_are_those_that_the_study_takes_and_others_say_what_they_need(place):
    kinds = {
        "hard": {"pred": WORDS},
        "score": {"score": SCORES},
        "values": {"pred": [10 * each for each in SCORES]},
    }
    for name, columns in kinds.items():
        pq.write_table(pa.table({"id": IDS, **columns}), place / f"{name}.parquet")
        found = at.inspect(f"{name}.parquet")
        lacking = {each for group in found.lacking for each in group.metrics}
        bare = {each.partition("[")[0] for each in found.metrics}
        assert not lacking & bare and {"rmse", "f1", "log-loss"} <= lacking | bare
        study = at.Study.create(f"{name}.parquet", name, **found.settings)
        written = [each.replace("CLASS", (*found.classes, "")[0]) for each in found.metrics]
        study.report(metrics=written)
        needs = {each: group.needs for group in found.lacking for each in group.metrics}
        if name == "hard":
            assert all("prob_CLASS" in needs[each] for each in ("log-loss", "brier", "auroc"))
        if name == "values":
            assert "pred_std" in needs["nll"]
        for metric in lacking:
            with pytest.raises(at.ActivetestError):
                study.report(metrics=[metric])


def test_labels_in_the_file_are_counted_and_handed_in_as_is_said(place, capsys):
    write_csv(place / "pool.csv", pa.table({"id": IDS, "pred": WORDS, "label": WORDS[::-1]}))
    found = json.loads(look(capsys, "pool.csv", "--format", "json"))
    (labels,) = found["labels"]
    assert (labels["column"], labels["count"]) == ("label", ROWS)
    assert "activetest ingest pool.csv takes them" in labels["advice"]
    assert "activetest simulate pool.csv --labels pool.csv" in labels["advice"]
    obey(capsys, "pool.csv", "csv")
    assert app.main(["ingest", "pool.csv"]) == 0
    assert at.Study.open().status().counts.supplied == ROWS


def test_a_file_of_labels_that_is_too_large_to_read_as_such_has_no_advice_to(place, monkeypatch):
    write_csv(place / "pool.csv", pa.table({"id": IDS, "pred": WORDS, "label": WORDS[::-1]}))
    monkeypatch.setattr(look_into, "_LARGEST", 10)
    (labels,) = at.inspect("pool.csv").labels
    assert labels.advice.startswith("write them to a CSV file")


def test_labels_name_the_classes_of_a_score(place, capsys):
    labels = ["no", "yes", "", "yes"] * (ROWS // 4)
    write_csv(place / "pool.csv", pa.table({"id": IDS, "score": SCORES, "label": labels}))
    study = obey(capsys, "pool.csv", "csv")
    assert study.setup.schema.classes == ("no", "yes") and study.setup.schema.positive == "yes"
    assert study.ingest("pool.csv").new == 3 * ROWS // 4


def test_labels_that_are_missing_are_not_counted(place):
    features = {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({"id": IDS, "pred": WORDS, "label": [-1] * 30 + [0, 1] * 5})
    pq.write_table(table.replace_schema_metadata(metadata), place / "pool.parquet")
    (labels,) = at.inspect("pool.parquet").labels
    assert labels.count == 10


def test_several_labels_an_item_are_said(place):
    lists = {"labels": [["a", "b"], ["b"]] * (ROWS // 2), "classes_label": [["a", "b"]] * ROWS}
    written = {
        "written_labels": ["['a']", "[]"] * (ROWS // 2),
        "label_names": ["['a', 'b']"] * ROWS,
    }
    pq.write_table(pa.table({"id": IDS, "pred": WORDS, **lists, **written}), place / "p.parquet")
    found = at.inspect("p.parquet")
    roles = {each.name: each.role for each in found.columns}
    several, names = "several labels an item: not scored", "names of the classes"
    assert (roles["labels"], roles["written_labels"]) == (several, several)
    assert (roles["classes_label"], roles["label_names"]) == (names, names) and not found.labels


def test_a_file_of_which_there_can_be_no_study_says_why(place, capsys):
    pq.write_table(pa.table({"id": IDS, "text": COLUMNS["prompt"]}), place / "texts.parquet")
    found = at.inspect("texts.parquet")
    assert found.create is None and "no column holds the model's outputs" in found.problem
    assert found.hint and found.metrics == ()
    assert "No study can be made of it: no column holds" in str(found)
    for format in ("text", "markdown"):
        assert app.main(["inspect", "texts.parquet", "--format", format]) == 2
        shown = capsys.readouterr()
        assert "texts.parquet" in shown.out and "no column holds" not in shown.out
        assert shown.err.count("no column holds the model's outputs") == 1
    document = json.loads(look(capsys, "texts.parquet", "--format", "json", code=2))
    assert document["create"] is None and document["problem"] == found.problem
    noted = {"activetest": json.dumps({"notes": ["2 samples are left out"]})}
    texts = pq.read_table("texts.parquet").replace_schema_metadata(noted)
    pq.write_table(texts, place / "noted.parquet")
    assert at.inspect("noted.parquet").summary == ("2 samples are left out",)
    pq.write_table(pa.table({"id": IDS, "score": [*SCORES[:-1], None]}), place / "gap.parquet")
    found = at.inspect("gap.parquet")
    assert found.create is None and "row 39" in found.problem


@pytest.mark.parametrize(
    "content", [b"", b"\0\1\2\3" * 9, b"hello\n", b"ARROW1\0\0" + b"\xff" * 90, b"PAR1" + b"x" * 50]
)
def test_what_is_no_table_is_an_error_of_the_input(place, capsys, content):
    (place / "pool.csv").write_bytes(content)
    try:
        at.inspect("pool.csv")
    except PoolError as error:
        assert error.problem and error.hint
        assert app.main(["inspect", "pool.csv"]) == 2
    else:
        assert at.inspect("pool.csv").problem
    assert [path.name for path in place.iterdir()] == ["pool.csv"]


def test_a_file_of_answers_is_no_pool(place):
    tasks = [({"activetest_id": id}, [annotate(1, 1, choose("yes"))]) for id in IDS[:3]]
    (place / "answers.json").write_bytes(write_label_studio(tasks))
    found = at.inspect("answers.json")
    assert (found.format, found.rows, found.create) == ("label-studio", 3, None)
    assert found.labels[0].count == 3 and "study.ingest" in found.labels[0].advice
    assert found.problem.startswith("these are answers of annotators")


def test_a_file_is_a_path():
    with pytest.raises(PoolError, match="`file` is 7"):
        at.inspect(7)


def test_missing_files_are_named(place, capsys):
    assert app.main(["inspect", "nothing.csv"]) == 2
    assert "nothing.csv" in capsys.readouterr().err


def test_text_fits_the_terminal_but_for_the_line_to_copy(place):
    columns = {f"pixel_{k:02}": SCORES for k in range(30)}
    pq.write_table(pa.table({**COLUMNS, **columns}), place / "a pool with a name.parquet")
    found = at.inspect("a pool with a name.parquet")
    for width in (30, 40, 60, 80, 200):
        lines = text.inspection(found, width=width).split("\n")
        wide = [line for line in lines if len(line) > width]
        assert wide in ([], [f"  {found.create}"])
        assert any("pixel_00 ... pixel_29" in line for line in lines)
        assert any("feature (30 columns)" in line for line in lines)


def test_nothing_in_a_file_reaches_the_terminal_as_it_is(place, capsys):
    names = {"id": IDS, "pred": WORDS, "a\x1b[2Jb": ["\x1b]0;x\x07"] * ROWS}
    pq.write_table(pa.table(names), place / "pool.parquet")
    shown = look(capsys, "pool.parquet")
    assert "\x1b" not in shown and "\x07" not in shown and "\\x1b[2J" in shown
    json.loads(look(capsys, "pool.parquet", "--format", "json"))


def test_the_mean_of_a_score_takes_another_reading_of_it(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "pool.parquet")
    found = at.inspect(tmp_path / "pool.parquet")
    needs = next(each.needs for each in found.lacking if "mean" in each.metrics)
    assert '`task="regression"`, which reads the score as one' in needs
    again = at.Study.create(tmp_path / "pool.parquet", tmp_path / "study", task="regression")
    again.change(metric="mean")


def test_too_many_classes_are_not_called_too_few(tmp_path):
    names = [f"class-{row}" for row in range(150)]
    pq.write_table(pa.table({"id": names, "pred": names}), tmp_path / "pool.parquet")
    found = at.inspect(tmp_path / "pool.parquet")
    needs = next(each.needs for each in found.lacking if "kappa" in each.metrics)
    assert needs == "fewer classes" and found.settings["task"] == "classification"


def test_markdown_says_what_the_text_says(tmp_path, capsys):
    pq.write_table(pa.table(COLUMNS), tmp_path / "pool.parquet")
    assert app.main(["inspect", str(tmp_path / "pool.parquet"), "--format", "markdown"]) == 0
    page = capsys.readouterr().out
    assert "| score | number | probability of 1 |" in page
    assert f"    activetest init {tmp_path}/pool.parquet" in page


UNCLEAR = {
    "a score": {"fraud_score": SCORES},
    "a prediction": {"pred": SCORES},
    "decimals": {"prediction": [float(row % 3) for row in range(ROWS)]},
    "numbers as text": {"pred": [f"{row * 1000:,} EUR" for row in range(ROWS)]},
    "many numbers": {"pred": [row * 1000 for row in range(ROWS)]},
}


@pytest.mark.parametrize("case", UNCLEAR)
def test_what_is_unclear_is_asked_and_every_line_works(place, capsys, case):
    write_csv(place / "pool.csv", pa.table({"id": IDS, **UNCLEAR[case]}))
    shown = look(capsys, "pool.csv")
    document = json.loads(look(capsys, "pool.csv", "--format", "json"))
    lines = [each["create"] for each in document["readings"]]
    assert document["question"] and lines[-1] == document["create"]
    assert ("--decimal ." if case == "numbers as text" else "--task classification") in lines[-1]
    assert shown.rstrip().endswith(f"  {lines[-1]}")
    assert all(f"  {line}\n" in shown for line in lines)
    for number, line in enumerate(lines):
        task = "classification" if "--task classification" in line else "regression"
        assert app.main([*shlex.split(line)[1:], "--study", f"s{number}"]) == 0, line
        assert at.Study.open(f"s{number}").setup.schema.task == task
    page = look(capsys, "pool.csv", "--format", "markdown")
    assert all(f"    {line}\n" in page for line in lines)


def test_of_numbers_written_as_text_it_is_said_how_they_can_be_read(place, capsys):
    path = place / "prices.csv"
    rows = [f"{row},{row}.5 {'€' if row % 2 else '%'}\n" for row in range(80)]
    path.write_text("id,pred\n" + "".join(rows))
    page = " ".join(look(capsys, "prices.csv").split())
    assert "with the same sign, such as % or €, or none, and with the same decimal mark" in page
    # The advice, obeyed.
    path.write_text(path.read_text().replace("%", "€"))
    assert "numbers written as text: pred (decimal point)" in look(capsys, "prices.csv")
    assert app.main(["init", "prices.csv"]) == 0
    assert "numbers written as text: pred (decimal point)" in capsys.readouterr().out
    assert at.Study.open().setup.schema.task == "regression"


def test_settings_of_columns_are_kept_and_the_others_found(place, capsys):
    columns = {"key": IDS, "score": SCORES, "other": WORDS, "fraud_score": SCORES}
    write_csv(place / "pool.csv", pa.table(columns))
    words = ("pool.csv", "--outputs", "fraud_score", "--task", "classification")
    line = json.loads(look(capsys, *words, "--format", "json"))["create"]
    assert line == "activetest init pool.csv --outputs fraud_score --task classification --id key"
    assert app.main(shlex.split(line)[1:]) == 0
    found = at.inspect("pool.csv", outputs="other", id="key")
    assert found.settings == {"outputs": ("other",), "id": "key"} and not found.readings
    assert "pool.csv" in look(capsys, "pool.csv", "--classes", "no,yes")
    with pytest.raises(at.ActivetestError, match="`metric` says nothing about columns"):
        at.inspect("pool.csv", metric="f1")
    with pytest.raises(at.ActivetestError, match="there is no choice 'column'"):
        at.inspect("pool.csv", column="f1")


def test_a_problem_is_printed_once(place, capsys):
    write_csv(place / "pool.csv", pa.table({"id": IDS, "text": WORDS}))
    for format in ("text", "markdown"):
        assert app.main(["inspect", "pool.csv", "--format", format]) == 2
        printed = capsys.readouterr()
        assert (printed.out + printed.err).count("no column holds the model") == 1
    assert app.main(["inspect", "pool.csv", "--outputs", "absent"]) == 2
    assert "the pool has no column 'absent'" in " ".join(capsys.readouterr().err.split())


def test_predictions_and_copies_of_the_outputs_are_no_labels(place):
    truth = WORDS[::-1][:-3] + WORDS[-3:]
    columns = {"id": IDS, "pred_label": WORDS, "score": [int(word == "yes") for word in WORDS]}
    more = {"y_true": truth, "verdict_label": ["good" if w == "yes" else "bad" for w in WORDS]}
    write_csv(place / "pool.csv", pa.table(columns | more | {"is_correct": [0, 1, 1, 1] * 10}))
    found = at.inspect("pool.csv")
    roles = {each.name: each.role for each in found.columns}
    assert roles["y_true"] == "label" and roles["pred_label"] != "label"
    labels = {each.column: each.advice for each in found.labels}
    assert set(labels) == {"y_true", "is_correct"}
    assert "how right the model is" in labels["is_correct"]
    assert any("'verdict_label' says in all 40 rows the same" in each for each in found.summary)
    assert at.Study.check("pool.csv").schema.features == ()


SHARES = [0.01 + row / 50 for row in range(ROWS)]
OTHERS = [1 - each for each in SHARES]
CODES = [1, 0, 0, 1] * (ROWS // 4)
LIKELY = [int(each > 0.5) for each in SHARES]
NUMBERS = [row**2 / 7 for row in range(ROWS)]
TRUTHS = {
    "predicted values": ({"Prediction (price)": NUMBERS}, "price"),
    "a German name": ({"Vorhersage": NUMBERS}, "Istwert"),
    "SAS": ({"P_BAD1": SHARES, "P_BAD0": OTHERS}, "BAD"),
    "SAS, from": ({"P_BAD1": SHARES, "P_BAD0": OTHERS}, "F_BAD"),
    "SPSS": ({"$L-churn": WORDS}, "churn"),
    "a prediction beside the outputs": (
        {"predicted_bad": WORDS, "prob_no": OTHERS, "prob_yes": SHARES},
        "bad",
    ),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_is_called_after_its_prediction_and_is_no_feature(place, name):
    outputs, truth = TRUTHS[name]
    others = {"R_BAD": NUMBERS, "I_BAD": LIKELY} if "P_BAD1" in outputs else {".resid": NUMBERS}
    more = {truth: CODES, "row": list(range(ROWS)), "age": NUMBERS[::-1]}
    write_csv(place / "pool.csv", pa.table({"id": IDS, **outputs, **others, **more}))
    found = at.inspect("pool.csv")
    roles = {each.name: each.role for each in found.columns}
    assert roles[truth] == "label"
    assert [each for each, role in roles.items() if role == "feature"] == ["age"]
    assert truth in {each.column for each in found.labels}
    assert {"I_BAD", "R_BAD"}.isdisjoint(each.column for each in found.labels)


def test_items_without_a_grade_are_left_out_of_the_study_that_the_line_makes(place, capsys):
    grades = ["pass", "fail", "", "pass"] * (ROWS // 4)
    write_csv(place / "pool.csv", pa.table({"id": IDS, "verdict": grades}))
    study = obey(capsys, "pool.csv", "csv")
    assert study.setup.rows == 3 * ROWS // 4 and set(study.next(20).ids) <= {*IDS}
    assert "10 items without a grade in 'verdict' left out" in study.setup.notices
    study.change(budget=20)
    assert study.ingest(dict.fromkeys(study.next().ids, "pass")).new == 20


def test_a_file_is_opened_once_and_nothing_is_learned_from_it(tmp_path, monkeypatch):
    """Learning from a million items takes a quarter of a minute, and says nothing of columns."""
    path = tmp_path / "pool.parquet"
    rows = 300
    values = [float(row % 17) for row in range(rows)]
    columns = {"id": [*map(str, range(rows))], "pred": ["ab"[row % 2] for row in range(rows)]}
    pq.write_table(pa.table({**columns, "x": values}), path)
    opened, learned = [], []
    usual = Pool.open

    def open_pool(*args, **settings):
        opened.append(args)
        return usual(*args, **settings)

    monkeypatch.setattr(Pool, "open", open_pool)
    monkeypatch.setattr(evidence, "learn_answers", lambda *given: learned.append(given))
    found = at.inspect(path)
    assert found.create and "x" in [each.name for each in found.columns]
    assert (len(opened), learned) == (1, [])


def test_two_columns_of_one_name_are_an_error(tmp_path):
    table = pa.Table.from_arrays([pa.array(["a"] * 60)] * 2, names=["pred", "pred"])
    pq.write_table(table, tmp_path / "pool.parquet")
    with pytest.raises(PoolError, match="two columns are called 'pred'"):
        at.inspect(tmp_path / "pool.parquet")


def test_labels_of_a_categorical_column_are_counted(tmp_path):
    """As pandas writes them; a blank one is none."""
    truth = pa.array(["a", "b", ""] * 20).dictionary_encode()
    columns = {"id": [*range(60)], "prob_a": [0.2] * 60, "prob_b": [0.8] * 60}
    pq.write_table(pa.table({**columns, "y_true": truth}), tmp_path / "pool.parquet")
    assert [(each.column, each.count) for each in at.inspect(tmp_path / "pool.parquet").labels] == [
        ("y_true", 40)
    ]
