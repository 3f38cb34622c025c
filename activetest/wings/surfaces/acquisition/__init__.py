"""Choices between the arms of a surface: rank_arms(surface, counts, ...) -> share of each arm."""
