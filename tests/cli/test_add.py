"""activetest add, as a command."""

import io

import pytest

from activetest.cli.app import main
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool


@pytest.fixture
def new(study, folder) -> None:
    """A study of 40 items with two labels, and new.parquet with outputs of another model."""
    write_pool(folder / "new.parquet", 40, seed=1)
    current = Study.open()
    current.ingest(dict.fromkeys(current.next(2).ids, "cat"))


AIM = "items are drawn for error as before; --draw-for difference compares models\n"


class Terminal(io.StringIO):
    """Standard input of somebody who types these lines."""

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize(
    ("answer", "trained", "line"),
    [
        ("no", False, "v2 added: all 2 labels count for it, and those to come\n" + AIM),
        ("yes", True, "v2 added: draws from now on count for it, not the 2 labels so far\n"),
    ],
)
def test_a_model_is_added_and_what_was_done_is_printed(capsys, answer, trained, line):
    assert main(["add", "v2=new.parquet", "--trained-on-labels", answer]) == 0
    assert capsys.readouterr().out == line
    assert StoredStudy.open().list_models()[1].trained is trained
    assert main(["status"]) == 0
    assert "model, v2" in capsys.readouterr().out
    assert main(["verify"]) == 0
    assert "model v2" in capsys.readouterr().out


@pytest.mark.usefixtures("new")
def test_without_a_terminal_the_option_is_needed_and_its_hint_works(capsys):
    assert main(["add", "v2=new.parquet"]) == 2
    message = capsys.readouterr().err
    assert "did labels of this study take part in training or choosing v2?" in message
    assert "--trained-on-labels yes if they did, --trained-on-labels no if not" in message
    assert main(["add", "v2=new.parquet", "--trained-on-labels", "no"]) == 0


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize(
    ("typed", "trained"), [("yes\n", True), ("n\n", False), ("why?\n\n NO \n", False)]
)
def test_at_a_terminal_somebody_is_asked_until_the_answer_is_one(
    capsys, monkeypatch, typed, trained
):
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    assert main(["add", "v2=new.parquet"]) == 0
    asked = capsys.readouterr().err.count("Did labels of this study take part")
    assert asked == typed.count("\n")
    assert StoredStudy.open().list_models()[1].trained is trained


@pytest.mark.usefixtures("new")
def test_whoever_gives_no_answer_adds_nothing(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert main(["add", "v2=new.parquet"]) == 2
    assert len(StoredStudy.open().list_models()) == 1


def test_before_any_label_nobody_is_asked(study, folder, capsys, monkeypatch):
    write_pool(folder / "new.parquet", 40, seed=1)
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert main(["add", "v2=new.parquet"]) == 0
    printed = capsys.readouterr()
    assert "Did labels" not in printed.err
    assert printed.out == "v2 added: there is no label yet, and those to come count for it\n" + AIM


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize("model", ["new.parquet", "=new.parquet", "v2=", "v2"])
def test_a_model_without_a_name_or_a_file_is_refused(capsys, model):
    assert main(["add", model]) == 2
    message = capsys.readouterr().err
    assert f"{model!r} is not NAME=FILE" in message
    assert "activetest add v2=new.parquet" in message


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize("model", ["../x=new.parquet", "a/b=new.parquet", "cat=new.parquet"])
def test_a_name_that_no_model_can_have_is_refused(capsys, model):
    assert main(["add", model, "--trained-on-labels", "no"]) == 2
    assert "hint:" in capsys.readouterr().err
    assert not (StoredStudy.open().folder / "models").exists()


@pytest.mark.usefixtures("new")
def test_another_answer_than_yes_or_no_is_refused(capsys):
    assert main(["add", "v2=new.parquet", "--trained-on-labels", "maybe"]) == 2
    assert "--trained-on-labels is 'maybe'" in capsys.readouterr().err


@pytest.mark.usefixtures("new")
def test_a_file_may_come_from_standard_input(capsys, monkeypatch, folder):
    class Piped:
        buffer = io.BytesIO((folder / "new.parquet").read_bytes())

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr("sys.stdin", Piped())
    assert main(["add", "v2=-", "--trained-on-labels", "no"]) == 0
    assert len(StoredStudy.open().list_models()) == 2


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize("model", ["3v=new.parquet", "cat=new.parquet", "v2=new.parquet"])
def test_nobody_is_asked_about_a_model_that_cannot_be_added(capsys, monkeypatch, model):
    assert main(["add", "V2=new.parquet", "--trained-on-labels", "no"]) == 0
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    assert main(["add", model]) == 2
    assert "Did labels" not in capsys.readouterr().err


@pytest.mark.usefixtures("new")
def test_labels_that_were_taken_back_are_asked_about_at_a_terminal_too(capsys, monkeypatch):
    Study.open().undo()
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    assert main(["add", "v2=new.parquet"]) == 0
    assert "Did labels" in capsys.readouterr().err


@pytest.mark.usefixtures("new")
def test_outputs_that_are_gone_are_put_back_by_the_command_of_the_hint(capsys, monkeypatch):
    assert main(["add", "v2=new.parquet", "--trained-on-labels", "no"]) == 0
    (StoredStudy.open().folder / "models" / "v2.parquet").unlink()
    assert main(["report", "--model", "v2"]) == 2
    assert "activetest add v2=FILE" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert main(["add", "v2=new.parquet"]) == 0
    assert capsys.readouterr().out == "v2 is in the study already, with these outputs\n"
    assert main(["report", "--model", "v2"]) == 0
