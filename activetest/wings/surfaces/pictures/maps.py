"""The maps of a surface, each written to a file."""

from collections.abc import Callable, Sized
from pathlib import Path

from activetest.errors import ChoiceError, NotEstimable
from activetest.nouns.report import Report
from activetest.wings.surfaces import heat_map


def saving(
    maps: tuple[str, ...],
    paths: tuple[Path, ...],
    inputs: dict[str, object],
    folder: Path,
    *,
    force: bool,
) -> Callable[[Report], None]:
    """Function that draws every map of a report to its file, all of which are checked now.

    Raises ChoiceError where there are more maps than files or fewer: see study.plots.
    """
    if len(paths) != len(maps):
        raise ChoiceError(
            f"`plot` names {_count(paths, 'file')}, and `maps` {_count(maps, 'map')}",
            "name a file for each of `maps`" if maps else '`maps="race*age"` names two attributes',
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise ChoiceError("two maps have the same file", "name a file for each of `maps`")
    for path in paths:
        heat_map.check(path, inputs=inputs, study=folder, force=force)

    def save(report: Report) -> None:
        if report.surface is None:
            raise NotEstimable(
                "there is no surface to map yet: no item has a label", "`study.next(20)`"
            )
        better = report.surface.higher_better
        for path, found in zip(paths, report.surface.maps, strict=True):
            heat_map.save(path, heat_map.draw(found, higher_better=better))

    return save


def _count(things: Sized, name: str) -> str:
    """The number of things, with their name: 1 file, 2 files."""
    return f"{len(things):,} {name}{'s' * (len(things) != 1)}"
