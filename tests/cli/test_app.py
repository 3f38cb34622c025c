"""Output that people see: data on standard output, talk on standard error, and four exit codes."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from activetest import __version__
from activetest.cli.app import BUG, main
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests.cli.programs import COMMANDS, ROOT, program
from tests.cli.test_interrupts import SENTENCE
from tests.makers import init


def test_the_last_look_is_at_the_latest_when_every_item_is_drawn(folder, write_pool, capsys):
    write_pool(folder / "pool.parquet", 40)
    assert main(["init", "pool.parquet", "--budget", "60", "--looks", "3"]) == 0
    assert "gates: sequential, 3 looks, the last after 40 draws" in capsys.readouterr().out


def test_the_loop_from_a_pool_to_the_next_round(folder, write_pool, capsys):
    write_pool(folder / "pool.parquet", 40)
    assert main(["init", "pool.parquet", "--seed", "1", "--group", "place", "--budget", "9"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "created .activetest"
    assert out.splitlines()[-4:] == [
        "draws: optimal for error, surrogate auto",
        "budget: 9 labels",
        "gates: sequential, 5 looks, the last after 9 draws",
        "seed: 1",
    ]
    assert err == ""

    assert main(["next", "-n", "2", "-o", "batch.csv"]) == 0
    assert capsys.readouterr() == ("", "round 1: 2 items drawn, written to batch.csv\n")
    assert main(["next"]) == 0
    out, err = capsys.readouterr()
    assert out == Path("batch.csv").read_text()
    assert err == "2 items still waiting for labels (--new draws others)\n"

    Path("batch.csv").write_text(out.replace(",\n", ",cat\n"))
    assert main(["ingest", "batch.csv", "--dry-run"]) == 0
    assert main(["ingest", "batch.csv"]) == 0
    assert main(["ingest", "batch.csv"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "batch.csv: 2 new; 0 items pending; nothing was written",
        "batch.csv: 2 new; 0 items pending",
        "batch.csv: 0 new, 2 known already; 0 items pending",
    ]
    assert main(["status"]) == 0
    shown = capsys.readouterr().out
    assert "labelled  2" in shown
    assert "next draws from 38 items" in shown
    assert main(["ingest", "--undo"]) == 0
    assert capsys.readouterr().out.startswith("taken back: 2 answers of batch.csv, which came at ")
    assert main(["next", "--format", "jsonl", "--show", "x1,x2", "--show", "place"]) == 0
    assert capsys.readouterr().out.startswith('{"id": "item-')


def test_a_used_up_pool_is_no_error(study, capsys):
    next_batch(study, 40)
    assert main(["next", "--new"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "nothing is left to draw: every item of the pool is drawn or labelled\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nxt"], "No such command 'nxt'"),
        (["--", "nxt"], "No such command 'nxt'"),
        (["next", "--m", "3"], "No such option: --m"),
        (["next", "--n", "three"], "--n is 'three', not a whole number"),
        (["init", "--floor", "low"], "--floor is 'low', not a number"),
        (["next", "--format", "xml"], "no format is called 'xml'"),
        (["status", "--format", "xml"], "no format is called 'xml'"),
        (["status", "--format", "junit"], "the format 'junit' shows no status"),
        (["init", "--metric", "f7"], "there is no metric 'f7'"),
        (["simulate"], "Missing argument 'POOL'"),
        (["init", "nowhere.parquet"], "nowhere.parquet"),
        (["init", "pool.parquet", "--seed", "-1"], "--seed -1"),
        (["simulate", "pool.parquet", "--labels", "k.csv", "--seed", "-1"], "--seed"),
        (["next", "-o", "."], "cannot write ."),
        (["ingest"], "ingest takes a file, or --undo alone"),
        (["ingest", "labels.csv", "--undo"], "ingest takes a file, or --undo alone"),
        (["ingest", "nowhere.csv"], "there is no file nowhere.csv"),
        (["next", "--study", "nowhere"], "there is no study in"),
        (["next", "-o", "pool.parquet/x.csv"], "cannot write pool.parquet/x.csv"),
    ],
)
def test_wrong_input_is_a_problem_and_a_hint_and_code_2(study, capsys, words, problem):
    before = study.ledger.record()
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert problem in first
    assert second.startswith("hint:  ")
    assert study.ledger.record() == before


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["nxt"], "did you mean 'next'?"),
        (["stauts"], "did you mean 'status'?"),
        (["init", "pool.parquet", "--metrc", "f1"], "did you mean '--metric'? see activetest init"),
        (["report", "--require-", "error<=1"], "did you mean '--require'? see activetest report"),
        (["init", "pool.parquet", "--metric", "recal"], "did you mean 'recall'?"),
        (["init", "pool.parquet", "--surrogate", "agrement"], "did you mean 'agreement'?"),
        (["init", "pool.parquet", "--acquisition", "optimall"], "did you mean 'optimal'?"),
        (
            ["init", "pool.parquet", "--interval", "anytme"],
            "it must be one of fixed, anytime, sequential",
        ),
        (["init", "pool.parquet", "--group", "plce"], "did you mean 'place'?"),
        (["init", "pool.parquet", "--id", "idd"], "did you mean 'id'?"),
        (["init", "pool.parquet", "--features", "x11"], "did you mean 'x1'?"),
        (["init", "pool.parquet", "--task", "regresion"], "did you mean 'regression'?"),
        (["next", "--show", "plce"], "did you mean 'place'?"),
        (["next", "--format", "jsnl"], "did you mean 'jsonl'?"),
        (["report", "--group", "plce"], "did you mean 'place'?"),
        (["report", "--metric", "acuracy"], "did you mean 'accuracy'?"),
        (["report", "--estimator", "luer"], "did you mean 'lure'?"),
        (["report", "--format", "mardown"], "did you mean 'markdown'?"),
        (["simulate", "pool.parquet", "--labels", "k", "--interval", "fxed"], "mean 'fixed'?"),
        (["simulate", "pool.parquet", "--labels", "k", "--estimator", "luer"], "mean 'lure'?"),
    ],
)
def test_a_mistyped_name_is_recognised(study, capsys, words, hint):
    assert main(words) == 2
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert out == "" and first.startswith("error: ")
    assert second.startswith("hint:  ") and hint in second


def test_a_bug_keeps_its_traceback(study, monkeypatch):
    monkeypatch.setattr("activetest.study.next.next_batch", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["next"])


def test_the_version_and_the_help_go_to_standard_output(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"activetest {__version__}\n", "")
    assert main([]) == 0
    alone = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.strip() == alone.strip()
    assert "ingest" in alone


# In processes of their own: the default run tries the first, .ci/run all of them.
def try_first(*words: list[str]) -> pytest.MarkDecorator:
    """A parameter `words`."""
    first, *others = words
    others = [pytest.param(each, marks=pytest.mark.ci) for each in others]
    return pytest.mark.parametrize("words", [first, *others], ids=" ".join)


@try_first(["next", "--help"], ["--help"], ["nxt"], ["status"])
def test_there_is_no_colour_in_pipes(study, words):
    """Each of these settings asks for it."""
    done = program(*words, env=dict.fromkeys(("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"), "1"))
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout + done.stderr


@try_first(["report", "--help"], ["--help"], ["simulate", "--help"])
def test_the_help_starts_without_the_heavy_libraries(words):
    code = f"import sys; from activetest.cli.app import main; main({words}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"numpy", "pyarrow", "scipy", "sklearn", "torch", "sqlite3", "rich"}


def test_the_shell_completes_commands_and_options():
    asked = {"_ACTIVETEST_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    assert program(env=asked | {"COMP_WORDS": "activetest re"}).stdout == "report\n"
    asked |= {"COMP_CWORD": "2", "COMP_WORDS": "activetest report --req"}
    assert program(env=asked).stdout == "--require\n"


def test_libraries_of_linear_algebra_get_one_thread_whatever_the_user_says():
    """Sums of several threads would depend on how many there are."""
    code = "import activetest.cli.app, os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    for given in ({}, {"OPENBLAS_NUM_THREADS": "3"}):
        env = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")} | given
        done = subprocess.run(
            [sys.executable, "-c", code], env=env | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == "1"


@try_first(["next"], ["status"], ["--help"], ["--version"])
def test_a_reader_who_leaves_is_not_bothered(study, words):
    read, write = os.pipe()
    os.close(read)
    done = program(*words, capture_output=False, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.returncode == 0
    assert "Error" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_a_full_disk_behind_standard_output_loses_no_draw(study):
    with open("/dev/full", "w") as full:
        done = program(
            "next", "--n", "3", capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write to standard output: No space left")
    drawn = [draw.id for draw in study.ledger.record().draws]
    assert [row["id"] for row in next_batch(study, 1).rows] == drawn


# Python itself would write half of a compiled module.
UNCOMPILED = {"PYTHONDONTWRITEBYTECODE": "1"}


def allow(size: int):
    """For a child: no file may grow beyond this size, as on a disk that is full."""
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.skipif(os.name != "posix", reason="limits of files are of POSIX")
@try_first(["next", "--n", "5"], ["ingest", "labels.csv"])
def test_a_disk_that_fills_up_leaves_the_study_as_it_was(study, label_file, words):
    label_file(*(f"item-{row},cat" for row in range(40)))
    before = study.ledger.record()
    done = program(*words, preexec_fn=allow(4096), env=UNCOMPILED)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: cannot write ")
    assert done.stdout == ""
    assert StoredStudy.open().ledger.record() == before
    assert program(*words).returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="limits of files are of POSIX")
def test_a_disk_that_fills_up_during_init_leaves_no_study(folder, write_pool):
    write_pool(folder / "pool.parquet", 2000)
    done = program("init", "pool.parquet", preexec_fn=allow(4096), env=UNCOMPILED)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: cannot write ")
    assert [path.name for path in folder.iterdir()] == ["pool.parquet"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere /proc is a name as any other")
@pytest.mark.parametrize("where", ["pool.parquet/study", "/proc/study"])
def test_a_folder_where_not_even_root_may_write(folder, write_pool, where):
    write_pool(folder / "pool.parquet", 20)
    done = program("init", "pool.parquet", "--study", where)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: cannot write ")
    assert "--study" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["pool.parquet"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_what_the_system_refuses_anywhere_is_not_a_traceback(study, monkeypatch, capsys, code):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code), "some/file")

    monkeypatch.setattr("activetest.study.status.status", refuse)
    assert main(["status"]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot write some/file: {os.strerror(code)}")


@pytest.mark.skipif(os.name != "posix", reason="elsewhere no exit code names a signal")
@pytest.mark.parametrize("error", ["KeyboardInterrupt()", "wrapped()"])
def test_an_interrupt_ends_the_program_by_the_signal(error):
    code = (
        "import activetest.cli.app as c\n"
        "def wrapped():\n"
        "    error = RuntimeError('Error calling __set_name__')\n"
        "    error.__cause__ = KeyboardInterrupt()\n"
        "    return error\n"
        f"c.main = lambda: (_ for _ in ()).throw({error})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}c.run()"], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGINT
    assert done.stderr == SENTENCE


def test_every_command_that_uses_a_study_takes_its_folder(folder, write_pool, capsys):
    write_pool(folder / "pool.parquet", 20)
    init("pool.parquet", folder="elsewhere", seed=1)
    (folder / "labels.csv").write_text("id,label\nitem-1,cat\n")
    for words in (["init", "pool.parquet"], ["next"], ["ingest", "labels.csv"], ["status"]):
        assert main([*words, "--study", "elsewhere"]) == 0, capsys.readouterr().err
    assert len(StoredStudy.open("elsewhere").ledger.record().draws) == 10


def test_a_batch_goes_to_standard_output_when_its_file_is_a_dash(study, folder, capsys):
    assert main(["next", "--n", "2", "-o", "-"]) == 0
    assert capsys.readouterr().out == next_batch(study, 2).to_csv()
    assert not (folder / "-").exists()


def test_a_report_renders_in_every_format(study, label_file, capsys):
    lines = (f"{row['id']},cat" for row in next_batch(study, 10).rows)
    assert main(["ingest", str(label_file(*lines))]) == 0
    capsys.readouterr()
    assert main(["report", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["labeled"] == 10
    assert main(["report"]) == 0
    assert main(["report", "--format", "markdown"]) == 0
    assert "**The model is wrong on " in capsys.readouterr().out


def test_the_help_says_what_each_command_does_in_80_columns():
    listed = program("--help", env={"COLUMNS": "80"}).stdout
    assert "..." not in listed.split("Commands:")[1]
    assert max(map(len, listed.splitlines())) <= 80


def test_every_command_has_a_sentence_of_help():
    assert all(command.callback.__doc__ for command in COMMANDS.values())


def test_a_number_that_was_named_is_answered_although_it_is_the_usual_one(study, capsys):
    next_batch(study, 3)
    assert main(["next"]) == main(["next", "-n", "10"]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first == "3 items still waiting for labels (--new draws others)"
    assert second == (
        "3 items still waiting for labels, so 10 new ones were not drawn (--new draws others)"
    )


def test_an_interrupt_while_the_program_starts_is_quiet():
    code = (
        "import signal, sys\n"
        # Jobs in the background ignore interrupts, and their children do.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'typer': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from activetest.__main__ import run\n"
        "run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_a_bug_is_no_verdict(folder):
    # Whatever nobody foresaw: here, an import that fails in the middle of a command.
    program = (
        "import sys\n"
        "sys.modules['activetest.study.study'] = None\n"
        "sys.argv = ['activetest', 'status']\n"
        "from activetest.__main__ import run\n"
        "run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == BUG == 70
    assert "Traceback" in done.stderr
    assert done.stderr.endswith("the study holds all that was reported as done\n")
    assert done.stdout == ""


def test_a_file_that_is_no_batch_is_replaced_by_force_only(folder, write_pool, capsys):
    write_pool(folder / "pool.parquet", 20)
    (folder / "notes.txt").write_text("what I know")
    assert main(["init", "pool.parquet", "--seed", "1"]) == 0
    capsys.readouterr()
    assert main(["next", "-n", "2", "-o", "notes.txt"]) == 2
    error = capsys.readouterr().err
    assert "notes.txt is there already" in error and "replace it: --force" in error
    assert (folder / "notes.txt").read_text() == "what I know"
    assert main(["next", "-n", "2", "-o", "notes.txt", "--force"]) == 0
    assert (folder / "notes.txt").read_text().startswith("id,label\n")
    for path in ("pool.parquet", ".activetest/ledger.db", ".activetest/new.csv"):
        assert main(["next", "-o", path, "--force"]) == 2
        assert f"error: {path} is " in capsys.readouterr().err


def test_an_option_of_another_command_is_named(study, capsys):
    assert main(["report", "--curve", "roc"]) == 2
    assert "--curve is an option of export;" in capsys.readouterr().err


def test_tasks_without_a_text_are_pointed_out(study, capsys):
    assert main(["next", "-n", "2", "--format", "label-studio"]) == 0
    assert "--show COLUMN adds what annotators should see" in capsys.readouterr().err
    assert main(["next", "--format", "label-studio", "--show", "id"]) in (0, 2)
    assert "--show COLUMN adds" not in capsys.readouterr().err
