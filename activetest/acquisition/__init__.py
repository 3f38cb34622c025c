"""Acquisitions: score(beliefs, rng) -> (R,), the acquisition score of each row."""
