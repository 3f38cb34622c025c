"""Parts for few studies: each folder is a wing, which the core reaches by its methods alone."""
