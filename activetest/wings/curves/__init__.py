"""ROC, precision-recall and reliability of a study, with an interval at every point."""
