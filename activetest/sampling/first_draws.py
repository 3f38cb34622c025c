"""Rounds of the largest scores that are drawn at random, as their scores say nothing yet."""

from collections.abc import Sequence

from activetest import catalog
from activetest.nouns.choices import Augmentation, Choices, Refit, Selection
from activetest.rounds.fit import is_refit_due


def expects_draws(choices: Choices, labels: Sequence[str], *, training: bool) -> bool | None:
    """Whether the next round is drawn at random although the largest scores are to be chosen.

    It is while all members of the surrogate agree, see plan.plan_round. They do as long as it has
    learned from nothing. None where only the round itself can tell: members may agree while there
    are labels of one class alone, or labels that the surrogate is not due to learn yet.

    labels    known so far
    training  whether there are training rows
    """
    by_members = catalog.fact("acquisition", choices.acquisition, "NEEDS_MEMBERS")
    if choices.selection != Selection.TOP or not by_members:
        return False
    if choices.augment == Augmentation.OUTPUTS or training:
        return False
    if not labels or choices.refit == Refit.NEVER:
        return True
    due = is_refit_due(choices.refit, 0, len(labels))
    return False if due and len(set(labels)) > 1 else None
