"""The surface of a study, opened by Study.surface."""

from activetest.wings.surfaces.study_surface import open_surface

__all__ = ["open_surface"]
