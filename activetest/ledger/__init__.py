"""The append-only record of a study: rounds, draws and answers."""
