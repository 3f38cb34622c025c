"""The command line: each command parses, calls one function and prints; `main` explains errors."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from activetest import __version__
from activetest import cli_options as options
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
    pool: options.PoolAddress,
    study: options.Folder = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Look, say, and change nothing.")] = False,
    id: options.Id = None,
    outputs: options.Outputs = None,
    features: options.Features = None,
    group: options.names("Column of groups; A*B is a product.", "--group") = None,
    task: options.Task = None,
    classes: options.Classes = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
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
    count: options.Count = 10,
    new: Annotated[bool, Option("--new", help="Draw even if a batch is pending.")] = False,
    show: options.names("Column of the pool to print beside each id.", "--show") = None,
    output: Annotated[Path | None, Option("-o", "--output", help="Write to this file.")] = None,
    format: options.formats("csv", "jsonl") = "csv",
    study: options.Folder = None,
):
    """Show the pending batch, or draw the next items to label."""
    from activetest.study import Study
    from activetest.workflow.next import FORMATS, choose, save

    _one_of(FORMATS, format)
    at = Study.open(study)
    draw = partial(choose, at, count, new=new, show=_split(show) or ())
    output = None if str(output) == "-" else output
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
    study: options.Folder = None,
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
def report(
    estimator: options.names("What to estimate with.", "--estimator") = None,
    format: options.formats("text", "json", "markdown") = "text",
    study: options.Folder = None,
):
    """Estimate how good the model is, with intervals."""
    from activetest import catalog
    from activetest.study import Study
    from activetest.workflow.report import BOTH_VIEWS, report

    renderer = catalog.load("render", format)
    _print(renderer.render(report(Study.open(study), estimators=_split(estimator) or BOTH_VIEWS)))


@app.command()
def status(
    format: options.formats("text", "json", "markdown") = "text", study: options.Folder = None
):
    """Say where the study stands, and what next would do."""
    from activetest import catalog
    from activetest.study import Study
    from activetest.workflow.status import status

    renderer = catalog.load("render", format)
    _print(renderer.status(*status(Study.open(study))))


@app.command()
def simulate(
    pool: options.PoolAddress,
    labels: Annotated[str, Option("--labels", metavar="KEY", help="CSV with all labels.")],
    budget: Annotated[list[int], Option(help="Labels to buy. Again for more.")] = [50, 100, 200],  # noqa: B006
    runs: Annotated[int, Option(help="Studies per strategy.")] = 200,
    batch: Annotated[int, Option(help="Labels per round.")] = 10,
    seed: Annotated[int, Option(min=0, help="Of every random number.")] = 0,
    surrogate: options.names("What predicts the labels.", "--surrogate") = None,
    acquisition: options.names("What draws prefer.", "--acquisition") = None,
    estimator: options.names("What to estimate with.", "--estimator") = None,
    metric: options.names("What to estimate; draws aim at the first.", "--metric") = None,
    floor: Annotated[float | None, Option(help="Share of draws spread evenly.")] = None,
    level: Annotated[float | None, Option(help="Confidence of every interval.")] = None,
    id: options.Id = None,
    outputs: options.Outputs = None,
    features: options.Features = None,
    task: options.Task = None,
    classes: options.Classes = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    format: options.formats("text", "json", "markdown") = "text",
):
    """Replay strategies on a pool whose labels are all known: error, labels saved, coverage."""
    from dataclasses import asdict

    from activetest import catalog, convert
    from activetest.pool import Pool
    from activetest.workflow.simulate import simulate

    renderer = catalog.load("render", format)
    columns = {"id": id, "task": task, "positive": positive, "threshold": threshold}
    columns |= {"outputs": _split(outputs), "features": _split(features)}
    columns |= {"classes": _split(classes)}
    wishes = {"surrogates": _split(surrogate), "acquisitions": _split(acquisition)}
    wishes |= {"estimators": _split(estimator), "metrics": _split(metric)}
    wishes |= {"budgets": tuple(budget), "runs": runs, "batch": batch, "seed": seed}
    wishes |= {"floor": floor, "level": level}
    with convert.as_parquet(pool, id=id) as path:
        looked = Pool.open(path, **_given(columns))
        results = simulate(looked, labels, progress=_progress(), **_given(wishes))
    _print(renderer.simulation([asdict(result) for result in results]))


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


def _split(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(name for value in values for name in value.split(",")) if values else None


def _given(wishes: dict) -> dict:
    return {name: value for name, value in wishes.items() if value is not None}


def _progress() -> Callable[[int, int], None]:
    """Counts runs on one line of standard error, when somebody is there to see it."""

    def show(done: int, total: int) -> None:
        end = "\r" if done < total else "\r\x1b[K"
        print(f"{done} of {total} runs", end=end, file=sys.stderr, flush=True)

    watched = sys.stdout.isatty() and sys.stderr.isatty()
    return show if watched else lambda done, total: None


def _one_of(known: Sequence[str], format: str) -> None:
    if format not in known:
        raise ChoiceError(f"no format is called {format!r}", f"choose from {', '.join(known)}")


def _understood(made) -> str:
    """What init found and decided, in a few lines."""
    start = {"created": "created", "updated": "updated", "checked": "dry run: nothing written in"}
    choices = made.choices
    draws = f"draws: {choices.acquisition} for {choices.metric}, surrogate {choices.surrogate}"
    seed = "drawn when the study is created" if made.seed is None else made.seed
    lines = (f"{start[made.outcome]} {made.folder}", *made.notices, draws, f"seed: {seed}")
    return "\n".join(lines) + "\n"
