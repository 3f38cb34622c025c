"""A small pool with groups."""

import pytest

from activetest.cache.cache import Cache
from tests.makers import build_pool


@pytest.fixture
def pool(tmp_path) -> Cache:
    """Sixty items in groups of a column, of predicted classes and of both."""
    return build_pool(tmp_path, 60, seed=3, groups=("place", "predicted", "predicted*place"))
