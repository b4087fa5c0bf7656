"""Commands that write a survey's results for others to read."""
