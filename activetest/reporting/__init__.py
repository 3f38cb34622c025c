"""What a report says, before any formatting: rows, notes, gates, and answers about groups."""
