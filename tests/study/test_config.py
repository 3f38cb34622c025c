"""study.toml comes back as it was written, may be edited by hand, and errors in it are named."""

import tomllib
from pathlib import Path

import pytest

from activetest.errors import ActivetestError, ChoiceError
from activetest.nouns.choices import Choices
from activetest.nouns.report_settings import ReportSettings
from activetest.pool.schema import Schema
from activetest.study import config
from activetest.study.stored import StoredStudy

CHOICES = Choices("error", ("error", "accuracy"), "agreement", budget=30, groups=("a*b",))
ROLES = {"uri": "pool.parquet", "task": "classification", "kind": "score", "groups": ["a*b"]}
ROLES |= {"outputs": ["score"]}


def test_what_is_written_comes_back(folder):
    pool = ROLES | {"positive": 'a "quoted" \\ é \x7f \n name', "train_fingerprint": "0f"}
    config.write_config(folder, config.Config(pool | {"id": None}, CHOICES))
    assert config.read_config(folder) == config.Config(pool, CHOICES)
    assert [path.name for path in folder.iterdir()] == ["study.toml"]


def test_it_is_on_the_disk_when_it_is_written(folder, synced):
    config.write_config(folder, config.Config(ROLES, CHOICES))
    assert synced(folder / "study.toml") and synced(folder)


def test_the_roles_are_those_of_the_columns_without_addresses_and_fingerprints():
    files = {"train": "rows.csv", "other_models": "others.csv", "features_fingerprint": "0f"}
    expected = Schema("classification", "score", ("score",), groups=("a*b",))
    assert config.parse_schema(ROLES | files) == expected


def test_addresses_are_relative_to_the_folder_of_the_study_and_open_from_anywhere(folder):
    study = folder / "project" / ".activetest"
    pool = ROLES | {
        "uri": "data/pool.parquet",
        "train": "s3://bucket/rows",
        "other_models": "/o.csv",
    }
    written = config.make_relative(pool, study)
    assert written == pool | {"uri": "../data/pool.parquet"}
    opened = config.resolve_addresses(written, study)
    assert opened["train"] == "s3://bucket/rows" and opened["other_models"] == "/o.csv"
    assert Path(opened["uri"]).resolve() == (folder / "data" / "pool.parquet").resolve()
    assert set(config.resolve_addresses(ROLES, study)) == {"uri"}


def test_an_address_on_another_drive_is_absolute(folder, monkeypatch):
    def refuse(path, start):
        raise ValueError(f"path is on mount 'D:', start on mount 'C:': {path}, {start}")

    monkeypatch.setattr("os.path.relpath", refuse)
    written = config.make_relative(ROLES | {"uri": "pool.parquet"}, folder / ".activetest")
    assert written["uri"] == str(folder / "pool.parquet")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('metric = "acuracy"', "no metric 'acuracy'"),
        ('metric = "rmse"', "no metric 'rmse'"),
        ("metric = 3", "metric is 3"),
        ("metrics = []", "metrics is []"),
        ('acquisition = "balld"', "no acquisition is called 'balld'"),
        ('surrogate = "oracle"', "no surrogate is called 'oracle'"),
        ("floor = 1.5", "floor is 1.5"),
        ("floor = nan", "floor is nan"),
        ('floor = "high"', "floor is 'high'"),
        ("level = 95", "level is 95"),
        ("budget = 0", "budget is 0"),
        ("budget = true", "budget is True"),
        ('groups = ["c"]', "'c' is not a group"),
        ("colour = 1", "there is no choice 'colour'"),
        ("floor = ", "is not TOML"),
        ("[extra]", "there is no section 'extra'"),
    ],
)
def test_a_bad_edit_names_the_file_and_the_key(folder, line, problem):
    config.write_config(folder, config.Config(ROLES, CHOICES))
    path = folder / "study.toml"
    key = line.split(" ")[0]
    kept = [old for old in path.read_text().splitlines() if not old.startswith(f"{key} =")]
    path.write_text("\n".join([*kept, line]))
    with pytest.raises(ChoiceError) as error:
        config.read_config(folder)
    assert problem in error.value.problem
    assert "study.toml" in error.value.problem


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('task = "ranking"', "task is 'ranking'"),
        ('kind = "logits"', "kind is 'logits'"),
        ("id = 4", "id is 4"),
        ('outputs = "score"', "outputs is 'score'"),
        ('open_classes = "no"', "open_classes is 'no'"),
        ('threshold = "half"', "threshold is 'half'"),
        ("colour = 1", "unknown key 'colour'"),
    ],
)
def test_a_bad_role_names_the_file_and_the_key(folder, line, problem):
    config.write_config(folder, config.Config(ROLES, CHOICES))
    path = folder / "study.toml"
    key = line.split(" ")[0]
    lists, _, rest = path.read_text().partition("[pool]\n")
    kept = [old for old in rest.splitlines() if not old.startswith(f"{key} =")]
    path.write_text(lists + "\n".join(["[pool]", line, *kept]))
    with pytest.raises(ChoiceError) as error:
        config.read_config(folder)
    assert problem in error.value.problem
    assert "study.toml" in error.value.problem
    assert error.value.hint


def test_parts_models_criteria_and_raters_are_lists_of_one(folder):
    config.write_config(folder, config.Config(ROLES, CHOICES))
    entries = tomllib.loads((folder / "study.toml").read_text())
    assert {name: entries[name] for name in ("parts", "models", "criteria", "raters")} == {
        "parts": [{"name": "pool", "address": "pool.parquet"}],
        "models": [{"name": "model"}],
        "criteria": [{"name": "label"}],
        "raters": [{"name": "", "kind": "people"}],
    }
    assert "uri" not in entries["pool"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('name = "model"', 'name = "v 2"', "[[models]] name is 'v 2'"),
        ('name = "label"', 'name = "tone"', "[[criteria]] name is 'tone': other ones come with"),
        ('name = "pool"', 'name = "week1"', "[[parts]] name is 'week1': other ones come with"),
        ('kind = "people"', 'kind = "judge"', "[[raters]] kind is 'judge': other ones come with"),
        ('kind = "people"', "", "[[raters]] kind is empty"),
        ('name = ""', 'name = ""\nprice = 2', "[[raters]] has an unknown key 'price'"),
        ('address = "pool.parquet"', "address = 3", "[[parts]] address is 3"),
        ('address = "pool.parquet"', "", "[[parts]] address is empty"),
        ("[[criteria]]", '[[models]]\nname = "../v2"\n[[criteria]]', "[[models]] name is '../v2'"),
        ("[[criteria]]", "[[models]]\n[[criteria]]", "[[models]] name is None"),
        (
            "[[criteria]]",
            '[[criteria]]\nname = "label"\n[[criteria]]',
            "several criteria come",
        ),
        ('[[models]]\nname = "model"', "", "[[models]] is no list of sections"),
        ("[[models]]", "[models]", "[[models]] is no list of sections"),
        ('[[models]]\nname = "model"', "models = []", "[[models]] has 0 entries: it is empty"),
        ("[pool]", '[pool]\nuri = "pool.parquet"', "[pool] has an unknown key 'uri'"),
    ],
)
def test_other_lists_than_those_of_one_are_refused_in_one_sentence(folder, old, new, problem):
    config.write_config(folder, config.Config(ROLES, CHOICES))
    path = folder / "study.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new) if new != "models = []" else new + text.replace(old, ""))
    with pytest.raises(ChoiceError) as error:
        config.read_config(folder)
    assert error.value.problem.startswith(f"{path}: ") and problem in error.value.problem
    assert error.value.hint


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff\xfe", b"\0", b"[pool]", b"pool = 1", b"pool = []\nchoices = 3", b"[" * 5000,
        b"[pool]\nid = " + b"9" * 5000, b"a = " + b"[" * 100_000, b"a = " + b"{b = " * 3000,
        ("address =", 'address = ""'), ("address =", "address = []"),
        ("name =", "name = 3"), ("outputs =", "outputs = []"),
        ("outputs =", "outputs = [[]]"), ("kind =", "kind = {}"),
        ("metric =", f"metric = {10**300}"),
        ("floor =", f"floor = {10**300}"), ("floor =", "floor = 1979-05-27"),
        ("level =", "level = nan"),
        ("worst =", f"worst = {10**30}"), ("refit =", f'refit = "{"9" * 5000}"'),
        ("[choices]", "[[choices]]"), ("[pool]", "[[pool]]"), ("groups =", "groups = 3"),
    ],
    ids=lambda content: str(content)[:30],
)  # fmt: skip
def test_a_study_toml_of_any_shape_is_an_error(study, content):
    path = study.folder / "study.toml"
    if isinstance(content, tuple):
        begin, line = content
        lines = path.read_text(encoding="utf-8").splitlines()
        assert any(each.startswith(begin) for each in lines)
        lines = [line if each.startswith(begin) else each for each in lines]
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        path.write_bytes(content)
    with pytest.raises(ActivetestError) as caught:
        StoredStudy.open(study.folder)
    assert caught.value.problem and caught.value.hint


def test_a_study_without_reports_has_no_section_and_one_with_them_keeps_it(folder):
    config.write_config(folder, config.Config(ROLES, CHOICES))
    assert "[report]" not in (folder / "study.toml").read_text(encoding="utf-8")
    reports = ReportSettings(require=("error<=0.1",), output=("report.json",))
    config.write_config(folder, config.Config(ROLES, CHOICES, reports))
    assert config.read_config(folder).report == reports


@pytest.mark.parametrize("entry", ['require = ["error"]', "require = 3", "colour = 1"])
def test_mistakes_in_what_reports_ask_for_name_the_file(folder, entry):
    config.write_config(folder, config.Config(ROLES, CHOICES))
    path = folder / "study.toml"
    path.write_text(path.read_text(encoding="utf-8") + f"\n[report]\n{entry}\n", encoding="utf-8")
    with pytest.raises(ChoiceError, match=r"study.toml, \[report\]"):
        config.read_config(folder)
