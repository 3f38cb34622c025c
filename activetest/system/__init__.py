"""Of the machine: files written whole, locks, threads, progress, and text that is safe to show."""
