"""The pool as the methods read it: arrays on disk, rebuilt whenever they must be."""
