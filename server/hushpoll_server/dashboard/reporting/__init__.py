"""Reports of a survey's results in the dashboard, and results that are published to everybody."""
