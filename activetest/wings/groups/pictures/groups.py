"""The picture of the groups of a study's question, written to one file."""

from collections.abc import Callable
from pathlib import Path

from activetest.errors import ChoiceError
from activetest.nouns.report import Report
from activetest.wings.groups import group_picture


def saving(
    maps: tuple[str, ...],
    paths: tuple[Path, ...],
    inputs: dict[str, object],
    folder: Path,
    *,
    force: bool,
) -> Callable[[Report], None]:
    """Function that draws the groups of a report to a file, which is checked now: see study.plots.

    Raises ChoiceError for several files.
    """
    if len(paths) > 1:
        raise ChoiceError(
            f"`plot` names {len(paths):,} files, and the groups are one picture", "name one file"
        )
    (path,) = paths
    group_picture.check(path, inputs=inputs, study=folder, force=force)

    def save(report: Report) -> None:
        assert report.assessment is not None and report.beliefs is not None
        group_picture.save(path, group_picture.draw(report.assessment, report.beliefs))

    return save
