"""activetest init --model, as a command."""

import pytest

from activetest.cli.app import main
from activetest.study.stored import StoredStudy
from tests.makers import write_pool


@pytest.fixture(autouse=True)
def files(folder) -> None:
    """A pool of 40 items, and outputs of two other models."""
    for seed, name in enumerate(("pool", "second", "third")):
        write_pool(folder / f"{name}.parquet", 40, seed=seed)


def test_models_are_named_by_options(capsys):
    models = ["--model", "v2=second.parquet", "--model", "v3=third.parquet"]
    assert main(["init", "pool.parquet", "--dry-run", *models]) == 0
    assert "models: model, v2 and v3\n" in capsys.readouterr().out
    assert main(["init", "pool.parquet", *models]) == 0
    assert "models: model, v2 and v3\n" in capsys.readouterr().out
    assert [each.name for each in StoredStudy.open().list_models()] == ["model", "v2", "v3"]
    assert main(["init", "--model", "v4=third.parquet"]) == 2
    assert "activetest add NAME=FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        (["v2"], "is not NAME=FILE"),
        (["v2=second.parquet", "v2=third.parquet"], "names 'v2' twice"),
        (["v2=-"], "activetest add v2=-"),
    ],
)
def test_a_model_that_is_not_written_so_is_refused(capsys, folder, models, problem):
    given = [word for each in models for word in ("--model", each)]
    assert main(["init", "pool.parquet", *given]) == 2
    assert problem in capsys.readouterr().err
    assert not (folder / ".activetest").exists()
