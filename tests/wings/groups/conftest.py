"""A small pool with groups."""

import pytest

from activetest.cache.cache import Cache
from tests.makers import build_pool


@pytest.fixture
def pool(request, tmp_path) -> Cache:
    """Sixty items in groups of a column, of predicted classes and of both; or as a mark says."""
    usual = {"rows": 60, "seed": 3, "groups": ("place", "predicted", "predicted*place")}
    mark = request.node.get_closest_marker("pool")
    options = dict(mark.kwargs) if mark else usual
    options.pop("wrong", None)
    return build_pool(tmp_path, options.pop("rows"), **options)
