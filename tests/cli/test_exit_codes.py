"""A crash is no verdict: 1 says that a gate failed, and nothing else does."""

import io
import os
import signal
import subprocess
import sys

import pytest
import typer

from activetest.cli import app
from activetest.cli.exit_codes import BUG
from activetest.study.ingest import ingest
from tests.cli.programs import PROGRAM, ROOT, program

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
    )  # fmt: skip
    process.send_signal(sent)
    assert process.communicate()[1] == ""
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
