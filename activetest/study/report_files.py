"""The files of a report, or of a simulation: several formats from one computation, all or none.

What is there is replaced only where it is an earlier report in the same format: every file of a
format has its marks near the beginning.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from activetest import atomic, catalog, overwrite
from activetest.errors import ChoiceError, StorageError, explain_refusal
from activetest.nouns.arguments import check_path
from activetest.nouns.report import Report
from activetest.study.export import find_inputs, write_text
from activetest.study.folder import CONFIG, raising_storage_errors

_FAMILY = "render"
# What formats call that which they show.
REPORT, SIMULATION = "report", "simulation"
# Bytes from the beginning of a file in which its marks stand.
_LONGEST_HEAD = 4096
_REMEDY = "choose another file, one you may write to"


@dataclass(frozen=True)
class ReportFile:
    """A file that is written, the format that its ending says, and what it shows.

    shows   "report" or "simulation", as the formats call it
    """

    path: Path
    format: str
    shows: str = REPORT

    @property
    def head(self) -> str:
        """What stands before what the format writes."""
        return self._find_fact("HEAD") or ""

    @property
    def marks(self) -> Sequence[str]:
        """What stands near the beginning of every such file."""
        return self._find_fact("MARKS") or ([self.head] if self.head else [])

    def _find_fact(self, name: str) -> Any:
        prefix = "" if self.shows == REPORT else f"{self.shows.upper()}_"
        return catalog.fact(_FAMILY, self.format, prefix + name)


def list_suffixes(shows: str = REPORT) -> dict[str, str]:
    """{ending: format} of the files that show this, the usual ending of each first."""
    return {
        suffix: format
        for format in catalog.names(_FAMILY)
        if shows in (catalog.fact(_FAMILY, format, "SHOWS") or (shows,))
        for suffix in catalog.fact(_FAMILY, format, "SUFFIXES") or ()
    }


def find_files(paths: Sequence[str | Path], shows: str = REPORT) -> tuple[ReportFile, ...]:
    """The files at these paths, each with its format. Nothing is looked up on the disk.

    Raises ChoiceError for an ending that is of no format, and where two are one file.
    """
    known, found = list_suffixes(shows), []
    for path in map(Path, paths):
        format = known.get(path.suffix.lower())
        if format is None:
            where = "standard output" if str(path) == "-" else str(path)
            raise ChoiceError(
                f"{where} has no ending of a {shows}'s file",
                f"name a file that ends with one of {', '.join(known)}; what standard output "
                "shows is chosen by `format`",
            )
        found.append(ReportFile(path, format, shows))
    if len({file.path.resolve() for file in found}) < len(found):
        raise ChoiceError(f"two of the {shows}'s files are one file", "give each a name of its own")
    return tuple(found)


def locate_files(names: Sequence[str], folder: Path) -> tuple[Path, ...]:
    """The files that study.toml names; relative ones are seen from the folder that holds the study.

    A study may be somebody else's: raises ChoiceError for a file elsewhere than below that folder.
    """
    parent = folder.parent
    for name in names:
        check_path(name, ChoiceError)
        if not (parent / name).resolve().is_relative_to(parent.resolve()):
            raise ChoiceError(
                f"{folder / CONFIG}, [report]: the file {name!r} is not below {parent}, where the "
                "study is",
                "name it when you report",
            )
    return tuple(parent / name for name in names)


def check_files(
    files: Sequence[ReportFile],
    folder: Path | None,
    *,
    force: bool,
    inputs: Mapping[str, object] | None = None,
) -> None:
    """Raises ChoiceError or StorageError for a file that may not or cannot be written.

    folder   of the study, no file of which is written over, nor of what it reads
    force    files that are no earlier ones of ours may be replaced
    inputs   {what it is: address} of what else is only read

    Nothing is changed.
    """
    for file in files:
        _check_file(file, folder, force=force, inputs=inputs)
    with _replacing(files) as buildings:
        for building in buildings:
            building.unlink()


def save_report(
    report: Report, files: Sequence[ReportFile], folder: Path | None, *, force: bool, **extent: Any
) -> None:
    """Write a report to all of the files, or to none of them.

    extent   verbose and more, for the formats that are abridged

    Raises as check_files and render_report do.
    """
    for file in files:
        _check_file(file, folder, force=force)
    _write_files(files, [render_report(report, file.format, **extent) for file in files])


def save_simulation(
    results: Sequence[dict[str, Any]],
    files: Sequence[ReportFile],
    *,
    force: bool,
    inputs: Mapping[str, object],
) -> None:
    """Write what a simulation found to all of the files, or to none of them.

    results   fields of SimulatedStrategy, a dict each

    Raises as check_files does.
    """
    texts = []
    for file in files:
        _check_file(file, None, force=force, inputs=inputs)
        module: ModuleType = catalog.load(_FAMILY, file.format)
        write = getattr(module, "simulation_document", module.simulation)
        texts.append(f"{file.head}{write(results)}")
    _write_files(files, texts)


def _write_files(files: Sequence[ReportFile], texts: Sequence[str]) -> None:
    with _replacing(files) as buildings:
        for file, building, text in zip(files, buildings, texts, strict=True):
            with raising_storage_errors(file.path, remedy=_REMEDY):
                write_text(building, text)


@contextmanager
def _replacing(files: Sequence[ReportFile]) -> Iterator[list[Path]]:
    """Temporary files that take the places of all files when the block succeeds.

    Raises StorageError when the file system refuses.
    """
    with ExitStack() as stack:
        buildings = []
        for file in files:
            with raising_storage_errors(file.path, remedy=_REMEDY):
                # The file that a link points to is replaced, not the link.
                building = atomic.replacing_file(file.path.resolve(), durable=True)
                buildings.append(stack.enter_context(building))
        yield buildings
        try:
            stack.close()
        except OSError as error:
            where = error.filename2 or error.filename or "the files"
            raise StorageError(*explain_refusal(error, where, _REMEDY)) from error


def render_report(report: Report, format: str, **extent: Any) -> str:
    """What a file of this format holds.

    Raises ChoiceError for gates where there are none, and for details that were not computed.
    """
    if catalog.fact(_FAMILY, format, "NEEDS_GATES") and not report.gates:
        raise ChoiceError(
            f"{format} is a list of gates, and there is none",
            '`study.report(require="error<=0.1")`',
        )
    if catalog.fact(_FAMILY, format, "NEEDS_DETAILS") and report.details is None:
        raise ChoiceError(
            f"{format} shows details, and this report has none",
            "make the report with details=True",
        )
    module: ModuleType = catalog.load(_FAMILY, format)
    if not catalog.fact(_FAMILY, format, "ABRIDGED"):
        extent = {}
    head = ReportFile(Path(), format).head
    return f"{head}{getattr(module, 'document', module.render)(report, **extent)}"


def _check_file(
    file: ReportFile,
    folder: Path | None,
    *,
    force: bool,
    inputs: Mapping[str, object] | None = None,
) -> None:
    """Raises ChoiceError or StorageError for a file that may not be written; see check_files."""
    check_path(file.path, ChoiceError)
    if not file.path.parent.is_dir():
        raise ChoiceError(f"there is no folder {file.path.parent}", "make it first")
    if file.path.exists() and not file.path.is_file():
        raise StorageError(f"{file.path} is no file", "name another one")

    def check_content(path: Path) -> None:
        with raising_storage_errors(path, remedy=_REMEDY), open(path, "rb") as stream:
            beginning = stream.read(_LONGEST_HEAD)
        if not file.marks or not all(mark.encode() in beginning for mark in file.marks):
            raise StorageError(
                f"{path} is there already, and is no earlier {file.shows}",
                "write to another file, or replace it: `force=True`",
            )

    inputs = {**(inputs or {}), **(find_inputs(folder) if folder else {})}
    overwrite.check_target(file.path, check_content, inputs=inputs, study=folder, force=force)
