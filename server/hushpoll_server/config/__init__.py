"""Settings: their table, where each value comes from, and the command line's flags."""
