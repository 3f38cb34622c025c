"""Acquisitions that look for the best of several models."""
