"""Standard output of every system holds the same bytes."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli import app, streams
from activetest.cli.app import main
from activetest.errors import StudyError
from tests.cli.programs import PROGRAM, ROOT


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


# A title, a colour that this program does not use, an erased screen, a changed direction, a space
# that hides, and a line written over; in names of files, too.
NASTY = "\x1b]0;owned\x07\x1b[35m\x9b2J\u202egnp\u200b\r\x08"


@pytest.fixture
def nasty_study(tmp_path, monkeypatch) -> Path:
    """A study whose folder, file, columns, classes, groups, ids and texts hold NASTY."""
    folder = tmp_path / NASTY
    folder.mkdir()
    monkeypatch.chdir(folder)
    names = [f"{NASTY}{name}" for name in "abc"]
    rows = 30
    columns = {
        f"{NASTY}id": [f"{NASTY}{row}" for row in range(rows)],
        f"prob_{names[0]}": [0.5 + row / 100 for row in range(rows)],
        f"prob_{names[1]}": [0.3 - row / 100 for row in range(rows)],
        f"prob_{names[2]}": [0.2] * rows,
        f"{NASTY}group": [names[row % 3] for row in range(rows)],
        f"{NASTY}text": [f"{NASTY} read me"] * rows,
        f"{NASTY}number": [float("nan")] * rows,
    }
    pq.write_table(pa.table(columns), f"{NASTY}.parquet")
    lines = [f'"{item}","{names[row % 2]}"' for row, item in enumerate(columns[f"{NASTY}id"])]
    # The line ends in names stay what they are.
    Path(f"{NASTY}.csv").write_text("id,label\n" + "\n".join(lines) + "\n", newline="")
    wrong = f'id,label\n"{NASTY}0","{NASTY}wrong"\n'
    Path("wrong.csv").write_text(wrong, newline="")
    Path("stranger.csv").write_text(f'id,label\n"{NASTY}x","a"\n', newline="")
    Path("many.csv").write_text(f"id,label,{NASTY},{NASTY}\n", newline="")
    Path("status.csv").write_text(f'id,label,status\nx,,"{NASTY}"\n', newline="")
    return folder


@pytest.mark.skipif(os.name == "nt", reason="Windows has no files with such names")
def test_no_verb_lets_a_terminal_see_what_it_would_obey(nasty_study, monkeypatch, capsys):
    pool, labels = f"{NASTY}.parquet", f"{NASTY}.csv"
    columns = ["--id", f"{NASTY}id", "--group", f"{NASTY}group"]
    small = ["--runs", "2", "--budget", "5", "--workers", "1"]
    verbs = [
        (["init", pool, *columns, "--dry-run"], 0),
        (["init", pool, *columns, "--seed", "1"], 0),
        (["init", pool, "--group", "nope"], 2),
        (["init", "--classes", f"{NASTY}x,y"], 2),
        (["init", f"{NASTY}nowhere.csv"], 2),
        (["next", "--show", f"{NASTY}text,{NASTY}group"], 0),
        (["next", "--show", f"{NASTY}text", "--format", "jsonl"], 0),
        (["next", "--show", "nope"], 2),
        (["next", "-o", f"{NASTY}batch.csv"], 0),
        (["next", "-o", labels], 2),
        (["ingest", "wrong.csv"], 2),
        (["ingest", "stranger.csv"], 2),
        (["ingest", "many.csv"], 2),
        (["ingest", "status.csv"], 2),
        (["ingest", f"{NASTY}nowhere.csv"], 2),
        (["ingest", labels], 0),
        (["ingest", "--undo"], 0),
        (["ingest", labels], 0),
        *((["report", "-v", "--format", each], 0) for each in ("text", "markdown", "json")),
        (["report", "--require", f"error@{NASTY}group={NASTY}a<=0.9", "--format", "junit"], 0),
        (["report", "--require", f"error@{NASTY}group={NASTY}a<=0.9"], 0),
        (["report", "--difference", f"{NASTY}group"], 0),
        (["report", "--metric", f"recall[{NASTY}a]"], 2),
        (["report", "--metric", "confusion"], 0),
        (["report", "--metric", "recall[nope]"], 2),
        (["report", "--group", NASTY], 2),
        (["init", "--question", "identify"], 0),
        (["report", "-v"], 0),
        *((["status", "--format", each], 0) for each in ("text", "markdown", "json")),
        (["simulate", pool, *columns[:2], "--labels", labels, *small], 0),
        (["export"], 0),
        (["verify"], 0),
        (["help", NASTY], 2),
        ([NASTY], 2),
        (["status", f"--{NASTY}"], 2),
        (["status", NASTY], 2),
        (["next", "-n", NASTY], 2),
        (["status", "--study", f"{NASTY}nowhere"], 2),
    ]
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = False
    for words, code in verbs:
        capsys.readouterr()
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        assert main(words) == code, (words, capsys.readouterr())
        seen = "".join(capsys.readouterr())
        coloured |= "\x1b[" in seen
        assert "\x1b[35m" not in seen, words
        plain = re.sub(r"\x1b\[[0-9;]*m|\r *", "", seen)
        assert plain.replace("\n", "").isprintable(), (words, plain)
    assert coloured


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such terminals")
def test_a_real_terminal_gets_no_byte_that_it_would_obey(nasty_study):
    import pty

    assert main(["init", f"{NASTY}.parquet", "--id", f"{NASTY}id", "--seed", "1"]) == 0
    reader, terminal = pty.openpty()
    words = [*PROGRAM, "next", "-n", "2", "--show", f"{NASTY}text"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, stdout=terminal, stderr=terminal, env=env, check=False)
    os.close(terminal)
    shown = os.read(reader, 10_000).decode()
    os.close(reader)
    assert done.returncode == 0 and r"\x1b]0;owned\x07" in shown
    assert shown.replace("\r\n", "").isprintable()


def test_a_pipe_gets_data_as_it_is(capsys):
    streams.write(f"id,label\n{NASTY},\n")
    assert capsys.readouterr().out == f"id,label\n{NASTY},\n"


def test_no_name_begins_a_line_of_an_error(capsys):
    assert streams.fail("no class 'a'\nhint: curl x | sh", "the classes are b\r\nc") == 2
    assert capsys.readouterr().err == (
        "error: no class 'a'\\nhint: curl x | sh\nhint:  the classes are b\\r\\nc\n"
    )


def test_the_traceback_of_a_bug_has_nothing_that_a_terminal_obeys(monkeypatch, capsys):
    def fail() -> int:
        raise RuntimeError(f"{NASTY} s3://KEY:SECRET@bucket")

    monkeypatch.setattr(app, "main", fail)
    with pytest.raises(SystemExit) as caught:
        app.run()
    assert caught.value.code == app.BUG
    error = capsys.readouterr().err
    assert "RuntimeError: \\x1b]0;owned" in error and "s3://***@bucket" in error
    assert error.replace("\n", "").isprintable() and "Traceback" in error


def test_what_python_prints_of_an_error_has_nothing_that_a_terminal_obeys():
    assert str(StudyError(f"no {NASTY}")).isprintable()
    assert StudyError(f"no {NASTY}").problem == f"no {NASTY}"
