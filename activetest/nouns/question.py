"""A question of a study: a method of the family `questions`, which a wing brings.

Its file, or its line of CONTENTS, states literals, which are read without importing it:

    ACQUISITION  the usual acquisition
    CHOOSES      the fact of acquisitions that choose between what it is about
    GROUPED      whether it is about groups: of predicted classes where none is named
    FINDING      the name of its method of the families `findings` and `simulated`
    SIMULATED    acquisitions that simulations compare unless others are named
    OWN          choices by which messages name it, where no question is asked
    RESETS       choices of it that are put back when the question changes
    KEEPS        those of any question that stay with it
    ABOUT        what it is about, and EXAMPLE, how it is asked, for a message
    SEPARATOR    what stands between its words in a line; a comma unless stated
"""

from collections.abc import Mapping
from typing import Any, Protocol

from activetest.nouns.choices import Choices
from activetest.nouns.log import Allocation, ArmAllocation, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows


class Question(Protocol):
    """Decisions of a question: which choices make sense, how rounds draw, and how it is worded."""

    def check(self, choices: Choices, pool: Mapping[str, Any]) -> None:
        """Raises ChoiceError for choices that make no sense in a pool with these roles."""

    def split_metrics(self, named: tuple[str, ...]) -> dict[str, Any]:
        """Settings of these metrics: those that draws aim at, and the one that it judges by."""

    def name_judged(self, choices: Choices) -> str:
        """The metric that it judges by."""

    def resolve(self, choices: Choices, cache: PoolView, texts: Mapping[str, str]) -> Choices:
        """The choices once the pool's values are known; texts are those of Settings.

        Raises ChoiceError for values that the pool lacks.
        """

    def describe_pool(self, choices: Choices, kind: str) -> tuple[str, ...]:
        """Sentences about what outputs of this kind cannot tell it, for a new study."""

    def describe(self, choices: Choices) -> str:
        """The question in plain words that follow "to"."""

    def describe_settings(self, choices: Choices) -> str:
        """Its settings in words, where they are not the usual ones; empty where they are."""

    def allocate(
        self,
        log: Log,
        cache: PoolView,
        choices: Choices,
        *,
        free: Array,
        seed: int,
        number: int,
        count: int,
    ) -> tuple[Allocation | ArmAllocation, Array]:
        """The allocation of round `number`, and (N,) each row's probability in the first draw.

        free (N,) are the rows that are neither drawn nor supplied. Raises NotEstimable where none
        is left that the question is about.
        """

    def weigh_rows(self, allocation: Any, rows: Rows, cache: PoolView, choices: Choices) -> Array:
        """(R,) weights that rows had in a round with this allocation if they could be drawn.

        Raises NotEstimable where the pool's groups have changed.
        """
