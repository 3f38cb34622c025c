"""Augmentations: which items of the pool surrogates learn with the model's labels.

A file has choose_augmented(training, *, rng) -> positions, and require_pool(training) -> the pool.
"""
