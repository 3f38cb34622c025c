"""Reports as a page: one file for people who were not there, on a screen or on paper.

The page runs no script, loads nothing, and says so in a content security policy. Every text of a
user's file is escaped, and every plot has its numbers beside it or in a table.
"""

from collections.abc import Sequence

from activetest.nouns.report import Report
from activetest.render.page import build

SHOWS = ("report", "simulation")
NEEDS_DETAILS = True
SUFFIXES = (".html", ".htm")
MARKS = ('<meta name="generator" content="activetest report">',)
SIMULATION_MARKS = ('<meta name="generator" content="activetest simulate">',)


def render(report: Report) -> str:
    """The whole page; sections without anything to say are not there.

    What is too much for build.MOST_BYTES is left out, and the page says what that is: see build.
    """
    return build.build(report)


def simulation(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """A page of simulated strategies: answers, curves of every metric, and all results."""
    # NumPy is for curves alone.
    from activetest.render.page import simulated

    return simulated.build(results, answers)
