"""Accuracy surfaces: fit(data, *, rng, earlier=None) -> what is believed of every arm."""
