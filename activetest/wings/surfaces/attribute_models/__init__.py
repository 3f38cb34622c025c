"""Models of uncertain attributes: fit(data, *, rng) -> the joint distribution of all of them."""
