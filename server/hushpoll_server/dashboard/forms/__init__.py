"""Forms of the dashboard: jobs asked for by one, and refused ones shown again as filled in."""
