"""Methods of other packages: found by entry points, imported only when they are named."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from activetest import catalog
from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.item_statistics.statistic import statistic

ROOT = Path(__file__).parents[1]

SURROGATE = '''
"""The agreement surrogate under another name."""

from activetest.surrogates.agreement import fit, restore
'''
ACQUISITION = '''
"""Draws where the model is likely to be wrong, and elsewhere half as often."""

import numpy as np

from activetest.nouns.beliefs import moments


def score(beliefs, rng=None):
    mean, _ = moments(beliefs)
    return 0.5 + np.abs(mean).sum(axis=0)
'''
POLICY = '''
"""Every group as often as any other."""

import numpy as np

CHOOSES_GROUPS = True


def allocate(bandit, samples, rng):
    count = len(bandit.arms.groups)
    return np.full(count, 1 / count)
'''
ESTIMATOR = '''
"""LURE under another name."""

from activetest.estimators.lure import estimate
'''
INTERVAL = '''
"""Everything between the bounds of what is known."""

from activetest.nouns.quantity import Quantity


def interval(estimate, level):
    lower, upper = estimate.limits[:, 0]
    mean = float(estimate.mean[0])
    return Quantity(mean, float(lower), float(upper), level, "their-interval", variance=0.0)
'''
METRIC = '''
"""The share of items whose mistake is at least so many classes away."""

from activetest.item_statistics.metric import Metric, take_mean
from activetest.item_statistics.statistic import statistic

TASK = "classification"


def metrics(facts, argument=None):
    far = statistic(f"their_distance:{int(argument or 1)}")
    return (Metric("their-metric", (far,), take_mean, upper=1.0, interval="their-interval"),)
'''
STATISTIC = '''
"""How far the predicted class is from the label."""

import numpy as np

from activetest.item_statistics.statistic import Statistic


def make(name, least):
    def value(outputs, labels):
        if labels is None:
            labels = np.arange(outputs.probs.shape[1])[None]
        return (np.abs(outputs.pred[:, None] - labels) >= least).astype(float)

    return Statistic(name, value, cells=True)
'''
FORMAT = '''
"""The estimate of the headline, in angle brackets."""


def render(report):
    return "".join(
        f"<{row.estimator} {row.metric} {row.estimate} {row.method}>\\n"
        for row in report.estimates
        if row.headline
    )
'''
SECTION = '''
"""What lions have to do with it."""

from activetest.render.document.blocks import Sentence

PLACE = 4.5
TITLE = "Lions"
OF = "judge"


def lead(part, report):
    return []


def write(part, report, extent):
    return [Sentence("Mind the lions.", style="plain")]
'''
FILE_FORMAT = '''
"""Items with numbers behind a colon."""
import pyarrow as pa

TITLE = "their file"
SUFFIXES = (".theirs",)
POOL = True


def recognise(head):
    return head.start.startswith(b"theirs:")


def read_pool(path, *, id=None):
    lines = [line.split(":") for line in path.read_text().split()[1:]]
    yield pa.table({"id": [item for item, _ in lines], "pred": [word for _, word in lines]})
'''
BROKEN = "import a_package_that_nobody_installed\n"
SURFACE = "from activetest.wings.surfaces.surfaces.constant import fit\n"
ATTRIBUTE_MODEL = "from activetest.wings.surfaces.attribute_models.raw import fit\n"
ENTRIES = {
    "surrogates": ("their-surrogate", "surrogate", SURROGATE),
    "surfaces": ("their-surface", "surface", SURFACE),
    "attribute_models": ("their-attribute-model", "attribute_model", ATTRIBUTE_MODEL),
    "acquisition": ("their-acquisition", "acquisition", ACQUISITION),
    "estimators": ("their-estimator", "estimator", ESTIMATOR),
    "intervals": ("their-interval", "interval", INTERVAL),
    "metrics": ("their-metric", "metric", METRIC),
    "statistics": ("their_distance", "statistic", STATISTIC),
    "render": ("their-format", "format", FORMAT),
    "sections": ("their-section", "section", SECTION),
    "formats": ("their-file", "file_format", FILE_FORMAT),
}
LOADED = "import sys; print(sorted(name for name in sys.modules if name.startswith('theirs')))"


class Done(NamedTuple):
    """The outcome of a command."""

    code: int
    stdout: str
    stderr: str


def write_distribution(folder: Path, name: str, modules: dict, entries: dict) -> None:
    """A distribution as it lies installed: a package of these modules, and its entry points."""
    package = folder / name
    package.mkdir(parents=True)
    for module, text in {"__init__": "", **modules}.items():
        (package / f"{module}.py").write_text(text, encoding="utf-8")
    record = folder / f"{name}-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, named in entries.items():
        lines.append(f"[activetest.{group}]")
        lines += [f"{method} = {name}.{module}" for method, module in named.items()]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path) -> Path:
    """A folder of packages that brings one method to every family."""
    folder = tmp_path / "site"
    modules = {module: text for _, module, text in ENTRIES.values()} | {"policy": POLICY}
    entries = {group: {method: module} for group, (method, module, _) in ENTRIES.items()}
    entries["acquisition"]["their-policy"] = "policy"
    write_distribution(folder, "theirs", modules, entries)
    return folder


@pytest.fixture
def broken(tmp_path) -> Path:
    """A folder of packages whose surrogates cannot be imported."""
    folder = tmp_path / "broken"
    modules = {"lacking": BROKEN, "garbled": "def fit(:\n"}
    named = {"lacking": "lacking", "garbled": "garbled", "gone": "gone"}
    write_distribution(folder, "theirs", modules, {"surrogates": named})
    return folder


def forget_packages() -> None:
    """Entry points and modules of packages are looked up anew."""
    for cached in (catalog._foreign, catalog._facts, statistic):
        cached.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "theirs"]:
        del sys.modules[name]


@pytest.fixture
def run(folder, write_pool, monkeypatch, capsys):
    """run(site, *words) runs a command in a folder with a pool while site is installed."""
    write_pool(folder / "pool.parquet", 60, seed=2)

    def run_command(site: Path, *words: str) -> Done:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(site))
            forget_packages()
            code = main(words)
        return Done(code, *capsys.readouterr())

    yield run_command
    forget_packages()


def run_code(site: Path, code: str) -> str:
    """The last line that code prints in an interpreter of its own."""
    paths = os.environ | {"PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))}
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, env=paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def run_loop(run, site: Path, folder: Path) -> None:
    """Twice, draw ten items and label them as the first class."""
    for _ in range(2):
        done = run(site, "next", "--n", "10", "--new", "-o", "batch.csv")
        assert done.code == 0, done.stderr
        ids = [line.split(",")[0] for line in (folder / "batch.csv").read_text().split()[1:]]
        answers = "".join(f"{item},cat\n" for item in ids)
        (folder / "answers.csv").write_text("id,label\n" + answers)
        done = run(site, "ingest", "answers.csv")
        assert done.code == 0, done.stderr


def test_a_package_brings_a_method_to_every_family_of_items(run, site, folder):
    methods = ("--surrogate", "their-surrogate", "--acquisition", "their-acquisition")
    done = run(site, "init", "pool.parquet", "--metric", "their-metric[2]", *methods)
    assert done.code == 0, done.stderr
    run_loop(run, site, folder)
    done = run(site, "report", "--estimator", "their-estimator", "--format", "their-format")
    assert done.code == 0, done.stderr
    words = done.stdout.strip().strip("<>").split()
    assert words[:2] == ["their-estimator", "their-metric"]
    assert words[3] == "their-interval"
    assert 0 <= float(words[2]) <= 1


def test_their_metric_is_estimated_from_what_rounds_recorded_about_it(run, site, folder):
    """The statistic is looked up again by the name under which rounds recorded it."""
    assert run(site, "init", "pool.parquet", "--metric", "their-metric").code == 0
    run_loop(run, site, folder)
    done = run(site, "report", "--metric", "their-metric,error", "--format", "json")
    assert done.code == 0, done.stderr
    rows = [row for row in json.loads(done.stdout)["estimates"] if row["estimator"] != "ase"]
    # A mistake is at least one class away: both are the share of mistakes.
    theirs, ours = (row["estimate"] for row in rows)
    assert theirs == pytest.approx(ours)


def test_a_package_brings_a_policy_that_chooses_between_groups(run, site, folder):
    words = ("--question", "identify", "--group", "place", "--acquisition", "their-policy")
    done = run(site, "init", "pool.parquet", *words)
    assert done.code == 0, done.stderr
    run_loop(run, site, folder)
    done = run(site, "report", "--format", "json")
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["acquisition"] == "their-policy"


def test_a_package_brings_a_format_of_files(run, site, folder):
    (folder / "pool.theirs").write_text("theirs:\na:cat\nb:dog\n")
    done = run(site, "init", "pool.theirs")
    assert done.code == 0 and "2 items, 2 classes: cat, dog" in done.stdout, done.stderr


def test_a_package_brings_a_section_to_every_format(run, tmp_path):
    site = tmp_path / "sections"
    text = SECTION.replace('"judge"', '"estimates"')
    write_distribution(site, "theirs", {"section": text}, {"sections": {"lions": "section"}})
    assert run(site, "init", "pool.parquet").code == 0
    for format in ("text", "markdown", "html"):
        done = run(site, "report", "--format", format)
        assert done.code == 0 and "Mind the lions." in done.stdout, done.stderr


def test_listing_methods_and_reading_their_facts_imports_nothing(site):
    methods = {family: entry for family, (entry, _, _) in ENTRIES.items()}
    code = (
        "from activetest import catalog\n"
        f"for family, method in {methods!r}.items():\n"
        "    assert method in catalog.names(family)\n"
        "    catalog.check(family, method)\n"
        "    catalog.having(family, 'TASK')\n"
        f"assert catalog.fact('acquisition', 'their-policy', 'CHOOSES_GROUPS')\n{LOADED}"
    )
    assert run_code(site, code) == "[]"


def test_a_study_without_methods_of_the_package_imports_none_of_them(run, site):
    words = (["init", "pool.parquet"], ["next", "--n", "5"], ["report"], ["status"])
    commands = "; ".join(f"assert main({each!r}) == 0" for each in words)
    code = f"from activetest.cli.app import main; {commands}; {LOADED}"
    assert run_code(site, code) == "[]"


def test_a_method_that_is_named_is_the_only_one_imported(site):
    code = f"from activetest import catalog; catalog.load('metrics', 'their-metric'); {LOADED}"
    assert run_code(site, code) == "['theirs', 'theirs.metric']"


@pytest.mark.parametrize(
    ("method", "reason"), [("garbled", "SyntaxError"), ("gone", "ModuleNotFoundError")]
)
def test_a_file_that_cannot_be_read_is_refused_when_it_is_chosen(run, broken, method, reason):
    done = run(broken, "init", "pool.parquet", "--surrogate", method)
    assert done.code == 2
    assert f"the surrogate {method!r} of the package 'theirs' cannot be imported" in done.stderr
    assert reason in done.stderr


def test_a_file_that_fails_to_import_is_a_named_error(run, broken):
    assert run(broken, "init", "pool.parquet", "--surrogate", "lacking").code == 0
    done = run(broken, "next", "--n", "5")
    assert done.code == 2
    assert "the surrogate 'lacking' of the package 'theirs' cannot be imported" in done.stderr
    assert "a_package_that_nobody_installed" in done.stderr


def test_a_broken_package_disturbs_nobody_who_does_not_name_it(run, broken):
    assert run(broken, "init", "pool.parquet").code == 0
    assert run(broken, "next", "--n", "5").code == 0


def test_a_statistic_that_nobody_brings_is_a_named_error(run, site, tmp_path):
    assert run(site, "init", "pool.parquet", "--metric", "their-metric").code == 0
    assert run(site, "next", "--n", "5").code == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run(empty, "report", "--metric", "error")
    assert done.code == 2
    assert "their" in done.stderr


OPTIONS = {"steps": 1000, "rate": 0.01, "link": ("steep", "plain")}


@pytest.fixture
def beta_with_options(monkeypatch) -> None:
    """The surface beta, as if it had options."""
    module = catalog.load("surfaces", "beta")
    monkeypatch.setattr(module, "OPTIONS", OPTIONS, raising=False)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("beta", {}),
        (" beta ", {}),
        ("beta[steps=50]", {"steps": 50}),
        ("beta[ steps = 50 ; link=plain; ]", {"steps": 50, "link": "plain"}),
        ("beta[rate=0]", {"rate": 0.0}),
        ("beta[rate=1e-3]", {"rate": 0.001}),
    ],
)
def test_what_stands_in_brackets_behind_a_method_are_its_options(beta_with_options, text, options):
    name, found = catalog.split_options("surfaces", text)
    assert (name, found) == ("beta", options)
    assert [type(each) for each in found.values()] == [type(each) for each in options.values()]


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("beta[steps=50", "brackets do not match", "beta[option=value"),
        ("beta[[steps=50]]", "brackets do not match", "beta[option=value"),
        ("beta[step=50]", "no such option: 'step=50'", "steps=1000 (a whole number from 1 up)"),
        ("beta[steps=1;steps=2]", "twice: 'steps=2'", "link=steep|plain"),
        ("beta[steps=0]", "does not take 'steps=0'", "a whole number from 1 up"),
        ("beta[steps=1.5]", "does not take 'steps=1.5'", "a whole number from 1 up"),
        ("beta[steps]", "does not take 'steps'", "a whole number from 1 up"),
        ("beta[rate=-1]", "does not take 'rate=-1'", "a number from 0 up"),
        ("beta[rate=nan]", "does not take 'rate=nan'", "a number from 0 up"),
        ("beta[rate=inf]", "does not take 'rate=inf'", "a number from 0 up"),
        ("beta[link=flat]", "does not take 'link=flat'", "link=steep|plain"),
        ("constant[steps=1]", "'constant' has no options", "write 'constant' alone"),
        ("bta[steps=1]", "no surface is called 'bta'", "did you mean 'beta'?"),
    ],
)
def test_options_that_a_method_lacks_are_refused(beta_with_options, text, problem, hint):
    with pytest.raises(ChoiceError) as raised:
        catalog.split_options("surfaces", text)
    assert problem in raised.value.problem
    assert hint in raised.value.hint
