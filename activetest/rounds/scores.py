"""Scores of rows: the acquisition, applied to what the surrogate believes."""

from collections.abc import Callable, Sequence
from functools import cache as cached
from inspect import signature

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics.kinds import find_kinds
from activetest.nouns.beliefs import Beliefs, Objectives, split_beliefs
from activetest.nouns.choices import Choices
from activetest.nouns.log import Objective
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import make_generator
from activetest.rounds.objectives import find_statistics, linearise_objective

# Members that acquisitions which need them are shown, and numbers at a time that they make.
_MEMBERS, _NUMBERS = 100, 2**20


def make_scorer(
    surrogate: Surrogate, choices: Choices, *, seed: int, number: int
) -> Callable[[Rows, Sequence[Objective]], Array]:
    """score(rows, objectives) -> (A, R) for a round: one line per objective.

    Scores are those of the items themselves, without their weights: see rounds.weighted. Where
    labels have prices they are over the root of the price: draws in proportion to them make the
    product of expected cost and variance smallest (Cochran 1977, section 5.5, for strata). The
    floor comes after that, so that it bounds the probability of dear items as of cheap ones. A
    row's scores do not depend on other rows: they can be computed again, in other chunks. Equal
    scores draw at random, whatever the prices. An acquisition
    that needs the kinds of outcomes scores rows for all objectives together: then all lines are
    alike, and what mixes them leaves them as they are. Raises ChoiceError where it cannot use what
    the surrogate believes.
    """
    name = choices.acquisition
    if catalog.fact("acquisition", name, "ALIKE"):
        return lambda rows, objectives: np.ones((len(objectives), len(rows.index)))
    needs_members, needs_kinds = (
        catalog.fact("acquisition", name, fact) for fact in ("NEEDS_MEMBERS", "NEEDS_KINDS")
    )
    apply = _find_score(name)
    members = (
        surrogate.draw_members(_MEMBERS, make_generator(seed, number, "members"))
        if needs_members
        else None
    )

    def score_alone(rows: Rows, objectives: Sequence[Objective]) -> Array:
        alone, linearised = Objectives(rows.outputs.pred), map(linearise_objective, objectives)
        return np.stack([apply(surrogate.beliefs(rows, (each,)), alone) for each in linearised])

    def score_at_once(rows: Rows, objectives: Sequence[Objective]) -> Array:
        # Members may be slow: they are asked once for all objectives. Kinds need no values.
        valued = objectives[:1] if needs_kinds else objectives
        beliefs = surrogate.beliefs(rows, tuple(map(linearise_objective, valued)), members)
        pred = rows.outputs.pred
        if not needs_kinds:
            return np.stack([apply(each, Objectives(pred)) for each in split_beliefs(beliefs)])
        if not beliefs.of_classes:
            raise explain_no_classes(choices)
        classes = beliefs.probs.shape[1]
        kinds = [find_kinds(find_statistics(each), rows.outputs, classes) for each in objectives]
        line = apply(beliefs, Objectives(pred, np.stack(kinds)))
        return np.broadcast_to(line, (len(objectives), len(line)))

    def score(rows: Rows, objectives: Sequence[Objective]) -> Array:
        rows = rows.unweighted
        if not (needs_members or needs_kinds):
            scores = score_alone(rows, objectives)
        else:
            scores = np.hstack([score_at_once(strip, objectives) for strip in _cut(rows)])
        return scores if rows.price is None else scores / np.sqrt(rows.price)

    return score


def explain_no_classes(choices: Choices) -> ChoiceError:
    """Why an acquisition that asks which class a label will be cannot use the surrogate."""
    return ChoiceError(
        f"{choices.acquisition} asks which class a label will be, and the surrogate "
        f"{choices.surrogate!r} only says whether the prediction is right",
        'choose one that learns classes, such as `surrogate="mc-dropout"` or '
        '`surrogate="forest"`, or `acquisition="bald"`',
    )


def _find_score(name: str) -> Callable[[Beliefs, Objectives], Array]:
    """The score of an acquisition; of another package also score(beliefs), without objectives.

    Raises ChoiceError for a function that cannot be called either way.
    """
    found: Callable[..., Array] = catalog.load("acquisition", name).score
    if _takes_objectives(name, found):
        return lambda beliefs, objectives: found(beliefs, objectives=objectives)
    return lambda beliefs, objectives: found(beliefs)


@cached
def _takes_objectives(name: str, found: Callable[..., Array]) -> bool:
    """Whether an acquisition is called with objectives. Raises ChoiceError, see above."""
    parameters = signature(found)
    takes_objectives = "objectives" in parameters.parameters
    try:
        parameters.bind(None, **({"objectives": None} if takes_objectives else {}))
    except TypeError as error:
        raise ChoiceError(
            f"the acquisition {name!r} cannot be called: score{parameters}",
            "its module must have a function score(beliefs, objectives), or score(beliefs)",
        ) from error
    return takes_objectives


def _cut(rows: Rows) -> list[Rows]:
    """The rows in strips, whose members' probabilities fit in memory."""
    outcomes = 15 if rows.outputs.probs is None else rows.outputs.probs.shape[1]
    strip = max(_NUMBERS // (_MEMBERS * outcomes), 1)
    starts = range(0, max(len(rows.index), 1), strip)
    return [rows[start : start + strip] for start in starts]
