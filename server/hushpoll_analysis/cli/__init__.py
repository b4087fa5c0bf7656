"""The command of the planner."""
