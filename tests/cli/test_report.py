"""The command report: what it takes, and how it ends."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from activetest.cli.app import main
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests.makers import copy_written, init, write_pool

ROOT = Path(__file__).parents[2]

# Twenty labels of the study below: sure to pass, to fail, and to stay open.
PASSES, FAILS, OPEN = "error<=0.999", "accuracy>=0.999", "error<=0.68"


@pytest.fixture
def labelled(folder):
    """A study of 40 items with two rounds of labels: everything is a cat."""

    def write(place: Path) -> None:
        write_pool(place / "pool.parquet", 40)
        init("pool.parquet", seed=1, groups=("place",))
        for _ in range(2):
            lines = (f"{row['id']},cat\n" for row in next_batch(StoredStudy.open(), 10).rows)
            (place / "labels.csv").write_text("id,label\n" + "".join(lines))
            assert main(["ingest", "labels.csv"]) == 0

    copy_written("labelled study", write, folder)
    return StoredStudy.open()


def document(capsys, *words: str) -> dict:
    """The report as JSON, whatever the exit code."""
    main(["report", "--format", "json", *words])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("format", ["text", "html", "json", "markdown", "junit"])
@pytest.mark.parametrize("kind", ["fixed", "anytime"])
@pytest.mark.parametrize(
    ("requirements", "code"),
    [([PASSES], 0), ([PASSES, OPEN], 3), ([OPEN, FAILS, PASSES], 1), ([FAILS], 1)],
)
def test_the_exit_code_is_that_of_the_verdicts_in_every_format(
    labelled, capsys, format, kind, requirements, code
):
    capsys.readouterr()
    words = [word for each in requirements for word in ("--require", each)]
    assert main(["report", "--interval", kind, "--format", format, *words]) == code
    out, err = capsys.readouterr()
    verdicts = {0: "PASS", 1: "FAIL", 3: "UNDECIDED"}
    assert verdicts[code] in out.upper()
    assert err.startswith("gates: ")
    assert verdicts[code] in err
    if format == "junit":
        assert ElementTree.fromstring(out.encode()).get("tests") == str(len(requirements))


def test_gates_are_decided_by_intervals_for_any_number_of_looks_unless_told_otherwise(
    labelled, capsys
):
    capsys.readouterr()
    default = document(capsys, "--require", PASSES)["gates"][0]
    assert default == document(capsys, "--require", PASSES, "--interval", "anytime")["gates"][0]
    fixed = document(capsys, "--require", PASSES, "--interval", "fixed")["gates"][0]
    assert fixed["method"] != default["method"]
    assert fixed["e_pass"] is None and default["e_pass"] > 1


def test_a_gate_may_be_about_a_class_and_a_group(labelled, capsys):
    capsys.readouterr()
    gate = document(capsys, "--require", "recall[cat]@place=barn>=0.1")["gates"][0]
    assert (gate["metric"], gate["class"], gate["group"]) == ("recall", "cat", {"place": "barn"})
    assert (gate["op"], gate["threshold"]) == (">=", 0.1)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--require", "recall"], "has neither >= nor <="),
        (["--require", "nonsense>=0.5"], "nonsense"),
        (["--require", "recall[cow]>=0.5"], "cow"),
        (["--require", "error@colour=red<=0.5"], "colour"),
        (["--require", "error@place=moon<=0.5"], "moon"),
        (["--require", "error<=ten"], "has no number after its last operator"),
        (["--metric", "nonsense"], "nonsense"),
        (["--metric", "recall[cow]"], "cow"),
        (["--group", "colour"], "colour"),
        (["--difference", "colour"], "colour"),
        (["--interval", "wide"], "wide"),
        (["--half-width", "0"], "half-width"),
        (["--half-width", "-1"], "half-width"),
        (["--format", "xml"], "no format is called 'xml'"),
        (["--format", "junit"], "junit is a list of gates"),
    ],
)
def test_what_cannot_be_reported_is_a_problem_and_a_hint_and_code_2(
    labelled, capsys, words, problem
):
    capsys.readouterr()
    assert main(["report", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ") and problem in first
    assert second.startswith("hint:  ")


def test_metrics_are_asked_for_by_their_specifications(labelled, capsys):
    capsys.readouterr()
    words = ["--metric", "f-beta[2,cat],recall[dog]", "--metric", "f1[macro]"]
    made = document(capsys, *words, "--estimator", "doubly-robust")
    overall = [line for line in made["estimates"] if line["group"] is None]
    assert len(overall) == 3
    assert [line["class"] for line in overall][:2] == ["cat", "dog"]
    assert [line["headline"] for line in overall] == [True, False, False]


def test_estimators_take_options_in_brackets(labelled, capsys):
    names = ["alt-mas[plug-in=labels]", "alt-mas[plug-in=nothing]", "ase"]
    words = ["--metric", "accuracy", "--estimator", names[0], "--estimator", ",".join(names[1:])]
    made = document(capsys, *words)["estimates"]
    assert [each["estimator"] for each in made if each["group"] is None] == names
    assert len({each["estimate"] for each in made if each["group"] is None}) == 3
    for wrong in ("alt-mas[plug-in=all]", "alt-mas[labels]", "ase[plug-in=all]"):
        assert main(["report", "--estimator", wrong]) == 2
        assert "hint:" in capsys.readouterr().err


def test_groups_can_be_restricted_and_compared(labelled, capsys):
    capsys.readouterr()
    words = ["--metric", "error", "--group", "place", "--difference", "place", "--simultaneous"]
    made = document(capsys, *words)["estimates"]
    groups = [line for line in made if line["group"] and not line["against"]]
    assert {line["group"]["place"] for line in groups} == {"barn", "tree"}
    # Intervals that are shown share the error.
    shown = sum(line["lower"] is not None for line in groups)
    assert {line["level"] for line in groups} == {1 - 0.05 / shown}
    assert all(line["shrunk"] is not None for line in groups)
    assert len([line for line in made if line["against"]]) <= 1


def test_an_undecided_gate_and_a_half_width_say_how_many_more_labels_are_needed(labelled, capsys):
    capsys.readouterr()
    made = document(capsys, "--require", OPEN, "--half-width", "0.01")
    assert made["gates"][0]["verdict"] == "undecided"
    assert any("more" in note for note in made["notes"])


def test_the_help_says_what_the_exit_codes_mean(capsys):
    assert main(["report", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "0, every gate passed" in shown
    assert "1, a gate failed" in shown
    assert "2, the input is wrong" in shown
    assert "3, no gate failed, but one is undecided" in shown


def test_verdicts_have_no_colour_in_pipes(labelled):
    """Each of these settings asks for it."""
    words = [sys.executable, "-m", "activetest", "report", "--require", PASSES]
    settings = dict.fromkeys(("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "CI"), "1")
    env = os.environ | {"PYTHONPATH": str(ROOT)} | settings
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert "PASS" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_a_reader_who_leaves_does_not_change_the_verdict(labelled):
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "activetest", "report", "--require", FAILS]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words, env=env, stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_what_draws_aim_at_stays_what_it_was_whatever_is_reported(labelled, capsys):
    capsys.readouterr()
    assert document(capsys, "--metric", "recall[cat]")["metric"] == "error"


def test_costs_and_annotators_are_choices_of_init(folder, write_pool, capsys):
    write_pool(folder / "pool.parquet", 40)
    (folder / "costs.csv").write_text(",cat,dog,owl\ncat,0,5,1\ndog,1,0,1\nowl,1,1,0\n")
    words = ["init", "pool.parquet", "--metric", "cost", "--metric", "recall[cat],f-beta[2,dog]"]
    words += ["--costs", "costs.csv", "--annotators", "dawid-skene", "--seed", "1"]
    assert main(words) == 0
    made = init("pool.parquet").choices
    assert made.metric == "cost"
    assert made.also == ("recall[cat]", "f-beta[2,dog]")
    assert made.annotators == "dawid-skene"
    assert made.costs == ((0, 5, 1), (1, 0, 1), (1, 1, 0))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--costs", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--metric", "cost"], "costs"),
        (["--annotators", "loudest"], "loudest"),
        (["--metric", "recall[cow]"], "cow"),
    ],
)
def test_choices_of_init_that_make_no_sense(folder, write_pool, capsys, words, problem):
    write_pool(folder / "pool.parquet", 40)
    assert main(["init", "pool.parquet", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and problem in err
    assert sorted(path.name for path in folder.iterdir()) == ["pool.parquet"]


def test_a_threshold_beyond_the_metric_is_an_error_and_no_verdict(labelled, capsys):
    """Ten per cent written as 10 would let every model pass."""
    for text in ("error<=10", "accuracy>=90", "accuracy@place=barn>=-1"):
        assert main(["report", "--require", text]) == 2
        assert "write shares, not percentages" in capsys.readouterr().err
    assert main(["report", "--require", "log-loss<=10", "--interval", "fixed"]) in (0, 1, 3)


def test_gates_need_a_level_above_one_half(labelled, capsys):
    assert main(["init", labelled.pool["uri"], "--level", "0.4"]) == 0
    assert main(["report", "--require", PASSES]) == 2
    assert "level above 0.5" in capsys.readouterr().err


def test_what_is_compared_by_other_intervals_or_not_at_all_is_said(labelled, capsys):
    words = ["--metric", "error", "--difference", "place", "--interval", "anytime"]
    said = "The intervals of differences are fixed intervals: they hold for one look."
    made = document(capsys, *words)
    compared = any(line["against"] for line in made["estimates"])
    assert compared == (said in made["notes"])
    assert compared != any(note.startswith("No two groups of place") for note in made["notes"])
    said = "The intervals of groups are fixed intervals: they hold for one look."
    assert said in document(capsys, "--interval", "posterior")["notes"]


def test_adding_a_group_says_how_to_keep_the_others(labelled, capsys):
    assert main(["report", "--group", "colour"]) == 2
    assert "activetest init --group place,colour adds it" in capsys.readouterr().err


def test_a_report_is_short_unless_all_of_it_is_asked_for(labelled, capsys):
    capsys.readouterr()
    assert main(["report"]) == 0
    short = capsys.readouterr().out
    assert short.startswith("The model is wrong on ")
    assert "ase" not in short.split() and "log-loss" not in short and "seed 1" not in short
    for option in ("-v", "--verbose"):
        assert main(["report", option]) == 0
        full = capsys.readouterr().out
        assert "ase" in full.split() and "seed 1" in full
        assert "log-loss" not in full
    assert main(["report", "--estimator", "doubly-robust,ase"]) == 0
    assert "ase" in capsys.readouterr().out.split()
    for words in (["--format", "markdown"], ["--format", "markdown", "-v"]):
        assert main(["report", *words]) == 0
        assert ("seed 1" in capsys.readouterr().out) == ("-v" in words)


def test_json_holds_all_of_it_and_only_of_the_study_s_metrics(labelled, capsys):
    capsys.readouterr()
    made = document(capsys)
    assert made == document(capsys, "-v")
    assert made["schema_version"] == 3
    assert {row["metric"] for row in made["estimates"]} == {"error"}
    assert {row["estimator"] for row in made["estimates"]} == {"doubly-robust", "ase"}
    assert all(isinstance(note, str) for note in made["notes"])


def test_the_heaviest_notes_are_shown_and_a_command_shows_the_rest(labelled, label_file, capsys):
    drawn = [row["id"] for row in next_batch(labelled, 4).rows]
    lines = (f"{drawn[0]},owl,", f"{drawn[1]},,declined")
    assert main(["ingest", str(label_file(*lines, header="id,label,status"))]) == 0
    assert main(["init", "--level", "0.9"]) == 0
    capsys.readouterr()
    words = ["--half-width", "0.01", "--metric", "error,log-loss"]
    notes = document(capsys, *words)["notes"]
    assert main(["report", *words]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert notes[0].startswith("The interval of error") and notes[1].startswith("Not reliable yet")
    assert shown.count("caution: ") == min(len(notes) - 2, 3)
    assert main(["report", "-v", *words]) == 0
    full = " ".join(capsys.readouterr().out.split())
    kinds = [
        (kind, full.count(f"{kind}: ") - shown.count(f"{kind}: ")) for kind in ("caution", "note")
    ]
    left_out = [f"{count} {kind}{'s' * (count != 1)}" for kind, count in kinds if count]
    assert left_out
    assert shown.endswith(f"More with activetest report -v: {', '.join(left_out)}.")
    assert all(note in full for note in notes)
    assert "More with" not in full


def test_files_have_all_columns_at_any_width(labelled, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "30")
    capsys.readouterr()
    assert main(["report", "--metric", "error,balanced-accuracy"]) == 0
    written = capsys.readouterr().out
    assert "metric             estimate  interval" in written
    assert "  labels  n_eff  saved\n" in written
    assert "No room" not in written


def test_verdicts_are_printed_once_where_both_streams_go_to_one_file(labelled, tmp_path):
    words = ("report", "--require", PASSES)
    command = [sys.executable, "-m", "activetest", *words]
    with Path(tmp_path, "both.txt").open("w") as both:
        subprocess.run(command, stdout=both, stderr=subprocess.STDOUT, check=True)
    assert Path(tmp_path, "both.txt").read_text().count("gates: 1 PASS") == 1
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("gates: 1 PASS") == 1 and done.stderr == "gates: 1 PASS\n"


@pytest.mark.parametrize("others", [[], ["--require", PASSES]])
def test_a_gate_that_cannot_be_decided_at_every_look_has_no_verdict(labelled, capsys, others):
    capsys.readouterr()
    assert main(["report", "--require", "mcc>=0.5", *others]) == 2
    assert capsys.readouterr() == (
        "",
        "error: requirement 'mcc>=0.5': mcc cannot be decided at every look\n"
        "hint:  --interval fixed decides it once, at a number of labels fixed beforehand, "
        "and studies that begin with a budget decide it at planned looks\n",
    )


def test_a_metric_without_an_anytime_interval_says_so_once(labelled, capsys):
    capsys.readouterr()
    assert main(["report", "--metric", "mcc", "--interval", "anytime"]) == 0
    written = " ".join(capsys.readouterr().out.split())
    end = "(no interval: none is valid at every look; --interval fixed gives one for one look)."
    assert end in written


def test_a_terminal_that_has_shown_the_verdicts_is_not_shown_them_again(
    labelled, monkeypatch, capsys
):
    capsys.readouterr()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["report", "--require", PASSES]) == 0
    out, err = capsys.readouterr()
    assert "gates: 1 PASS" in out and err == ""
    assert main(["report", "--require", PASSES, "--format", "json"]) == 0
    assert capsys.readouterr().err == "gates: 1 PASS\n"


@pytest.mark.parametrize("format", ["text", "markdown", "json", "junit"])
def test_every_format_says_that_it_is_about_the_population(labelled, capsys, format):
    capsys.readouterr()
    main(["report", "--population", "--cluster", "place", "--format", format, "--require", PASSES])
    assert "population" in capsys.readouterr().out


def test_the_default_says_once_that_it_is_about_the_pool(labelled, capsys):
    capsys.readouterr()
    main(["report"])
    assert capsys.readouterr().out.count("the 40 items of this pool") == 1


def test_an_item_without_a_cluster_is_named(folder, capsys):
    (folder / "pool.csv").write_text("id,pred,user\na,x,u\nb,y,u\nc,y,\n")
    assert main(["init", "pool.csv", "--seed", "1"]) == 0
    capsys.readouterr()
    assert main(["report", "--population", "--cluster", "user"]) == 2
    assert "id 'c': column 'user' is empty" in capsys.readouterr().err


SUFFIXES = (".json", ".xml", ".md", ".html")


def list_outputs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix in SUFFIXES)


def test_all_files_come_from_one_computation(labelled, folder, monkeypatch, capsys):
    from activetest.study import report as module

    computed, compute = [], module.build_view
    monkeypatch.setattr(
        module, "build_view", lambda *args, **named: computed.append(1) or compute(*args, **named)
    )
    names = ["r.json", "j.xml", "s.md", "p.html"]
    words = [word for name in names for word in ("-o", name)]
    assert main(["report", "--require", PASSES, *words]) == 0
    assert len(computed) == 1
    out, err = capsys.readouterr()
    assert out.startswith("gates: 1 PASS")
    assert [f"written: {name}" in err for name in names] == [True] * 4
    assert list_outputs(folder) == sorted(names)
    assert main(["report", "--require", PASSES, "--format", "json"]) == 0
    written = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    # The page's details come from the same computation.
    assert written.pop("details")
    shown = json.loads(capsys.readouterr().out)
    assert shown.pop("details", None) is None
    assert shown == written
    assert "study.report" not in (folder / "s.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("gate, code", [(PASSES, 0), (FAILS, 1)])
def test_the_exit_code_is_that_of_the_gates_and_files_are_written(labelled, folder, gate, code):
    assert main(["report", "--require", gate, "-o", "j.xml"]) == code
    assert list_outputs(folder) == ["j.xml"]


@pytest.mark.parametrize(
    "words", [["-o", "r.json", "-o", "r.pdf"], ["-o", "r.json", "-o", "-"], ["-o", "j.xml"]]
)
def test_files_are_refused_before_anything_is_computed(
    labelled, folder, monkeypatch, capsys, words
):
    def compute(*args, **named):
        raise AssertionError("computed")

    monkeypatch.setattr("activetest.study.report.report", compute)
    assert main(["report", *words]) == 2
    assert list_outputs(folder) == []
    assert "hint:" in capsys.readouterr().err


def write_section(study, *lines: str) -> None:
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join((text, "[report]", *lines)) + "\n", encoding="utf-8")


def test_the_section_of_the_study_is_the_gate(labelled, folder, monkeypatch, capsys):
    write_section(labelled, f'require = ["{FAILS}"]', 'output = ["r.json", "j.xml"]')
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    assert main(["report"]) == 1
    # Relative to the folder that holds the study, wherever the command runs.
    assert list_outputs(folder) == ["j.xml", "r.json"]
    assert list_outputs(folder / "deep") == []
    # An option takes the place of the study's setting.
    assert main(["report", "--require", PASSES, "-o", "s.md"]) == 0
    assert list_outputs(folder / "deep") == ["s.md"]
    (folder / "r.json").unlink()
    assert main(["report", "--require", "", "-o", ""]) == 0
    assert list_outputs(folder) == ["j.xml"]
    assert "gates:" not in capsys.readouterr().out.splitlines()[-1]
    # A change of the study's settings keeps it.
    assert main(["init", "--floor", "0.2"]) == 0
    assert main(["report"]) == 1


def test_a_mistake_in_the_section_is_an_error_of_the_input(labelled, capsys):
    write_section(labelled, 'require = ["error"]')
    assert main(["report"]) == 2
    assert "study.toml, [report]" in capsys.readouterr().err


def test_details_are_in_json_without_a_page(labelled, capsys):
    assert main(["report", "--format", "json", "--details"]) == 0
    details = json.loads(capsys.readouterr().out)["details"]
    assert details["provenance"]["rows"] and details["draws_csv"]
    assert main(["report", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["details"] is None


def test_groups_are_shown_by_every_metric_that_the_report_shows(
    folder, write_pool, label_draws, capsys
):
    write_pool(folder / "pool.parquet", 200)
    init("pool.parquet", groups=("place",), metric=("error", "f1"), seed=1)
    label_draws(StoredStudy.open(), 30)
    assert main(["report"]) == 0
    shown = capsys.readouterr().out
    assert re.findall(r"^(\S+) by group$", shown, flags=re.MULTILINE) == ["error", "f1[macro]"]
    # The page says how to ask for others.
    assert main(["report", "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert "activetest report --metric NAME shows another metric" in page
    assert "activetest init --group COLUMN keeps another group" in page
