"""The results of an experiment: curves, tables, figures, and comparison with a reference."""
