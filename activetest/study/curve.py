"""A curve of a study as Python sees it: points with their intervals, as a table or a file."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, overload

from activetest import catalog
from activetest.errors import ChoiceError, StorageError
from activetest.item_statistics import specification
from activetest.labels.files import write_csv
from activetest.nouns.arguments import read_count, read_name, read_path, reading_arguments
from activetest.nouns.curve import Curve, CurveKind, CurvePoint
from activetest.nouns.log import drop_waiting_rounds
from activetest.nouns.shown import Picture
from activetest.reporting.curves import estimate_curve
from activetest.study.export import check_new_file, deliver
from activetest.study.stored import StoredStudy
from activetest.system.parallel import one_blas_thread
from activetest.system.safe_text import neutralise_cell

FORMATS = ("csv", "json")
# Columns of text; all others are numbers, whole or not, or true and false.
_TEXTS = ("curve", "class", "band", "estimator", "reason")
_COUNTS = ("n_pool", "n_labeled")


class StudyCurve:
    """ROC, precision-recall or reliability, with an interval at every point.

    Made by `Study.curve`. Numbers are about the items of the pool, with the labels there were when
    it was made. Rows stand in order of the threshold, or of the bin.
    """

    def __init__(self, curve: Curve, pool: str = "", folder: Path | None = None) -> None:
        """A curve of the pool of this name; no file of the study in the folder is written over."""
        self._curve, self._pool, self._folder = curve, pool, folder

    @property
    def points(self) -> tuple[CurvePoint, ...]:
        """Its points.

        >>> study.curve("reliability", bins=5).points[-1].place["high"]
        1.0
        """
        return self._curve.points

    @property
    def notes(self) -> list[str]:
        """What to know before believing it: what the intervals cover, and what was moved.

        >>> study.curve("reliability").notes[0]
        'Each interval holds alone with a confidence of 95 %, for this pool, at one look.'
        """
        return self._curve.list_notes()

    def to_frame(self, kind: str = "pandas") -> Any:
        """A frame with a row per point; what does not exist is missing.

        >>> study.curve("roc[8]").to_frame("pyarrow").column_names[:5]
        ['curve', 'class', 'threshold', 'n_pool', 'n_labeled']

        kind  "pandas", "polars" or "pyarrow"

        Raises ChoiceError for another kind, and where its package is not installed.
        """
        from activetest.pool.frames import write_frame

        rows = list(self._list_rows())
        names = self._columns
        types: dict[str, type] = dict.fromkeys(names, float)
        types["reliable"] = bool
        types |= {name: str for name in _TEXTS if name in names}
        types |= {name: int for name in _COUNTS if name in names}
        return write_frame({name: [row[name] for row in rows] for name in names}, kind, types=types)

    @overload
    def to_csv(self) -> str: ...
    @overload
    def to_csv(self, path: str | Path, *, force: bool = False) -> None: ...
    def to_csv(self, path: str | Path | None = None, *, force: bool = False) -> str | None:
        """The same rows as CSV with a header: as text, or written to a file.

        >>> print(study.curve("reliability").to_csv().splitlines()[0][:45])
        curve,class,low,high,n_pool,predicted,n_label

        An apostrophe stands before texts that a spreadsheet would run as formulas. Raises
        StorageError where the file is there already, unless `force` is set, or cannot be written.
        """
        text = write_csv([self._columns, *map(_write_cells, self._list_rows())])
        return deliver(text, path, self._folder, force=force)

    @overload
    def to_json(self) -> str: ...
    @overload
    def to_json(self, path: str | Path, *, force: bool = False) -> None: ...
    def to_json(self, path: str | Path | None = None, *, force: bool = False) -> str | None:
        """One JSON document: what the curve is of, notes and points; written as to_csv does.

        >>> import json
        >>> json.loads(study.curve("precision-recall[8]").to_json())["band"]
        'pointwise'
        """
        from activetest.render import json

        return deliver(json.curve(self._curve, self._pool), path, self._folder, force=force)

    def plot(self) -> Picture:
        """The curve as a picture, with the interval of each point.

        >>> study.curve("reliability", bins=5).plot()
        <Picture: SVG of ... characters>

        A notebook draws it.
        """
        from activetest.render.plots import dots

        return Picture(dots.draw_curve(self._curve))

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        return str(self.plot())

    def describe(self) -> str:
        """One line: how many points, labels and items, and what the intervals cover.

        >>> study.curve("roc[8]", simultaneous=True).describe()
        'roc[8]: 101 thresholds, 60 labels, 1,497 items; all intervals hold together at 95 %'
        """
        return self._curve.describe()

    def __len__(self) -> int:
        """Number of points.

        >>> len(study.curve("reliability", bins="equal-count,10"))
        10
        """
        return len(self._curve.points)

    def __repr__(self) -> str:
        """One line."""
        return f"<StudyCurve: {self.describe()}>"

    @property
    def _columns(self) -> tuple[str, ...]:
        return ("curve", "class", *self._curve.columns, "level", "band", "estimator")

    def _list_rows(self) -> Iterator[dict[str, Any]]:
        """Each point with what the curve is of, so that a row stands for itself."""
        curve = self._curve
        before = {"curve": str(curve.kind), "class": curve.class_name}
        after = {"level": curve.level, "band": curve.band, "estimator": curve.estimator}
        for point in curve.list_points():
            yield before | point | after


@one_blas_thread()
@reading_arguments
def open_curve(
    study: StoredStudy,
    name: str,
    *,
    simultaneous: bool,
    points: int | None,
    bins: int | str | None,
    path: str | Path | None,
    format: str | None,
    force: bool,
) -> StudyCurve:
    """A curve of a study, which is written to a file where one is named; see Study.curve.

    Raises UnknownMethod for a name that no curve has, ChoiceError for what the pool lacks.
    """
    written = choose_format(format, path)
    if path is not None:
        check_new_file(read_path("path", path, StorageError), study.folder, force=force)
    if bins is not None:
        bins = read_name("bins", bins) if isinstance(bins, str) else str(read_count("bins", bins))
    bare, class_name = specification.split_specification(name)
    kinds = tuple(map(str, CurveKind))
    if bare not in kinds:
        raise ChoiceError(f"there is no curve {bare!r}", catalog.nearest(bare, kinds))
    cache, choices = study.cache(), study.choices
    curve = estimate_curve(
        drop_waiting_rounds(study.log(cache)),
        cache,
        choices,
        specification.describe_pool(cache.roles, choices.costs, cache),
        CurveKind(bare),
        class_name=class_name,
        points=points,
        bins=bins,
        simultaneous=simultaneous,
        seed=study.seed,
    )
    found = StudyCurve(curve, study.pool_name, study.folder)
    if path is not None:
        (found.to_json if written == "json" else found.to_csv)(path, force=force)
    return found


def choose_format(format: str | None, path: str | Path | None) -> str:
    """The format that is named, or that of the file's ending; CSV otherwise.

    Raises ChoiceError for another format.
    """
    if format is not None and format not in FORMATS:
        raise ChoiceError(f"a curve is not written as {format!r}", catalog.nearest(format, FORMATS))
    ending = "" if path is None else read_path("path", path, StorageError).suffix.lower()
    return format or ("json" if ending == ".json" else "csv")


def _write_cells(row: dict[str, Any]) -> Iterator[Any]:
    """The cells of a row: texts that no spreadsheet runs, and true or false in small letters."""
    for value in row.values():
        if isinstance(value, str):
            yield neutralise_cell(value)
        elif isinstance(value, bool):
            yield str(value).lower()
        else:
            yield "" if value is None or not math.isfinite(value) else value
