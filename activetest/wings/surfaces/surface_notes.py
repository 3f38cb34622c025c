"""Notes to read before believing a surface, in plain sentences with weights."""

from collections.abc import Iterator

import numpy as np

from activetest.nouns.report import Note, Weight
from activetest.wings.surfaces.surface_answer import PoolSurface


def write_notes(fitted: PoolSurface) -> Iterator[Note]:
    """Notes to read before believing a surface."""
    if not _is_known(fitted):
        text = (
            "Numbers of combinations come from a model of the surface: a combination with few "
            "labels is predicted from others with the same attribute values, and its interval "
            "holds if the model is right. It holds for one look."
        )
        yield Note(text, Weight.LIMITED)
        if supplied := fitted.data.supplied:
            labels = "1 label" if supplied == 1 else f"{supplied:,} labels"
            text = (
                f"The surface counts the {labels} that you supplied for items that were not drawn "
                "as if drawn at random in their combinations."
            )
            yield Note(text, Weight.LIMITED)
    if round(fitted.data.doubt, 1) > 0:
        text = (
            "The surface takes each label as its most probable class (Dawid-Skene): about "
            f"{fitted.data.doubt:.1f} of {len(fitted.data.items):,} labels are expected to be "
            "wrong, which its intervals do not include."
        )
        yield Note(text, Weight.LIMITED)
    if small := len(fitted.arms) - len(fitted.order):
        them = "1 combination" if small == 1 else f"{small:,} combinations"
        have = "has" if small == 1 else "have"
        yield Note(
            f"Not ranked: {them} that {have} fewer than {fitted.min_support} items that can "
            "be labelled (`min_support`)."
        )


def _is_known(fitted: PoolSurface) -> bool:
    """Whether every item has a label, so that no number comes from a model."""
    return bool(np.isclose(fitted.values.support, fitted.values.known, rtol=1e-6, atol=0).all())
