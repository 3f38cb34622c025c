"""The finding of the question which model is best."""
