"""Neural networks: surrogates that learn with torch, and what only they need."""
