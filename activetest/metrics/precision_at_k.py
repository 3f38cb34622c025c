"""Precision at k: how many of the k highest scores are of the class (Buckley and Voorhees 2000).

Where items at the k-th score are more than there is room for, it is the mean over all ways to
choose among them (McSherry and Najork 2008): each of them counts in part.
"""

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments, tops
from activetest.item_statistics.metric import Facts, Metric, ratio_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.arguments import add_to_brackets

TASK = "classification"
BETTER = "higher"
TITLE = "Precision in the top {}"

_MOST, _EXAMPLE = 10**12, "precision-at-k[100]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of the k items with the highest probability of a class that are of it, in [0, 1].

    The argument is k; after a comma a class, or * for every class. Without a class: the positive
    one of a binary pool, every class of any other. Of a pool of fewer items it is about all. Where
    items have weights, k stands for the weight of k items of mean weight. Of a group, it is about
    the items among the k that are in it.
    """
    name = "precision-at-k"
    arguments.require_probabilities(name, facts)
    if argument is None:
        raise ChoiceError("'precision-at-k' needs its k", f"for example {_EXAMPLE}")
    text, comma, meant = (part.strip() for part in argument.partition(","))
    count = arguments.parse_whole_number(name, text, 1, _MOST, _EXAMPLE)
    codes = arguments.parse_single_classes(name, facts, meant if comma else None)
    return tuple(_of_class(add_to_brackets(name, str(count)), count, code, facts) for code in codes)


def _of_class(name: str, count: int, code: int, facts: Facts) -> Metric:
    if facts.scores is None:
        raise ChoiceError(
            f"{name!r} needs the probabilities of a whole pool", "`study.report()` has them"
        )
    weights = None if facts.weights is None else facts.weights()
    # Weights have no unit: k items are those of mean weight.
    mass = count if weights is None else count * weights.mean()
    threshold, share = tops.find_threshold(facts.scores(code), mass, weights)
    parts = f"{code}:{threshold!r}:{share!r}"
    return ratio_metric(
        name,
        [statistic(f"true_in_top:{parts}"), statistic(f"in_top:{parts}")],
        above=(0, 1, 0),
        below=(0, 0, 1),
        upper=1.0,
        class_name=facts.classes[code],
        undefined=f"none of the {count} items that score highest has been seen",
    )
