"""What is reported of a pool unless the user names other metrics, and the statistics behind it."""

# The first of each is what draws aim at.
CLASSIFICATION = ("error", "accuracy", "log-loss", "brier")
HARD_LABELS = ("error", "accuracy")
REGRESSION = ("rmse", "mse", "mae", "bias")

# What the cache holds ready for every item, and what a round records sums of.
STATISTICS = {
    CLASSIFICATION: ("zero_one", "log_loss", "brier"),
    HARD_LABELS: ("zero_one",),
    REGRESSION: ("squared", "absolute", "signed"),
}


def default_metrics(task: str, kind: str) -> tuple[str, ...]:
    """Names of the metrics reported of a pool of this task whose outputs are of this kind."""
    if task == "regression":
        return REGRESSION
    return HARD_LABELS if kind == "pred" else CLASSIFICATION


def judge_metrics(task: str, positive: str | None) -> tuple[str, ...]:
    """Names of the metrics reported of a judge, what its draws aim at first.

    positive is the verdict that is positive; None for scores, and where no verdict is.
    """
    if task == "regression":
        return ("mean", "bias", "mae")
    if positive is None:
        return ("accuracy", "kappa")
    of_class = ("rate", "bias", "recall", "specificity")
    return (*(f"{name}[{positive}]" for name in of_class), "kappa", "accuracy")
