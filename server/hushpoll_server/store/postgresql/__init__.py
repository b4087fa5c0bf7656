"""What is for PostgreSQL alone: see ``backend``."""
