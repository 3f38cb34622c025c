"""activetest: how good is a black-box model, from a few hundred labels instead of thousands."""

__version__ = "0.1.0"
