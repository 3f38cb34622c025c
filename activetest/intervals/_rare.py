"""How many labels of the rarer kind, right or wrong, an observed variance needs to be believed."""

# With fewer than this it misses on the dangerous side: what was not met yet looks like nothing.
RARE = 20
