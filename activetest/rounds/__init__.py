"""Rounds: fitting, objectives, scores and draws, shared by sampling and estimation."""
