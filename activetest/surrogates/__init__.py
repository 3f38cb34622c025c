"""Surrogates: fit(known, *, rng) -> what the labels so far let one believe of every row."""

# The one task of those that serve only one; asked before any of them is imported.
TASKS = {"agreement": "classification", "residual": "regression"}
# Those that see all features of a row, and learn from training rows where there are any.
FEATURES = ("ensemble", "forest", "gp", "linear", "mc-dropout", "radial-bnn", "stack")
# Those that see what other models say.
EXTERNAL = ("external", "stack")
