"""Output in a notebook: columns of frames, and fragments of HTML. No output format of reports."""
