"""A curve of a study as Python sees it: points with their intervals, as a table or a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, overload

from activetest import catalog
from activetest.errors import ChoiceError, StorageError
from activetest.item_statistics import specification
from activetest.nouns.arguments import read_count, read_name, read_path, reading_arguments
from activetest.nouns.curve import Curve, CurveKind, CurvePoint
from activetest.nouns.log import drop_waiting_rounds
from activetest.nouns.shown import Picture
from activetest.study.export import Table, check_new_file, deliver
from activetest.study.stored import StoredStudy
from activetest.system.parallel import one_blas_thread
from activetest.wings.curves.curves import estimate_curve

FORMATS = ("csv", "json")
# Columns of text; all others are numbers, whole or not, or true and false.
_TEXTS = ("curve", "class", "band", "estimator", "reason")
_COUNTS = ("n_pool", "n_labeled")


class StudyCurve(Table):
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
        """Notes to read before believing the curve: what the intervals cover, and what was moved.

        >>> study.curve("reliability").notes[0]
        'Each interval holds alone with a confidence of 95 %, for this pool, at one look.'
        """
        return self._curve.list_notes()

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

    def _name_columns(self) -> dict[str, type]:
        names = ("curve", "class", *self._curve.columns, "level", "band", "estimator")
        types: dict[str, type] = dict.fromkeys(_TEXTS, str) | dict.fromkeys(_COUNTS, int)
        return {name: types.get(name, float) for name in names} | {"reliable": bool}

    def _list_rows(self) -> Iterator[list[Any]]:
        """Each point with what the curve is of, so that a row stands for itself."""
        curve = self._curve
        for point in curve.list_points():
            about = [str(curve.kind), curve.class_name]
            yield [*about, *point.values(), curve.level, curve.band, curve.estimator]

    def _find_study(self) -> Path | None:
        return self._folder


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
