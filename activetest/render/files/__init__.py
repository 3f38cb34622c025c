"""The files that reports and simulations are written to."""
