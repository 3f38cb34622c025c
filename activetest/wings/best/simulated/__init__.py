"""Simulated answers to the question which model is best."""
