"""Metrics: each is an item statistic and a smooth map, and stands in one of three chapters."""

# {chapter: {metric: what the catalogue says of it}}
CONTENTS = {
    "means": {
        "accuracy": {"TASK": "classification", "BETTER": "higher"},
        "error": {"TASK": "classification", "BETTER": "lower"},
        "log-loss": {"TASK": "classification", "BETTER": "lower", "TITLE": "Log-loss"},
        "brier": {"TASK": "classification", "BETTER": "lower", "TITLE": "Brier score"},
        "top-k-error": {"TASK": "classification", "BETTER": "lower", "TITLE": "Top-{} error"},
        "cost": {"TASK": "classification", "BETTER": "lower", "TITLE": "Mean cost"},
        "rate": {"TASK": "classification"},
        # Of either task.
        "bias": {},
        "mean": {"TASK": "regression", "TITLE": "The mean label[ (scale {})]"},
        "mse": {"TASK": "regression", "BETTER": "lower", "TITLE": "MSE"},
        "mae": {"TASK": "regression", "BETTER": "lower", "TITLE": "MAE"},
        "rmse": {"TASK": "regression", "BETTER": "lower", "TITLE": "RMSE"},
        "r2": {"TASK": "regression", "BETTER": "higher", "TITLE": "R2"},
        "nll": {"TASK": "regression", "BETTER": "lower", "TITLE": "Negative log-likelihood"},
        "pinball": {
            "TASK": "regression",
            "BETTER": "lower",
            "TITLE": "Pinball loss[ at quantile {}]",
        },
        "interval-coverage": {"TASK": "regression", "TITLE": "Coverage of intervals[ at level {}]"},
    },
    "classes": {
        "precision": {"TASK": "classification", "BETTER": "higher"},
        "recall": {"TASK": "classification", "BETTER": "higher"},
        "specificity": {"TASK": "classification", "BETTER": "higher"},
        "false-positive-rate": {"TASK": "classification", "BETTER": "lower"},
        "f1": {"TASK": "classification", "BETTER": "higher", "TITLE": "F1"},
        "f-beta": {"TASK": "classification", "BETTER": "higher", "TITLE": "F{}"},
        "balanced-accuracy": {"TASK": "classification", "BETTER": "higher"},
        "kappa": {"TASK": "classification", "BETTER": "higher", "TITLE": "Cohen's kappa"},
        "mcc": {"TASK": "classification", "BETTER": "higher", "TITLE": "Matthews correlation"},
        "confusion": {"TASK": "classification"},
    },
    "scores": {
        "auroc": {"TASK": "classification", "BETTER": "higher", "TITLE": "AUROC"},
        "average-precision": {"TASK": "classification", "BETTER": "higher"},
        "recall-at-fpr": {
            "TASK": "classification",
            "BETTER": "higher",
            "TITLE": "Recall at false positive rate {}",
        },
        "precision-at-k": {
            "TASK": "classification",
            "BETTER": "higher",
            "TITLE": "Precision in the top {}",
        },
        "ece": {
            "TASK": "classification",
            "BETTER": "lower",
            "TITLE": "Calibration error[ ({} bins)]",
        },
        "classwise-ece": {
            "TASK": "classification",
            "BETTER": "lower",
            "TITLE": "Classwise calibration error[ ({} bins)]",
        },
        "calibration-error-squared": {
            "TASK": "classification",
            "BETTER": "lower",
            "TITLE": "Squared calibration error[ ({} bins)]",
        },
    },
}
