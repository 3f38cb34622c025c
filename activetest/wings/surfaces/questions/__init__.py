"""The question about a surface: see activetest.nouns.question for what a question can do."""
