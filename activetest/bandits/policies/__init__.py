"""Choices between groups: shares(bandit, samples, rng) -> (K,) share of a batch for each arm."""
