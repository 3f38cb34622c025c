"""Results of a study that are objects of their own: Study.curve and Study.surface open them."""
