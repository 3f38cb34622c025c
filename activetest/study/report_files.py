"""The files of a report: which a study names, and what each of them holds."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.nouns.arguments import check_path
from activetest.nouns.report import Report
from activetest.render.files import documents
from activetest.render.files.documents import DocumentFile
from activetest.study.export import find_inputs
from activetest.study.folder import CONFIG

_FAMILY = "render"


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


def check_files(files: Sequence[DocumentFile], folder: Path | None, *, force: bool) -> None:
    """Raises ChoiceError or StorageError for a file that may not or cannot be written.

    folder   of the study, no file of which is written over, nor of what it reads
    force    files that are no earlier reports may be replaced

    Nothing is changed.
    """
    inputs = find_inputs(folder) if folder else {}
    documents.check_files(files, force=force, inputs=inputs, study=folder)


def save_report(
    report: Report,
    files: Sequence[DocumentFile],
    folder: Path | None,
    *,
    force: bool,
    **extent: Any,
) -> None:
    """Write a report to all of the files, or to none of them.

    extent   verbose and more, for the formats that are abridged

    Raises as check_files and render_report do.
    """
    check_files(files, folder, force=force)
    documents.write_files(files, [render_report(report, file, **extent) for file in files])


def render_report(report: Report, file: DocumentFile, **extent: Any) -> str:
    """Contents of a file.

    Raises ChoiceError for gates where there are none, and for details that were not computed.
    """
    format = file.format
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
    return f"{file.head}{getattr(module, 'document', module.render)(report, **extent)}"
