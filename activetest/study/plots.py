"""The pictures of a report: methods of the family `pictures`, which wings bring.

A file has saving(maps, paths, inputs, folder, force) -> function of a report: it checks the files
now, and the function draws to them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from activetest import catalog
from activetest.nouns.arguments import read_paths
from activetest.nouns.choices import Choices
from activetest.nouns.report import Report
from activetest.sampling.question import find_fact
from activetest.study.export import find_inputs


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
    if not paths:
        return lambda report: None
    of_groups = bool(find_fact(choices.question, "GROUPED")) and not maps
    picture = catalog.load("pictures", "groups" if of_groups else "maps")
    return picture.saving(maps, paths, find_inputs(folder), folder, force=force)
