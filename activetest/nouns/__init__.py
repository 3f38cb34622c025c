"""The nouns that every room speaks in: plain arrays with names. Nothing is imported here."""
