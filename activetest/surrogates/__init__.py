"""Surrogates: fit(known, *, rng) -> what the labels so far let one believe of every row."""
