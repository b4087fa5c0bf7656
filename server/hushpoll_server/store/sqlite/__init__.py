"""What is for SQLite alone: see ``backend``."""
