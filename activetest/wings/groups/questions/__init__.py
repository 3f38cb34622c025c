"""Questions about groups: see activetest.nouns.question for what each can do."""

# {chapter: {question: what the catalogue says of it}}
CONTENTS = {
    "groups": {
        "estimate": {
            "ACQUISITION": "thompson",
            "CHOOSES": "CHOOSES_GROUPS",
            "GROUPED": True,
            "FINDING": "assessment",
            "RESETS": ("target",),
            "KEEPS": ("prior", "prior_strength"),
        },
        "identify": {
            "ACQUISITION": "thompson",
            "CHOOSES": "CHOOSES_GROUPS",
            "GROUPED": True,
            "FINDING": "assessment",
            "OWN": ("worst", "prior", "prior_strength", "groups"),
            "RESETS": ("worst", "prior", "prior_strength"),
            "KEEPS": ("prior", "prior_strength"),
            "ABOUT": "groups",
            "EXAMPLE": "question='identify', groups=[column]",
        },
        "compare": {
            "ACQUISITION": "thompson",
            "CHOOSES": "CHOOSES_GROUPS",
            "GROUPED": True,
            "FINDING": "assessment",
            "OWN": ("compare", "rope"),
            "RESETS": ("compare", "rope"),
            "KEEPS": ("prior", "prior_strength"),
        },
    }
}
