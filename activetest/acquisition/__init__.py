"""Acquisitions: score(beliefs, rng) -> (R,), how much each row is wanted; larger is more."""
