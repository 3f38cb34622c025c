"""Curves of simulated strategies as pictures."""
