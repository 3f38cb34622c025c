"""Acquisitions: score(beliefs, rng) -> (R,), how much each row is wanted; larger is more."""

# Those that compare the members of a surrogate.
MEMBERS = ("bald", "xwed")
# The one task of those that serve only one.
TASKS = {"entropy": "classification"}
# Those that only simulations have: they draw with replacement.
SIMULATED = ("active-risk",)
# Those that choose between groups, for studies with a task: shares(bandit, samples, rng) -> (K,).
ARMS = ("bayes-ucb", "epsilon-greedy", "thompson", "top-two-thompson")
