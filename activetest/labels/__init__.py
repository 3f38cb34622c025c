"""Label files, and several answers to one item."""
