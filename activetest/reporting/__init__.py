"""Contents of a report, before any formatting: rows, notes, gates, and answers about groups."""
