"""From a log to a report: `init`, `next`, `ingest` and `report` on the files of every program."""

import csv
import io
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import activetest as at
from activetest.cli.app import main
from tests.formats import logs

ITEMS = 60


def is_right(item: int) -> bool:
    """Whether people say that an item is right."""
    return item % 3 > 0


def grade(item: int) -> float:
    """The grader's verdict: it is wrong about every tenth item."""
    return float(is_right(item) != (item % 10 == 0))


def write_inspect(folder: Path) -> Path:
    samples = [logs.inspect_sample(k, "CI"[not grade(k)]) for k in range(ITEMS)]
    return logs.write_eval(folder / "log.eval", samples, logs.ZSTD)


def write_inspect_json(folder: Path) -> Path:
    samples = [logs.inspect_sample(k, grade(k)) for k in range(ITEMS)]
    return logs.write_eval_json(folder / "log.json", samples)


def write_lm_eval(folder: Path) -> Path:
    lines = [logs.lm_eval_line(k, exact_match=grade(k)) for k in range(ITEMS)]
    return logs.write_lines(folder / "samples_task.jsonl", lines)


def write_promptfoo(folder: Path) -> Path:
    results = [logs.promptfoo_result(k, score=grade(k)) for k in range(ITEMS)]
    return logs.write_promptfoo(folder / "results.json", results)


def write_openai_evals(folder: Path) -> Path:
    events: list[object] = [logs.EVALS_SPEC]
    for k in range(ITEMS):
        events.append(logs.evals_event(f"t.{k}", "sampling", prompt=f"Q {k}?", sampled="A"))
        events.append(logs.evals_event(f"t.{k}", "match", correct=bool(grade(k))))
    return logs.write_lines(folder / "run.jsonl", events)


def write_helm(folder: Path) -> Path:
    logs.write_json(
        folder / "instances.json",
        [logs.helm_instance(f"id{k}", f"Q {k}?", "Paris") for k in range(ITEMS)],
    )
    predictions = [logs.helm_prediction(f"id{k}", stats={"f1": grade(k)}) for k in range(ITEMS)]
    return logs.write_json(folder / "display_predictions.json", predictions)


WRITERS = [
    write_inspect,
    write_inspect_json,
    write_lm_eval,
    write_promptfoo,
    write_openai_evals,
    write_helm,
]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder of its own, and gives what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object, code: int = 0) -> str:
        found = main([str(word) for word in words])
        printed, problems = capsys.readouterr()
        assert found == code, problems
        return printed

    return run


def number_of(item: str) -> int:
    """The number of an item in any program's spelling of its id."""
    return int("".join(filter(str.isdigit, item.partition("/")[0])))


def answer(folder: Path, label: Callable[[int], object], shown: str) -> None:
    """Label batch.csv as a person would who reads its columns."""
    with (folder / "batch.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == ITEMS and all(row["input"] and row[shown] for row in rows)
    lines = [f"{row['id']},{label(number_of(row['id']))}\n" for row in rows]
    (folder / "labels.csv").write_text("id,label\n" + "".join(lines))


def find_error(run: Callable[..., str]) -> float:
    """The error of the headline, of which all labels are known."""
    estimates = json.loads(run("report", "--format", "json"))["estimates"]
    (headline,) = (each for each in estimates if each["headline"])
    assert headline["metric"] == "error" and headline["n_labeled"] == ITEMS
    return headline["estimate"]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__[6:])
def test_a_log_becomes_a_report(run, tmp_path, write):
    path = write(tmp_path)
    printed = run("init", path, "--seed", "1")
    assert "60 items" in printed and "column 'score'" in printed
    run("next", "-n", ITEMS, "--show", "input,output", "--output", "batch.csv")
    answer(tmp_path, lambda item: int(is_right(item)), "output")
    run("ingest", "labels.csv")
    assert find_error(run) == pytest.approx(0.1)
    assert run("report").startswith("The model is wrong on 10 % of items")


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__[6:])
def test_inspect_says_what_is_in_a_log_and_the_line_it_gives_works(run, tmp_path, write):
    path = write(tmp_path)
    seen = json.loads(run("inspect", path, "--format", "json"))
    roles = {column["name"]: column["role"] for column in seen["columns"]}
    assert (seen["format"], seen["rows"], seen["problem"]) == (logs.find(path), ITEMS, "")
    assert roles["score"] == "judge's verdict" and "label" not in roles.values()
    assert seen["settings"] == {"judge": "score"} and seen["labels"] == []
    assert {"error", "kappa", "rate"} <= set(seen["metrics"]) and "log-loss" not in seen["metrics"]
    printed = run("inspect", path)
    assert seen["title"] in " ".join(printed.split()) and "60 items, 2 classes: 0, 1" in printed
    assert seen["create"].startswith("activetest init ")
    run(*shlex.split(seen["create"])[1:])
    assert "60" in run("status")


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__[6:])
def test_standard_input_may_be_a_log_of_any_program(run, tmp_path, monkeypatch, write):
    (tmp_path / "elsewhere").mkdir()
    path = write(tmp_path / "elsewhere")
    content = path.read_bytes()

    def pipe(*words: str) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        return run(*words)

    seen = json.loads(pipe("inspect", "-", "--format", "json"))
    of_file = json.loads(run("inspect", path, "--format", "json"))
    assert (seen["name"], seen["format"]) == ("standard input", of_file["format"])
    assert seen["metrics"] == of_file["metrics"] and seen["settings"] == {"judge": "score"}
    assert seen["create"] == "activetest init - --judge score"
    assert [each.name for each in tmp_path.iterdir()] == ["elsewhere"]
    said = pipe(*shlex.split(seen["create"])[1:])
    assert f"read from standard input, {seen['title']}: {len(content):,} bytes" in said
    run("init", path, "--judge", "score", "--study", "of-file")
    piped, filed = (at.Study.open(each).setup for each in (".activetest", "of-file"))
    # Other files, such as HELM's instances.json, are not beside standard input.
    assert piped.rows == filed.rows == ITEMS and piped.schema.outputs == filed.schema.outputs
    assert (piped.fingerprint == filed.fingerprint) or write is write_helm
    run("next", "-n", "5")
    assert "60" in run("status")


def test_another_filter_than_the_first_can_be_the_judge(run, tmp_path):
    """The first is always wrong here, and the second always right about the answers."""
    lines = [
        logs.lm_eval_line(k, filter=name, exact_match=float(is_right(k) == (name == "flexible")))
        for k in range(ITEMS)
        for name in ("strict", "flexible")
    ]
    logs.write_lines(tmp_path / "samples_t.jsonl", lines)
    run("init", "samples_t.jsonl", "--judge", "score_exact_match/flexible", "--seed", "1")
    run("next", "-n", ITEMS, "--show", "input,output", "--output", "batch.csv")
    answer(tmp_path, lambda item: int(is_right(item)), "output")
    run("ingest", "labels.csv")
    estimates = json.loads(run("report", "--metric", "accuracy", "--format", "json"))["estimates"]
    assert next(each["estimate"] for each in estimates if each["metric"] == "accuracy") == 1


def write_two_scorers(path: Path) -> Path:
    """The first scorer gave 40 of 60 items a grade, and the second 50."""
    samples = []
    for k in range(ITEMS):
        first = {"strict": {"value": float(k % 2)}} if k < 40 else {}
        second = {"kind": {"value": grade(k)}} if k >= 10 else {}
        samples.append(logs.inspect_sample(k, 0.0) | {"scores": first | second})
    return logs.write_eval(path, samples)


def test_items_are_those_of_the_judge_that_is_asked_for(run, tmp_path):
    path = write_two_scorers(tmp_path / "log.eval")
    assert "40 items" in (printed := run("init", path, "--dry-run")) and "20 of 60" in printed
    printed = run("init", path, "--judge", "score_kind", "--seed", "1")
    assert "50 items" in printed and "10 of 60 items have no grade" in printed
    run("next", "-n", "50", "--show", "input", "--output", "batch.csv")
    ids = {number_of(row["id"]) for row in csv.DictReader((tmp_path / "batch.csv").open())}
    assert ids == {*range(10, ITEMS)}
    lines = [f"{k},{int(is_right(k))}\n" for k in sorted(ids)]
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(lines))
    run("ingest", "labels.csv")
    # The conversion is a cache: without it all goes on.
    shutil.rmtree(tmp_path / ".activetest" / "conversion")
    assert "50 items" in run("init", "--level", "0.9")
    estimates = json.loads(run("report", "--metric", "error", "--format", "json"))["estimates"]
    error = next(each for each in estimates if each["metric"] == "error")
    assert (error["n_labeled"], error["estimate"]) == (50, pytest.approx(0.1))
    run("verify")


def test_a_study_without_its_first_grader_keeps_that_graders_items(run, tmp_path):
    path = write_two_scorers(tmp_path / "log.eval")
    run("init", path, "--judge", "score", "--seed", "1")
    config = tmp_path / ".activetest" / "study.toml"
    assert 'graded_by = "score"' in config.read_text()
    config.write_text(config.read_text().replace('graded_by = "score"\n', ""))
    shutil.rmtree(tmp_path / ".activetest" / "conversion")
    assert "40 items" in run("init", "--level", "0.9")
    # Another judge brings other items.
    run("init", path, "--judge", "score_kind", code=2)
    assert "pool      40 items" in run("status")
    assert "40 items" in run("init", path, "--judge", "score")
    run("next", "-n", "5")
    run("verify")


def test_inspect_says_what_is_missing_in_a_log_before_scoring(run, tmp_path):
    logs.write_eval(tmp_path / "log.eval", [logs.inspect_sample(k, None) for k in range(3)])
    seen = json.loads(run("inspect", "log.eval", "--format", "json", code=2))
    assert seen["problem"].startswith("no column holds the model's outputs") and not seen["metrics"]
    assert "no sample has a grade: there is no score" in seen["summary"]


def test_inspect_says_of_multiple_choice_questions_where_the_labels_are(run, tmp_path):
    lines = [logs.lm_eval_choice(k, target=k % 2, acc=float(k % 2 == 0)) for k in range(6)]
    logs.write_lines(tmp_path / "samples_t.jsonl", lines)
    seen = json.loads(run("inspect", "samples_t.jsonl", "--format", "json"))
    roles = {column["name"]: column["role"] for column in seen["columns"]}
    assert roles["prob_no"] == "probability of no" and roles["label"] == "label"
    assert roles["target"] == "not used" and "log-loss" in seen["metrics"]
    assert [(each["column"], each["count"]) for each in seen["labels"]] == [("label", 6)]
    run("init", "samples_t.jsonl", "--seed", "1")
    run("next", "-n", "6")
    assert "6 new" in run("ingest", "samples_t.jsonl")


def test_multiple_choice_questions_become_a_report(run, tmp_path):
    def likelihoods(item):
        return (-0.5, -2.0) if bool(grade(item)) else (-2.0, -0.5)

    lines = [
        logs.lm_eval_choice(k, likelihoods(k), target=int(not is_right(k)), acc=float(k % 10 > 0))
        for k in range(ITEMS)
    ]
    logs.write_lines(tmp_path / "samples_t.jsonl", lines)
    printed = run("init", "samples_t.jsonl", "--seed", "1")
    assert "2 classes: no, yes" in printed or "2 classes: yes, no" in printed
    run("next", "-n", ITEMS, "--show", "input,choices", "--output", "batch.csv")
    answer(tmp_path, lambda item: "yes" if is_right(item) else "no", "choices")
    run("ingest", "labels.csv")
    assert find_error(run) == pytest.approx(0.1)
