"""Whether the cells that a round weighted are still those of the pool, whose bins may change."""

from activetest.nouns.log import Allocation, ArmAllocation
from activetest.nouns.pool import PoolView
from activetest.pool.groups import columns_of


def keeps_cells(
    allocation: Allocation | ArmAllocation, cache: PoolView, *, strata: int = 1
) -> bool:
    """Whether the cells of an allocation are as they were, as far as it can be known.

    strata  into which it cut each group

    An attribute that was cut into other bins since has other values. A former group is
    taken as it was, unless it is cut into bins now.
    """
    values = dict(zip(cache.group_names, cache.group_values, strict=True))
    if isinstance(allocation, ArmAllocation):
        return all(
            name not in values or value in values[name]
            for arm in allocation.arms
            for name, value in zip(allocation.attributes, arm, strict=True)
        )
    if allocation.group in values:
        return len(allocation.weight) == len(values[allocation.group]) * strata
    return not {*columns_of(allocation.group)} & {*cache.roles.get("binned", ())}
