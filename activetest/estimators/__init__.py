"""Estimators: estimate(sample) -> means of a metric's statistics, with their variance."""
