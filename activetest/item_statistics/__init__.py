"""Contributions of one item to a metric, and metrics made from their means."""
