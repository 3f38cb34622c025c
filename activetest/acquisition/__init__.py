"""Acquisitions: score(beliefs, aims) -> (R,), the acquisition score of each row."""
