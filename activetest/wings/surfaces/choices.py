"""Choices about surfaces: how they are fitted, and which combinations of attributes count."""

from dataclasses import dataclass

from activetest.nouns.declarations import Count, Kind, Name, Section, declare

# Leaves the model of uncertain attributes to how many of their values are known.
AUTO = "auto"


@dataclass(frozen=True)
class SurfaceChoices:
    """The fields of Choices that serve surfaces; they are as declared."""

    surface: Name = declare(
        "Method that fits the surface over the combinations of attributes.",
        Section.GROUPS, value="stacked", metavar="NAME", completes="surfaces",
    )  # fmt: skip
    attribute_model: Name = declare(
        "Model that joins what attr_prob columns say of uncertain attributes.",
        Section.GROUPS, value=AUTO, metavar="NAME",
        default="auto: full where 20 items have known values, else raw",
        completes="attribute_models",
    )  # fmt: skip
    min_support: Count = declare(
        "Combinations with fewer items are neither ranked nor explored on purpose, for surface.",
        Section.GROUPS, value=5, kind=Kind.WHOLE, metavar="N",
    )  # fmt: skip


CHOICES = SurfaceChoices
