"""The JSON Schema is that of every JSON document that is printed, key by key."""

import csv
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest
from activetest import catalog
from activetest.cli.app import main
from activetest.nouns import choices, report
from activetest.nouns.curve import CurveKind
from activetest.render import json as as_json
from activetest.study.study import Study
from activetest.wings.groups.choices import Prior
from tests.makers import copy_written, write_pool

jsonschema = pytest.importorskip(
    "jsonschema", reason="jsonschema is not installed: pip install '.[test]'"
)

PACKAGE = Path(activetest.__file__).parent
SCHEMA = json.loads((PACKAGE / "docs" / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DEFINITIONS = SCHEMA["$defs"]
# Definitions of objects with fixed keys; a group is {column: value}.
OBJECTS = {name: each for name, each in DEFINITIONS.items() if "properties" in each}
# Validators of objects alone: much faster than those of the documents that hold them.
OF_OBJECTS = {
    name: jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFINITIONS})
    for name in OBJECTS
}

# Keys that only documents about several models have.
OF_SEVERAL_MODELS = {
    "counts": {"models", "left_out"},
    "details": {"disputed"},
    "estimate": {"compared"},
    "gate": {"since_added"},
    "report": {"best", "threshold"},
    "answer_look": {"regret"},
}


def list_required(name: str) -> list[str]:
    """The keys that every object of a kind has, in order."""
    others = OF_SEVERAL_MODELS.get(name, set())
    return [key for key in OBJECTS[name]["properties"] if key not in others]


REPORTS = {
    "early": ([], 0, []),
    "plain": ([], 30, []),
    "every label known": ([], 60, []),
    "gates": (
        [],
        30,
        ["--require", "error<=0.99,recall[cat]>=0.99,accuracy@place=barn>=0.5"],
    ),
    "gates, one look": ([], 30, ["--require", "error<=0.5", "--interval", "fixed"]),
    "assumption": ([], 30, ["--metric", "recall", "--assume", "rate[cat]@score<0.05<=0.9"]),
    "sequential, early": (["--budget", "40"], 5, ["--require", "error<=0.5"]),
    "sequential": (
        ["--budget", "40", "--looks", "2"],
        30,
        ["--require", "error<=0.66,error@place=barn,tree<=0.1"],
    ),
    "sequential, over": (
        ["--budget", "30", "--looks", "1"],
        30,
        ["--require", "error<=0.66,f1>=0.1,error@place=barn,tree<=0.1"],
    ),
    "anytime": (["--interval", "anytime"], 30, ["--require", "error<=0.5,accuracy>=0.2"]),
    "anytime, early": (["--interval", "anytime"], 0, ["--require", "error<=0.5"]),
    "groups, differences": (["--group", "place,predicted"], 30, ["--difference", "place"]),
    "all estimators": (
        [],
        30,
        ["--estimator", "doubly-robust,ase,lure,iid", "--half-width", "0.1"],
    ),
    "classes": ([], 30, ["--metric", "recall,confusion,f1[macro],auroc[cat],ece,top-k-error[2]"]),
    "credible": ([], 30, ["--interval", "posterior"]),
    "drawn evenly": (["--acquisition", "uniform"], 30, []),
    "top scores": (["--selection", "top", "--budget", "40"], 20, []),
    "estimate": (["--question", "estimate"], 20, []),
    "estimate, early": (["--question", "estimate"], 0, []),
    "estimate confusion": (["--question", "estimate", "--metric", "confusion"], 20, []),
    "identify": (["--question", "identify", "--worst", "2"], 20, []),
    "identify, every label known": (["--question", "identify"], 60, []),
    "identify, even draws before": (["--acquisition", "uniform", "--group", "place"], 20, []),
    "surface": (
        ["--question", "surface", "--attributes", "place,predicted", "--surface", "beta"],
        20,
        ["--at", "place=barn", "--map", "place*predicted"],
    ),
    "surface, early": (
        ["--question", "surface", "--attributes", "place", "--surface", "beta"],
        0,
        [],
    ),
    "best": (["--question", "best", "--model", "v2=v2.parquet"], 20, []),
    "best, early": (["--question", "best", "--model", "v2=v2.parquet"], 0, []),
    "compare": (["--question", "compare", "--compare", "cat,dog", "--rope", "0.1"], 20, []),
}


def run(capsys: pytest.CaptureFixture, *words: str) -> str:
    """The output of a command; exit codes of gates are fine."""
    capsys.readouterr()
    code = main(list(words))
    printed = capsys.readouterr()
    assert code in (0, 1, 3), printed.err
    return printed.out


def label_batch(count: int, capsys: pytest.CaptureFixture) -> None:
    """Draw so many items and label them: the three classes in turn, by id."""
    run(capsys, "next", "--n", str(count), "-o", "batch.csv")
    with open("batch.csv", encoding="utf-8", newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    labels = [("cat", "dog", "owl")[int(item.split("-")[1]) % 3] for item in ids]
    rows = [f"{item},{label}" for item, label in zip(ids, labels, strict=True)]
    Path("batch.csv").write_text("\n".join(["id,label", *rows, ""]), encoding="utf-8")
    run(capsys, "ingest", "batch.csv")


def print_report(name: str, capsys: pytest.CaptureFixture) -> dict:
    """The report of a new study in the working directory, as JSON."""
    words, count, asked = REPORTS[name]
    words = words if "--group" in words or "--question" in words else ["--group", "place", *words]

    def begin(folder: Path) -> None:
        write_pool(folder / "pool.parquet", 60)
        write_pool(folder / "v2.parquet", 60, seed=1)
        run(capsys, "init", "pool.parquet", "--seed", "1", *words)
        if count:
            label_batch(count, capsys)

    copy_written(("schema", *words, count), begin, Path.cwd())
    return json.loads(run(capsys, "report", "--format", "json", *asked))


def print_regression(folder: Path, capsys: pytest.CaptureFixture) -> dict:
    """The report of a study of predicted values."""
    rng = np.random.default_rng(3)
    pred, std = rng.normal(10, 3, 60), rng.uniform(0.5, 2, 60)
    ids = [f"item-{row}" for row in range(60)]
    pq.write_table(pa.table({"id": ids, "pred": pred, "pred_std": std}), folder / "pool.parquet")
    rows = [f"{item},{value + 0.3}" for item, value in zip(ids, pred, strict=True)]
    (folder / "labels.csv").write_text("\n".join(["id,label", *rows[:40], ""]), encoding="utf-8")
    run(capsys, "init", "pool.parquet", "--seed", "1", "--task", "regression")
    run(capsys, "next", "--n", "20", "-o", "batch.csv")
    run(capsys, "ingest", "labels.csv")
    metrics = "rmse,mae,mse,bias,r2,nll,interval-coverage[0.9],pinball[0.9]"
    return json.loads(run(capsys, "report", "--format", "json", "--metric", metrics))


def print_hard_labels(folder: Path, capsys: pytest.CaptureFixture) -> dict:
    """The answer about a pool of hard labels, one group of which has no item that counts."""
    ids = [f"item-{row}" for row in range(60)]
    columns = {"id": ids, "pred": ["cat", "dog", "owl"] * 20}
    columns["place"] = ["barn"] * 30 + ["tree"] * 28 + ["roof"] * 2
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    question = ["--group", "place", "--question", "identify"]
    run(capsys, "init", "pool.parquet", "--seed", "1", *question)
    declined = "\n".join(["id,label,status", *(f"item-{row},,declined" for row in (58, 59)), ""])
    (folder / "declined.csv").write_text(declined, encoding="utf-8")
    run(capsys, "ingest", "declined.csv")
    label_batch(10, capsys)
    return json.loads(run(capsys, "report", "--format", "json"))


def print_judge(folder: Path, capsys: pytest.CaptureFixture) -> dict:
    """The report of a judge, with a gap in groups and by columns."""
    columns = {"id": [f"item-{row}" for row in range(60)], "said": ["cat", "cat", "dog"] * 20}
    columns |= {"place": ["barn", "tree"] * 30, "turns": list(range(60))}
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    words = ["--judge", "said", "--positive", "dog", "--group", "place", "--seed", "1"]
    run(capsys, "init", "pool.parquet", *words)
    label_batch(40, capsys)
    return json.loads(run(capsys, "report", "--format", "json"))


def print_details(folder: Path, capsys: pytest.CaptureFixture) -> dict:
    """A report with its details, of a study of two annotators who disagree once."""
    write_pool(folder / "pool.parquet", 60)
    run(capsys, "init", "pool.parquet", "--seed", "1", "--group", "place")
    label_batch(30, capsys)
    with open("batch.csv", encoding="utf-8", newline="") as file:
        first = next(csv.DictReader(file))
    again = next(name for name in ("cat", "dog") if name != first["label"])
    Path("more.csv").write_text(f"id,label,annotator\n{first['id']},{again},ann\n", "utf-8")
    run(capsys, "ingest", "more.csv")
    return json.loads(activetest.Study.open().report(details=True).to_json())


def print_answers(folder: Path, capsys: pytest.CaptureFixture) -> dict:
    """Two ways to look for the worst class on a small pool with its key."""
    words = ["--question", "identify", "--acquisition", "thompson,uniform", "--budget", "10,60"]
    words += ["--estimator", "doubly-robust", "--metric", "accuracy"]
    return print_simulated(folder, capsys, *words)


def print_simulation(folder: Path, capsys: pytest.CaptureFixture) -> dict:
    """Three strategies, one of which is always the same study, on a small pool with its key."""
    words = ["--budget", "10,60", "--acquisition", "optimal", "--selection", "draw,top"]
    words += ["--estimator", "ase", "--refit", "20", "--metric", "error,recall[cat]"]
    return print_simulated(folder, capsys, *words)


def print_simulated(folder: Path, capsys: pytest.CaptureFixture, *more: str) -> dict:
    """A simulation of three runs."""
    write_pool(folder / "pool.parquet", 60)
    rows = [f"item-{row},{('cat', 'dog', 'owl')[row % 3]}" for row in range(60)]
    (folder / "key.csv").write_text("\n".join(["id,label", *rows, ""]), encoding="utf-8")
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--runs", "3", *more]
    return json.loads(run(capsys, *words, "--format", "json", "--workers", "1"))


def print_curve(kind: str, capsys: pytest.CaptureFixture) -> dict:
    """A curve of a new study in the working directory: some points have a number, others none."""
    write_pool(Path("pool.parquet"), 60)
    run(capsys, "init", "pool.parquet", "--seed", "1")
    label_batch(30, capsys)
    words = ["--bins", "5"] if kind == CurveKind.RELIABILITY else ["--points", "5"]
    words += ["--curve", f"{kind}[cat]", "--format", "json"]
    return json.loads(run(capsys, "export", *words))


def test_documents_of_sequential_gates_are_at_every_stage(folder, capsys):
    stages = {}
    for name in REPORTS:
        if name.startswith("sequential"):
            gates = print_report(name, capsys)["gates"]
            (folder / ".activetest").rename(folder / name)
            (folder / "batch.csv").unlink()
            stages[name] = [
                [
                    gate[key] is not None
                    for key in ("labels_to_next_look", "p_pass", "against", "estimate")
                ]
                for gate in gates
            ]
            assert all(gate["look"] <= gate["looks"] for gate in gates)
    assert stages == {
        "sequential, early": [[True, False, False, False]],
        "sequential": [[True, True, False, True], [True, True, True, True]],
        "sequential, over": [
            [False, False, False, True],
            [False, False, False, True],
            [False, False, True, True],
        ],
    }


@pytest.fixture(scope="module")
def documents() -> dict[str, dict]:
    """Every kind of document, by name."""
    return {}


@pytest.fixture
def document(request, folder, capsys, documents) -> dict:
    """A document of this name, printed once."""
    if request.param not in documents:
        documents[request.param] = print_document(request.param, folder, capsys)
    return deepcopy(documents[request.param])


def print_document(name: str, folder: Path, capsys: pytest.CaptureFixture) -> dict:
    others = {
        "regression": print_regression,
        "hard labels": print_hard_labels,
        "simulation": print_simulation,
        "answers": print_answers,
        "judge": print_judge,
        "details": print_details,
    }
    if name in others:
        return others[name](folder, capsys)
    if name in CURVES:
        return print_curve(name, capsys)
    if name == "status":
        write_pool(folder / "pool.parquet", 60)
        run(capsys, "init", "pool.parquet", "--budget", "50")
        return json.loads(run(capsys, "status", "--format", "json"))
    if name == "inspection":
        columns = {"id": range(20), "pred": ["no", "yes"] * 10, "label": ["yes", "no"] * 10}
        pq.write_table(pa.table(columns), folder / "pool.parquet")
        return json.loads(run(capsys, "inspect", "pool.parquet", "--format", "json"))
    if name == "unclear inspection":
        columns = {"id": range(20), "pred": [row / 20 for row in range(20)]}
        pq.write_table(pa.table(columns), folder / "pool.parquet")
        return json.loads(run(capsys, "inspect", "pool.parquet", "--format", "json"))
    return print_report(name, capsys)


CURVES = tuple(CurveKind)
OTHERS = (
    *("regression", "hard labels", "status", "simulation", "answers"),
    *("inspection", "unclear inspection", "judge", "details"),
)
NAMES = [*REPORTS, *OTHERS, *CURVES]
every_document = pytest.mark.parametrize("document", NAMES, indirect=True)
# Together these have objects of every definition.
WHOLE = (
    *(
        "best",
        "compare",
        "gates",
        "groups, differences",
        "surface",
        "status",
        "simulation",
        "answers",
    ),
    *("inspection", "unclear inspection", "judge", "details", "assumption", *CURVES),
)
whole_documents = pytest.mark.parametrize("document", WHOLE, indirect=True)


def find_objects(value: Any, schema: dict, path: tuple = ()) -> Iterator[tuple[str, dict, tuple]]:
    """(definition, object, its path) of every object in a document that a definition describes."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in OBJECTS and isinstance(value, dict):
            yield name, value, path
        yield from find_objects(value, DEFINITIONS[name], path)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if jsonschema.Draft202012Validator(choice | {"$defs": DEFINITIONS}).is_valid(value):
            yield from find_objects(value, choice, path)
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            if key in value:
                yield from find_objects(value[key], inner, (*path, key))
    if isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            yield from find_objects(item, schema["items"], (*path, place))


def find_kinds(document: dict) -> list[tuple[str, tuple]]:
    """(definition, path) of the first object of each definition in each list or key of a document.

    The others in a list are described by the same part of the schema.
    """
    found = {}
    for name, _, path in find_objects(document, SCHEMA):
        keys = tuple(step for step in path if isinstance(step, str))
        found.setdefault((name, keys), path)
    return [(name, path) for (name, _), path in found.items()]


def at(value: Any, path: tuple) -> Any:
    """The value at the path."""
    for step in path:
        value = value[step]
    return value


# --- the schema itself


def test_the_schema_is_one_of_draft_2020_12():
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", OBJECTS)
def test_every_key_is_required_and_described_and_no_other_is_allowed(name):
    found = OBJECTS[name]
    assert found["required"] == list_required(name)
    assert found["additionalProperties"] is False
    for key, inner in found["properties"].items():
        assert inner["description"].endswith("."), key
        assert {"type", "const", "enum", "$ref", "anyOf"} & set(inner), key


def test_every_row_of_numbers_begins_with_what_it_is_about():
    """Where there are several models, parts, criteria or repeats, no key has to move."""
    heads = {"best", "curve", "details_curve", "details", "answer_look"}
    rows = {"lower", "upper", "n_labeled", "loss", "labels_saved", "agreeing"}
    found = {name: list(each["properties"]) for name, each in OBJECTS.items()}
    found = {name: keys for name, keys in found.items() if rows & set(keys) and name not in heads}
    assert len(found) > 15
    for name in ("side", *found):
        assert tuple(OBJECTS[name]["properties"])[:4] == as_json.DIMENSIONS, name


def test_every_definition_is_used():
    used = {name for name in DEFINITIONS if f'"#/$defs/{name}"' in json.dumps(SCHEMA)}
    assert used == set(DEFINITIONS)


def test_the_version_and_the_closed_lists_are_those_of_the_program():
    for name in ("report", "status", "simulation", "inspection", "curve"):
        version = DEFINITIONS[name]["properties"]["schema_version"]
        assert version["const"] == report.SCHEMA_VERSION
    properties = {name: each["properties"] for name, each in OBJECTS.items()}
    assert properties["curve"]["curve"]["enum"] == list(CurveKind)
    verdicts = {report.PASS, report.FAIL, report.UNDECIDED}
    assert set(properties["gate"]["verdict"]["enum"]) == verdicts
    assert properties["report"]["selection"]["enum"] == list(choices.Selection)
    of_groups = [each for each in catalog.names("questions") if each not in ("best", "surface")]
    assert sorted(properties["question"]["question"]["enum"]) == of_groups
    assert properties["question"]["prior"]["enum"] == list(Prior)


# --- the documents


@every_document
def test_what_is_printed_is_valid(document):
    VALIDATOR.validate(document)


@whole_documents
def test_a_missing_key_and_an_unknown_key_are_found(document):
    """Every definition requires all its keys: a document notices when any object lacks its last."""
    for name, path in find_kinds(document):
        place, key = at(document, path), list_required(name)[-1]
        content = place.pop(key)
        assert not VALIDATOR.is_valid(document), (path, key)
        place[key] = content
        place["colour"] = 1
        assert not VALIDATOR.is_valid(document), path
        del place["colour"]
    assert VALIDATOR.is_valid(document)


@whole_documents
def test_a_value_of_another_type_is_found(document):
    for name, path in find_kinds(document):
        place = at(document, path)
        for key in place:
            content, place[key] = place[key], ["neither a number nor a text", {}]
            assert not OF_OBJECTS[name].is_valid(place), (name, key)
            place[key] = content


def test_the_keys_of_the_schema_are_those_that_are_printed(folder, capsys, documents):
    seen: dict[str, list[str]] = {}
    for name in WHOLE:
        if name not in documents:
            place = folder / name
            place.mkdir()
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(place)
                documents[name] = print_document(name, place, capsys)
        for kind, value, _ in find_objects(documents[name], SCHEMA):
            keys = [key for key in value if key not in OF_SEVERAL_MODELS.get(kind, ())]
            seen.setdefault(kind, keys)
            assert keys == list_required(kind)
    assert set(seen) == set(OBJECTS)
    assert {kind: list_required(kind) for kind in seen} == seen


def test_what_is_said_of_two_models_is_of_the_schema(folder, capsys):
    write_pool(folder / "pool.parquet", 60)
    write_pool(folder / "new.parquet", 60, seed=1)
    run(capsys, "init", "pool.parquet")
    run(capsys, "add", "v2=new.parquet")
    document = json.loads(run(capsys, "status", "--format", "json"))
    assert document["counts"]["models"] == ["model", "v2"]
    VALIDATOR.validate(document)
    words = ("--reference", "v2", "--rope", "0.1", "--format", "json")
    report = json.loads(run(capsys, "report", *words))
    VALIDATOR.validate(report)
    (apart,) = [row for row in report["estimates"] if (row["against"] or {}).get("model")]
    assert list(apart["compared"]) == ["better", "worse", "rope", "equal"]
    assert apart["compared"]["rope"] == 0.1
    study = Study.open()
    study.ingest(dict.fromkeys(study.next(40).ids, "cat"))
    report = json.loads(study.report(reference="v2", details=True).to_json())
    assert report["details"]["disputed"]
    VALIDATOR.validate(report)


def test_items_that_not_all_models_have_are_of_the_schema(folder, capsys):
    write_pool(folder / "pool.parquet", 60)
    write_pool(folder / "new.parquet", 50, seed=1)
    run(capsys, "init", "pool.parquet", "--model", "v2=new.parquet", "--common")
    for command in ("status", "report"):
        document = json.loads(run(capsys, command, "--format", "json"))
        VALIDATOR.validate(document)
        counts = document["counts"]
        assert (counts["left_out"], counts["n_pool"]) == (10, 50)


def test_a_gate_on_a_model_that_came_later_has_its_number_since(folder, capsys):
    write_pool(folder / "pool.parquet", 60)
    study = activetest.Study.create("pool.parquet", seed=1)
    key = dict.fromkeys(study.next(20).ids, "cat")
    study.ingest(key)
    study.add("v2", "pool.parquet", trained_on_labels=False)
    study.report(require="error<=0.9")
    for _ in range(2):
        found = json.loads(run(capsys, "report", "--require", "error(v2)<=1", "--format", "json"))
        VALIDATOR.validate(found)
        study.ingest(dict.fromkeys(study.next(10, new=True).ids, "cat"))


def test_the_answers_of_a_study_without_a_question_are_null_together(folder, capsys):
    document = print_report("plain", capsys)
    assert document["question"] is None
    assert not VALIDATOR.is_valid(document | {"groups": []})


def test_extremes_that_small_studies_do_not_reach_are_valid(
    judged, gate, row, report, answer, compared, answered, ranked, nothing, result
):
    """Infinite ends and evidence, rows and groups without numbers, a simulation without errors."""
    empty = {"estimate": None, "lower": None, "upper": None, "method": "none"}
    bare = dict.fromkeys(("p_worst", "p_best", "p_among_worst", "rank_lower", "rank_upper"))
    without = replace(answer, groups=(ranked(1, "much"), ranked(2, "little", **bare, **empty)))
    reports = [
        judged,
        report(row(upper=float("inf"), headline=True), gates=(gate(e_pass=np.float64(np.inf)),)),
        report(row(**nothing, reason="no labels yet", headline=True)),
        answered(without),
        answered(compared),
        answered(replace(answer, confusion=None, reliability=None, decided=None, probability=None)),
    ]
    for each in reports:
        VALIDATOR.validate(json.loads(as_json.render(each)))
    exact = result | {"rmse": 0.0, "mse_ratio": np.inf, "labels_saved": np.inf, "coverage": None}
    VALIDATOR.validate(json.loads(as_json.simulation([result, exact | {"width": np.inf}])))


def test_a_report_in_python_is_the_document_that_the_command_prints(folder, capsys):
    printed = print_report("gates", capsys)
    required = ["error<=0.99", "recall[cat]>=0.99", "accuracy@place=barn>=0.5"]
    document = json.loads(activetest.Study.open().report(require=required).to_json())
    VALIDATOR.validate(document)
    assert document == printed
