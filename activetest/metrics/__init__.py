"""Metrics: each file is an item statistic and a smooth map."""
