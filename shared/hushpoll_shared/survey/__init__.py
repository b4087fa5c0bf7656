"""A survey: its manifest, the split of its budget, and the published form that devices check."""
