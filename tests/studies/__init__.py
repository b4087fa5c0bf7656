"""Studies of how often intervals cover the truth, before and after a change of their rule."""
