"""Plans of studies: before the first label, and from labels."""

import json
from pathlib import Path

import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.study.study import Study
from tests import makers


@pytest.fixture
def pool(folder):
    return makers.write_pool(folder / "pool.parquet", 400)


@pytest.fixture
def fresh(pool):
    return Study.create("pool.parquet", "study", seed=1)


def label(study, count):
    ids = study.next(count).ids
    study.ingest({id: "cat" if int(id.split("-")[1]) % 3 else "dog" for id in ids})


def test_before_labels_a_plan_has_ranges_that_fall_and_nothing_is_written(fresh):
    before = {file: file.stat().st_mtime_ns for file in Path("study").rglob("*")}
    plan = fresh.plan()
    assert plan.n_labeled == 0 and plan.doubt == 2 and plan.metric == "error"
    assert [each.labels for each in plan.widths] == [50, 100, 200, 300]
    for end in ("low", "high", "random"):
        widths = [getattr(each.half_width, end) for each in plan.widths]
        assert widths == sorted(widths, reverse=True) and widths[-1] > 0
    assert all(each.half_width.low < each.half_width.high for each in plan.widths)
    assert {file: file.stat().st_mtime_ns for file in Path("study").rglob("*")} == before


def test_a_model_that_is_trusted_leaves_one_world(fresh):
    plan = fresh.plan(doubt=1, half_width=0.05)
    assert all(each.half_width.low == each.half_width.high for each in plan.widths)
    assert plan.needed.low == plan.needed.high <= plan.needed.random
    wide = fresh.plan(doubt=4, half_width=0.05)
    assert wide.needed.low < plan.needed.low < wide.needed.high


def test_the_budget_is_a_row_and_a_gate_that_it_cannot_decide_is_named(fresh):
    plan = fresh.plan(budget=120, require="error<=0.5", power=0.9)
    assert 120 in [each.labels for each in plan.widths]
    assert [each.margin for each in plan.gates] == [0.01, 0.03, 0.05, -0.01, -0.03, -0.05]
    assert plan.gates[0].truth == pytest.approx(0.49)
    assert plan.gates[0].labels.low > plan.gates[2].labels.low > 120
    assert plan.list_undecided() == ("error<=0.5",)
    assert "error<=0.5 is unlikely to be decided with 120 labels" in str(plan)
    assert fresh.plan(budget=399, require="error<=0.5").list_undecided() == ()


def test_farther_truths_and_less_power_need_fewer_labels(fresh):
    plan = fresh.plan(require=["error<=0.4"])
    found = {(round(each.margin, 2), each.power): each.labels for each in plan.gates}
    assert found[0.05, 0.8].low < found[0.05, 0.9].low < found[0.03, 0.9].low
    assert all(each.low <= each.high for each in found.values())


def test_gates_of_study_toml_are_planned_where_they_are_about_the_metric(fresh):
    file = Path("study/study.toml")
    text = '\n[report]\nrequire = ["error<=0.4", "f1[cat]>=0.5", "error@place=tree<=0.5"]\n'
    file.write_text(file.read_text() + text)
    assert {each.gate for each in Study.open("study").plan().gates} == {"error<=0.4"}


def test_from_thirty_labels_on_a_plan_rests_on_these(fresh):
    label(fresh, 29)
    assert fresh.plan().n_labeled == 0
    label(fresh, 31)
    plan = fresh.plan(half_width=0.06, require="error<=0.9")
    assert plan.n_labeled == 60 and plan.doubt is None
    row = fresh.report().estimates[0]
    assert plan.expected == (row.lower, row.upper)
    assert [each.labels for each in plan.widths] == [100, 200, 300]
    widths = [each.half_width for each in plan.widths]
    assert all(each.low < each.high for each in widths)
    # The same range as the report's sentence.
    needed = plan.needed
    note = next(each for each in fresh.report(half_width=0.06).notes if "0.06" in each.text)
    assert f"needs {needed.low - 60:,.0f} to {needed.high - 60:,.0f} more labels" in note.text
    assert "planned from 60 labels" in str(plan)


def test_accuracy_is_planned_like_the_error(fresh):
    label(fresh, 40)
    error, accuracy = (fresh.plan(metric=each, half_width=0.06) for each in ("error", "accuracy"))
    assert accuracy.needed.low == error.needed.low
    assert accuracy.widths[0].half_width.high == pytest.approx(error.widths[0].half_width.high)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"half_width": 0.0}, "`half_width` is 0"),
        ({"power": 1.0}, "`power` is 1"),
        ({"doubt": 0.5}, "`doubt` is 0.5"),
        ({"require": ["error<=0.1", "f1[cat]>=0.5"]}, "is not about error"),
        ({"require": "error@place=tree<=0.5"}, "of the whole pool"),
        ({"metric": "f1[*]"}, "is 3 metrics"),
        ({"metric": "auroc[cat]"}, "nothing can be planned for auroc"),
    ],
)
def test_questions_without_an_answer_are_refused(fresh, settings, problem):
    with pytest.raises(ChoiceError) as caught:
        fresh.plan(**settings)
    assert problem in caught.value.problem


def test_a_pool_without_probabilities_is_planned_from_its_first_labels(folder):
    rows = "\n".join(f"item-{row},{'cat' if row % 5 else 'dog'}" for row in range(200))
    Path("plain.csv").write_text(f"id,pred\n{rows}\n")
    study = Study.create("plain.csv", "plain", seed=1)
    with pytest.raises(ChoiceError) as caught:
        study.plan()
    assert "`study.next(30)`" in caught.value.hint
    label(study, 40)
    assert study.plan().n_labeled == 40


def test_the_command_plans_a_pool_and_leaves_nothing_behind(pool, folder, capsys):
    before = sorted(folder.rglob("*"))
    assert main(["plan", "pool.parquet", "--half-width", "0.05", "--require", "error<=0.5"]) == 0
    shown = capsys.readouterr().out
    assert "planned before the first label" in shown and "(--doubt 2)" in shown
    assert "half-width 0.05: " in shown and "error<=0.5: labels at which one look" in shown
    assert sorted(folder.rglob("*")) == before
    assert main(["plan"]) == 2
    assert "no study" in capsys.readouterr().err


def test_json_has_what_python_has(fresh, capsys):
    words = ["plan", "--study", "study", "--budget", "90", "--format", "json"]
    assert main([*words, "--require", "error<=0.5,error<=0.4"]) == 0
    found = json.loads(capsys.readouterr().out)
    plan = fresh.plan(budget=90, require=["error<=0.5", "error<=0.4"])
    assert found == json.loads(json.dumps(plan.to_dict()))
    assert found["widths"][0].keys() == {"labels", "half_width"}


# --- gates that a study begins with


def test_a_study_begins_with_gates_and_init_says_when_they_are_decided(pool, capsys):
    words = ["init", "pool.parquet", "--seed", "1", "--budget", "60", "--study", "gated"]
    assert main([*words, "--require", "error<=0.4,f1[cat]>=0.5"]) == 0
    shown = capsys.readouterr().out
    assert "error<=0.4: " in shown and "f1[cat]>=0.5: " in shown
    assert "see activetest plan; the budget of 60 is unlikely to" in shown
    study = Study.open("gated")
    assert study.report_settings.require == ("error<=0.4", "f1[cat]>=0.5")
    assert [each.requirement for each in study.report().gates] == ["error<=0.4", "f1[cat]>=0.5"]


def test_gates_change_and_are_taken_back_and_a_dry_run_changes_none(fresh):
    fresh.change(require="error<=0.4")
    assert fresh.report_settings.require == ("error<=0.4",)
    setup = fresh.change(require=["error<=0.3"], dry_run=True)
    assert any(each.startswith("error<=0.3: ") for each in setup.notices)
    fresh.change(floor=0.5)
    assert fresh.report_settings.require == ("error<=0.4",)
    fresh.change(require="")
    assert fresh.report_settings.require == ()


@pytest.mark.parametrize("gate", ["eror<=0.1", "error", "error<=x"])
def test_a_gate_that_is_none_leaves_no_study(pool, gate):
    with pytest.raises(ChoiceError):
        Study.create("pool.parquet", "none", require=gate)
    assert not Path("none").exists()


def test_what_cannot_be_planned_is_kept_all_the_same(pool):
    gates = ("auroc[cat]>=0.5", "error@place=tree<=0.5")
    study = Study.create("pool.parquet", "kept", groups="place", require=gates)
    assert study.report_settings.require == gates
    assert not any("labels decide" in each for each in study.setup.notices)
