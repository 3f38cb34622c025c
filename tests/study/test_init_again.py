"""activetest init in a study: without a pool, and what may still change before the first draw."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError, PoolChanged, StudyError
from activetest.study import config, restart
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests.makers import init

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scored(folder) -> Path:
    """A pool with a score, two columns of ids and two of outputs, and a study of it with seed 1."""
    lines = ["id,key,score,other"]
    lines += [f"i{row},k{row},{row / 40},{(row * 7 % 40) / 40}" for row in range(40)]
    (folder / "pool.csv").write_text("\n".join(lines) + "\n")
    init("pool.csv", seed=1, outputs=("score",), classes=("no", "yes"), features=())
    return folder


def stored(study: StoredStudy) -> tuple:
    """Everything about a study that init may change."""
    return study.seed, study.ledger.fingerprint, study.choices, study.pool


def test_init_without_a_pool_changes_the_study_at_hand(study, folder, monkeypatch, capsys):
    (folder / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(folder / "deep" / "down")
    assert main(["init", "--metric", "f1[macro]", "--floor", "0.2"]) == 0
    assert capsys.readouterr().out.startswith(f"updated {folder / '.activetest'}\n")
    changed = StoredStudy.open().choices
    assert (changed.metric, changed.floor, changed.groups) == ("f1[macro]", 0.2, ("place",))
    assert StoredStudy.open().pool["uri"] == study.pool["uri"] == "pool.parquet"


def test_the_floor_may_be_clipped_at_and_blended_again(study, folder, capsys):
    """Rounds record what they were drawn with, and the study keeps its labels."""
    assert main(["init", "--floor", "0.2", "--floor-rule", "clip"]) == 0
    assert "floor 0.2, scores clipped at the floor" in capsys.readouterr().out
    assert 'floor_rule = "clip"' in (folder / ".activetest" / "study.toml").read_text()
    assert main(["next", "--n", "5"]) == main(["next", "--n", "5"]) == 0
    stored = StoredStudy.open()
    (first,) = stored.log(stored.cache()).history
    assert (first.choices["floor"], first.choices["floor_rule"]) == (0.2, "clip")
    assert main(["init", "--interval", "anytime"]) == 2
    assert main(["init", "--floor-rule", "mix"]) == 0
    capsys.readouterr()
    assert main(["init", "--floor-rule", "cut"]) == 2
    assert "it must be mix or clip" in capsys.readouterr().err
    assert StoredStudy.open().choices.floor_rule == "mix"


def test_init_without_a_pool_and_without_a_study_says_how_to_start_one(folder, capsys):
    assert main(["init", "--metric", "f1"]) == 2
    problem, hint = capsys.readouterr().err.splitlines()
    assert "there is no study in" in problem and "activetest init POOL" in hint
    with pytest.raises(StudyError):
        init(metric="f1")
    assert not list(folder.iterdir())


@pytest.fixture
def predicted(folder) -> Path:
    """A pool with probabilities, predicted classes that differ, and an id of another name."""
    lines = ["customer,score,pred"]
    lines += [f"c{row},{row / 40},{row % 2}" for row in range(40)]
    (folder / "pool.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_predictions_beside_the_outputs_stay_in_a_study_that_has_them(predicted):
    init("pool.csv", seed=1)
    before = stored(StoredStudy.open())
    for settings in ({}, {"outputs": ("score", "pred")}, {"features": ()}):
        init("pool.csv", **settings)
        assert stored(StoredStudy.open()) == before
    next_batch(StoredStudy.open(), 2)
    for settings in ({"outputs": ("score",)}, {"outputs": ("pred", "score")}, {"floor": 0.5}):
        init("pool.csv", **settings)
        assert StoredStudy.open().pool == before[-1]
    assert before[-1]["pred"] == "pred"


def test_predictions_are_left_out_by_naming_the_other_outputs_before_the_first_draw(predicted):
    fingerprint = init("pool.csv", seed=1).fingerprint
    alone = init(outputs=("score",))
    assert alone.schema.pred is None and alone.fingerprint != fingerprint
    assert init(floor=0.5).schema.pred is None
    assert init(outputs=("score", "pred")).fingerprint == fingerprint
    init(outputs=("score",))
    next_batch(StoredStudy.open(), 2)
    before = stored(StoredStudy.open())
    with pytest.raises(ChoiceError, match="`outputs` stays after the first draw.* has score$"):
        init(outputs=("score", "pred"))
    assert stored(StoredStudy.open()) == before
    assert init(outputs=("score",)).schema.pred is None


def test_what_else_a_column_may_be_is_said_once_and_works(predicted, capsys):
    assert main(["init", "pool.csv", "--outputs", "score"]) == 0
    assert "column 'customer' is unique: --id customer uses it\n" in capsys.readouterr().out
    assert main(["init", "--id", "customer"]) == 0
    assert "ids: column 'customer'\n" in capsys.readouterr().out
    assert main(["init", "pool.csv", "--study", "other", "--outputs", "pred"]) == 0
    assert main(["init", "--study", "other", "--floor", "0.5"]) == 0
    assert capsys.readouterr().out.count("customer uses it") == 1


def test_a_column_of_values_or_of_a_score_is_read_as_is_said(predicted, capsys):
    (predicted / "values.csv").write_text("id,chance\na,0.5\nb,0.25\n")
    assert main(["init", "values.csv"]) == 2
    assert "or say --outputs COLUMN" in capsys.readouterr().err
    assert main(["init", "values.csv", "--outputs", "chance"]) == 2
    asked = capsys.readouterr().err
    assert "--task regression if they are predicted numbers; --task classification if" in asked
    assert main(["init", "values.csv", "--outputs", "chance", "--task", "regression"]) == 0
    assert "predicted values: column 'chance'" in capsys.readouterr().out
    assert main(["init", "--task", "classification"]) == 0
    assert "score: column 'chance' is the probability of class '1'" in capsys.readouterr().out


def test_a_dry_run_without_a_pool_changes_nothing(study):
    before = stored(study)
    tried = init(metric="brier", seed=9, dry_run=True)
    assert (tried.outcome, tried.choices.metric, tried.seed) == ("checked", "brier", 9)
    assert stored(StoredStudy.open()) == before


def test_a_dry_run_builds_no_cache_in_the_study(study):
    shutil.rmtree(study.folder / "cache")
    init(metric="brier", dry_run=True)
    assert not (study.folder / "cache").exists()
    init(metric="brier")
    assert (study.folder / "cache" / "manifest.json").is_file()


def test_the_seed_may_change_before_the_first_draw(study):
    assert init(seed=2, floor=0.5).seed == 2
    changed = StoredStudy.open()
    assert (changed.seed, changed.choices.floor) == (2, 0.5)
    ids = [row["id"] for row in next_batch(changed, 5).rows]
    init("pool.parquet", "fresh", seed=2, floor=0.5, groups=("place",))
    assert [row["id"] for row in next_batch(StoredStudy.open("fresh"), 5).rows] == ids


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold": 0.7},
        {"id": "key"},
        {"outputs": ("other",), "task": "regression"},
        {"outputs": ("key",), "task": "classification"},
        {"classes": ("yes", "no")},
        {"positive": "no"},
        {"threshold": 0.7, "seed": 5, "metric": "f1", "id": "key"},
    ],
)
def test_columns_may_change_before_the_first_draw(scored, settings):
    init(**settings)
    study = StoredStudy.open()
    first = {"outputs": ("score",), "seed": 1, "classes": ("no", "yes"), "features": ()}
    if "outputs" in settings:
        # The classes follow from the new outputs.
        del first["classes"]
    fresh = init("pool.csv", "fresh", **(first | settings))
    assert study.ledger.fingerprint == fresh.fingerprint
    assert study.choices == fresh.choices and study.seed == fresh.seed
    drawn = [row["id"] for row in next_batch(study, 5).rows]
    assert drawn == [row["id"] for row in next_batch(StoredStudy.open("fresh"), 5).rows]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"seed": 2}, "`seed` stays after the first draw: this study has seed 1"),
        ({"threshold": 0.7}, "`threshold` stays after the first draw: this study has 0.5"),
        ({"id": "key"}, "`id` stays after the first draw: this study has id"),
        (
            {"outputs": ("other",), "task": "regression"},
            "`outputs` stays after the first draw: this study has score",
        ),
        ({"classes": ("yes", "no")}, "`classes` stays after the first draw: this study has no,yes"),
        ({"positive": "no"}, "`positive` stays after the first draw: this study has yes"),
    ],
)
def test_after_the_first_draw_they_stay(scored, settings, problem):
    next_batch(StoredStudy.open(), 2)
    before = stored(StoredStudy.open())
    with pytest.raises(ChoiceError, match=problem) as caught:
        init(metric="f1", **settings)
    assert caught.value.hint == "start another study: `Study.create(pool, folder)`"
    assert stored(StoredStudy.open()) == before
    assert init(metric="f1", seed=1, threshold=0.5).choices.metric == "f1"


@pytest.mark.parametrize("settings", [{"id": "key"}, {"classes": ("yes", "no")}])
def test_ids_and_classes_stay_once_there_are_labels(scored, label_file, settings):
    ingest(StoredStudy.open(), label_file("i1,no", "i2,yes"))
    before = stored(StoredStudy.open())
    with pytest.raises(ChoiceError, match="stays after the first labels"):
        init(**settings)
    assert stored(StoredStudy.open()) == before
    assert init(seed=3, threshold=0.7).seed == 3
    assert len(StoredStudy.open().ledger.record().answers) == 2


def test_another_pool_is_refused_also_where_columns_change(scored):
    text = Path("pool.csv").read_text().replace("i39,k39,", "i39,k99,")
    Path("other.csv").write_text(text.replace("0.5,", "0.25,"))
    before = stored(StoredStudy.open())
    with pytest.raises(PoolChanged):
        init("other.csv", threshold=0.7)
    assert stored(StoredStudy.open()) == before


def test_costs_have_to_be_given_again_when_the_classes_change(scored):
    Path("costs.csv").write_text("predicted,no,yes\nno,0,5\nyes,1,0\n")
    Path("costs2.csv").write_text("predicted,yes,no\nno,5,0\nyes,0,1\n")
    assert init(metric="cost", costs="costs.csv").choices.costs == ((0.0, 5.0), (1.0, 0.0))
    with pytest.raises(ChoiceError, match="costs of this study are for other classes"):
        init(classes=("yes", "no"))
    changed = init(classes=("yes", "no"), costs="costs2.csv").choices
    assert changed.costs == ((0.0, 1.0), (5.0, 0.0))


# A step at which the process dies, and whether the study is then the new one.
STEPS = [
    ("activetest.study.stored.prepare_restart", False),
    ("activetest.ledger.ledger.Ledger.restart", False),
    ("activetest.study.stored.finish_restart", True),
    ("activetest.study.restart.shutil.rmtree", True),
]


@pytest.mark.parametrize(
    "after", [False, pytest.param(True, marks=pytest.mark.ci)], ids=["before", "after"]
)
@pytest.mark.parametrize(("step", "changed"), STEPS)
def test_a_crash_leaves_the_old_study_or_the_new_one(scored, step, changed, after):
    before = stored(StoredStudy.open())
    code = f"""
import os
import shutil
from unittest import mock
import activetest.study.restart
from tests.makers import init
from importlib import import_module
module, name = {step!r}.rsplit(".", 1)
try:
    owner = import_module(module)
except ModuleNotFoundError:
    outer, inner = module.rsplit(".", 1)
    owner = getattr(import_module(outer), inner)
real = getattr(owner, name)
opened = []
def die(*args, **more):
    # Studies are finished when they are opened, too: it is the change itself that dies.
    if name == "finish_restart" and not opened:
        opened.append(1)
        return real(*args, **more)
    if name == "rmtree" and os.path.basename(args[0]) != "restart":
        return real(*args, **more)
    if {after}:
        real(*args, **more)
    os._exit(9)
with mock.patch.object(owner, name, die):
    init(seed=2, threshold=0.7, floor=0.5)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 9, done.stderr
    study = StoredStudy.open()
    new = changed or (after and step.endswith("Ledger.restart"))
    assert (stored(study) == before) != new
    if new:
        assert (study.seed, study.pool["threshold"], study.choices.floor) == (2, 0.7, 0.5)
    assert len(next_batch(study, 3).rows) == 3
    assert stored(StoredStudy.open()) == stored(study)
    init(floor=0.4)
    assert StoredStudy.open().choices.floor == 0.4


def test_a_restart_that_was_given_up_means_nothing_later(scored):
    study = StoredStudy.open()
    choices = study.choices
    written = config.Config(study.pool | {"threshold": 0.9}, choices)
    restart.prepare_restart(study.folder, written, seed=5, fingerprint="x")
    assert StoredStudy.open().pool["threshold"] == 0.5
    init(seed=6)
    assert (StoredStudy.open().seed, StoredStudy.open().pool["threshold"]) == (6, 0.5)
    assert not (study.folder / "restart").exists()


def test_a_setting_that_does_not_exist_is_an_error_with_the_nearest_name(study):
    with pytest.raises(ChoiceError, match="there is no choice 'metrc'") as caught:
        init(metrc="f1")
    assert "did you mean 'metric'?" in caught.value.hint
