"""activetest ingest: labels that cannot be right are refused, with what to do about them."""

import io
import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.study.stored import StoredStudy
from tests import exports
from tests.makers import init

FEELINGS = ("negative", "neutral", "positive")


@pytest.fixture
def feelings(folder):
    """A study of 12 hard labels."""
    names = [FEELINGS[row % 3] for row in range(12)]
    pq.write_table(
        pa.table({"id": [f"i{row}" for row in range(12)], "pred": names}), "pool.parquet"
    )
    init("pool.parquet", seed=1)


def count_right() -> int:
    """Labels that are the predicted class."""
    study = StoredStudy.open()
    log, cache = study.log(study.cache()), study.cache()
    return int((log.supplied_labels == cache.take(log.supplied_rows).outputs.pred).sum())


@pytest.mark.parametrize("words", [("neg", "neu", "pos"), ("Negative", "NEUTRAL", "Positive")])
def test_the_lines_that_are_shown_can_be_saved_and_passed(
    feelings, folder, label_file, capsys, words
):
    path = label_file(*(f"i{row},{words[row % 3]}" for row in range(12)))
    assert main(["ingest", str(path)]) == 2
    shown = capsys.readouterr().err
    assert "none of its 12 labels is a class that the model predicts" in shown
    assert "--map FILE" in shown and "--as-is" in shown and "`" not in shown
    lines = shown.partition("FILE, to be checked:\n")[2]
    pairs = zip(words, FEELINGS, strict=True)
    assert lines.splitlines() == ["from,to", *sorted(f"{label},{name}" for label, name in pairs)]
    (folder / "map.csv").write_text(lines)
    assert main(["ingest", str(path), "--map", "map.csv"]) == 0
    assert count_right() == 12


def test_each_column_that_may_hold_labels_has_a_whole_command(feelings, folder, capsys):
    """The likeliest comes first, and the options that were given stay."""
    names = [FEELINGS[row % 3] for row in range(12)]
    rows = [f"i{row},{name},note {row},{name}" for row, name in enumerate(names)]
    text = "\n".join(["id,first one,note,my verdict", *rows, ""])
    (folder / "their answers.csv").write_text(text)
    words = ["ingest", "their answers.csv", "--dry-run"]
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert "hint:  say which one it is, the likeliest first:\n" in shown
    lines = [line.strip() for line in shown.splitlines() if line.startswith("  ")]
    assert lines == [
        "activetest ingest 'their answers.csv' --dry-run --columns 'label=my verdict'",
        "activetest ingest 'their answers.csv' --dry-run --columns 'label=first one'",
    ]
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
        assert "12 new" in capsys.readouterr().out


def test_a_single_column_that_may_hold_labels_is_named_in_the_hint(feelings, folder, capsys):
    (folder / "l.csv").write_text("id,verdict\ni0,neutral\ni1,neutral\n")
    assert main(["ingest", "l.csv"]) == 2
    assert capsys.readouterr().err.endswith("say which one it is: --columns label=verdict\n")


def test_marks_that_may_be_of_decimals_or_thousands_have_a_command_each(folder, capsys):
    prices = [f"{row}.5" for row in range(12)]
    (folder / "pool.csv").write_text("\n".join(["id,pred", *(f"i{p},{p}" for p in prices), ""]))
    init("pool.csv", seed=1)
    (folder / "l.csv").write_text('id,label\ni0.5,"$1,234"\ni1.5,$7\n')
    assert main(["ingest", "l.csv"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    assert lines == [f"  activetest ingest l.csv --decimal {mark}" for mark in ".,"]
    assert main(shlex.split(lines[1])[1:]) == 0
    study = StoredStudy.open()
    assert sorted(answer.label for answer in study.ledger.record().answers) == ["1.234", "7.0"]
    assert main(["ingest", "l.csv", "--decimal", ";"]) == 2
    assert "no decimal mark" in capsys.readouterr().err


def test_a_decimal_mark_has_no_effect_on_classes(feelings, folder, capsys):
    (folder / "l.csv").write_text("id,label\ni0,neutral\n")
    assert main(["ingest", "l.csv", "--decimal", ","]) == 2
    assert "--decimal has no effect: labels are classes" in capsys.readouterr().err


def test_labels_are_taken_as_they_are_where_that_is_said(feelings, label_file, capsys):
    path = str(label_file(*(f"i{row},{row % 3}" for row in range(12))))
    assert main(["ingest", path, "--as-is"]) == 0
    assert "some of a class that the model never predicts" in capsys.readouterr().out
    assert count_right() == 0
    assert main(["report"]) == 0
    assert "Labels of no class that the model predicts: 12 of 12" in capsys.readouterr().out


def test_a_small_file_is_taken_with_a_notice(feelings, label_file, capsys):
    assert main(["ingest", str(label_file("i0,nay"))]) == 0
    expected = "Labels of a class that the model never predicts count as its mistakes"
    assert expected in " ".join(capsys.readouterr().out.split())


def test_words_for_no_label_are_refused_or_wait(feelings, label_file, capsys):
    path = str(label_file("i0,negative", "i1,N/A", "i2,?"))
    assert main(["ingest", path]) == 2
    shown = capsys.readouterr().err
    assert "'N/A' of id 'i1' (line 3), '?' of id 'i2' (line 4)" in shown
    assert "--missing 'N/A,?'" in shown and "--as-is" in shown
    assert main(["ingest", path, "--missing", "N/A,?"]) == 0
    assert "1 new, 1 of items that were never drawn, 2 still blank" in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--map", "x"], ["--as-is"], ["--missing", "x"]])
def test_undo_stands_alone(feelings, option, capsys):
    assert main(["ingest", "--undo", *option]) == 2
    assert "--undo alone" in capsys.readouterr().err


def test_a_mapping_that_cannot_be_read_is_named(feelings, folder, label_file, capsys):
    path = str(label_file("i0,negative"))
    assert main(["ingest", path, "--map", "nowhere.csv"]) == 2
    assert "there is no file nowhere.csv" in capsys.readouterr().err
    (folder / "map.csv").write_text("ab\n")
    assert main(["ingest", path, "--map", "map.csv"]) == 2
    assert "map.csv, line 1: 1 fields, not 2" in capsys.readouterr().err


def test_columns_say_what_cannot_be_known(study, folder, capsys):
    (folder / "x.csv").write_text("image,choice\nitem-1,cat\n")
    assert main(["ingest", "x.csv", "--columns", "id=image,label=choice"]) == 0
    assert "1 new" in capsys.readouterr().out
    for wrong in ("image", "id=", "=image", "name=image"):
        assert main(["ingest", "x.csv", "--columns", wrong]) == 2
    data = {"ref": "item-2"}
    export = exports.write_label_studio([(data, [exports.annotate(1, 1, exports.choose("dog"))])])
    (folder / "export.json").write_bytes(export)
    capsys.readouterr()
    assert main(["ingest", "export.json"]) == 2
    assert "--columns id=ref" in capsys.readouterr().err
    assert main(["ingest", "export.json", "--columns", "id=ref"]) == 0


def test_an_export_comes_through_standard_input(study, monkeypatch, capsys):
    content = exports.write_argilla([("item-1", [("cat", "u", "submitted")])])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["ingest", "-"]) == 0
    assert capsys.readouterr().out.startswith("standard input: 1 new")
