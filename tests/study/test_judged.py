"""Models that gates judge by the same labels: counted, sharing the error, seen on later draws."""

import importlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.estimation.spending import share_among_models
from activetest.study.stored import StoredStudy
from activetest.study.study import Study

ROWS = 120
KEY = {f"row-{n}": "cat" if n % 3 else "dog" for n in range(ROWS)}


@pytest.fixture
def key(folder) -> dict[str, str]:
    """Labels of a pool of 120 items; models/vK.parquet is wrong on every (K + 3)th item."""
    Path("models").mkdir()
    for number in range(1, 8):
        wrong = [n % (number + 3) == 0 for n in range(ROWS)]
        pred = [
            ("dog" if each == "cat" else "cat") if no else each
            for each, no in zip(KEY.values(), wrong, strict=True)
        ]
        table = pa.table({"id": [*KEY], "pred": pred, "place": ["a", "b"] * (ROWS // 2)})
        pq.write_table(table, f"models/v{number}.parquet")
    return KEY


@pytest.fixture
def begin(key):
    """begin(labels, folder, **choices): a study of the model v1 with so many labels."""

    def begin(labels: int = 40, folder: str | None = None, **choices) -> Study:
        study = Study.create("models/v1.parquet", folder, seed=1, groups=["place"], **choices)
        buy(study, labels)
        return study

    return begin


def buy(study: Study, labels: int) -> None:
    """Draw and label so many items."""
    if labels:
        study.ingest({id: KEY[id] for id in study.next(labels, new=True).ids})


def add(study: Study, *numbers: int, trained: bool = False) -> None:
    """Add the models v2, v3 ..."""
    for number in numbers:
        file = f"models/v{number}.parquet"
        study.add(f"v{number}", file, trained_on_labels=trained)


def find_note(report) -> str | None:
    """The note on models that the labels judge; None without one."""
    words = ("models that these labels judge", "model that is judged")
    found = [note.text for note in report.notes if any(each in note.text for each in words)]
    return found[0] if found else None


def test_one_model_that_is_judged_makes_no_line_more(begin):
    study = begin()
    add(study, 2)
    for require in ("error<=0.9", "error<=0.8", "error@place=a<=0.9"):
        report = study.report(require=require)
        assert find_note(report) is None and report.gates[0].since_added is None
    assert "since it came" not in str(report)
    assert "since_added" not in report.to_json()


def test_the_seventh_model_that_is_judged_is_said_to_be_one(begin):
    study = begin()
    add(study, 2, 3, 4, 5, 6, 7)
    study.report(require="error<=0.9")
    for number in range(2, 7):
        study.report(require=f"error(v{number})<=0.9")
    report = study.report(require=["error(v7)-error(model)<=0.5", "error(v7)<=0.9"])
    # 1 - .95^7
    assert find_note(report) == (
        "v7 is the 7th model that is judged by these labels: at least one of 7 bad ones would pass "
        "in up to 30 %."
    )
    # It stays the third, whoever else is judged.
    assert "3rd model" in find_note(study.report(require="error(v3)<=0.9"))
    assert "v2 and v3 are the 2nd and 3rd models" in find_note(
        study.report(require=["error<=0.9", "error(v2)<=0.9", "error(v3)<=0.9"])
    )
    assert find_note(study.report(require="error<=0.9")) is None


def test_a_gate_in_the_report_on_a_model_is_about_that_model(begin):
    study = begin()
    add(study, 2)
    study.report(require="error<=0.9", interval="fixed")
    report = study.report(model="v2", require="error<=0.9", interval="fixed")
    assert "v2 is the 2nd model" in find_note(report)
    gates = StoredStudy.open().ledger.gates()
    assert [gate.expression.get("model") for gate in gates] == [None, "v2"]


def test_beside_a_gate_stands_what_draws_since_its_model_came_say(begin):
    study = begin(40)
    add(study, 2)
    buy(study, 30)
    study.report(require="error<=0.9")
    (gate,) = study.report(model="v2", require="error<=0.9", interval="fixed").gates
    assert gate.since_added.n_labeled == 30 and gate.n_labeled == 70
    assert gate.since_added.estimate != gate.estimate
    assert gate.since_added.level == 0.95
    assert gate.since_added.lower <= 24 / 120 <= gate.since_added.upper
    joint = study.report(require=["error(v2)<=0.9", "error(v2)@place=a<=0.9"]).gates
    for found in joint:
        assert found.since_added.n_labeled == 30
        assert found.since_added.lower <= found.since_added.estimate <= found.since_added.upper
    apart = study.report(require="error(v2)@place=a,b<=0.9", interval="fixed").gates[0].since_added
    assert apart.lower <= apart.estimate <= apart.upper


def test_draws_since_a_model_came_are_those_of_a_model_that_labels_made(begin, folder):
    """The same number, from a study in which the model was added as one that labels made."""
    found = []
    for trained in (False, True):
        # The model that labels made has no vote in draws.
        study = begin(40, folder=f"study-{trained}", surrogate="agreement")
        add(study, 2, trained=trained)
        buy(study, 30)
        study.report(require="error<=0.9", interval="fixed")
        found.append(study.report(model="v2", require="error<=0.9", interval="fixed"))
    (gate,), (own,) = (each.gates for each in found)
    row = next(each for each in found[1].estimates if each.headline)
    assert (gate.since_added.estimate, gate.since_added.lower, gate.since_added.upper) == approx(
        (row.estimate, row.lower, row.upper)
    )
    assert own.since_added is None


def test_without_a_draw_since_a_model_came_there_is_no_number(begin, capsys):
    study = begin(40)
    add(study, 2)
    study.report(require="error<=0.9")
    (gate,) = study.report(require="error(v2)<=0.9").gates
    assert gate.since_added.n_labeled == 0 and gate.since_added.estimate is None
    main(["report", "--require", "error(v2)<=0.9"])
    assert "- (0 labels)" in capsys.readouterr().out


def test_a_model_of_the_beginning_has_no_draws_of_its_own(begin):
    study = begin(0)
    study.add("v2", "models/v2.parquet")
    buy(study, 40)
    study.report(require="error<=0.9")
    report = study.report(require="error(v2)<=0.9")
    assert "2nd model" in find_note(report) and report.gates[0].since_added is None


def test_every_format_shows_draws_since_the_model_came(begin, capsys):
    study = begin(40)
    add(study, 2)
    buy(study, 30)
    study.report(require="error<=0.9")
    gate = ("--require", "error(v2)<=0.9")
    assert main(["report", *gate, "-o", "found.html", "-o", "found.xml"]) == 0
    shown = capsys.readouterr().out
    assert "since it came" in shown and "; 30 labels)" in shown and "2nd model" in shown
    page = Path("found.html").read_text(encoding="utf-8")
    assert "since it came" in page and "30 labels" in page
    assert "by draws since the model came" in Path("found.xml").read_text(encoding="utf-8")
    assert main(["report", *gate, "--format", "markdown"]) == 0
    assert "since it came" in capsys.readouterr().out
    assert main(["report", *gate, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["gates"]
    assert found["since_added"]["n_labeled"] == 30
    assert set(found["since_added"]) == {
        *("estimate", "lower", "upper", "level", "method", "n_labeled", "reliable")
    }


@pytest.mark.parametrize("declared", [1, 2, 5, 20])
def test_all_shares_of_the_error_come_to_the_whole_and_to_no_more(declared):
    shares = [share_among_models(place, declared) for place in range(1, 2000)]
    assert sum(shares) < 1 and sum(shares) == approx(1 - 1 / 2000)
    assert len({*shares[:declared]}) == 1
    assert shares[declared] == approx(1 / ((declared + 1) * (declared + 2)))


@pytest.mark.parametrize(
    "choices",
    [{"interval": "anytime"}, {"budget": 60, "looks": 3}, {"interval": "fixed"}],
    ids=["anytime", "sequential", "fixed"],
)
def test_models_that_share_the_error_have_gates_of_smaller_error(begin, choices):
    study = begin(0, share_error=True, **choices)
    study.add("v2", "models/v2.parquet")
    buy(study, 40)
    add(study, 3)
    buy(study, 20)
    kind = "fixed" if choices == {"interval": "fixed"} else None
    gates = study.report(
        require=["error<=0.2", "error(v2)<=0.2", "error(v3)<=0.2", "error(v3)@place=a<=0.2"],
        interval=kind,
    ).gates
    # Two were there before the first draw: 1 / 3 each, and the third one has 1 / 12.
    for gate, share in zip(gates, (1 / 3, 1 / 3, 1 / 12, 1 / 12), strict=True):
        assert gate.level == approx(1 - 2 * 0.05 * share)
    assert gates[0].reason.startswith("decided at 98.3 %")
    assert gates[2].reason.startswith("decided at 99.58 %")
    recorded = StoredStudy.open().ledger.gates()
    assert [gate.level for gate in recorded] == approx([1 - 0.05 / 3] * 2 + [1 - 0.05 / 12] * 2)
    assert {gate.conditions["share_error"] for gate in recorded} == {2}
    # Intervals of estimates stay at the study's level.
    rows = study.report(metrics=["error", "error(v3)"]).estimates
    assert {row.level for row in rows} == {0.95}


@pytest.mark.parametrize(
    "choices", [{"budget": 90, "looks": 3}, {"interval": "fixed"}], ids=["sequential", "fixed"]
)
def test_the_interval_that_decides_is_wider_the_smaller_the_share(begin, choices):
    """The same outputs three times: before the first draw, and as the third and fourth model."""
    study = begin(0, share_error=True, **choices)
    study.add("v2", "models/v2.parquet")
    buy(study, 60)
    for name in ("third", "fourth"):
        study.add(name, "models/v2.parquet", trained_on_labels=False)
    kind = "fixed" if choices == {"interval": "fixed"} else None

    def judge(limit: float) -> list:
        names = ("v2", "third", "fourth")
        gates = [f"error({name})<={limit}" for name in names]
        return list(study.report(require=gates, interval=kind).gates)

    found = judge(0.3)
    assert len({gate.estimate for gate in found}) == 1
    assert found[0].upper < found[1].upper < found[2].upper
    assert found[0].lower >= found[1].lower >= found[2].lower
    # A gate passes where the interval of its own share says so.
    between = judge((found[0].upper + found[1].upper) / 2)
    assert [gate.verdict for gate in between] == ["pass", "undecided", "undecided"]


def test_a_gate_fails_at_the_share_of_its_model_too(begin):
    study = begin(60, interval="fixed", share_error=True)
    study.add("twin", "models/v1.parquet", trained_on_labels=False)
    (alone,) = study.report(require="error(twin)<=0.9", interval="fixed").gates
    usual = next(row for row in study.report(metrics="error(twin)").estimates if row.headline)
    # The interval of the study's level leaves it out, and that of the share does not.
    limit = (max(usual.lower, alone.lower) + min(usual.lower, alone.lower)) / 2
    assert alone.lower < limit < usual.lower
    (gate,) = study.report(require=f"error(twin)<={limit}", interval="fixed").gates
    assert gate.verdict == "undecided" and gate.lower == alone.lower


def test_a_gate_that_passes_alone_may_not_pass_for_the_seventh_model(begin):
    """The same model and labels: the fewer of the error it has, the more labels it takes."""
    words = {}
    for share in (False, True):
        study = begin(60, folder=f"study-{share}", interval="anytime", share_error=share)
        add(study, 7, 2, 3, 4, 5)
        study.add("twin", "models/v7.parquet", trained_on_labels=False)
        gates = study.report(require=["error(v7)<=0.21", "error(twin)<=0.21"]).gates
        words[share] = [gate.verdict for gate in gates]
        e_values = [gate.e_pass for gate in gates]
        print(e_values)
    assert words[False] == ["pass", "pass"]
    assert words[True][1] == "undecided"


def test_a_number_of_candidates_counts_models_that_come_later(begin):
    study = begin(0, share_error=True, candidates=4)
    buy(study, 40)
    add(study, 2, 3, 4, 5)
    gates = study.report(
        require=["error<=0.2", "error(v4)<=0.2", "error(v5)<=0.2"], interval="fixed"
    ).gates
    for gate, share in zip(gates, (1 / 5, 1 / 5, 1 / 30), strict=True):
        assert gate.level == approx(1 - 2 * 0.05 * share)


def test_sharing_the_error_is_fixed_once_a_gate_was_asked_for(begin):
    study = begin(20)
    study.change(share_error=True)
    study.change(share_error=False)
    study.report(require="error<=0.9")
    with pytest.raises(ChoiceError, match="`share_error` stays false"):
        study.change(share_error=True)
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("share_error = false", "share_error = true"), encoding="utf-8")
    with pytest.raises(ChoiceError, match="share_error stays false") as found:
        Study.open()
    assert "restore the line share_error = false" in found.value.hint


def test_the_number_of_candidates_is_fixed_after_the_first_draw(begin):
    study = begin(0, share_error=True)
    study.change(candidates=3)
    study.add("v2", "models/v2.parquet")
    with pytest.raises(ChoiceError, match="has 2 models already"):
        study.change(candidates=1)
    buy(study, 10)
    with pytest.raises(ChoiceError, match="must not depend on labels"):
        study.change(candidates=4)
    with pytest.raises(ChoiceError, match="share the error"):
        Study.create("models/v1.parquet", "other", candidates=2)
    models = {"v2": "models/v2.parquet"}
    with pytest.raises(ChoiceError, match="has 2 models already"):
        Study.create("models/v1.parquet", "o", models=models, share_error=True, candidates=1)


def test_the_command_line_shares_the_error(key, capsys):
    begun = ["init", "models/v1.parquet", "--share-error", "--candidates", "3"]
    assert main(begun) == 0
    assert Study.open().choices.share_error is True and Study.open().choices.candidates == 3
    capsys.readouterr()
    study = Study.open()
    buy(study, 40)
    add(study, 2)
    study.report(require="error<=0.9")
    main(["report", "--require", "error(v2)<=0.9"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "decided at 98.8 %" in shown
    assert "models share the error, so that a bad one passes in at most 5 %, however" in shown


# --- how often

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def worn(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("worn")


def judge(worn, studies: int) -> np.ndarray:
    """(studies, 2) how often a bad version passes some gate: by itself, and sharing the error."""
    passed = [worn.play(True, "uniform", seed) for seed in range(studies)]
    return np.array(passed).any(axis=2)


def test_of_twenty_bad_versions_some_pass_unless_they_share_the_error(worn):
    alone, shared = judge(worn, 8).mean(axis=0)
    assert alone >= 0.1 and shared == 0


def test_a_model_that_was_fitted_to_labels_is_found_out_by_draws_since_it_came(worn):
    fits = np.array([worn.fit_model(seed) for seed in range(12)])
    covered = [((fits[:, at + 1] <= fits[:, 0]) & (fits[:, 0] <= fits[:, at + 2])) for at in (1, 4)]
    assert covered[0].mean() <= 0.3 and covered[1].mean() >= 0.85
    assert fits[:, 1].mean() < 0.7 * fits[:, 0].mean() < 0.8 * fits[:, 4].mean()


@pytest.mark.slow
def test_of_twenty_bad_versions_at_least_one_passes_in_few_of_a_thousand_studies(worn):
    alone, shared = judge(worn, 1000).mean(axis=0)
    assert alone >= 0.1 and shared <= 0.065
