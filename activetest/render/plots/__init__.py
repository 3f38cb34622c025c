"""Pictures: curves of simulated strategies, and maps of surfaces."""
