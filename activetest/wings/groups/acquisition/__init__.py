"""Choices between groups: allocate(bandit, samples, rng) -> (K,) probability of each option."""
