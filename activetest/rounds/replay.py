"""Surrogates of a further model, fitted again in each round to the labels that it knew."""

from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.nouns.pool import PoolView


def replay_rounds(log: Log, cache: PoolView, choices: Choices, seed: int) -> Log:
    """The log with a surrogate of its own in each round."""
    return log
