"""The files of a pool: where they are, what their columns mean, and what is wrong with them."""
