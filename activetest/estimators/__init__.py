"""Estimators: estimate(sample) -> means of a metric's statistics, with their variance."""

# Those that only simulations have: one for draws with replacement, and one that is biased.
SIMULATED = ("importance", "naive")
