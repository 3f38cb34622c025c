"""What a round knew, and how it drew: shared by sampling and estimation."""
