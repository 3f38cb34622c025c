"""The command line: it assembles the commands, runs one, and explains errors."""

import errno
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, TextIO

import typer
from typer import Option

from activetest.cli import formatter, streams
from activetest.cli.interrupts import BUG, ExitCode, Interrupts, is_interrupted
from activetest.errors import (
    FULL,
    ActivetestError,
    CacheRebuilt,
    LabelError,
    LargeCache,
    SummaryMissing,
    TextsShortened,
    explain_refusal,
)

# One thread per worker of our own, whatever the user says: with several, sums would depend on how
# many there are. numpy reads these once, when it is first imported; see parallel.one_blas_thread.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

# The parser's errors have no public name that all versions of typer share.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_REFUSED = (*FULL, errno.EACCES, errno.EPERM, errno.EROFS)
# Codes of errors for paths that cannot exist, wherever they are found out.
_IMPOSSIBLE = (errno.ENAMETOOLONG, errno.ELOOP)
_INTERRUPTED = 130
# Warnings that users are to read.
_NOTICES = (CacheRebuilt, LargeCache, SummaryMissing, TextsShortened)

app = typer.Typer(
    cls=formatter.Group,
    help="Estimate how good a model is, with intervals, from few well-chosen labels.",
    epilog="activetest init pool.parquet\nactivetest next -n 20 -o batch.csv",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": formatter.WIDTH},
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, Option(formatter.VERSION, help="Print the version.")] = False,
) -> None:
    """Estimate how good a model is, with intervals, from few well-chosen labels."""
    # The version is written while the line is read: see formatter.Group.
    if context.invoked_subcommand is None:
        streams.write(context.get_help() + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Errors of the user become a problem and a hint, and 2."""
    try:
        with warnings.catch_warnings():
            for notice in _NOTICES:
                warnings.simplefilter("always", notice)
            warnings.showwarning = _show_warning
            code = _run_command(arguments)
    except ActivetestError as error:
        from activetest.cli.spelling import to_commands

        mapping = getattr(error, "mapping", None)
        lines = _write_ways(error, arguments)
        hint = f"{error.lead}:" if lines and isinstance(error, LabelError) else error.hint
        return streams.fail(to_commands(error.problem), to_commands(hint), mapping, lines)
    except _UsageError as error:
        return streams.fail(*formatter.explain_usage(error))
    except OSError as error:
        if (explained := _explain_system(error)) is None:
            raise
        return streams.fail(*explained)
    except SystemExit as error:
        # The parser leaves like this where words for a shell are complete, or a pipe is closed.
        closed = isinstance(error.__context__, BrokenPipeError)
        if not closed and "_ACTIVETEST_COMPLETE" not in os.environ:
            raise RuntimeError(f"a command left with {error.code!r}") from error
        # The reader of the help, or of what a shell completes, has gone: nobody is left to tell.
        streams.discard_output()
        return 0
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (0, None) and not isinstance(code, ExitCode):
        # Only a command itself says that a gate failed: no library that it calls.
        raise RuntimeError(f"a command ended with {code!r}")
    return int(code or 0)


def _write_ways(error: ActivetestError, arguments: Sequence[str] | None) -> list[str]:
    """The command again with each way to read its file; none where there is one, or no option."""
    from activetest.cli.spelling import to_commands

    ways = error.ways if isinstance(error, LabelError) else ()
    options = [to_commands(f"`{name}={value!r}`") for way in ways for name, value in way.items()]
    if len(options) < 2 or any(each.startswith("`") for each in options):
        return []
    command = shlex.join(["activetest", *(sys.argv[1:] if arguments is None else arguments)])
    return [f"{command} {each}" for each in options]


def _run_command(arguments: Sequence[str] | None) -> object:
    """The result of the command."""
    try:
        return app(args=arguments, prog_name="activetest", standalone_mode=False)
    except Exception as error:
        if is_interrupted():
            # A library took the interrupt for a problem of its own.
            raise KeyboardInterrupt from error
        raise


def _explain_system(error: OSError) -> tuple[str, str] | None:
    """The problem and the hint where the system refuses; None where it may be our mistake."""
    where = error.filename or "the disk"
    if error.errno in _IMPOSSIBLE:
        return f"no file can be at {where}: {error.strerror}", "give another name"
    if error.errno in _REFUSED:
        return explain_refusal(error, where, "free some space, or see who may write there")
    try:
        os.getcwd()
    except OSError:
        return "the working directory is no longer there", "change to a folder that is there"
    return None


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """One line for what a user has to know; where in the code it happened is for programmers."""
    if issubclass(category, _NOTICES):
        from activetest.cli.spelling import to_commands

        streams.say(f"note: {to_commands(str(message))}")
    else:
        streams.say(warnings.formatwarning(message, category, filename, lineno, line).rstrip())


def run() -> None:
    """The program `activetest`. An exception that nobody foresaw is no verdict: see BUG."""
    stop = Interrupts()
    try:
        stop.install()
        streams.replace_closed()
        streams.use_utf8()
        code = main()
        stop.close()
    except BaseException as error:
        stop.close()
        interrupted = stop.number is not None or _is_interrupt(error)
        if not interrupted:
            # Whatever goes wrong while it is printed, too.
            with suppress(BaseException):
                _report_bug()
            code = BUG
    else:
        interrupted = False
    if interrupted:
        stop.end()
    else:
        stop.restore()
        sys.exit(code)


def _report_bug() -> None:
    """Print what went wrong, for whoever mends it."""
    import traceback

    streams.say(traceback.format_exc().rstrip())
    streams.say("error: this is a bug in activetest; the study holds all that was reported as done")


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt is behind an error: imports may wrap it in another one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        if isinstance(error, BaseExceptionGroup) and error.subgroup(KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return error is not None
