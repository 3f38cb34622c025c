"""Accuracy surfaces: fit(data, *, rng, earlier=None) -> what is believed of every arm."""

# {chapter: {surface: what the catalogue says of it}}; other surfaces have files of their own.
CONTENTS = {
    "gp_fit": {
        "bern-gp": {"CONTINUES": True},
        "beta-gp": {"CONTINUES": True},
        "beta-gp-alpha-beta": {"CONTINUES": True},
        "beta-gp-sl": {"CONTINUES": True},
        "beta-gp-slp": {"CONTINUES": True},
    }
}
