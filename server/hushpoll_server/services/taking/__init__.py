"""Taking reports in: one, a batch, and whether any can be taken now."""
