"""The best of the study's models, in reports of a study that asks for it."""

from typing import Any

from activetest.errors import NotEstimable
from activetest.estimation.view import View
from activetest.nouns.name_lists import join_names
from activetest.nouns.report import Note, Weight
from activetest.study.findings import Context, Finding
from activetest.wings.best.best_answer import find_best


class BestFinding(Finding):
    """A report's answer to which model is best."""

    def __init__(self, context: Context) -> None:
        """The models of a study."""
        self._request = context.request
        self._trained = [each.name for each in context.study.list_models() if each.trained]

    def describe(
        self, view: View, columns: tuple[str, ...], kind: str
    ) -> tuple[dict[str, Any], list[Note]]:
        """The answer, and what it leaves out."""
        notes = []
        if self._trained:
            names = join_names(self._trained)
            notes.append(
                Note(
                    f"Not compared: {names}. Labels of this study took part in making it, and its "
                    "numbers rest on other draws.",
                    Weight.LIMITED,
                )
            )
        if self._request.population:
            notes.append(Note("The best model is that on this pool.", Weight.LIMITED))
        try:
            found = find_best(view)
        except NotEstimable as error:
            text = f"Which model is best has no answer: {error.problem}; {error.hint}."
            return {}, [*notes, Note(text, Weight.INVALID)]
        return {"best": found}, notes


open_finding = BestFinding
