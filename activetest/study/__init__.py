"""A study folder, and the verbs that work on it."""
