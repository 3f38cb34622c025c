"""The pictures of a report: which files they go to, and what is drawn there."""

from collections.abc import Callable, Sized
from pathlib import Path
from typing import Any

from activetest.errors import ChoiceError, NotEstimable
from activetest.nouns.arguments import read_paths
from activetest.nouns.choices import Choices
from activetest.sampling.question import find_fact
from activetest.study.export import find_inputs
from activetest.study.results import Report


def draws_groups(choices: Choices, maps: tuple[str, ...], plot: Any) -> bool:
    """Whether a picture of the groups of the study's question is requested: one without a map."""
    return (
        bool(find_fact(choices.question, "GROUPED")) and not maps and bool(read_paths("plot", plot))
    )


def saving_plots(
    choices: Choices, maps: tuple[str, ...], plot: Any, folder: Path, *, force: bool
) -> Callable[[Report], None]:
    """Function that writes the pictures of a report to their files, which are checked now.

    maps    pairs of attributes
    plot    one file for each map, or one for the groups of the study's question
    folder  of the study, no file of which is written over

    Raises ChoiceError where there are more pictures than files or fewer, or for a file that cannot
    be written; StorageError for a file of the study.
    """
    paths = read_paths("plot", plot)
    if draws_groups(choices, maps, plot):
        return _saving_groups(paths, folder, force=force)
    return _saving_maps(maps, paths, folder, force=force)


def _saving_groups(
    paths: tuple[Path, ...], folder: Path, *, force: bool
) -> Callable[[Report], None]:
    """Function that draws the groups of the question to a file, which is checked now."""
    from activetest.render.plots import group_picture

    if len(paths) > 1:
        raise ChoiceError(
            f"`plot` names {_count(paths, 'file')}, and the groups are one picture",
            "name one file",
        )
    (path,) = paths
    group_picture.check(path, inputs=find_inputs(folder), study=folder, force=force)

    def save(report: Report) -> None:
        assert report.assessment is not None and report.beliefs is not None
        group_picture.save(path, group_picture.draw(report.assessment, report.beliefs))

    return save


def _saving_maps(
    maps: tuple[str, ...], paths: tuple[Path, ...], folder: Path, *, force: bool
) -> Callable[[Report], None]:
    """Function that draws every map to its file, all of which are checked now."""
    from activetest.render.plots import heat_map

    if paths and len(paths) != len(maps):
        raise ChoiceError(
            f"`plot` names {_count(paths, 'file')}, and `maps` {_count(maps, 'map')}",
            "name a file for each of `maps`" if maps else '`maps="race*age"` names two attributes',
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise ChoiceError("two maps have the same file", "name a file for each of `maps`")
    for path in paths:
        heat_map.check(path, inputs=find_inputs(folder), study=folder, force=force)

    def save(report: Report) -> None:
        if not paths:
            return
        if report.surface is None:
            raise NotEstimable(
                "there is no surface to map yet: no item has a label", "`study.next(20)`"
            )
        better = report.surface.higher_better
        for path, found in zip(paths, report.surface.maps, strict=True):
            heat_map.save(path, heat_map.draw(found, higher_better=better))

    return save


def _count(things: Sized, name: str) -> str:
    """How many there are of something: 1 file, 2 files."""
    return f"{len(things):,} {name}{'s' * (len(things) != 1)}"
