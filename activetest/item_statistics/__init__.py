"""What one item contributes to a metric, and how metrics are made from means of that."""
