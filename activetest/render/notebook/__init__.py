"""What a notebook shows: columns of frames, and fragments of HTML. No output format of reports."""
