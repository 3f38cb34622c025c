"""Results of a simulation: a sequence of strategies that a notebook shows as a table."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from activetest.errors import ChoiceError
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.shown import Picture
from activetest.nouns.simulated_answer import SimulatedAnswer


class Simulation(tuple[SimulatedStrategy, ...]):
    """One result per strategy, estimator, metric and budget that exists, in this order.

    answers    of simulations with a question about groups: one per strategy; empty without one
    """

    answers: tuple[SimulatedAnswer, ...]

    def __new__(
        cls, results: Iterable[SimulatedStrategy], answers: Iterable[SimulatedAnswer] = ()
    ) -> "Simulation":
        """The results, and the answers to a question."""
        found = super().__new__(cls, results)
        found.answers = tuple(answers)
        return found

    def to_frame(self, kind: str = "pandas") -> Any:
        """A frame with a row per result; its columns are the fields of SimulatedStrategy.

        >>> found = at.simulate("digits.parquet", "digits.labels.csv", budgets=20, runs=2,
        ...                     workers=1, metrics="error", estimators="doubly-robust")
        >>> found.to_frame("pyarrow").num_rows
        2

        kind  "pandas", "polars" or "pyarrow"

        Raises ChoiceError for another kind, and where its package is not installed.
        """
        from activetest.pool.frames import write_frame
        from activetest.render.notebook.columns import list_strategies

        columns, types = list_strategies(self)
        return write_frame(columns, kind, types=types)

    def plot(self) -> Picture:
        """Errors and relative cost of each strategy by labels, as a picture.

        >>> found = at.simulate("digits.parquet", "digits.labels.csv", budgets=[10, 20], runs=2,
        ...                     workers=1, metrics="error", estimators="doubly-robust")
        >>> found.plot()
        <Picture: SVG of ... characters>

        A notebook draws it. Raises ChoiceError where there is no budget above 0.
        """
        from activetest.render.plots import curves, panels

        results, answers = self._list_records()
        labelled = curves.keep_labelled(results)
        if not labelled:
            raise ChoiceError("no curve to draw without labels", "`budgets=[0, 50, 100]`")
        return Picture(panels.draw_picture(labelled, answers))

    def __repr__(self) -> str:
        """One line; `str` has the table."""
        return f"<Simulation with {len(self):,} results>"

    def __str__(self) -> str:
        """The table of strategies, as wide as the terminal."""
        from activetest.render import text

        return text.simulation(*self._list_records())

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        from activetest.render.notebook import html

        return html.simulation(*self._list_records())

    def _list_records(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The results and the answers as dicts."""
        return [asdict(each) for each in self], [asdict(each) for each in self.answers]
