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
from activetest.cli import options, streams
from activetest.cli.report import report
from activetest.cli.simulate import simulate
from activetest.errors import ActivetestError, ChoiceError

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
        streams.write(f"activetest {__version__}\n")
    elif context.invoked_subcommand is None:
        streams.write(context.get_help() + "\n")


@app.command()
def init(
    pool: options.PoolAddress,
    study: options.Folder = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Look, say, and change nothing.")] = False,
    id: options.Id = None,
    outputs: options.Outputs = None,
    features: options.Features = None,
    group: options.names("Column of groups; A*B is a product.", "--group") = None,
    task: options.Tasks = None,
    worst: options.Worst = None,
    compare: options.Compare = None,
    prior: options.Prior = None,
    prior_strength: options.PriorStrength = None,
    rope: options.Rope = None,
    classes: options.Classes = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    metric: options.names("Metric to aim at; the first is the headline.", "--metric") = None,
    costs: options.Costs = None,
    surrogate: Annotated[str | None, Option(help="What predicts the labels.")] = None,
    train: options.Train = None,
    surrogates: options.Surrogates = None,
    refit: options.Refit = None,
    acquisition: Annotated[str | None, Option(help="What draws prefer.")] = None,
    selection: options.Selection = None,
    power: options.Power = None,
    floor: options.Floor = None,
    level: options.Level = None,
    interval: Annotated[
        str | None,
        Option(metavar="fixed|anytime", help="What draws serve; gates are best served by anytime."),
    ] = None,
    annotators: Annotated[
        str | None,
        Option(metavar="majority|dawid-skene", help="How several answers become one."),
    ] = None,
    budget: Annotated[int | None, Option(help="Labels you mean to buy.")] = None,
    seed: Annotated[int | None, Option(help="Of every random number of the study.")] = None,
):
    """Look at a pool, say what was understood, and create the study."""
    from activetest.study.init import init

    columns = {"id": id, "positive": positive, "threshold": threshold}
    columns |= {"outputs": options.split(outputs), "features": options.split(features)}
    columns |= {"groups": options.split(group), "classes": options.split(classes)}
    choices = {"metric": options.specifications(metric), "costs": costs, "annotators": annotators}
    choices |= {"interval": interval}
    choices |= {"surrogate": surrogate, "acquisition": acquisition, "seed": seed}
    choices |= {"floor": floor, "level": level, "budget": budget}
    choices |= {"refit": refit, "selection": selection, "power": power}
    choices |= {"train": train, "surrogates": surrogates}
    choices |= {"task": options.split(task), "worst": worst, "compare": compare}
    choices |= {"prior": prior, "strength": prior_strength, "rope": rope}
    made = init(pool, study_folder=study, dry_run=dry_run, **choices, **columns)
    streams.write(_understood(made))


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
    from activetest.study.next import FORMATS, choose, save
    from activetest.study.study import Study

    options.one_of(FORMATS, format)
    at = Study.open(study)
    draw = partial(choose, at, count, new=new, show=options.split(show) or ())
    output = None if str(output) == "-" else output
    batch = save(at, output, format, draw) if output else draw()
    if batch.rows and not output:
        streams.write(batch.to(format))
    streams.say(batch.summary() + (f", written to {output}" if batch.rows and output else ""))


@app.command()
def ingest(
    labels: Annotated[str, Argument(help="CSV id,label[,annotator][,status]; - is stdin.")] = "",
    replace: Annotated[bool, Option("--replace", help="Let labels contradict earlier.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Count, and change nothing.")] = False,
    undo: Annotated[bool, Option("--undo", help="Take the last file back.")] = False,
    study: options.Folder = None,
):
    """Bring labels into the study: all rows of a file, or none."""
    from activetest.study import ingest
    from activetest.study.study import Study

    if undo == bool(labels) or (undo and (replace or dry_run)):
        raise ChoiceError("ingest takes a file, or --undo alone", "activetest ingest labels.csv")
    at = Study.open(study)
    if undo:
        source, time, answers = ingest.undo(at)
        told = f"{answers:,} answer{'s' * (answers != 1)}"
        streams.write(f"taken back: {told} of {source}, which came at {time}\n")
    else:
        stdin = sys.stdin.buffer if labels == "-" else None
        done = ingest.ingest(at, labels, replace=replace, dry_run=dry_run, stdin=stdin)
        streams.write(f"{done}\n")


app.command()(report)


@app.command()
def status(format: options.formats(*options.FORMATS) = "text", study: options.Folder = None):
    """Say where the study stands, and what next would do."""
    from activetest import catalog
    from activetest.study.status import status
    from activetest.study.study import Study

    renderer = catalog.load("render", options.one_of(options.FORMATS, format))
    streams.write(renderer.status(*status(Study.open(study))))


app.command()(simulate)


@app.command()
def demo():
    """Run the whole loop on sample data, in a temporary study."""
    from activetest.cli.demo import demo

    return demo(main, echo=lambda line: streams.write(f"{line}\n"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Errors of the user become a problem and a hint, and 2."""
    try:
        code = app(args=arguments, prog_name="activetest", standalone_mode=False)
    except ActivetestError as error:
        return streams.fail(error.problem, error.hint)
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx else "activetest"
        return streams.fail(error.format_message(), f"see {command} --help")
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        where = error.filename or "the disk"
        return streams.fail(
            f"cannot write {where}: {error.strerror}", "free some space, or see who may"
        )
    except SystemExit:
        # Whoever read the help has gone: there is nobody left to tell.
        streams.discard_output()
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


def _understood(made) -> str:
    """What init found and decided, in a few lines."""
    from activetest import catalog
    from activetest.sampling.question import believed, sentence

    start = {"created": "created", "updated": "updated", "checked": "dry run: nothing written in"}
    choices = made.choices
    named = (choices.metric, *choices.also)
    objectives = (
        choices.judged
        if catalog.fact("acquisition", choices.acquisition, "CHOOSES_GROUPS")
        else " and ".join(named)
    )
    verb = "picks" if choices.selection == "top" else "draws"
    draws = f"{verb}: {choices.acquisition} for {objectives}, surrogate {choices.surrogate}"
    draws += "".join(f", {odd}" for odd in _unusual(choices))
    if choices.task:
        asked = (sentence(choices), believed(choices), f"floor {choices.floor:g}")
        draws += f"; task: {', '.join(filter(None, asked))}"
        if choices.also:
            draws += f"; groups are judged by {choices.judged} alone"
    seed = "drawn when the study is created" if made.seed is None else made.seed
    lines = (f"{start[made.outcome]} {made.folder}", *made.notices, draws, f"seed: {seed}")
    return "\n".join(lines) + "\n"


def _unusual(choices) -> list[str]:
    """Choices about draws that are not the defaults, in words."""
    learns = choices.refit if choices.refit == "doubling" else f"after {choices.refit} labels"
    return [
        said
        for said, holds in (
            (f"refit {learns}", choices.refit != "every"),
            ("the top scores, without probabilities", choices.selection == "top"),
            (f"scores to the power {choices.power:g}", choices.power != 1),
        )
        if holds
    ]
