"""Answers in words: never more than is known, and titles that are true of every row."""

from dataclasses import replace

import pytest

from activetest.wings.groups.sections import question as words


def groups(ranked, *estimates, method="posterior"):
    return tuple(
        ranked(place + 1, name, estimate=estimate, method=method)
        for place, (name, estimate) in enumerate(zip("abcde", estimates, strict=False))
    )


def test_a_tie_of_groups_that_are_known_is_no_winner(answer, ranked):
    tied = replace(
        answer, groups=groups(ranked, 1 / 3, 0.1 + 0.7 / 3, 0.5, method="exact"), probability=1.0
    )
    assert words.sentence(tied) == ("Worst group: ink=a, ink=b tie; every label is known.")
    last = groups(ranked, 0.2, 0.3, 0.3, method="exact")
    assert words.sentence(replace(tied, worst=2, groups=last)) == (
        "2 worst groups: ink=a, then ink=b, ink=c tie; every label is known."
    )
    apart = groups(ranked, 0.3, 0.3, 0.4, method="exact")
    assert words.sentence(replace(tied, worst=2, groups=apart)) == (
        "2 worst groups: ink=a, ink=b (probability 1.00)."
    )
    unknown = groups(ranked, 0.2, 0.2)
    assert "tie" not in words.sentence(replace(tied, groups=unknown))


@pytest.mark.parametrize(
    ("probability", "written"), [(0.0, "<0.01"), (0.004, "<0.01"), (0.9999, ">0.99"), (1.0, "1.00")]
)
def test_a_probability_is_not_rounded_to_certainty(answer, compared, probability, written):
    for decided in (True, False):
        single = replace(answer, probability=probability, decided=decided, more_labels=9)
        assert f"(probability {written})" in words.sentence(single)
        two = replace(compared, probability=probability, decided=decided)
        assert f"(probability {written})" in words.sentence(two)


@pytest.mark.parametrize(
    ("methods", "title"),
    [
        (("posterior", "posterior"), "posterior, 95 % credible intervals"),
        (("posterior", "exact"), "posterior, 95 % credible intervals"),
        (("doubly-robust", "doubly-robust"), "doubly-robust, 95 % intervals"),
        (("pseudo-posterior", "none"), "pseudo-posterior, 95 % intervals"),
        (("posterior", "doubly-robust"), "95 % intervals"),
        (("exact", "exact"), "exact"),
    ],
)
def test_titles_are_true_of_every_row(answer, ranked, methods, title):
    shown = tuple(ranked(place + 1, str(place), method=by) for place, by in enumerate(methods))
    table = words.ranking(replace(answer, groups=shown))
    assert table.title == f"accuracy by ink, worst first, {title}"
    assert ("method" in table.headings) == (title == "95 % intervals")


def test_intervals_of_calibration_errors_are_not_called_credible(answer):
    table = words.ranking(replace(answer, metric="ece[5]"))
    assert table.title == "ece[5] by ink, worst first, posterior, 95 % intervals"
