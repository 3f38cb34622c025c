"""The parts of the page that `report --format html` writes: sections, plots, and their style."""
