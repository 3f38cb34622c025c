"""The answer to a question about groups, and densities of what is believed where wanted."""

from typing import Any

from activetest.errors import NotEstimable
from activetest.estimation.view import View
from activetest.nouns.report import Note, Weight
from activetest.study.findings import Context, Finding
from activetest.wings.groups.group_answer import answer_question
from activetest.wings.groups.group_beliefs import describe_beliefs

_OF_POOL = Note("The answer about groups is about those of this pool.", Weight.LIMITED)


class AssessmentFinding(Finding):
    """A report's answer about the groups of the study's question."""

    def __init__(self, context: Context) -> None:
        """The question of a study."""
        self._request = context.request

    def describe(
        self, view: View, columns: tuple[str, ...], kind: str
    ) -> tuple[dict[str, Any], list[Note]]:
        """The answer, and the densities that a picture shows."""
        log, cache, choices, surrogate = view.log, view.cache, view.choices, view.evidence.surrogate
        try:
            answer, notes = answer_question(
                log, cache, choices, seed=view.seed, surrogate=surrogate
            )
        except NotEstimable as error:
            text = f"The question about groups has no answer: {error.problem}; {error.hint}."
            return {}, [Note(text, Weight.INVALID)]
        found: dict[str, Any] = {"assessment": answer}
        if self._request.plots and not self._request.maps:
            found["beliefs"] = describe_beliefs(
                log, cache, choices, seed=view.seed, surrogate=surrogate
            )
        return found, [*notes, *[_OF_POOL] * self._request.population]


open_finding = AssessmentFinding
