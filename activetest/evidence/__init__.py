"""What features say of the model's answers before any label."""
