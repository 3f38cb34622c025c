"""Accuracy surfaces: a metric at every combination of attributes, and its part of studies."""
