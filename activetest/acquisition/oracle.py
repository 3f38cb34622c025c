"""Oracle: in proportion to the true loss, which only an answer key knows.

Active Testing (Kossen 2021), sections 3.1 and 5.5 and Fig. 8 (a): for `lure` these are the best
draws there are. Of a mean of losses, and without a floor, the estimate is the truth from the first
draw on. Only `simulate` has it: a study does not know the labels that it is about to buy.
"""

from activetest.acquisition.expected_loss import score

SIMULATION_ONLY = True
NEEDS_KEY = True

# What is expected of a known label is its loss.
__all__ = ["score"]
