"""Pages that judge results: audits of fairness, and the quality of the data."""
