"""Pictures: curves of simulated strategies, maps of surfaces, and groups of a question."""
