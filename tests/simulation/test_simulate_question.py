"""Simulations of studies with a question about groups: what their draws say of the whole pool."""

import json

import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.sampling.settings import read_settings
from activetest.simulation.design import choices_of_groups
from tests.simulation.test_design import list_ways

ROLES = {"task": "classification", "kind": "prob-columns", "groups": ["place"]}


def planned(question: str, **ways) -> list:
    of_groups = choices_of_groups(read_settings({"question": question}), grouped=True)
    return list(list_ways(ROLES, of_groups, surrogate="agreement", **ways))


@pytest.fixture
def words(folder, write_pool) -> list[str]:
    """A short simulation on a pool of 40 items."""
    write_pool(folder / "pool.parquet", 40)
    (folder / "key.csv").write_text(
        "id,label\n" + "".join(f"item-{row},{'cat' if row % 3 else 'dog'}\n" for row in range(40))
    )
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--budget", "10", "--runs", "4"]
    return [*words, "--metric", "accuracy", "--workers", "1"]


def results(capsys, *words: str) -> list[dict]:
    assert main([*words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def refused(capsys, *words: str) -> str:
    assert main([*words]) == 2
    return capsys.readouterr().err


def test_choices_between_groups_are_compared_with_others(words, capsys):
    words += ["--question", "identify", "--acquisition", "thompson,uniform,optimal"]
    words += ["--estimator", "doubly-robust", "--save", "runs.jsonl"]
    found = {one["acquisition"]: one for one in results(capsys, *words)}
    assert set(found) == {"thompson", "uniform", "optimal"}
    assert {one["runs"] for one in found.values()} == {4}
    assert found["thompson"]["rmse"] != found["uniform"]["rmse"]
    again = {one["acquisition"]: one for one in results(capsys, *words)}
    assert again == found
    for other in (["--worst", "2"], ["--prior", "uniform"], ["--group", "place"]):
        assert "differs in" in refused(capsys, *words, *other)


def test_without_a_floor_only_the_surrogates_own_view_is_left(words, capsys):
    words += ["--question", "compare", "--compare", "barn,tree", "--group", "place"]
    words += ["--acquisition", "thompson", "--floor", "0", "--estimator", "ase,doubly-robust"]
    assert {one["estimator"] for one in results(capsys, *words)} == {"ase"}


def test_floors_are_the_usual_ones_unless_one_is_named():
    made = planned("identify", acquisition=("thompson", "uniform", "optimal"))
    assert [each.floor for each in made] == [0.1, 0.35, 0.35]
    assert {each.question for each in made} == {"identify"}


def test_choices_between_groups_have_neither_a_top_nor_a_power():
    ways = {"selection": ("draw", "top"), "power": (1.0, 2.0)}
    made = planned("identify", acquisition=("thompson", "optimal"), **ways)
    drawn = [(each.acquisition, each.selection, each.power) for each in made]
    assert drawn[0] == ("thompson", "draw", 1.0)
    assert drawn[1:] == [
        ("optimal", "draw", 1.0),
        ("optimal", "draw", 2.0),
        ("optimal", "top", 1.0),
    ]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--acquisition", "thompson"], "'thompson' chooses between groups"),
        (["--prior-strength", "3"], "--prior-strength has no effect without a question"),
        (["--rope", "0.1"], "--rope has no effect without a question"),
        (
            ["--question", "identify", "--rope", "0.1"],
            "--rope has no effect on the question identify",
        ),
        (["--question", "identify", "--worst", "3"], "--worst 3: 'predicted' has 3 groups"),
        (["--group", "place"], "--group has no effect without a question"),
        (["--question", "identify", "--worst", "4"], "--worst 4: 'predicted' has 3 groups"),
        (["--question", "compare", "--compare", "cat,cow"], "is not two values of 'predicted'"),
        (["--question", "identify", "--aim", "log-loss"], "the question identify judges groups by"),
    ],
)
def test_what_makes_no_sense_is_refused(words, capsys, more, problem):
    assert problem in refused(capsys, *words, *more)


def test_a_question_without_groups_is_refused():
    with pytest.raises(ChoiceError, match="needs groups"):
        list_ways(ROLES | {"groups": ()}, {"question": "identify"}, acquisition="thompson")
