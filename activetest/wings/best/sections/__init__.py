"""The section of the question which model is best."""
