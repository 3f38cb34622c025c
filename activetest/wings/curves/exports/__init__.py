"""What a study gives as an object of its own: Study.curve and Study.surface open them."""
