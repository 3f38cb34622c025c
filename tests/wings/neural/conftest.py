"""The pools that all surrogates learn from."""

from tests.surrogates.conftest import class_pool, value_pool, values_asked

__all__ = ["class_pool", "value_pool", "values_asked"]
