"""Surrogates: fit(known, *, rng) -> what the labels so far let one believe of every row."""

# The one task of those that serve only one; asked before any of them is imported.
TASKS = {"agreement": "classification", "residual": "regression"}
