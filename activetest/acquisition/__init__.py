"""Acquisitions: score(beliefs, objectives) -> (R,), the acquisition score of each row."""
