"""From a log to estimates and intervals."""
