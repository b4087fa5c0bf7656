"""Reports of a survey's results: what they are made from, and how they look."""
