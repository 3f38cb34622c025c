"""Metrics of reports unless the user names other metrics, and what caches hold of it."""

from collections.abc import Sequence

# The first of each is what draws aim at.
CLASSIFICATION = ("error", "accuracy", "log-loss", "brier")
HARD_LABELS = ("error", "accuracy")
# Of two classes. The accuracy is the same number as the error, and needs no place of its own.
BINARY = ("error", "precision", "recall", "f1", "rate")
REGRESSION = ("rmse", "mse", "mae", "bias")
_OF_PROBABILITIES = ("log-loss", "brier")

# The item statistics that caches hold ready for every item of a pool, by the metrics of the pool.
STATISTICS = {
    CLASSIFICATION: ("zero_one", "log_loss", "brier"),
    HARD_LABELS: ("zero_one",),
    REGRESSION: ("squared", "absolute", "signed"),
}


def default_metrics(task: str, kind: str, classes: Sequence[str]) -> tuple[str, ...]:
    """Names of the metrics recorded and simulated of a pool of this task, kind and classes."""
    if task == "regression":
        return REGRESSION
    if len(classes) == 2:
        return BINARY if kind == "pred" else BINARY + _OF_PROBABILITIES
    return HARD_LABELS if kind == "pred" else CLASSIFICATION


def judge_metrics(task: str, positive: str | None, scale: str | None = None) -> tuple[str, ...]:
    """Names of the metrics reported of a judge, what its draws aim at first.

    positive is the verdict that is positive; None for scores, and where no verdict is. scale is
    what stands in the brackets of the mean score.
    """
    if task == "regression":
        return ("mean" if scale is None else f"mean[{scale}]", "bias", "mae")
    if positive is None:
        return ("accuracy", "kappa")
    of_class = ("rate", "bias", "recall", "specificity")
    return (*(f"{name}[{positive}]" for name in of_class), "kappa", "accuracy")


def default_shown(named: Sequence[str], recorded: Sequence[str]) -> tuple[str, ...]:
    """Names of the metrics that a report shows, where it is not asked for others.

    named     what draws aim at
    recorded  what is recorded and simulated of such a pool
    """
    whole = tuple(named) == BINARY[:1] and set(BINARY) <= set(recorded)
    return BINARY if whole else tuple(named)


def cached_statistics(task: str, kind: str) -> tuple[str, ...]:
    """Names of the item statistics that caches hold ready of a pool."""
    if task == "regression":
        return STATISTICS[REGRESSION]
    return STATISTICS[HARD_LABELS if kind == "pred" else CLASSIFICATION]
