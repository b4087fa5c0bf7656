"""Training algorithms."""
