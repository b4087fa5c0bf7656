"""Results and records as tables of pandas, Polars and Arrow, and records from such tables."""
