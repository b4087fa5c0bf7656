"""A seeded walk through everything that happens to a server, and what must hold after each step."""
