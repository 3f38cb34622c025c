"""Files of curves: SVG by ourselves, PNG by matplotlib, which comes with the extra `report`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from activetest.errors import ChoiceError
from activetest.render.plots.curves import keep_labelled
from activetest.render.plots.panels import MARK, draw_picture
from activetest.render.plots.picture_files import Origin, check_picture, save_picture
from activetest.system import atomic

FORMATS = (".svg", ".png")
# Marks in a picture of who drew it: today, and as matplotlib writes and wrote it.
_MARKERS = (MARK.encode(), b"<dc:title>activetest</dc:title>", b"tEXtSoftware\0activetest")
_OF_SIMULATE = Origin("simulate", _MARKERS)


def check(
    path: str | Path, *, inputs: Mapping[str, object] | None = None, force: bool = False
) -> None:
    """Raises ChoiceError where no picture can be written there, before hours of simulation.

    inputs  {what it is: address} of what is only read
    force   replace a file that is no earlier picture of draw

    Raises StorageError for a file of a study or an input.
    """
    check_picture(
        path,
        _OF_SIMULATE,
        formats=FORMATS,
        example="curves.svg",
        inputs=inputs or {},
        force=force,
    )
    if _is_svg(path):
        return
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ChoiceError(
            ".png needs matplotlib, which is not installed",
            'draw .svg, or python -m pip install "activetest[report]"',
        ) from error


def draw(
    results: Sequence[dict],
    path: str | Path,
    *,
    answers: Sequence[dict] = (),
    inputs: Mapping[str, object] | None = None,
    force: bool = False,
) -> None:
    """Write one row of panels per metric: mean and median squared error, and relative cost.

    Above these, the answers to a question about groups.

    The format is the path's suffix. Bands are one standard error of the mean, and the quarter of
    errors on each side of the median. Takes and raises what check does, and raises OSError.
    """
    check(path, inputs=inputs, force=force)
    results = keep_labelled(results)
    if not results:
        raise ChoiceError("no curve to draw without labels", "`budgets=[0, 50, 100]`")
    picture = draw_picture(results, answers)
    if _is_svg(path):
        save_picture(path, picture)
        return
    from activetest.render.plots.painter import paint

    # The file that a link points to is replaced, not the link.
    with atomic.replacing_file(Path(path).resolve()) as building:
        paint(picture, building)


def _is_svg(path: str | Path) -> bool:
    return Path(path).suffix.lower() == ".svg"
