"""Surrogates that are networks: fit as in activetest.surrogates."""
