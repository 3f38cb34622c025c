"""The command line: each command parses, calls one function and prints; `main` explains errors."""

import errno
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from activetest import __version__
from activetest.errors import ActivetestError, ChoiceError, StorageError

# One thread per worker of our own; numpy reads these once, when it is first imported.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# The parser's errors have no public name that all versions of typer share.
_UsageError = typer.BadParameter.__base__
_REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS)
_INTERRUPTED = 130

app = typer.Typer(
    help="How good is a model that you cannot open? An honest answer from few labels.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Folder = Annotated[Path | None, Option("--study", metavar="DIR", help="Folder of the study.")]
Names = list[str] | None
Count = Annotated[int, Option("--n", help="How many items to draw.")]


def _names(help: str, *names: str):
    """An option that may be given again, and whose values may be joined by commas."""
    return Annotated[Names, Option(*names, metavar="NAME", help=help + " Again for more.")]


def _format(*formats: str):
    return Annotated[str, Option("--format", metavar="|".join(formats), help="What to print.")]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, Option("--version", help="Say which version this is.")] = False,
):
    """How good is a model that you cannot open? An honest answer from few labels."""
    if version:
        _print(f"activetest {__version__}\n")
    elif context.invoked_subcommand is None:
        _print(context.get_help() + "\n")


@app.command()
def init(
    pool: Annotated[str, Argument(help="Parquet file or folder, CSV, JSON Lines, or an address.")],
    study: Folder = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Look, say, and change nothing.")] = False,
    id: Annotated[str | None, Option("--id", help="Column of ids.")] = None,
    outputs: _names("Column of the model's outputs.", "--outputs") = None,
    features: _names("Column of features.", "--features") = None,
    group: _names("Column of groups; A*B is a product.", "--group") = None,
    task: Annotated[str | None, Option(help="classification or regression.")] = None,
    classes: _names("Names of the classes, in order.", "--classes") = None,
    positive: Annotated[str | None, Option(help="Positive class of a binary pool.")] = None,
    threshold: Annotated[float | None, Option(help="Score that makes it positive.")] = None,
    metric: Annotated[str | None, Option(help="Metric that draws aim at.")] = None,
    surrogate: Annotated[str | None, Option(help="What predicts the labels.")] = None,
    acquisition: Annotated[str | None, Option(help="What draws prefer.")] = None,
    floor: Annotated[float | None, Option(help="Share of draws spread evenly.")] = None,
    level: Annotated[float | None, Option(help="Confidence of every interval.")] = None,
    budget: Annotated[int | None, Option(help="Labels you mean to buy.")] = None,
    seed: Annotated[int | None, Option(help="Of every random number of the study.")] = None,
):
    """Look at a pool, say what was understood, and create the study."""
    from activetest.workflow.init import init

    columns = {"id": id, "task": task, "positive": positive, "threshold": threshold}
    columns |= {"outputs": _split(outputs), "features": _split(features)}
    columns |= {"groups": _split(group), "classes": _split(classes)}
    choices = {"metric": metric, "surrogate": surrogate, "acquisition": acquisition}
    choices |= {"floor": floor, "level": level, "budget": budget, "seed": seed}
    made = init(pool, study_folder=study, dry_run=dry_run, **choices, **columns)
    _print(_understood(made))


@app.command("next")
def next_items(
    count: Count = 10,
    new: Annotated[bool, Option("--new", help="Draw even if a batch is pending.")] = False,
    show: _names("Column of the pool to print beside each id.", "--show") = None,
    output: Annotated[Path | None, Option("-o", "--output", help="Write to this file.")] = None,
    format: _format("csv", "jsonl") = "csv",
    study: Folder = None,
):
    """Show the pending batch, or draw the next items to label."""
    from activetest.study import Study
    from activetest.workflow.next import FORMATS, choose, save

    _one_of(FORMATS, format)
    at = Study.open(study)
    draw = partial(choose, at, count, new=new, show=_split(show) or ())
    batch = save(at, output, format, draw) if output else draw()
    if batch.rows and not output:
        _print(batch.to(format))
    _say(batch.summary() + (f", written to {output}" if batch.rows and output else ""))


@app.command()
def ingest(
    labels: Annotated[str, Argument(help="CSV id,label[,annotator][,status]; - is stdin.")] = "",
    replace: Annotated[bool, Option("--replace", help="Let labels contradict earlier.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Count, and change nothing.")] = False,
    undo: Annotated[bool, Option("--undo", help="Take the last file back.")] = False,
    study: Folder = None,
):
    """Bring labels into the study: all rows of a file, or none."""
    from activetest.study import Study
    from activetest.workflow import ingest

    if undo == bool(labels) or undo and (replace or dry_run):
        raise ChoiceError("ingest takes a file, or --undo alone", "activetest ingest labels.csv")
    at = Study.open(study)
    if undo:
        source, time, answers = ingest.undo(at)
        _print(f"taken back: {answers} answers of {source}, which came at {time}\n")
    else:
        stdin = sys.stdin.buffer if labels == "-" else None
        done = ingest.ingest(at, labels, replace=replace, dry_run=dry_run, stdin=stdin)
        _print(f"{done}\n")


@app.command()
def report(format: _format("text", "json", "markdown") = "text", study: Folder = None):
    """Estimate how good the model is, with intervals."""
    from activetest import catalog
    from activetest.study import Study
    from activetest.workflow.report import report

    renderer = catalog.load("render", format)
    _print(renderer.render(report(Study.open(study))))


@app.command()
def status(format: _format("text", "json", "markdown") = "text", study: Folder = None):
    """Say where the study stands, and what next would do."""
    from activetest import catalog
    from activetest.study import Study
    from activetest.workflow.status import status

    renderer = catalog.load("render", format)
    _print(renderer.status(*status(Study.open(study))))


@app.command()
def demo():
    """Run the whole loop on sample data, in a temporary study."""
    from activetest.workflow.demo import demo

    return demo(main, echo=lambda line: _print(f"{line}\n"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Errors of the user become a problem and a hint, and 2."""
    try:
        code = app(args=arguments, prog_name="activetest", standalone_mode=False)
    except ActivetestError as error:
        return _fail(error.problem, error.hint)
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx else "activetest"
        return _fail(error.format_message(), f"see {command} --help")
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        where = error.filename or "the disk"
        return _fail(f"cannot write {where}: {error.strerror}", "free some space, or see who may")
    except SystemExit:
        # Whoever read the help has gone: there is nobody left to tell.
        _discard_output()
        return 0
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    return code or 0


def run() -> None:
    """The program `activetest`."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # Dying of the signal tells the shell what happened; an exit code would mean something else.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)


def _print(text: str) -> None:
    """To standard output. Whoever closed it is not bothered again; a full disk is an error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        _discard_output()
        problem = f"cannot write to standard output: {error.strerror}"
        raise StorageError(problem, "nothing is lost: run the command again") from error


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _fail(problem: str, hint: str) -> int:
    _say(f"error: {problem}" + (f"\nhint:  {hint}" if hint else ""))
    return 2


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def _split(values: Names) -> tuple[str, ...] | None:
    return tuple(name for value in values for name in value.split(",")) if values else None


def _one_of(formats: Sequence[str], format: str) -> None:
    if format not in formats:
        raise ChoiceError(f"no format is called {format!r}", f"choose from {', '.join(formats)}")


def _understood(made) -> str:
    """What init found and decided, in a few lines."""
    start = {"created": "created", "updated": "updated", "checked": "dry run: nothing written in"}
    choices = made.choices
    draws = f"draws: {choices.acquisition} for {choices.metric}, surrogate {choices.surrogate}"
    seed = "drawn when the study is created" if made.seed is None else made.seed
    lines = (f"{start[made.outcome]} {made.folder}", *made.notices, draws, f"seed: {seed}")
    return "\n".join(lines) + "\n"
