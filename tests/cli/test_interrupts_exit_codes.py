"""A crash is no verdict: 1 says that a gate failed, and nothing else does."""

import atexit
import io
import os
import signal
import subprocess
import sys

import pytest
import typer

from activetest.cli import app
from activetest.cli.interrupts import BUG
from activetest.study.ingest import ingest
from tests.cli.programs import PROGRAM, ROOT, program
from tests.cli.test_interrupts import SENTENCE

NESTED = BaseExceptionGroup("several", [ValueError("x"), KeyboardInterrupt()])


@pytest.fixture
def run(study, monkeypatch):
    """run(error) is the code with which the program ends when `status` raises it."""

    def run(error: BaseException) -> object:
        def fail(*_):
            raise error

        monkeypatch.setattr("activetest.study.status.status", fail)
        monkeypatch.setattr(sys, "argv", ["activetest", "status"])
        with pytest.raises(SystemExit) as left:
            app.run()
        return left.value.code

    return run


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError(), MemoryError(), RecursionError(), BaseException(), GeneratorExit(),
        AssertionError(), EOFError(), UserWarning("an error by -W error"), OSError("odd"),
        SystemExit(1), SystemExit(0), SystemExit("words"), SystemExit(None), SystemExit(3.5),
        typer.Exit(1), typer.Exit(3), typer.Exit(2), typer.Abort(), StopIteration(),
        ExceptionGroup("several", [ValueError("x"), OSError(28, "no space")]),
        UnicodeEncodeError("ascii", "\xe9", 0, 1, "ordinal not in range"), KeyError("\udcff"),
    ],
    ids=repr,
)  # fmt: skip
def test_whatever_nobody_foresaw_ends_with_70(run, capsys, error):
    assert run(error) == BUG == 70
    out, err = capsys.readouterr()
    assert "Traceback" in err and err.endswith("the study holds all that was reported as done\n")
    assert out == ""


def test_a_command_may_end_early_with_0(run):
    assert run(typer.Exit(0)) == 0


@pytest.mark.skipif(os.name != "posix", reason="elsewhere no exit code names a signal")
def test_an_interrupt_among_several_errors_is_one(monkeypatch):
    raised = []
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: None)
    monkeypatch.setattr(app, "main", lambda: (_ for _ in ()).throw(NESTED))
    app.run()
    assert raised == [signal.SIGINT]


class Broken(io.StringIO):
    """A stream that nobody can write to any more."""

    def write(self, text):
        raise MemoryError


def test_a_crash_that_cannot_be_printed_is_still_one(run, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Broken())
    assert run(ZeroDivisionError()) == BUG


@pytest.mark.parametrize("module", ["typer", "activetest.errors"])
def test_what_cannot_be_imported_ends_with_70(folder, module):
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "import runpy; runpy.run_module('activetest', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (BUG, "")
    assert "Error" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="streams are closed otherwise there")
@pytest.mark.parametrize("closed", [">&- 2>&-", "2>/dev/full"])
def test_a_verdict_does_not_depend_on_who_listens(study, closed):
    ingest(study, {f"item-{row}": "cat" for row in range(40)})
    words = [*PROGRAM, "report", "--require", "error<=0.1"]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *words], check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="there are no signals")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_by_itself(study, sent):
    process = subprocess.Popen(
        [*PROGRAM, "ingest", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        # Under nohup it would be ignored.
        preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL),  # noqa: PLW1509 no threads
    )  # fmt: skip
    process.send_signal(sent)
    # It may not have begun.
    assert process.communicate()[1] in ("", SENTENCE)
    assert process.returncode == -sent


def test_what_standard_output_cannot_hold_is_an_error_or_written_out(folder, write_pool):
    write_pool(folder / "pool.parquet", 20)
    plain = {"PYTHONIOENCODING": "ascii"}
    made = program("init", "pool.parquet", "--classes", "a,b,\xe9", "--seed", "1", env=plain)
    assert (made.returncode, made.stderr) == (0, "")
    assert "3 classes: a, b, \\xe9" in made.stdout
    shown = program("report", "--metric", "recall[\xe9]", "--format", "markdown", env=plain)
    assert (shown.returncode, shown.stdout) == (2, "")
    first, second = shown.stderr.splitlines()
    assert first == "error: standard output cannot hold '\\xe9': it is ascii"
    assert second.startswith("hint:  nothing is lost: set PYTHONIOENCODING=utf-8")


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be removed")
@pytest.mark.parametrize(
    "words",
    [
        "init pool.parquet", "init pool.csv", "init {0}/pool.parquet", "init", "next",
        "next -o batch.csv --study {0}/.activetest", "ingest labels.csv --study {0}/.activetest",
        "report", "status", "status --study study", "verify", "export", "demo",
        "export -o log.csv --study {0}/.activetest", "simulate pool.parquet --labels key.csv",
        "simulate {0}/pool.parquet --labels key.csv",
        "simulate {0}/pool.parquet --labels {0}/key.csv --save runs",
    ],
)  # fmt: skip
def test_a_working_directory_that_is_gone_is_an_error(study, folder, monkeypatch, capsys, words):
    (folder / "key.csv").write_text("id,label\nitem-1,cat\n")
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert app.main(words.format(folder).split()) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "error: the working directory is no longer there"
    assert second == "hint:  change to a folder that is there"


@pytest.mark.skipif(os.name != "posix", reason="names are Unicode there")
def test_names_of_files_that_are_no_utf8_serve_or_are_an_error(study, folder, capsys):
    odd = os.fsdecode(b"p\xff")
    os.mkdir(odd)
    for name in (f"{odd}.parquet", f"{odd}/pool.parquet"):
        (folder / name).write_bytes((folder / "pool.parquet").read_bytes())
        assert app.main(["init", name, "--study", "other"]) == 2
        assert "p\\udcff" in capsys.readouterr().err
        assert app.main(["init", "--other-models", name]) == 2
    assert app.main(["init", "pool.parquet", "--study", f"{odd}/study", "--seed", "1"]) == 0
    assert app.main(["init", "pool.parquet", "--study", odd + "x", "--classes", f"{odd},b,c"]) == 2
    assert app.main(["next", "-n", "2", "-o", f"{odd}.csv"]) == 0
    assert app.main(["next", "--show", odd]) == 2
    batch = (folder / f"{odd}.csv").read_text()
    (folder / f"{odd}.csv").write_text(batch.replace(",\n", ",cat\n"))
    assert app.main(["ingest", f"{odd}.csv"]) == 0
    assert app.main(["status", "--study", f"{odd}/study"]) == 0
    assert app.main(["report", "--group", odd]) == 2
    assert app.main([odd]) == app.main(["help", odd]) == 2


def test_long_names_of_files_serve_or_are_an_error(study, folder, capsys):
    name = "n" * 250
    assert app.main(["next", "-n", "2", "-o", name]) == 0
    assert (folder / name).is_file()
    for words in (
        "next -o {0}", "ingest {0}", "init {0}", "report --study {0}",
        "init pool.parquet --study {0}", "simulate pool.parquet --labels {0}",
    ):  # fmt: skip
        capsys.readouterr()
        assert app.main(words.format(name * 2).split()) == 2
        assert "\nhint:  " in capsys.readouterr().err
