"""Intervals: interval(estimate, level) -> ends, each file one way to say how sure a number is."""
