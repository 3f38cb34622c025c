"""Whether the model's confidence can be believed."""

from collections.abc import Iterator

from activetest.nouns.curve import Curve
from activetest.nouns.report import Report
from activetest.render.document import words
from activetest.render.document.blocks import Block, Chart, Columns, Figure, Point, tabulate
from activetest.render.document.extent import Extent
from activetest.render.plots import axes

PLACE = 10
TITLE = "Can its confidence be believed?"
OF = "details.reliability"
PAGED = True


def write(curve: Curve, report: Report, extent: Extent) -> Iterator[Block]:
    """Stated probability across, what is right up; nothing without a number."""
    whole = curve.list_points()
    points = [
        point for point in whole if words.real(point["predicted"]) and words.real(point["observed"])
    ]
    if not points:
        return
    what = "the model says" if curve.class_name is None else f"P({words.plain(curve.class_name)})"
    columns: Columns = {
        "bin": lambda point: f"{point['low']:.2f} to {point['high']:.2f}",
        what: lambda point: words.short(point["predicted"]),
        "share right": lambda point: words.write_measure(*_read(point))[0],
        "interval": lambda point: words.write_measure(*_read(point))[1],
        "labels": lambda point: words.count(point["n_labeled"]),
        "items": lambda point: words.count(point["n_pool"]),
    }
    numbers = tabulate("confidence and what is right", columns, points, left=("bin", "interval"))
    empty = sum(not point["n_pool"] for point in whole)
    few = "" if all(point["reliable"] for point in points) else " Hollow grey dots: too few labels."
    caption = (
        "Across: the probability that the model states. Up: the share that is right, with its "
        "interval. On the dashed line the model is as sure as it should be; dots below it: too "
        f"sure. {curve.list_notes()[0]}{few}"
        + words.describe_left_out(len(whole), len(points), empty)
    )
    lowest = min(point["predicted"] for point in points)
    across = axes.choose_axis([0.0 if lowest < 0.5 else lowest, 1.0], share=True)
    up = axes.choose_axis([0.0, 1.0])
    chart = Chart(
        f"share right against stated probability, in {len(points)} bins",
        across,
        up,
        list(map(up.name, up.ticks)),
        [Point(point["predicted"], *_read(point), few=not point["reliable"]) for point in points],
        diagonal=True,
    )
    yield Figure(chart, caption, numbers)


def _read(point: dict) -> tuple[float, float | None, float | None]:
    """The share that is right, and the ends of its interval."""
    return point["observed"], point["observed_lower"], point["observed_upper"]
