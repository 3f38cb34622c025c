"""Files of what is shown: several formats from one computation, all of the files or none.

A file that is there is replaced only where it is an earlier file of the same kind and format:
every file of a format has its marks near the beginning.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError, StorageError, explain_refusal, raising_storage_errors
from activetest.nouns.arguments import check_path
from activetest.system import atomic, overwrite

_FAMILY = "render"
# Names in formats of the things that they show.
REPORT, SIMULATION = "report", "simulation"
# Bytes from the beginning of a file in which its marks stand.
_LONGEST_HEAD = 4096
_REMEDY = "choose another file, one you may write to"


@dataclass(frozen=True)
class DocumentFile:
    """A file that is written, the format that its ending says, and what it shows.

    shows   "report" or "simulation", as the formats call it
    """

    path: Path
    format: str
    shows: str = REPORT

    @property
    def head(self) -> str:
        """Text before the output of the format."""
        return self._find_fact("HEAD") or ""

    @property
    def marks(self) -> Sequence[str]:
        """Texts near the beginning of every such file."""
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


def find_files(paths: Sequence[str | Path], shows: str = REPORT) -> tuple[DocumentFile, ...]:
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
        found.append(DocumentFile(path, format, shows))
    if len({file.path.resolve() for file in found}) < len(found):
        raise ChoiceError(f"two of the {shows}'s files are one file", "give each a name of its own")
    return tuple(found)


def check_files(
    files: Sequence[DocumentFile],
    *,
    force: bool,
    inputs: Mapping[str, object],
    study: Path | None = None,
) -> None:
    """Raises ChoiceError or StorageError for a file that may not or cannot be written.

    force    files that are no earlier ones of ours may be replaced
    inputs   {what it is: address} of what is only read
    study    its folder, no file of which is written over

    Nothing is changed.
    """
    for file in files:
        _check_file(file, force=force, inputs=inputs, study=study)
    with _replacing(files) as buildings:
        for building in buildings:
            building.unlink()


def write_files(files: Sequence[DocumentFile], texts: Sequence[str]) -> None:
    """Write each text to its file, or none of them. Raises StorageError."""
    with _replacing(files) as buildings:
        for file, building, text in zip(files, buildings, texts, strict=True):
            with raising_storage_errors(file.path, remedy=_REMEDY):
                _write_text(building, text)


def save_simulation(
    results: Sequence[dict[str, Any]],
    answers: Sequence[dict[str, Any]],
    files: Sequence[DocumentFile],
    *,
    force: bool,
    inputs: Mapping[str, object],
) -> None:
    """Write what a simulation found to all of the files, or to none of them.

    results   fields of SimulatedStrategy, a dict each
    answers   fields of SimulatedAnswer, a dict each

    Raises as check_files does.
    """
    check_files(files, force=force, inputs=inputs)
    texts = []
    for file in files:
        module: ModuleType = catalog.load(_FAMILY, file.format)
        write = getattr(module, "simulation_document", module.simulation)
        texts.append(f"{file.head}{write(results, answers)}")
    write_files(files, texts)


@contextmanager
def _replacing(files: Sequence[DocumentFile]) -> Iterator[list[Path]]:
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


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _check_file(
    file: DocumentFile,
    *,
    force: bool,
    inputs: Mapping[str, object],
    study: Path | None,
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

    overwrite.check_target(file.path, check_content, inputs=inputs, study=study, force=force)
