"""What records say about their population."""
