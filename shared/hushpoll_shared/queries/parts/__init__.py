"""What several results have: rows with estimates, and the two sides of a comparison."""
