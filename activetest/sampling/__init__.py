"""From a log to the next draws."""
