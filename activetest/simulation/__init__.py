"""Studies replayed on a pool whose labels are all known."""
