"""The surface of a study as Python sees it: any cell, the extremes, and all of it as a table."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any, overload

from activetest.errors import ChoiceError, StorageError
from activetest.labels.files import write_csv
from activetest.nouns.arguments import read_cell, read_flag, read_path, read_values
from activetest.nouns.log import drop_waiting_rounds
from activetest.nouns.shown import Picture
from activetest.nouns.surface_report import SurfaceCell, SurfaceReport
from activetest.study.export import check_new_file, find_inputs, write_new_file, write_text
from activetest.study.stored import StoredStudy
from activetest.system.parallel import one_blas_thread
from activetest.system.safe_text import neutralise_cell
from activetest.wings.surfaces import surface_answer
from activetest.wings.surfaces.surface_answer import PoolSurface
from activetest.wings.surfaces.surface_cells import parse_cell

FORMATS = (".csv", ".parquet")


class StudySurface:
    """A statistic at every combination of a study's attributes.

    Made by `Study.surface`. Numbers are about the items of the pool, with the labels there were
    when it was fitted.
    """

    def __init__(self, fitted: PoolSurface, folder: Path | None = None) -> None:
        """A fitted surface; no file of the study in the folder is written over."""
        self._fitted = fitted
        self._folder = folder

    @property
    def attributes(self) -> dict[str, tuple[str, ...]]:
        """The values of each attribute.

        >>> study.surface().attributes["ink"]
        ('little', 'much', 'some')
        """
        found = self._fitted.attributes
        return dict(zip(found.names, found.values, strict=True))

    def at(self, cell: Mapping[str, str] | str = {}, /, **values: str) -> SurfaceCell:
        """The combinations with these values; attributes that are not named may have any.

        >>> cell = study.surface().at(ink="much", predicted="8")
        >>> cell.n_pool, cell.n_arms
        (83, 1)
        >>> study.surface().at({"ink": "much"}).n_arms
        10

        A complete combination that no item has is predicted; `occurs` is then False.

        Args:
            cell: {attribute: value}, or a text such as "ink=much,predicted=8".
            **values: The same, for attributes whose names are names in Python.

        Raises:
            ChoiceError: There is no such attribute or value.
        """
        read = read_cell("cell", cell)
        names = self._fitted.attributes.names
        named = parse_cell(read, names) if isinstance(read, str) else read
        return surface_answer.find_cell(self._fitted, named | read_values("cell", values))

    @property
    def worst(self) -> tuple[SurfaceCell, ...]:
        """Combinations with enough items, the worst first.

        >>> worst = study.surface().worst[0]
        >>> worst.attributes["predicted"]
        '8'
        """
        return self.summary().worst

    @property
    def best(self) -> tuple[SurfaceCell, ...]:
        """Combinations with enough items, the best first.

        >>> surface = study.surface()
        >>> surface.best[0].estimate < surface.worst[0].estimate  # of the error
        True
        """
        return self.summary().best

    def summary(self) -> SurfaceReport:
        """Report on the surface.

        >>> summary = study.surface().summary()
        >>> summary.combinations, summary.occurring
        (30, 30)
        """
        return self._summary

    @cached_property
    def _summary(self) -> SurfaceReport:
        return surface_answer.describe_surface(self._fitted, detailed=True)

    def to_frame(self, kind: str = "pandas", *, all: bool = False) -> Any:
        """A frame with a row per combination that occurs.

        >>> study.surface().to_frame("pyarrow").column_names
        ['ink', 'predicted', 'estimate', 'lower', 'upper', 'support', 'labels']

        kind  "pandas", "polars" or "pyarrow"
        all   combinations that do not occur, too, with their predictions and a column occurs

        Raises ChoiceError for another kind, where its package is not installed, and where all are
        more than 100,000.
        """
        from activetest.pool.frames import write_frame

        table = surface_answer.tabulate(self._fitted, all=all)
        return write_frame({name: values.tolist() for name, values in table.items()}, kind)

    @overload
    def to_csv(self, *, all: bool = False) -> str: ...
    @overload
    def to_csv(self, path: str | Path, *, all: bool = False, force: bool = False) -> None: ...
    def to_csv(
        self, path: str | Path | None = None, *, all: bool = False, force: bool = False
    ) -> str | None:
        """The same rows as CSV with a header: as text, or written to a file.

        >>> print(study.surface().to_csv().splitlines()[0])
        ink,predicted,estimate,lower,upper,support,labels

        An apostrophe stands before texts that a spreadsheet would run as formulas. Raises
        StorageError where the file is there already, unless `force` is set, or cannot be written.
        """
        if path is not None:
            self._save(path, ".csv", all=all, force=force)
            return None
        return "".join(self._write_csv(all=all))

    def save(self, path: str | Path, *, all: bool = False, force: bool = False) -> None:
        """Write the same rows to a file: CSV or Parquet, by its ending.

        >>> study.surface().save("surface.parquet")

        Raises ChoiceError for another ending, and what to_csv raises.
        """
        self._save(path, check_format(path), all=all, force=force)

    @overload
    def to_svg(self, first: str, second: str) -> str: ...
    @overload
    def to_svg(self, first: str, second: str, path: str | Path, *, force: bool = False) -> None: ...
    def to_svg(
        self, first: str, second: str, path: str | Path | None = None, *, force: bool = False
    ) -> str | None:
        """A map of the surface by two attributes, as a picture: as text, or written to a file.

        >>> study.surface().to_svg("ink", "predicted").splitlines()[0][:4]
        '<svg'

        Raises ChoiceError for an attribute that is not there or has too many values, and for a file
        that is no earlier map, unless `force` is set; StorageError for a file of the study.
        """
        from activetest.wings.surfaces import heat_map

        if path is not None:
            path = read_path("path", path, StorageError)
            inputs = find_inputs(self._folder) if self._folder else {}
            heat_map.check(path, inputs=inputs, study=self._folder, force=force)
        drawn = surface_answer.draw_map(self._fitted, first, second)
        picture = heat_map.draw(drawn, higher_better=self._fitted.higher_better)
        if path is None:
            return picture
        heat_map.save(path, picture)
        return None

    def plot(self, first: str, second: str) -> Picture:
        """A map of the surface by two attributes, as to_svg draws it, which a notebook shows.

        >>> study.surface().plot("ink", "predicted")
        <Picture: SVG of ... characters>
        """
        return Picture(self.to_svg(first, second))

    def describe(self, *, all: bool = False) -> str:
        """One line: how many combinations a table of them has.

        >>> study.surface().describe()
        '30 combinations of 2 attributes that occur'
        """
        count = self._fitted.attributes.count_combinations() if all else len(self)
        names = len(self._fitted.attributes.names)
        ending = f", of which {len(self):,} occur" if all else " that occur"
        return f"{count:,} combinations of {names} attributes{ending}"

    def __len__(self) -> int:
        """Combinations that occur.

        >>> len(study.surface())
        30
        """
        return len(self._fitted.arms)

    def __str__(self) -> str:
        """The short answer as text, as wide as the terminal."""
        from activetest.render import text
        from activetest.wings.surfaces.sections.surface import list_short

        return text.write_blocks(list_short(self.summary()))

    def __repr__(self) -> str:
        """One line."""
        names = ", ".join(self._fitted.attributes.names)
        return (
            f"<StudySurface: {self._fitted.metric} at {len(self):,} combinations of {names}, "
            f"by {self._fitted.surface.method}>"
        )

    def _repr_html_(self) -> str:
        """The short answer, for notebooks."""
        from activetest.render.notebook import html
        from activetest.wings.surfaces.sections.surface import list_short

        return html.write_blocks(list_short(self.summary()))

    def _write_csv(self, *, all: bool) -> Iterator[str]:
        """The table as text, in pieces."""
        table = surface_answer.tabulate(self._fitted, all=all)
        yield write_csv([map(neutralise_cell, table)])
        columns = (values.tolist() for values in table.values())
        yield write_csv(map(_write_cells, zip(*columns, strict=True)))

    def _save(self, path: str | Path, format: str, *, all: bool, force: bool) -> None:
        file = read_path("path", path, StorageError)

        def write(target: Path) -> None:
            if format == ".parquet":
                from activetest.pool.frames import save_frame

                save_frame(self.to_frame("pyarrow", all=all), target)
            else:
                write_text(target, self.to_csv(all=all))

        write_new_file(file, write, self._folder, force=force)


def open_surface(
    study: StoredStudy, *, path: str | Path | None, all: bool, force: bool
) -> StudySurface:
    """The surface of a study, fitted to its labels, and written to a file where one is named.

    Raises ChoiceError where the study has no attributes or its metric has no surface, and
    NotEstimable while there is no label. Problems with the file are known before.
    """
    force, all = read_flag("force", force), read_flag("all", all)
    if path is not None:
        check_format(path)
        check_new_file(read_path("path", path, StorageError), study.folder, force=force)
    surface_answer.check_attributes(study.choices)
    cache = study.cache()
    with one_blas_thread():
        fitted = surface_answer.fit_pool_surface(
            drop_waiting_rounds(study.log(cache)), cache, study.choices, seed=study.seed
        )
    found = StudySurface(fitted, study.folder)
    if path is not None:
        found.save(path, all=all, force=force)
    return found


def check_format(path: str | Path) -> str:
    """The ending of a file: .csv or .parquet.

    Raises ChoiceError for another one, StorageError for what is no path.
    """
    ending = read_path("path", path, StorageError).suffix.lower()
    if ending not in FORMATS:
        raise ChoiceError(
            f"{path} is neither .csv nor .parquet", "name the file for example surface.csv"
        )
    return ending


def _write_cells(row: tuple[Any, ...]) -> Iterator[Any]:
    """The cells of a row: texts that no spreadsheet runs, and true or false in small letters."""
    for value in row:
        if isinstance(value, str):
            yield neutralise_cell(value)
        elif isinstance(value, bool):
            yield str(value).lower()
        else:
            yield "" if isinstance(value, float) and isnan(value) else value
