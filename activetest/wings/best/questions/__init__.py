"""The question about models: see activetest.nouns.question for what a question can do."""
