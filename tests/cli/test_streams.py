"""Standard output of every system holds the same bytes."""

import io
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli import streams
from activetest.cli.app import main


def set_code_page(monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper:
    """Standard output as Windows makes it for a pipe."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\n")
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    return output


def test_ids_with_any_characters_can_be_written_to_a_pipe(monkeypatch):
    code_page = set_code_page(monkeypatch)
    streams.use_utf8()
    streams.write("id,label\n猫,犬\n")
    assert code_page.buffer.getvalue() == "id,label\n猫,犬\n".encode()


def test_a_user_may_choose_another_encoding(monkeypatch):
    code_page = set_code_page(monkeypatch)
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    streams.use_utf8()
    streams.write("é")
    assert code_page.buffer.getvalue() == b"\xe9"


def test_a_terminal_keeps_its_encoding(monkeypatch):
    code_page = set_code_page(monkeypatch)
    monkeypatch.setattr(code_page, "isatty", lambda: True)
    streams.use_utf8()
    assert code_page.encoding == "cp1252"


def test_no_standard_output_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    streams.use_utf8()


@pytest.fixture
def hostile_study(tmp_path, monkeypatch) -> Path:
    """The folder of a study whose columns and classes hold escapes of a terminal."""
    monkeypatch.chdir(tmp_path)
    half = pa.array([0.5] * 3)
    columns = {
        "id": ["x", "y", "z"],
        "prob_a": half,
        "prob_\x1b[31mred": half,
        "\x1b]0;t\x07": half,
    }
    pq.write_table(pa.table(columns), "pool.parquet")
    assert main(["init", "pool.parquet"]) == 0
    return tmp_path


def test_a_terminal_obeys_no_name_of_a_column_or_a_class(hostile_study, capsys):
    assert main(["init"]) == 0
    (hostile_study / "labels.csv").write_text("id,label\nx,green\n")
    assert main(["ingest", "labels.csv"]) == 2
    captured = capsys.readouterr()
    assert "a, \\x1b[31mred" in captured.out and "a, \\x1b[31mred" in captured.err
    assert (captured.out + captured.err).replace("\n", "").isprintable()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no files with such names")
def test_a_terminal_obeys_no_name_of_a_file(hostile_study, capsys):
    (hostile_study / "\x1b[2J.csv").write_text("id,label\nx,a\n")
    assert main(["ingest", "\x1b[2J.csv"]) == 0
    assert main(["ingest", "--undo"]) == 0
    written = capsys.readouterr().out
    assert written.count("\\x1b[2J.csv") == 2
    assert written.replace("\n", "").isprintable()
