"""Acquisitions: score(beliefs, objectives) -> (R,), the acquisition score of each row."""

# {chapter: {acquisition: what the catalogue says of it}}; others have files of their own.
CONTENTS = {
    "scores": {
        # Beliefs about items make no difference: nobody needs to find them out.
        "uniform": {"ALIKE": True},
        "expected-loss": {},
        "oracle": {"SIMULATION_ONLY": True, "NEEDS_KEY": True},
        "optimal": {},
        "active-risk": {"SIMULATION_ONLY": True, "WITH_REPLACEMENT": True},
        "entropy": {"TASK": "classification"},
        "bald": {"NEEDS_MEMBERS": True},
        "xwed": {"NEEDS_MEMBERS": True},
    }
}
