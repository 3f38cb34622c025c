"""Metrics: each file is an item statistic and a smooth map."""

# What is reported unless the user asks otherwise, by task; the first is what draws aim at.
CLASSIFICATION = ("error", "accuracy", "log-loss", "brier")
HARD_LABELS = ("error", "accuracy")
REGRESSION = ("rmse", "mse", "mae", "bias")

# The statistics behind them: what a round records sums of.
STATISTICS = {
    CLASSIFICATION: ("zero_one", "log_loss", "brier"),
    HARD_LABELS: ("zero_one",),
    REGRESSION: ("squared", "absolute", "signed"),
}
