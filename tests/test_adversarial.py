"""The benchmark of pools that mislead: what it keeps, counts and compares."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent / "benchmarks"


@pytest.fixture
def adversarial(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("adversarial")
    monkeypatch.setattr(module, "TOGETHER", 2)
    return module


@pytest.fixture
def play(adversarial, monkeypatch, capsys):
    """Runs the script to its last line; gives what it prints."""

    def run(*words: object) -> str:
        usual = ("--studies", "2", "--looks", "50", "--workers", "1", "--without", "gates,claims")
        monkeypatch.setattr("sys.argv", ["adversarial.py", *map(str, words), *usual])
        adversarial.main()
        return capsys.readouterr().out

    return run


def test_a_block_that_is_kept_is_not_played_again_and_is_compared_with_itself(play, tmp_path):
    save = tmp_path / "studies.jsonl"
    first = play("judge-plus-one", "--save", save)
    kept = save.read_bytes()
    assert play("judge-plus-one", "--save", save) == first
    assert save.read_bytes() == kept
    save.write_bytes(kept[:-20])
    play("judge-plus-one", "--save", save)
    [again] = save.read_bytes().splitlines()
    assert again.partition(b'"ms"')[0] == kept.partition(b'"ms"')[0]
    rows = [line.split(" | ") for line in first.splitlines() if line.startswith("| judge-plus")]
    assert rows.pop()[1] == "2"
    assert [row[1:4] for row in rows][:2] == [["mean", "50", "2"], ["bias", "50", "2"]]
    against = play("judge-plus-one", "--save", save, "--against", save).splitlines()[3:]
    assert len(against) == len(rows)
    assert {line.split(" | ")[8] for line in against} == {"1.000"}


def test_answers_of_annotators_and_declined_items_reach_the_log(adversarial):
    pools = importlib.import_module("adversarial_pools")
    truth = np.array([0, 1, 1, 0, 1, 0] * 50)
    recipe = pools.Recipe(lambda rng: {}, right=(0.9, 0.9, 0.9), together=0.5)
    said = pools.give_answers(recipe, truth, 2, seed=3)
    assert {*(said >= 0).sum(axis=1)} == {1, 3}
    assert (said == truth[:, None])[said >= 0].mean() == pytest.approx(0.9, abs=0.03)
    for method in ("majority", "dawid-skene"):
        log = adversarial.hear(importlib.import_module("activetest.nouns.log").Log.empty(), said,
                               ("0", "1"), method)  # fmt: skip
        assert (log.labels == truth).mean() > 0.88
        assert log.answers.sum() == (said >= 0).sum()
    assert log.soft.sum(axis=1) == pytest.approx(1)


def test_ends_coverage_and_claims_are_counted(adversarial):
    """Of four studies one lies below the truth and is reliable; one of the others is marked."""
    columns = {
        "estimate": [0.1, 0.3, 0.3, 0.3],
        "lower": [0.0, 0.2, 0.2, 0.3],
        "upper": [0.2, 0.4, 0.4, 0.5],
        "reliable": [1, 1, 0, 1],
        "saved": [2, 1, np.nan, 0.5],
        "low": [0.0, 0.2, 0.31, 0.3],
        "high": [0.2, 0.4, 0.4, 0.5],
        "sure": [1, 1, 0, 1],
        "sequential": [0, 1, 3, 2],
    }
    columns = {key: np.array(values, float) for key, values in columns.items()}
    truths = np.full(4, 0.3), np.full(4, 0.15)
    numbers = adversarial.summarise(adversarial.Studies(columns, *truths, 1.5))
    assert (numbers["covers"], numbers["reliable"]) == (0.75, 0.75)
    assert numbers["if so"] == pytest.approx(2 / 3)
    assert (numbers["low"], numbers["high"], numbers["fixed"]) == (0.25, 0.25, 0.25)
    assert numbers["if so "] == pytest.approx(1 / 3)
    assert numbers["sequential"] == 0.5
    assert numbers["above"] == pytest.approx(1 / 3)
    columns["answered"] = np.array([1, np.nan, np.nan, np.nan])
    numbers = adversarial.summarise(adversarial.Studies(columns, *truths, 1.5))
    assert numbers["covers"] == 1


def test_every_pool_has_a_recipe(adversarial):
    pools = importlib.import_module("adversarial_pools")
    recipes = [pools.find_recipe(name) for name in pools.list_pools()]
    assert len(recipes) > 90
    assert all(recipe.metrics and recipe.aim for recipe in recipes)
