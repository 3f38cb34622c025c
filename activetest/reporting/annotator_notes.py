"""Notes on estimates that are corrected for annotators' errors, in plain sentences."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activetest.estimation.corrections import Correction
from activetest.estimation.view import View, build_view
from activetest.item_statistics.metric import Metric
from activetest.labels.annotators import list_labelling
from activetest.labels.latent_classes import NEEDS_SHARED
from activetest.ledger.ledger import Answer
from activetest.nouns.report import Note, Weight
from activetest.nouns.report_details import AnnotatorAnswers
from activetest.nouns.rounding import cut_digits
from activetest.reporting.rows import HEADLINE, estimate_row

_NOT_RELIABLE = "so no interval is reliable"


def note_correction(view: View, metrics: Sequence[Metric], answers: Sequence[Answer]) -> list[Note]:
    """How labels are corrected, whether that can be believed, and the values without it."""
    correction = view.evidence.correction
    if correction is None:
        return []
    two, three = correction.shared
    if correction.raters is None:
        text = (
            f"Nothing is corrected for annotators' errors yet, {_NOT_RELIABLE}: items with labels "
            f"of two annotators, who with the model are three raters: {two} of {NEEDS_SHARED}. "
            f"Second opinions that would do: {NEEDS_SHARED - two}; and as many third ones, to test "
            "whether raters err independently."
        )
        return [Note(text, Weight.INVALID)]
    notes = [Note(_describe_confusion(correction, answers))]
    text = (
        "Estimates are corrected for annotators' errors, as if each annotator and the model erred "
        "independently of the others, given the true class"
    )
    found = correction.raters.independent
    if not correction.doubted:
        assert found is not None
        return [Note(f"{text}; pairs of them agree with that (p = {found:.2g})."), *notes]
    if found is None:
        why = (
            f". That cannot be tested yet, {_NOT_RELIABLE}: items with labels of three annotators: "
            f"{three} of {NEEDS_SHARED}. Third opinions that would do: {NEEDS_SHARED - three}."
        )
    else:
        why = f". Pairs of them err together (p = {found:.1g}), {_NOT_RELIABLE}."
    return [Note(text + why + _list_uncorrected(view, metrics), Weight.INVALID), *notes]


def _list_uncorrected(view: View, metrics: Sequence[Metric]) -> str:
    """The values and intervals that the labels give as they are."""
    plain = build_view(
        replace(view.log, given=None),
        view.cache,
        view.choices,
        metrics,
        seed=view.seed,
        own_view=False,
        surrogate=view.evidence.surrogate,
        population=view.population,
    )
    found = []
    for metric in metrics:
        row = estimate_row(plain, metric, HEADLINE, level=view.choices.level)
        if row.lower is not None:
            found.append(f"{row.title} {row.estimate:.3g} ({row.lower:.3g} to {row.upper:.3g})")
    return f" Without the correction: {', '.join(found)}." if found else ""


def add_confusion(
    people: Sequence[AnnotatorAnswers], view: View, answers: Sequence[Answer]
) -> tuple[AnnotatorAnswers, ...]:
    """The annotators, with how often each gives which answer, where labels are corrected."""
    correction = view.evidence.correction
    if correction is None or correction.raters is None:
        return tuple(people)
    classes = [*view.cache.classes, "other"]
    names = [classes[code] for code in correction.codes]
    tables = dict(zip(list_labelling(answers), correction.raters.confusion.tolist(), strict=False))

    def name(table: list[list[float]]) -> dict[str, dict[str, float]]:
        rows = (dict(zip(names, row, strict=True)) for row in table)
        return dict(zip(names, rows, strict=True))

    return tuple(
        replace(each, confusion=name(tables[each.name])) if each.name in tables else each
        for each in people
    )


def _describe_confusion(correction: Correction, answers: Sequence[Answer]) -> str:
    """How often each annotator and the model are right, over the classes of labelled items."""
    assert correction.raters is not None
    names = [*(name or "no name" for name in list_labelling(answers)), "the model"]
    right = np.einsum("jkk->jk", correction.raters.confusion)
    shares = np.average(right, axis=1, weights=correction.raters.posterior.sum(axis=0)).tolist()
    found = [f"{name} {cut_digits(share):.0%}" for name, share in zip(names, shares, strict=True)]
    return f"Estimated shares of right answers: {', '.join(found)}."
