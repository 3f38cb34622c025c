"""The parts of the page that reports are written as: sections, plots, and their style."""
